"""Samples in the frame of a vector: closed forms, equivariance of whole modules, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.frame import Frame
from pitgeo.data.scaling import Scaling
from pitgeo.data.symmetries import Symmetries
from pitgeo.training import OperatorModule

DIRECTIONS = [*np.eye(3), *-np.eye(3), (1e-9, -1, 0), (-1, 1e-9, 1e-9), (-0.6, 0.64, 0.48), (0.1, -3.0, 2.0)]


def table(dimension):
    inputs = (MeshField("heat"), MeshField("wind", dimension, "mesh"), MeshField("load", dimension, "mesh"))
    return FieldTable(inputs, (MeshField("flow", dimension), MeshField("rise")), dimension)


def sample(dimension, wind, points=9, number=0):
    generator = torch.Generator().manual_seed(points)
    pos = torch.randn(points, dimension, generator=generator, dtype=torch.float64)
    wind, load = (torch.as_tensor(value, dtype=torch.float64) for value in (wind, np.arange(1.0, dimension + 1)))
    x = torch.cat([pos[:, :1], wind.expand(points, -1), load.expand(points, -1)], 1)
    return PointData(pos=pos, x=x, sample_id=number)


class Places(nn.Module):
    """The places themselves as a vector, and their first coordinate plus the load's as a scalar."""

    def forward(self, data, rows=None):
        values = torch.cat([data.pos, data.pos[:, :1] + data.x[:, -data.pos.shape[1]].unsqueeze(1)], 1)
        return values if rows is None else values[rows]


class Mixed(nn.Module):
    """Any function of places and values."""

    def __init__(self, dimension):
        super().__init__()
        self.layer = nn.Linear(3 * dimension + 1, dimension + 1)

    def forward(self, data, rows=None):
        values = self.layer(torch.cat([data.pos, data.x], -1)).sin()
        return values if rows is None else values[rows]


def module(model, dimension, frame="wind"):
    metadata = {"table": table(dimension).plain(), "config": {"scaling": {"frame": frame}}}
    inputs, targets = Scaling.identity(2 * dimension + 1), Scaling.identity(dimension + 1)
    return OperatorModule(model, inputs, targets, TrainingConfig(device="cpu"), metadata=metadata).double().eval()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_vector_points_along_x(direction):
    (rotation,) = Frame("wind", table(3)).rotations(sample(3, direction))
    turned = rotation @ torch.tensor(direction, dtype=torch.float64)
    assert torch.allclose(turned, torch.tensor([np.linalg.norm(direction), 0, 0], dtype=torch.float64), atol=1e-12)
    assert torch.allclose(rotation @ rotation.T, torch.eye(3).double(), atol=1e-12)
    assert torch.linalg.det(rotation) == pytest.approx(1)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_places_along_the_vector_and_vectors_turned_back(direction):
    """Closed forms: along the vector a place is its product with it; a vector that is turned back is what it was."""
    data, unit = sample(3, direction), torch.tensor(direction, dtype=torch.float64)
    unit = unit / unit.norm()
    found = module(Places(), 3)(data)
    assert torch.allclose(found[:, :3], data.pos)
    assert torch.allclose(found[:, 3], data.pos @ unit + data.x[0, -3:] @ unit)


def test_any_model_in_the_plane_turns_with_the_sample():
    own, turns = module(Mixed(2), 2), Symmetries(["turn"], table(2))
    data = Batch.from_data_list([sample(2, (1.0, 0.5), 9), sample(2, (-2.0, 0.1), 5)])
    matrices = [turns.draw() for _ in range(2)]
    once = own(data)
    turned = turns(data, matrices)
    expected = torch.cat([once[:9, :2] @ matrices[0].T, once[9:, :2] @ matrices[1].T])
    assert torch.allclose(own(turned), torch.cat([expected, once[:, 2:]], 1))
    plain = module(Mixed(2), 2, frame="")
    assert not torch.allclose(plain(turned)[:, 2], plain(data)[:, 2])


@pytest.mark.parametrize("rows", [None, torch.tensor([0, 3, 7])])
def test_samples_on_a_shared_mesh_are_as_each_alone(rows):
    own, parts = module(Mixed(3), 3), [sample(3, direction) for direction in DIRECTIONS[:4]]
    shared = PointData(pos=parts[0].pos, x=torch.stack([part.x for part in parts]))
    alone = torch.stack([own(part, rows=rows) for part in parts])
    assert torch.allclose(own(shared, rows=rows), alone) and alone.shape == (4, 9 if rows is None else 3, 4)


def test_some_points_are_as_all_of_them():
    own, data = module(Mixed(3), 3), Batch.from_data_list([sample(3, (0, 1, 0), 9), sample(3, (-1, 1, 0), 5)])
    rows = torch.tensor([1, 4, 9, 13])
    assert torch.allclose(own(data, rows=rows), own(data)[rows])


def test_derivatives_go_through_the_rotation():
    own, data = module(Mixed(3), 3), sample(3, (-0.3, 0.5, 0.2), 4)

    def apply(pos, wind):
        x = torch.cat([data.x[:, :1], wind.expand(4, -1), data.x[:, 4:]], 1)
        return own(PointData(pos=pos, x=x))

    wind = torch.tensor([-0.3, 0.5, 0.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(apply, (data.pos.clone().requires_grad_(), wind))


def test_what_is_refused():
    data = Batch.from_data_list([sample(3, (1, 0, 0), number=7), sample(3, (0, 0, 0), number=8)])
    with pytest.raises(ValueError, match=r"sample 8: Expected a vector 'wind' that is not zero"):
        module(Mixed(3), 3)(data)
    for name in ("heat", "flow", "nothing"):
        with pytest.raises(ValueError, match=rf"3 components, of which there are wind, load \(got '{name}'\)"):
            Frame(name, table(3))
    with pytest.raises(ValueError, match=r"no scaling.frame in 1D"):
        Frame("wind", FieldTable((MeshField("wind", 1, "mesh"),), (MeshField("rise"),), 1))
    with pytest.raises(ValueError, match=r"augment_as to say what 'stress' is"):
        Frame("wind", FieldTable((MeshField("wind", 3, "mesh"),), (MeshField("stress", 6),), 3))


def test_planes_in_space_with_vectors_of_three_components():
    """In the plane of x and z a vector (1, 5, 2) lies along (1, 2); what is across the plane stays."""
    own = FieldTable((MeshField("wind", 3, "mesh"),), (MeshField("flow", 3),), 2, plane_axis=1)
    frame = Frame("wind", own, {"flow": "vector"})
    data = PointData(pos=torch.tensor([[1.0, 2.0], [2.0, -1.0]]), x=torch.tensor([[1.0, 5.0, 2.0]] * 2))
    turned, (rotation,) = frame.turned(data)
    size = 5**0.5
    assert torch.allclose(turned.x, torch.tensor([[size, 5.0, 0.0]] * 2))
    assert torch.allclose(turned.pos, torch.tensor([[size, 0.0], [0.0, -size]]), atol=1e-6)
    found = frame.targets(torch.tensor([[size, 7.0, 0.0]] * 2), data, None, [rotation.T])
    assert torch.allclose(found, torch.tensor([[1.0, 7.0, 2.0]] * 2), atol=1e-6)
    with pytest.raises(ValueError, match=r"augment_as.wind = 'vector' with scaling.frame = 'wind' \(got 'scalar'\)"):
        Frame("wind", own, {"flow": "vector", "wind": "scalar"})
