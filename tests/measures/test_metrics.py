"""Relative errors against the formula, one sample at a time in float64."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from pitgeo.measures.relative_error import at_rest, relative_error

SIZES = (4, 1, 9)


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    number = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))
    return (
        torch.randn(sum(SIZES), 2, generator=generator),
        torch.randn(sum(SIZES), 2, generator=generator),
        number,
    )


@pytest.mark.parametrize("norm", [1, 2])
def test_matches_the_formula(norm: int) -> None:
    prediction, target, number = batch()
    error = relative_error(prediction, target, number, 3, norm)  # type: ignore[arg-type]
    assert error.shape == (3, 2) and error.dtype == torch.float32
    for sample in range(3):
        p, t = prediction[number == sample].double(), target[number == sample].double()
        expected = torch.linalg.vector_norm(p - t, ord=norm, dim=0) / torch.linalg.vector_norm(t, ord=norm, dim=0)
        assert torch.allclose(error[sample].double(), expected, rtol=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_sample_does_not_see_its_neighbours(norm: int) -> None:
    prediction, target, number = batch()
    together = relative_error(prediction, target, number, 3, norm)  # type: ignore[arg-type]
    alone = relative_error(prediction[5:], target[5:], norm=norm)  # type: ignore[arg-type]
    assert torch.equal(together[2:], alone)


@pytest.mark.parametrize("norm", [1, 2])
def test_does_not_depend_on_units(norm: int) -> None:
    prediction, target, number = batch()
    error = relative_error(prediction, target, number, 3, norm)  # type: ignore[arg-type]
    for unit in (1e-25, 1e25):
        scaled = relative_error(prediction * unit, target * unit, number, 3, norm)  # type: ignore[arg-type]
        assert torch.allclose(scaled, error, rtol=1e-5)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_perfect_prediction_has_a_finite_gradient(norm: int) -> None:
    target = torch.ones(3, 1)
    prediction = target.clone().requires_grad_()
    relative_error(prediction, target, norm=norm).sum().backward()  # type: ignore[arg-type, no-untyped-call]
    assert prediction.grad is not None and torch.equal(prediction.grad, torch.zeros(3, 1))


@pytest.mark.parametrize("norm", [1, 2])
def test_gradient(norm: int) -> None:
    prediction, target, number = (value.double() if value.is_floating_point() else value for value in batch())
    prediction.requires_grad_()
    assert torch.autograd.gradcheck(lambda p: relative_error(p, target, number, 3, norm), prediction)  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [1, 2])
def test_nan_is_not_hidden(norm: int) -> None:
    prediction, target, number = batch()
    prediction[0, 0] = float("nan")
    error = relative_error(prediction, target, number, 3, norm)  # type: ignore[arg-type]
    assert torch.equal(torch.isnan(error), torch.tensor([[True, False], [False, False], [False, False]]))


def test_nothing_is_broadcast() -> None:
    with pytest.raises(ValueError, match=r"on a shared mesh \(got \[4, 1\] and \[4\]\)"):
        relative_error(torch.zeros(4, 1), torch.ones(4))
    with pytest.raises(ValueError, match="one shape"):
        relative_error(torch.zeros(4, 1), torch.ones(4, 2))
    with pytest.raises(ValueError, match="one shape"):
        relative_error(torch.zeros(4), torch.ones(4))


def test_mistakes_are_named() -> None:
    prediction, target, number = batch()
    target[number == 1] = 0.0
    with pytest.raises(ValueError, match="zeros everywhere in sample 1, channel 0"):
        relative_error(prediction, target, number, 3)
    with pytest.raises(ValueError, match="zeros everywhere in sample 77"):
        relative_error(prediction, target, number, 3, sample_id=torch.tensor([5, 77, 6]))
    with pytest.raises(ValueError, match="sorted"):
        relative_error(prediction, prediction, number.flip(0), 3)
    with pytest.raises(ValueError, match=r"lie in 0..1"):
        relative_error(prediction, prediction, number, 2)
    with pytest.raises(ValueError, match="'batch' for 2 samples"):
        relative_error(prediction, prediction, None, 2)
    with pytest.raises(ValueError, match="'norm' to be 1 or 2"):
        relative_error(prediction, prediction, norm=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [1, 2])
def test_values_near_zero_count_as_a_least_size(norm):
    truth = torch.tensor([[0.0, 2.0], [0.0, 2.0], [0.0, 2.0]])
    error = relative_error(truth + 0.3, truth, norm=norm, floor=torch.tensor([0.6, 0.6]))
    assert error.tolist() == [pytest.approx([0.5, 0.15])]


@pytest.mark.parametrize("norm", [1, 2])
def test_components_are_measured_by_their_vector(norm):
    truth = torch.tensor([[3.0, 4.0, 0.0, 5.0]] * 6)
    error = relative_error(truth + 0.5, truth, norm=norm, groups=[3, 1])
    size = 7 / 3 if norm == 1 else math.sqrt(25 / 3)
    assert error.tolist() == [pytest.approx([0.5 / size] * 3 + [0.1])]
    assert torch.equal(
        relative_error(truth[:, :2] + 1, truth[:, :2], groups=[1, 1]), relative_error(truth[:, :2] + 1, truth[:, :2])
    )
    with pytest.raises(ValueError, match="'groups' to sum to 4 channels"):
        relative_error(truth, truth, groups=[3])


@pytest.mark.parametrize("norm", [1, 2])
def test_errors_at_some_points_stand_for_all(norm: int) -> None:
    prediction, target, number = batch()
    rows = torch.tensor([0, 2, 4, 6, 7, 13])  # 2 of 4, 1 of 1 and 3 of 9 points
    floor, groups = torch.tensor([0.0, 2.0]), (2,)
    error = relative_error(prediction[rows], target, number, 3, norm, None, floor, groups, rows)  # type: ignore[arg-type]
    for sample, count in enumerate(SIZES):
        chosen = rows[number[rows] == sample]
        difference, truth = (prediction[chosen] - target[chosen]).double(), target[number == sample].double()
        total = difference.abs().pow(norm).sum(0) * count / len(chosen)
        size = truth.abs().pow(norm).sum(0).mean().pow(1 / norm).expand(2)
        size = torch.maximum(size, floor.double() * count ** (1 / norm))
        assert torch.allclose(error[sample].double(), total.pow(1 / norm) / size, rtol=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_errors_at_some_points_of_a_shared_mesh(norm: int) -> None:
    prediction, target = torch.randn(3, 8, 2), torch.randn(3, 8, 2)
    rows = torch.tensor([1, 4, 5])
    error = relative_error(prediction[:, rows], target, norm=norm, rows=rows)  # type: ignore[arg-type]
    alone = [
        relative_error(p[rows], t, norm=norm, rows=rows)  # type: ignore[arg-type]
        for p, t in zip(prediction, target, strict=True)
    ]
    assert torch.equal(error, torch.cat(alone))


def test_the_root_of_an_estimate_is_too_small_by_a_share_of_the_order_of_one_over_n() -> None:
    prediction, target = torch.randn(12, 1), torch.randn(12, 1)
    full, shares = float(relative_error(prediction, target)), []
    for most in (2, 4, 8):
        draws = [torch.tensor(rows) for rows in itertools.combinations(range(12), most)]
        found = torch.stack([relative_error(prediction[rows], target, rows=rows) for rows in draws])
        assert float(found.square().mean()) == pytest.approx(full**2, rel=1e-5)
        shares.append(1 - float(found.mean()) / full)
    assert 0 < shares[2] < shares[1] < shares[0]
    assert shares[1] < shares[0] / 2 and shares[2] < shares[1] / 2  # faster, as the points drawn become all points


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("groups", [None, (2,)])
def test_targets_at_rest_are_measured_by_the_typical_size(norm: int, groups: tuple[int, ...] | None) -> None:
    prediction, target, number = batch()
    target[number == 1] = 1e-9 * target[number == 1]
    typical = torch.tensor([2.0, 3.0])
    plain = relative_error(prediction, target, number, 3, norm=norm, groups=groups)  # type: ignore[arg-type]
    error = relative_error(prediction, target, number, 3, norm=norm, groups=groups, typical=typical)  # type: ignore[arg-type]
    assert torch.equal(error[[0, 2]], plain[[0, 2]])  # bit by bit
    difference = (prediction - target)[number == 1].double().abs()
    expected = difference.pow(norm).mean(0).pow(1 / norm) / typical
    assert torch.allclose(error[1].double(), expected, rtol=1e-6)
    assert at_rest(target[number == 1], typical, groups).all() and not at_rest(target[number == 0], typical).any()
    none = relative_error(torch.zeros(4, 1), torch.zeros(4, 1), typical=torch.tensor([2.0]))
    assert none.tolist() == [[0.0]]
    with pytest.raises(ValueError, match="zeros everywhere"):
        relative_error(torch.zeros(4, 1), torch.zeros(4, 1), typical=torch.tensor([0.0]))
