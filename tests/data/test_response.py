"""Linear and derived targets: closed forms of a module with any model, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.response import MOST, Response
from pitgeo.data.scaling import Scaling
from pitgeo.training import OperatorModule

INPUTS = (MeshField("load", 3, "mesh"), MeshField("young", 1, "mesh"), MeshField("heat"))
TARGETS = (MeshField("u", 2), MeshField("stress", 6), MeshField("von_mises"), MeshField("reaction", 1, "mesh"))
TABLE = FieldTable(INPUTS, TARGETS, 2)
DERIVED = {"von_mises": "von_mises(stress)"}


class Mixed(nn.Module):
    """Any function of places and values."""

    def __init__(self, outputs):
        super().__init__()
        self.layer = nn.Linear(7, outputs)

    def forward(self, data, rows=None):
        pos = data.pos.expand(*data.x.shape[:-1], -1)
        values = self.layer(torch.cat([pos, data.x], -1)).sin()
        return values if rows is None else values[..., rows, :]


def module(linear_in=("load",), derived=DERIVED, table=TABLE):
    torch.manual_seed(0)
    scaling = {"linear_in": list(linear_in), "derived": derived, "reference": {"u": "1 / young"}}
    metadata = {"table": table.plain(), "config": {"scaling": scaling}}
    response = Response(linear_in, derived, table)
    made = OperatorModule(
        Mixed(response.out_channels),
        Scaling(torch.arange(5.0), 1 + torch.arange(5.0)),
        Scaling(torch.zeros(10), 2 + torch.arange(10.0)),
        TrainingConfig(device="cpu"),
        metadata=metadata,
        scalars=torch.ones(1),
    )
    made.response.loads.copy_(torch.tensor([3.0, 2.0, 5.0])[: len(made.response.loads)])
    made.response.spread.copy_(torch.tensor([1.5, 0.5, 0.7])[: len(made.response.spread)])
    return made.double().eval()


def sample(load=(1.0, -2.0, 0.5), young=7.0, points=6):
    generator = torch.Generator().manual_seed(points)
    pos = torch.randn(points, 2, generator=generator, dtype=torch.float64)
    numbers = torch.tensor([*load, young], dtype=torch.float64).expand(points, -1)
    return PointData(pos=pos, x=torch.cat([numbers, pos[:, :1]], 1), sample_id=points)


def von_mises(stress):
    """From the eigenvalues of the tensor."""
    xx, yy, zz, xy, yz, xz = stress.T
    tensor = np.stack([np.stack([xx, xy, xz], -1), np.stack([xy, yy, yz], -1), np.stack([xz, yz, zz], -1)], -2)
    one, two, three = np.linalg.eigvalsh(tensor).T
    return np.sqrt(((one - two) ** 2 + (two - three) ** 2 + (three - one) ** 2) / 2)


def test_targets_are_superposed():
    own, batch = module(), Batch.from_data_list([sample(), sample((0.3, 0.2, 0.1), 9.0, 4)])
    units = [own(sample(np.eye(3)[axis])) for axis in range(3)]
    found = own(sample((3.0, -4.0, 0.25)))
    linear = [0, 1, 2, 3, 4, 5, 6, 7, 9]
    expected = 3 * units[0] - 4 * units[1] + 0.25 * units[2]
    assert torch.allclose(found[:, linear], expected[:, linear])
    assert np.allclose(found[:, 8].detach(), von_mises(found[:, 2:8].detach().numpy()))
    assert torch.allclose(own(batch)[:6], own(sample())) and (found[:, 9] == found[0, 9]).all()
    assert own(sample((0.0, 0.0, 0.0))).abs().max() == 0


def test_references_divide_responses():
    own = module()
    with torch.no_grad():
        own.model.layer.weight[:, 5] = 0  # so that the model does not see it
    soft, stiff = own(sample(young=7.0)), own(sample(young=14.0))
    assert torch.allclose(soft[:, :2], 2 * stiff[:, :2]) and torch.allclose(soft[:, 2:], stiff[:, 2:])


def test_the_formula_of_the_superposition():
    """Against a plain loop over points, loads and targets."""
    own, data = module(), sample()
    scaled = (data.x - torch.arange(5.0)) / (1 + torch.arange(5.0))
    scaled[:, :3] = 0
    raw = own.model.layer(torch.cat([data.pos, scaled], 1)).sin()
    counts, loads = [2, 6, 1], data.x[0, :3] / own.response.loads
    stds = own.target_scaling.std[[0, 1, 2, 3, 4, 5, 6, 7, 9]]
    expected = torch.zeros(6, 9).double()
    for load in range(3):
        for target, start in enumerate([0, 2, 8]):
            size = MOST * math.tanh(float(raw.detach()[:, 27 + 3 * load + target].mean()) / MOST)
            for channel in range(start, start + counts[target]):
                own_size = math.exp(float(own.response.spread[target]) * size)
                expected[:, channel] += stds[channel] * loads[load] * own_size * raw[:, 9 * load + channel]
    expected[:, :2] /= 7
    expected[:, 8] = expected[:, 8].mean()
    assert torch.allclose(own(data)[:, [0, 1, 2, 3, 4, 5, 6, 7, 9]], expected)


@pytest.mark.parametrize("rows", [None, torch.tensor([1, 4])])
def test_samples_on_a_shared_mesh_are_as_each_alone(rows):
    own, parts = module(), [sample(load) for load in ((1, 2, 3), (0, 1, 0), (-1, 0, 5))]
    shared = PointData(pos=parts[0].pos, x=torch.stack([part.x for part in parts]))
    assert torch.allclose(own(shared, rows=rows), torch.stack([own(part, rows=rows) for part in parts]))


def test_derivatives_by_loads_are_the_responses():
    own = module()

    def total(load):
        data = sample()
        data.x = torch.cat([load.expand(6, -1), data.x[:, 3:]], 1)
        return own(data)[:, :8].sum(0)

    jacobian = torch.autograd.functional.jacobian(total, torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64))
    units = torch.stack([own(sample(np.eye(3)[axis]))[:, :8].sum(0) for axis in range(3)], 1)
    assert torch.allclose(jacobian, units)


def test_formulas_alone():
    inputs = (MeshField("speed", 1, "mesh"), MeshField("heat"))
    table = FieldTable(inputs, (MeshField("v", 2), MeshField("cp")), 2)
    response = Response((), {"cp": "1 - norm(v) ** 2 / speed ** 2"}, table)
    assert response.out_channels == 2
    data = Batch.from_data_list([PointData(pos=torch.rand(n, 2), x=torch.full((n, 2), float(n))) for n in (3, 4)])
    values = response.superposed(torch.arange(14.0).reshape(7, 2), torch.zeros(2, 0), data, None)
    found = response.completed(values, data, None)
    speed = torch.tensor([3.0] * 3 + [4.0] * 4)
    assert torch.allclose(found[:, 2], 1 - values[:, :2].square().sum(1) / speed**2)


def test_sizes_are_found_on_the_training_samples():
    response = Response(["load"], DERIVED, TABLE)
    sizes, loads = (0.5, 8.0, 2.0), ((3.0, 0.0, 0.0), (0.0, 4.0, 0.0), (0.0, 0.0, 12.0))
    parts = []
    for size, load in zip(sizes, loads, strict=True):
        x = torch.tensor([[*load, 1.0, 0.0]]).expand(4, -1)
        parts.append((x, torch.full((4, 10), size), None))
    rest = (parts[0][0], torch.zeros(4, 10), None)
    mean, std = response.fit([*parts, rest])
    typical = np.sqrt(np.square([*loads, loads[0]]).mean(0))
    assert np.allclose(response.loads, typical)
    logs = np.log([size / np.linalg.norm(load / typical) for size, load in zip(sizes, loads, strict=True)])
    assert std[[0, 3, 9]].tolist() == pytest.approx([np.exp(logs.mean())] * 3) and mean[[0, 3, 9]].tolist() == [0] * 3
    assert response.spread.tolist() == pytest.approx([logs.std()] * 3)
    assert torch.isnan(mean[8]) and torch.isnan(std[8])


def test_targets_that_are_known_in_places():
    response = Response(["load"], {}, FieldTable(INPUTS, (MeshField("u"),), 2))
    x, y = torch.ones(4, 5), torch.tensor([[2.0], [2.0], [0.0], [0.0]])
    _, std = response.fit([(x, y, torch.tensor([[True], [True], [False], [False]]))])
    assert float(std) == pytest.approx(2 / math.sqrt(3))


@pytest.mark.parametrize(
    ("linear_in", "derived", "message"),
    [
        (["heat"], {}, r"numbers of the whole mesh that are inputs, load, young \(got 'heat'\)"),
        (["force"], {}, r"linear_in to name .* \(got 'force'\)"),
        ([], {"heat": "1"}, r"derived to name targets, among .* \(got 'heat'\)"),
        ([], {"u": "1"}, r"field of one component \(got \('u_x', 'u_y'\)\)"),
        ([], {"reaction": "1"}, r"derived.reaction to be for a field of one component"),
        ([], {"von_mises": "von_mises(u)"}, r"six components .* \(got 'u' of 2 components\)"),
        ([], {"von_mises": "stress"}, r"single numbers \(got 'stress' of 6 components"),
        ([], {"von_mises": "norm(heat)"}, r"\(got 'heat' in 'norm\(heat\)'\)"),
        ([], {"von_mises": "von_mises"}, r"\(got 'von_mises' in 'von_mises'\)"),
        ([], {"von_mises": "norm(u) + reaction"}, r"targets of points, .* \(got 'reaction' of a mesh\)"),
        ([], {"von_mises": "tresca(stress)"}, r"Expected a formula .* \(got 'tresca\(stress\)'"),
    ],
)
def test_what_is_refused(linear_in, derived, message):
    with pytest.raises(ValueError, match=message):
        Response(linear_in, derived, TABLE)


def test_a_target_must_be_left():
    table = replace(TABLE, targets=(MeshField("von_mises"),))
    with pytest.raises(ValueError, match=r"a target that is not in scaling.derived"):
        Response([], {"von_mises": "young"}, table)
