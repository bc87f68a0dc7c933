"""Formulas against Python's own arithmetic; whatever is not arithmetic is refused."""

from __future__ import annotations

import math

import pytest
import torch

from pitgeo.data.formula import Formula

NUMBERS = {
    "load": torch.tensor([[3.0, 0.0, -4.0], [1.0, 2.0, 2.0]], dtype=torch.float64),
    "young": torch.tensor([[2.0], [0.5]], dtype=torch.float64),
    "E 2": torch.tensor([[7.0], [-1.0]], dtype=torch.float64),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("norm(load)", [5.0, 3.0]),
        ("norm(load) * 2 / young - 1e-1", [4.9, 11.9]),
        ("-young ** 2 + (+3)", [-1.0, 2.75]),
        ("young ** 0.5", [math.sqrt(2.0), math.sqrt(0.5)]),
        ("'E 2' * norm('load')", [35.0, -3.0]),
        ("2.5", [2.5, 2.5]),
        ("norm(young)\n", [2.0, 0.5]),
    ],
)
def test_values(text: str, expected: list[float]) -> None:
    assert Formula(text)(NUMBERS).tolist() == pytest.approx(expected)


def test_names() -> None:
    formula = Formula("norm(load) * young / 'E 2'")
    assert formula.names == {"load", "young", "E 2"} and formula.scalars == {"young", "E 2"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "load +",
        "load; young",
        "__import__('os')",
        "load.real",
        "load[0]",
        "norm(load, 2)",
        "norm(load * 2)",
        "norm(x=load)",
        "sum(load)",
        "load if young else 1",
        "load @ young",
        "load % 2",
        "not load",
        "True",
        "1j",
        "1e999",
        "lambda: load",
        "[load]",
        "f'{load}'",
        "load := 1",
        "young < 2",
        "1" * 501,
        "(" * 250 + "load" + ")" * 240,
    ],
)
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expected a formula of names of numbers, constants"):
        Formula(text)


def test_the_norm_of_zero_has_a_derivative() -> None:
    load, young = torch.zeros(1, 3, requires_grad=True), torch.ones(1, 1, requires_grad=True)
    Formula("norm(load) + young")({"load": load, "young": young}).sum().backward()
    assert load.grad is not None and torch.equal(load.grad, torch.zeros(1, 3))
    assert young.grad is not None and young.grad.item() == 1.0
