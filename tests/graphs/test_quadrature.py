"""Weights of points against volumes that are known, and integrals in closed form."""

import math

import numpy as np
import pytest
import torch

from pitgeo.graphs.quadrature import quadrature_weights


def tensor_grid(*axes):
    return torch.stack([part.flatten() for part in torch.meshgrid(*axes, indexing="ij")], -1)


def lumped(axis):
    steps = axis.diff()
    ends = torch.zeros(1, dtype=axis.dtype)
    return (torch.cat([ends, steps]) + torch.cat([steps, ends])) / 2


def graded(count, strength=0.75):
    even = torch.linspace(0, 1, count, dtype=torch.float64)
    return even - strength * torch.sin(2 * math.pi * even) / (2 * math.pi)


def test_a_line_has_half_of_the_way_to_either_neighbour():
    pos = torch.tensor([[0.5], [0.0], [2.0], [0.6]])
    assert quadrature_weights(pos).tolist() == pytest.approx([x * 4 / 2.0 for x in (0.3, 0.25, 0.7, 0.75)])


def test_the_inside_of_a_grid_counts_four_times_its_corners():
    axis = torch.arange(43) / 42  # rounded to single precision
    weights = quadrature_weights(tensor_grid(axis, axis))
    along = lumped(axis) * 42
    expected = torch.outer(along, along).flatten()
    assert torch.allclose(weights, expected / expected.mean(), rtol=1e-4)


def test_a_graded_grid_in_space_has_the_volumes_of_its_cells():
    axes = [graded(7), graded(8, -0.5), graded(6, 0.3)]
    expected = torch.einsum("i,j,k->ijk", *map(lumped, axes)).flatten()
    assert torch.allclose(quadrature_weights(tensor_grid(*axes)), expected / expected.mean(), rtol=1e-6)


@pytest.mark.parametrize("stretch", [1.0, 1e-3, 30.0])
@pytest.mark.parametrize("dimension", [2, 3])
def test_linear_functions_on_a_graded_and_stretched_grid_are_integrated_exactly(dimension, stretch):
    axes = [graded(9), *([graded(12, -0.6)] * (dimension - 1))]
    pos = tensor_grid(*axes) * torch.tensor([stretch, *([1.0] * (dimension - 1))], dtype=torch.float64)
    weights = quadrature_weights(pos)
    slopes = torch.arange(1.0, dimension + 1, dtype=torch.float64)
    middle = pos.amax(0) / 2
    assert float((weights * (pos @ slopes)).mean()) == pytest.approx(float(middle @ slopes), rel=1e-6)
    assert float(weights.min()) > 0


def test_the_mean_of_a_curved_function_converges_at_second_order():
    errors = []
    for count in (9, 17, 33):
        pos = tensor_grid(graded(count), graded(count))
        found = (quadrature_weights(pos) * torch.exp(pos[:, 0]) * pos[:, 1] ** 2).mean()
        errors.append(abs(float(found) - (math.e - 1) / 3))
    assert math.log2(errors[0] / errors[1]) > 1.8 and math.log2(errors[1] / errors[2]) > 1.8


def test_a_hole_is_no_part_of_the_domain():
    inner, outer = 0.4, 1.0
    rings = inner + (outer - inner) * graded(20)
    turns = [torch.arange(n) * (2 * math.pi / n) for n in [110] * 20]
    pos = torch.cat([r * torch.stack([t.cos(), t.sin()], -1) for r, t in zip(rings, turns, strict=True)])
    distance = pos.norm(dim=-1)
    mean = 2 / 3 * (outer**3 - inner**3) / (outer**2 - inner**2)  # of the distance to the middle
    assert float((quadrature_weights(pos) * distance).mean()) == pytest.approx(mean, rel=2e-3)
    assert abs(float(distance.mean()) - mean) > 0.02
    ring = quadrature_weights(pos)[:110]
    assert float(ring.max() / ring.min()) < 1.001
    assert float(ring.mean()) < 0.3  # with the hole counted in it would be some 5


@pytest.mark.parametrize("decades", [3, 5])
def test_layers_that_grow_over_decades_have_the_areas_of_their_cells(decades):
    along, across = graded(33), torch.cat([torch.zeros(1).double(), torch.logspace(-decades, 0, 40).double()])
    expected = torch.outer(lumped(along), lumped(across)).flatten()
    weights = quadrature_weights(tensor_grid(along, across))
    assert torch.allclose(weights, expected / expected.mean(), rtol=1e-3)


@pytest.mark.parametrize("stretch", [1e-2, 1e-3, 3e-4])
def test_cells_of_high_aspect_keep_their_own_areas(stretch):
    expected = torch.outer(lumped(graded(33)), lumped(graded(33))).flatten()
    weights = quadrature_weights(tensor_grid(stretch * graded(33), graded(33)))
    assert torch.allclose(weights, expected / expected.mean(), rtol=1e-4)


def test_both_sides_of_a_crack_have_the_same_weight():
    axis = torch.linspace(0, 1, 7)
    pos = tensor_grid(axis, axis)
    crack = torch.arange(21, 28)
    weights = quadrature_weights(torch.cat([pos, pos[crack]]))
    assert torch.allclose(weights[crack], weights[49:])
    assert torch.allclose(weights[crack] + weights[49:], weights[14:21])  # a line's, as the one beside it


def test_two_points_in_one_place_share_what_one_had():
    axis = torch.linspace(0, 1, 5)
    pos = tensor_grid(axis, axis)
    twice = torch.cat([pos, pos[12:13]])
    weights = quadrature_weights(twice)
    assert float(weights.min()) > 0
    whole = quadrature_weights(pos)
    assert float(weights[12]) == float(weights[25])
    assert float((weights[12] + weights[25]) / weights[6]) == pytest.approx(float(whole[12] / whole[6]), rel=0.01)


def test_samples_of_a_batch_are_weighed_one_by_one():
    generator = torch.Generator().manual_seed(0)
    parts = [torch.rand(n, 2, generator=generator) for n in (30, 50)]
    batch = torch.arange(2).repeat_interleave(torch.tensor([30, 50]))
    assert torch.equal(quadrature_weights(torch.cat(parts), batch), torch.cat([quadrature_weights(p) for p in parts]))


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_neither_place_nor_size_of_the_domain_matters(shift):
    pos = torch.from_numpy(np.random.default_rng(0).random((200, 3)))
    assert torch.allclose(quadrature_weights(pos * 7 + shift), quadrature_weights(pos), rtol=1e-6)


@pytest.mark.parametrize(
    "pos",
    [
        torch.tensor([[1.0], [1.0]]),
        torch.stack([torch.linspace(0, 1, 9)] * 2, -1),
        torch.rand(2, 2),
        torch.cat([torch.rand(40, 2), torch.zeros(40, 1)], -1),
        torch.cat([torch.rand(40, 2), 1e-14 * torch.rand(40, 1)], -1).double(),
    ],
)
def test_points_that_do_not_span_their_axes_are_refused(pos):
    with pytest.raises(ValueError, match="Expected points that"):
        quadrature_weights(pos)


def test_points_that_are_flat_but_for_rounding_are_refused_however_they_lie():
    for seed in range(40):  # of some, qhull made simplices with a corner at infinity
        torch.manual_seed(seed)
        pos = torch.cat([torch.rand(40, 2), 1e-14 * torch.rand(40, 1)], -1).double()
        with pytest.raises(ValueError, match="Expected points that"):
            quadrature_weights(pos)


@pytest.mark.parametrize("pos", [torch.arange(6).view(3, 2), torch.rand(5), torch.full((5, 2), torch.nan)])
def test_what_is_no_positions_is_refused(pos):
    with pytest.raises(ValueError, match=r"in pos|pos to be floating-point"):
        quadrature_weights(pos)
