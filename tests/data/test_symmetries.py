"""Turned samples against closed forms: gradients, rotations and stresses of functions that turn with the place."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.scaling import Scaling
from pitgeo.data.symmetries import OF_DIMENSION, PAIRS, Symmetries, represented
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh, UnitBox
from pitgeo.mesh import Mesh

NAMES = [(dimension, name) for dimension, names in OF_DIMENSION.items() for name in names]
TABLE = FieldTable(
    (MeshField("pull", 3, "mesh"), MeshField("mark"), MeshField("normals", 3, is_geometry=True)),
    (MeshField("flow", 3), MeshField("spin", 3), MeshField("stress", 6), MeshField("heat"), MeshField("full", 9)),
    3,
)
KINDS = {"spin": "pseudovector", "stress": "tensor", "full": "tensor"}


def fields(pos: Tensor, pull: Tensor) -> tuple[Tensor, Tensor]:
    """Input values and targets that turn with the place, made of the distance, the pull and cross products."""
    size, along = pos.norm(dim=1, keepdim=True), (pos * pull).sum(1, keepdim=True)
    flow = pos * along + pull * size
    spin = torch.linalg.cross(pos, pull.expand_as(pos), dim=1)
    tensor = pos[:, :, None] * pos[:, None, :] + along[:, :, None] * torch.eye(3).to(pos)
    stress = torch.stack([tensor[:, i, j] for i, j in PAIRS[6]], 1)
    full = (pos[:, :, None] * pull[None, None, :]).flatten(1)
    x = torch.cat([pull.expand_as(pos), along, pos / size], 1)
    return x, torch.cat([flow, spin, stress, size + along, full], 1)


def sample(points: int = 40, latent: int = 0) -> PointData:
    generator = torch.Generator().manual_seed(points)
    pos = torch.randn(points, 3, generator=generator, dtype=torch.float64)
    pull = torch.randn(3, generator=generator, dtype=torch.float64)
    x, y = fields(pos, pull)
    data = PointData(pos=pos, x=x, y=y)
    return LatentMesh("farthest", number=latent)(data) if latent else data


@pytest.mark.parametrize("name", OF_DIMENSION[3])
def test_fields_turn_with_the_place(name: str) -> None:
    torch.manual_seed(1)
    symmetries, batch = Symmetries([name], TABLE, KINDS), Batch.from_data_list([sample(30, 5), sample(41, 7)])
    differ = False
    for _ in range(4):
        found = symmetries(batch)
        differ |= not torch.equal(found.pos, batch.pos)
        for one in found.to_data_list():
            x, y = fields(one.pos, one.x[0, :3])
            assert torch.allclose(one.x, x) and torch.allclose(one.y, y)
            assert (torch.cdist(one.pos_latent, one.pos).amin(1) < 1e-6).all()
    assert differ and torch.equal(batch.pos[:30], sample(30).pos)  # the batch itself is as it was


@pytest.mark.parametrize(("dimension", "name"), NAMES)
def test_matrices(dimension: int, name: str) -> None:
    torch.manual_seed(0)
    table = FieldTable((), (MeshField("u"),), dimension)
    drawn = [Symmetries([name], table).draw() for _ in range(200)]
    for matrix in drawn:
        assert torch.allclose(matrix @ matrix.T, torch.eye(dimension, dtype=torch.float64))
    signs = {round(float(torch.linalg.det(matrix))) for matrix in drawn}
    assert signs == ({1, -1} if name.startswith("mirror") else {1})
    mean = torch.stack(drawn).mean(0).diagonal()
    kept = [axis == name[-1] and "turn" in name for axis in "xyz"[:dimension]]
    if name.startswith("mirror"):
        kept = [axis != name[-1] for axis in "xyz"[:dimension]]
    assert torch.allclose(mean, torch.tensor(kept).to(mean), atol=0.2)


def test_turns_are_uniform() -> None:
    torch.manual_seed(0)
    symmetries = Symmetries(["turn"], TABLE, KINDS)
    drawn = torch.stack([symmetries.draw() for _ in range(4000)])
    assert drawn.mean(0).abs().max() < 0.04
    angles = ((drawn.diagonal(dim1=1, dim2=2).sum(1) - 1) / 2).clamp(-1, 1).acos()
    assert float(angles.mean()) == pytest.approx(math.pi / 2 + 2 / math.pi, abs=0.04)  # density (1 - cos) / pi


def test_planar_fields() -> None:
    generator = torch.Generator().manual_seed(0)
    matrix = torch.tensor([[0.6, 0.8], [0.8, -0.6]], dtype=torch.float64)  # a mirror
    tensor = torch.randn(3, 3, generator=generator, dtype=torch.float64)
    tensor = tensor + tensor.T
    wide = torch.eye(3, dtype=torch.float64)
    wide[:2, :2] = matrix
    turned = wide @ tensor @ wide.T
    for count, pairs in PAIRS.items():
        own = tensor if count == 6 else torch.nn.functional.pad(tensor[:2, :2], (0, 1, 0, 1))
        expected = turned if count == 6 else matrix @ own[:2, :2] @ matrix.T
        values = torch.stack([own[i, j] for i, j in pairs])
        assert torch.allclose(
            represented(matrix, "tensor", count) @ values, torch.stack([expected[i, j] for i, j in pairs])
        )
    own = tensor[:2, :2] + torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    assert torch.allclose(represented(matrix, "tensor", 4) @ own.flatten(), (matrix @ own @ matrix.T).flatten())
    assert torch.allclose(represented(matrix, "pseudovector", 1), torch.tensor([[-1.0]], dtype=torch.float64))
    vector = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert torch.allclose(represented(matrix, "vector", 3) @ vector, wide @ vector)
    assert torch.allclose(represented(matrix, "pseudovector", 3) @ vector, -(wide @ vector))


def test_graphs_are_those_of_the_turned_sample() -> None:
    torch.manual_seed(0)
    steps = Compose((LatentMesh("farthest", number=9), AttentionGraphs(0.1, 0.2), UnitBox(0.3)))
    symmetries, raw = Symmetries(["turn", "mirror_x"], TABLE, KINDS), sample(60)
    matrix = symmetries.draw()
    found = symmetries(Batch.from_data_list([steps(raw)]), [matrix])
    expected = steps(PointData(pos=raw.pos @ matrix.T, x=raw.x))
    for graph in ("encoder", "decoder"):
        for part in ("index", "degree"):
            assert torch.equal(found[f"{graph}_{part}"], expected[f"{graph}_{part}"])
    assert torch.allclose(found.pos, expected.pos) and torch.allclose(found.pos_latent, expected.pos_latent)


def test_samples_on_a_shared_mesh_are_turned_together() -> None:
    torch.manual_seed(0)
    one = sample(20)
    data = PointData(pos=one.pos, x=torch.stack([one.x, 2 * one.x]), y=torch.stack([one.y, -one.y]))
    found = Symmetries(["turn"], TABLE, KINDS)(data)
    x, y = fields(found.pos, found.x[0, 0, :3])
    assert torch.allclose(found.x[0], x) and torch.allclose(found.y[0], y)
    assert torch.allclose(found.x[1], 2 * x) and torch.allclose(found.y[1], -y)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["turn"], []),
        (["turn_z"], [2]),
        (["mirror_x"], [1, 2]),
        (["quarter_turn_z", "mirror_z"], []),
        (["mirror_y", "turn_y"], []),
        (["quarter_turn_x", "quarter_turn_y"], []),
    ],
)
def test_scalings_are_those_of_turned_samples(names: list[str], kept: list[int]) -> None:
    torch.manual_seed(0)
    symmetries = Symmetries(names, TABLE, KINDS)
    values = [sample(points).y + torch.arange(22.0) for points in (30, 50)]
    scaling = Scaling.fit(
        values, "channel", (), lambda mean, variance: symmetries.moments(mean, variance, symmetries.targets)
    )
    mean, std = scaling.mean.double(), scaling.std.double()
    plain = Scaling.fit(values, "channel")
    assert [axis for axis in range(3) if abs(mean[axis]) > 1e-9] == kept
    assert torch.allclose(mean[kept], plain.mean[kept].double())
    assert torch.equal(mean[12], plain.mean[12].double()) and torch.equal(std[12], plain.std[12].double())
    matrices = [symmetries.draw() @ symmetries.draw() @ symmetries.draw() for _ in range(600)]
    for field in symmetries.targets:
        parts = torch.stack([represented(matrix, field.kind, field.components) for matrix in matrices])
        assert torch.allclose(parts.mean(0), symmetries.projection(field), atol=0.12)
        own = torch.cat(values)[:, field.channels]
        turned = torch.einsum("nij,pj->npi", parts[:100], own) - mean[field.channels]
        rtol = 0.3 if field.components == 6 else 1e-3  # a turn keeps the sum over nine components of a tensor, not six
        assert torch.allclose(std[field.channels], turned.square().mean().sqrt(), rtol=rtol)


@pytest.mark.parametrize(
    ("names", "kinds", "message"),
    [
        (["quarter_turn"], KINDS, "symmetries in 3D, of .* .got 'quarter_turn'"),
        (["turn"], {}, "to say what 'stress' is, .*6 components in 3D"),
        (["turn"], {**KINDS, "press": "scalar"}, "name inputs or targets, .*got 'press'"),
        (["turn"], {**KINDS, "heat": "vector"}, "Expected 3 components of a vector in 3D .got 1 of 'heat'"),
    ],
)
def test_what_cannot_be_turned(names: list[str], kinds: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Symmetries(names, TABLE, kinds)


def test_coordinates_cannot_be_turned() -> None:
    table = FieldTable((MeshField("coordinates", 2, is_geometry=True),), (MeshField("u"),), 2)
    with pytest.raises(ValueError, match="no geometry input 'coordinates'"):
        Symmetries(["turn"], table)


def test_categories_and_scalars_stay() -> None:
    kind = MeshField("kind", categories=(1, 2))
    table = FieldTable((kind, MeshField("rgb", 3)), (MeshField("u", 2, width=3),), 2)
    with pytest.raises(ValueError, match="what 'rgb' is"):
        Symmetries(["turn"], table)
    symmetries = Symmetries(["quarter_turn"], table, {"rgb": "scalar"})
    assert symmetries.inputs == () and [field.channels for field in symmetries.targets] == [slice(0, 2)]
    assert np.allclose(symmetries.projection(symmetries.targets[0]), 0.0)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["turn", "mirror_x", "mirror_y"])
def test_fields_of_upright_planes_turn_in_these(axis: int, name: str) -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]])
    place = np.insert(points - points.mean(0), axis, 0.0, axis=1)
    stress = np.stack([place[:, i] * place[:, j] for i, j in PAIRS[6]], 1)
    full = np.stack([place[:, i] * place[:, j] for i in range(3) for j in range(3)], 1)
    spin = np.eye(3)[[axis] * 4]
    mesh = Mesh(
        points, (("quad", np.arange(4)[None]),), {"v": place, "s": stress, "f": full, "w": spin}, plane_axis=axis
    )
    table = FieldTable.parse(FieldTable.infer(mesh, [], ["v", "s", "f", "w"]).plain())
    symmetries = Symmetries([name], table, {"v": "vector", "s": "tensor", "f": "tensor", "w": "pseudovector"})
    torch.manual_seed(3)
    (matrix,) = matrices = [symmetries.draw()]
    y = torch.from_numpy(table.read_targets(mesh))
    data = PointData(pos=torch.from_numpy(points - points.mean(0)), x=torch.zeros(4, 0), y=y)
    found = symmetries(data, matrices)
    kept = [own for own in range(3) if own != axis]
    turned = torch.zeros(4, 3, dtype=torch.float64)
    turned[:, kept] = found.pos
    products = turned[:, :, None] * turned[:, None, :]
    assert torch.allclose(found.y[:, :3], turned)
    assert torch.allclose(found.y[:, 3:9], torch.stack([products[:, i, j] for i, j in PAIRS[6]], 1))
    assert torch.allclose(found.y[:, 9:18], products.flatten(1))
    assert torch.allclose(found.y[:, 18:], torch.linalg.det(matrix) * torch.from_numpy(spin))
