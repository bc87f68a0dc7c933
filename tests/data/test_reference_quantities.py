"""Reference quantities against the same numbers found by hand, on single samples, batches and shared meshes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.fields.mesh_case import MeshCase
from pitgeo.data.reference_quantities import ReferenceQuantities, sizes_at
from pitgeo.mesh import Mesh

TABLE = FieldTable(
    (
        MeshField("load", 2, "mesh", width=3),
        MeshField("young", 1, "mesh"),
        MeshField("heat@tip", 1, "mesh", within="tip"),
        MeshField("u"),
        MeshField("boundary_distance", is_geometry=True),
    ),
    (MeshField("v", 2), MeshField("peak", 1, "mesh")),
    2,
)
TEXTS = {"load": "norm(load)", "v": "norm(load) * heat / young", "u": "young", "heat@tip": "heat", "peak": "-load_y"}


def sample(load: tuple[float, float], young: float, heat: float, points: int) -> PointData:
    generator = torch.Generator().manual_seed(points)
    x = torch.rand(points, 6, generator=generator)
    x[:, :2], x[:, 2] = torch.tensor(load), young
    x[:, 3] = heat * (torch.arange(points) > points // 2)
    return PointData(
        pos=torch.rand(points, 2, generator=generator),
        x=x,
        y=torch.rand(points + 1, 3, generator=generator),
        pos_out=torch.rand(points + 1, 2, generator=generator),
    )


SAMPLES = [sample((3.0, -4.0), 10.0, -2.0, 5), sample((0.0, -0.5), 0.25, 8.0, 7)]
TEXTS_OF_V = {**TEXTS, "v": "norm(load) * (heat ** 2) ** 0.5 / young"}
INPUTS = [[5.0, 5.0, 1.0, 2.0, 10.0, 1.0], [0.5, 0.5, 1.0, 8.0, 0.25, 1.0]]
TARGETS = [[1.0, 1.0, 4.0], [16.0, 16.0, 0.5]]
REFERENCES = ReferenceQuantities({**TEXTS_OF_V, "heat@tip": "(heat ** 2) ** 0.5"}, TABLE)


def test_sizes_of_single_samples_and_batches() -> None:
    for data, inputs, targets in zip(SAMPLES, INPUTS, TARGETS, strict=True):
        sizes = REFERENCES.sizes(data)
        assert sizes.inputs.tolist() == [pytest.approx(inputs)] and sizes.targets.tolist() == [pytest.approx(targets)]
    batch = Batch.from_data_list(SAMPLES)
    given, wanted = sizes_at(REFERENCES, batch)
    assert given is not None and wanted is not None
    assert torch.allclose(given, torch.tensor(INPUTS).repeat_interleave(torch.tensor([5, 7]), 0))
    assert torch.allclose(wanted, torch.tensor(TARGETS).repeat_interleave(torch.tensor([6, 8]), 0))
    rows = torch.tensor([0, 5, 6, 13])
    some = sizes_at(REFERENCES, batch, rows)[1]
    assert some is not None and torch.equal(some, wanted[rows])
    assert torch.allclose(REFERENCES.divided(batch, "y"), batch.y / wanted)


def test_sizes_on_a_shared_mesh() -> None:
    data = PointData(pos=SAMPLES[0].pos, x=torch.stack([SAMPLES[0].x, 3 * SAMPLES[0].x]))
    sizes = REFERENCES.sizes(data)
    given = sizes.at(data, "input")
    assert given.shape == (2, 1, 6)
    assert given[:, 0].tolist() == [pytest.approx(INPUTS[0]), pytest.approx([15.0, 15.0, 1.0, 6.0, 30.0, 1.0])]


@pytest.mark.parametrize("where", ["", "case.vtu: "])
def test_a_reference_that_is_not_positive_is_refused(where: str) -> None:
    data = sample((0.0, 0.0), 1.0, 1.0, 5)
    data.sample_id = 17
    with pytest.raises(
        ValueError, match=rf"{where or 'sample 17: '}Expected a positive, finite reference 'norm\(load\)'"
    ):
        REFERENCES.sizes(data, where)
    data = Batch.from_data_list([SAMPLES[0], sample((1.0, -1.0), 0.0, 1.0, 5)])
    with pytest.raises(ValueError, match=r"sample 1: .*of 'v' .got inf"):
        REFERENCES.sizes(data)
    with pytest.raises(ValueError, match=r"'heat' of 'v' .got -2"):
        ReferenceQuantities({"v": "heat"}, TABLE).sizes(SAMPLES[0])
    with pytest.raises(ValueError, match=r"of 'u' .got nan"):
        ReferenceQuantities({"u": "load_y ** 0.5"}, TABLE).sizes(SAMPLES[0])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"w": "young"}, r"to name inputs or targets, among .* \(got \['w'\]\)"),
        (
            {"v": "length"},
            r"scaling.reference.v to be made of numbers .* load, young, heat, load_x, load_y \(got 'length'",
        ),
        ({"v": "u"}, r"got 'u' in 'u'"),
        ({"v": "load / young"}, r"single numbers \(got the vector 'load'"),
    ],
)
def test_what_is_no_reference(texts: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReferenceQuantities(texts, TABLE)


def test_derivatives_go_through_the_reference() -> None:
    tip = (torch.arange(5) > 2).double()

    def value(numbers: torch.Tensor) -> torch.Tensor:
        x = torch.cat([numbers[:3].expand(5, 3), numbers[3] * tip[:, None], tip.new_ones(5, 2)], 1)
        return REFERENCES.sizes(PointData(pos=SAMPLES[0].pos, x=x), is_checked=False).targets

    assert torch.autograd.gradcheck(value, (torch.tensor([3.0, -4.0, 10.0, -2.0]).double().requires_grad_(),))


def test_a_case_is_that_of_divided_inputs() -> None:
    points, rng = np.random.default_rng(0).random((9, 2)), np.random.default_rng(1)
    tip = (points[:, 0] > 0.5).astype(np.int64)
    texts = {"load": "norm(load)", "young": "young", "heat@tip": "2 * heat", "u": "heat", "boundary_distance": "young"}
    whole = np.ones((9, 1)) * np.array([3.0, -4.0, 0.0, 10.0])
    inputs = np.concatenate([whole, 6.0 * tip[:, None], rng.random((9, 2))], 1)
    mesh = Mesh(points, (("vertex", np.arange(9)[:, None]),))
    references = ReferenceQuantities(texts, TABLE)
    found = references.case(MeshCase.of(TABLE, mesh, inputs))
    expected = MeshCase.of(TABLE, mesh, inputs / np.array([5.0, 5.0, 5.0, 10.0, 12.0, 6.0, 10.0]))
    for name in ("low", "high", "inputs", "shape"):
        assert np.allclose(getattr(found, name), getattr(expected, name), equal_nan=True), name
    assert found.low[:5] == pytest.approx([0.6, -0.8, 0.0, 1.0, 0.5]) and found.sizes == expected.sizes
