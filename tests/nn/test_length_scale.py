"""The positive forms of lambda."""

import math

import pytest
import torch

from pitgeo.nn import LengthScale, length_table, project_

FORMS = ("square", "tan", "sine_tan")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lambda_is_never_negative_and_always_finite(form, dtype):
    scale = LengthScale(2001, form).to(dtype)
    with torch.no_grad():
        scale.raw.copy_(torch.linspace(-10, 10, 2001))
        scale.raw[:4] = torch.tensor([-1e8, 130.0, 1e4, 1e8])
    assert (scale() >= 0).all() and torch.isfinite(scale()).all()


def test_the_forms_are_those_of_the_paper():
    raw = torch.rand(5, dtype=torch.float64)
    expected = {
        "square": raw**2,
        "tan": raw.tan(),
        "sine_tan": (math.pi / 4 * (1 - 1e-7) * (1 + raw.sin())).tan(),
    }
    for form, value in expected.items():
        scale = LengthScale(5, form).double()
        scale.raw.data.copy_(raw)
        assert torch.allclose(scale(), value, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_initial_lengths_are_log_spaced(form):
    assert torch.allclose(LengthScale(3, form, (0.05, 0.8)).lengths(), torch.tensor([0.05, 0.2, 0.8]), rtol=1e-3)
    assert float(LengthScale(1, form, (0.1, 0.4)).lengths()) == pytest.approx(0.2, rel=1e-3)


def test_lengths_are_those_of_the_positions_whatever_the_divisor():
    scale = LengthScale(2, lengths=(0.1, 0.4), divisor=2.0)
    assert torch.allclose(scale.lengths(), torch.tensor([0.1, 0.4]))
    weight = torch.exp(-scale() * torch.tensor([0.1, 0.4]).square() / 2.0)  # one length away
    assert torch.allclose(weight, torch.full((2,), math.exp(-1)))


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_the_projected_form_stays_inside_through_training(direction):
    scale = LengthScale(4, "tan")
    optimizer = torch.optim.Adam(scale.parameters(), lr=0.3)
    for _ in range(50):
        optimizer.zero_grad()
        (direction * scale().log1p()).sum().backward()
        assert torch.isfinite(scale.raw.grad).all()
        optimizer.step()
        project_(scale)
        assert (scale.raw >= 0).all() and (scale.raw.double() < math.pi / 2).all()
    assert torch.allclose(scale.raw, torch.tensor(0.0 if direction > 0 else math.pi / 2), atol=1e-5)


def test_a_projected_parameter_can_leave_the_edge_again():
    scale = LengthScale(1, "tan")
    scale.raw.data.fill_(-0.5)
    scale().sum().backward()
    assert float(scale.raw.grad) == 1.0  # the slope at 0, not that of a clamp


def test_table_of_lengths_names_the_layers():
    model = torch.nn.ModuleDict({"first": LengthScale(2, lengths=(0.1, 0.2)), "second": LengthScale(1)})
    assert [(name, len(lengths)) for name, lengths in length_table(model)] == [("first", 2), ("second", 1)]


@pytest.mark.parametrize("arguments", [(0,), (1, "cube"), (1, "square", (0.0, 1.0)), (1, "square", (2.0, 1.0))])
def test_bad_options_are_refused(arguments):
    with pytest.raises(ValueError, match="Expected"):
        LengthScale(*arguments)
