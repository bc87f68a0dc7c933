"""Unit box, latent mesh, attention graphs."""

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh, UnitBox
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighbors import quantile


def millimetres(seed=0, size=30):
    torch.manual_seed(seed)
    return PointData(pos=torch.rand(size, 2).double() * torch.tensor([400.0, 100.0]) + 1e4)


def test_unit_box_keeps_sizes_apart_and_can_be_undone():
    small, large = millimetres(0), millimetres(1)
    small.pos = small.pos / 4
    box = UnitBox.fit([small, large])
    sides = [float((box(one).pos.amax(0) - box(one).pos.amin(0)).max()) for one in (small, large)]
    assert sides[1] == pytest.approx(1.0) and sides[0] == pytest.approx(0.25, rel=0.1)
    for one in (small, large):
        inside = box(one)
        assert float(inside.pos.abs().max()) <= 0.5 + 1e-12
        assert torch.allclose(box.inverse(inside).pos, one.pos, rtol=1e-12)
        assert "box_center" not in box.inverse(inside)


def test_unit_box_moves_all_point_sets_alike():
    data = PointData(pos=torch.rand(9, 2), pos_out=torch.rand(5, 2), pos_latent=torch.rand(3, 2))
    inside = UnitBox(0.5)(data)
    for name in ("pos_out", "pos_latent"):
        before, after = data[name] - data.pos[:1], inside[name] - inside.pos[:1]
        assert torch.allclose(before * 0.5, after, atol=1e-6)


def test_transforms_leave_their_argument_alone():
    data = PointData(pos=torch.rand(40, 2))
    before = {key: value.clone() for key, value in data.to_dict().items()}
    Compose((UnitBox(2.0), LatentMesh("farthest", number=5), AttentionGraphs(0.1, 0.5, 0.1)))(data)
    assert data.to_dict().keys() == before.keys()
    assert all(torch.equal(data[key], before[key]) for key in before)


def test_latent_meshes():
    data = PointData(pos=torch.rand(100, 2))
    assert LatentMesh()(data).coincide("input", "latent")
    assert LatentMesh("farthest", number=16)(data).pos_latent.shape == (16, 2)
    assert LatentMesh("farthest", number=1000)(data).pos_latent.shape == (100, 2)
    assert LatentMesh("farthest", ratio=0.25)(data).pos_latent.shape == (25, 2)
    assert LatentMesh("farthest", ratio=0.07)(data).pos_latent.shape == (7, 2)
    assert LatentMesh("grid", cells=(3, 3))(data).pos_latent.shape == (9, 2)
    given = PointData(pos=data.pos, pos_latent=torch.rand(4, 2))
    assert LatentMesh("farthest", number=16)(given).pos_latent is given.pos_latent


def test_graphs_are_the_quantile_neighbourhoods_and_are_kept():
    data = LatentMesh("farthest", number=10)(PointData(pos=torch.rand(100, 2)))
    graphs = AttentionGraphs(0.1, 0.3, 0.05, Metric((1.0, 1.0)))
    ready = graphs(data)
    metric = graphs.metric
    assert torch.equal(ready.graph("encoder").edge_index, quantile(data.pos_latent, data.pos, 0.1, metric).edge_index)
    assert torch.equal(ready.graph("decoder").edge_index, quantile(data.pos, data.pos_latent, 0.3, metric).edge_index)
    assert torch.equal(ready.graph("output").edge_index, quantile(data.pos, data.pos, 0.05, metric).edge_index)
    assert graphs(ready) is ready


def test_graphs_of_a_batch_are_those_of_its_samples():
    samples = [LatentMesh("farthest", number=n)(PointData(pos=torch.rand(s, 2))) for n, s in ((10, 50), (12, 70))]
    graphs = AttentionGraphs(0.1, 0.3, 0.1)
    together = graphs(Batch.from_data_list(samples))
    one_by_one = Batch.from_data_list([graphs(one) for one in samples])
    for graph in ("encoder", "decoder", "output"):
        assert torch.equal(together.graph(graph).edge_index, one_by_one.graph(graph).edge_index)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: UnitBox(0.0), "'scale'"),
        (lambda: UnitBox(1.0)(Batch.from_data_list([PointData(pos=torch.rand(9, 2))])), "batch"),
        (lambda: LatentMesh("grid", cells=(2, 2))(Batch.from_data_list([PointData(pos=torch.rand(9, 2))])), "batch"),
        (lambda: UnitBox.fit([]), "two different points"),
        (lambda: UnitBox.fit([PointData(pos=torch.zeros(4, 2))]), "coincide"),
        (lambda: LatentMesh("nearest"), "'method'"),
        (lambda: LatentMesh("farthest"), "'number' or 'ratio'"),
        (lambda: LatentMesh("farthest", number=3, ratio=0.5), "'number' or 'ratio'"),
        (lambda: LatentMesh("farthest", number=0), "at least 1"),
        (lambda: LatentMesh("farthest", ratio=1.5), "at most 1"),
        (lambda: LatentMesh("grid", number=3), "'cells'"),
        (lambda: LatentMesh("input", number=3), "no number"),
        (lambda: LatentMesh("grid", cells=(3,))(PointData(pos=torch.rand(9, 2))), "each of 2 axes"),
        (lambda: AttentionGraphs(encoder=0.0), "encoder quantile"),
        (lambda: AttentionGraphs(decoder=1.5), "got 1.5"),
    ],
)
def test_bad_options_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
