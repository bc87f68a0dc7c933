"""Samples on one mesh: by number, by slice, in batches, and through a model."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.datasets.fields import Fields
from pitgeo.datasets.shared_mesh import OwnMeshes, SharedMesh
from pitgeo.measures.relative_error import relative_error
from pitgeo.models.registry import DataSpec, PiTOptions
from pitgeo.nn import PointwiseMLP
from pitgeo.testing import assert_dataset
from pitgeo.training.loader import BatchLoader


def fields(samples=5, grid=(6, 4), channels=3, targets=2):
    random = np.random.default_rng(0)
    axes = [np.linspace(0, 1, number) for number in grid]
    pos = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], -1)
    x = random.standard_normal((samples, len(pos), channels)).astype(np.float32)
    y = random.standard_normal((samples, len(pos), targets)).astype(np.float32)
    return Fields(pos, grid, x, y, np.arange(10, 10 + samples))


def shared(**options):
    return SharedMesh(fields(**options), ("coefficient",), ("u", "v"))


def test_samples_slices_and_batches_agree():
    data = shared()
    assert len(data) == 5 and len(list(data)) == 5 and len(data[1:3]) == 2
    batch = data.batch([4, 1])
    assert batch.x.shape == (2, 24, 3) and batch.samples == 2 and batch.sample_id.tolist() == [14, 11]
    for place, number in enumerate((4, 1)):
        assert torch.equal(batch.x[place], data[number].x) and torch.equal(batch.y[place], data[number].y)
    assert torch.equal(data[1:3][0].x, data[1].x) and int(data[1:][0].sample_id) == 11
    with pytest.raises(IndexError, match=r"0\.\.4"):
        data[5]


def test_it_is_what_every_data_set_is():
    assert_dataset(shared())
    assert_dataset(shared(channels=0))
    assert_dataset(OwnMeshes(shared(channels=2)))


def test_a_transform_is_applied_once_and_its_graphs_are_shared():
    calls = []

    def transform(sample):
        calls.append(sample)
        return PiTOptions().transform()(sample)

    ready = shared().with_transform(transform)
    assert len(calls) == 1 and ready[0].has_graph("encoder")
    assert ready[0].encoder_index is ready[3].encoder_index is ready.batch([0, 1]).encoder_index


@pytest.mark.parametrize("kind", ["pit", "mlp"])
def test_models_give_the_same_for_a_batch_and_for_samples(kind):
    options = PiTOptions(channels=8, heads=2, encoder_quantile=0.2, decoder_quantile=0.5)
    data = shared().with_transform(options.transform())
    torch.manual_seed(0)
    model = options.build(DataSpec(5, 2, 2, 0.2, 1.0)) if kind == "pit" else PointwiseMLP(5, 2)
    batch = model(data.batch([0, 3]))
    assert batch.shape == (2, 24, 2)
    assert torch.allclose(batch, torch.stack([model(data[0]), model(data[3])]), atol=1e-5)
    flat = model(Batch.from_data_list([data[0], data[3]]))
    assert torch.allclose(batch.flatten(0, 1), flat, atol=1e-5)


def test_errors_of_a_batch_are_those_of_its_samples():
    data = shared().batch([0, 1, 2])
    prediction = data.y + 0.1 * torch.randn_like(data.y)
    together = relative_error(prediction, data.y, norm=1)
    each = [relative_error(one, truth, norm=1) for one, truth in zip(prediction, data.y, strict=True)]
    assert torch.allclose(together, torch.cat(each))
    with pytest.raises(ValueError, match="no 'batch'"):
        relative_error(prediction, data.y, torch.zeros(72, dtype=torch.long))


def test_the_loader_makes_batches_of_the_shared_mesh():
    batches = list(BatchLoader(shared(), 2, seed=0))
    assert [batch.x.shape[0] for batch in batches] == [2, 2, 1]
    assert sorted(int(number) for batch in batches for number in batch.sample_id) == [10, 11, 12, 13, 14]


def test_meshes_and_polygons_cover_the_grid():
    data = shared()
    mesh = data.mesh(0)
    assert mesh.cells[0][0] == "quad" and len(mesh.cells[0][1]) == 15
    assert sorted(mesh.point_data) == ["coefficient", "u", "v"]
    corners = data.polygons(0)
    x, y = corners[..., 0], corners[..., 1]
    areas = 0.5 * np.abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1))
    assert corners.shape == (24, 4, 2) and np.isclose(areas.sum(), 1.0)
    line = SharedMesh(fields(grid=(7,)), (), ("u", "v"))
    assert line.polygons(0) is None and line.mesh(0).cells[0][0] == "line"


def test_pictures_of_a_reference_grid_show_the_physical_one():
    data = SharedMesh(fields(channels=2), ("place",), ("u", "v"), physical=True)
    assert np.allclose(data.mesh(1).points, data[1].x.numpy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": (5, 4)}, "20 positions"),
        ({"x": np.zeros((4, 24, 1), np.float32)}, "'x'"),
        ({"y": np.full((5, 24, 1), np.nan, np.float32)}, "sample 10"),
    ],
)
def test_fields_that_do_not_fit_are_refused(change, message):
    good = fields()
    parts = {name: getattr(good, name) for name in ("pos", "grid", "x", "y", "numbers")}
    with pytest.raises(ValueError, match=message):
        Fields(**{**parts, **change})
