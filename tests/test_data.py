"""Samples, and batches of all their point sets and graphs."""

import copy

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from pitgeo.data import PointData
from pitgeo.neighborhood import Neighborhood
from pitgeo.neighbors import quantile
from pitgeo.transforms import AttentionGraphs


def sample(n, latent, out, number):
    return PointData(
        pos=torch.rand(n, 2),
        x=torch.rand(n, 3),
        y=torch.rand(out, 1),
        pos_latent=torch.rand(latent, 2),
        pos_out=torch.rand(out, 2),
        sample_id=number,
    )


def test_a_batch_holds_every_point_set_and_graph():
    graphs = AttentionGraphs(0.2, 0.3, 0.2)
    samples = [graphs(sample(50, 10, 20, 7)), graphs(sample(70, 12, 30, 9))]
    batch = next(iter(DataLoader(samples, batch_size=2)))
    assert batch.sample_id.tolist() == [7, 9]
    sizes = {"input": (50, 70), "latent": (10, 12), "output": (20, 30)}
    for kind, (first, second) in sizes.items():
        pos, number = batch.points(kind)
        assert torch.equal(pos, torch.cat([one.points(kind)[0] for one in samples]))
        assert number.tolist() == [0] * first + [1] * second
    for graph, (targets, sources) in {
        "encoder": ("latent", "input"),
        "decoder": ("output", "latent"),
        "output": ("output", "output"),
    }.items():
        first, second = (one.graph(graph) for one in samples)
        shift = torch.tensor([[sizes[sources][0]], [sizes[targets][0]]])
        expected = torch.cat([first.edge_index, second.edge_index + shift], 1)
        assert torch.equal(batch.graph(graph).edge_index, expected)
    for one, again in zip(samples, batch.to_data_list(), strict=True):
        assert torch.equal(one.encoder_index, again.encoder_index)
        assert torch.equal(one.pos_latent, again.pos_latent)


def test_missing_point_sets_are_the_input_points():
    data = PointData(pos=torch.rand(5, 2))
    assert data.coincide("input", "latent") and data.coincide("latent", "output")
    assert data.x.shape == (5, 0) and data.input_dim == 2 and data.samples == 1
    batch = Batch.from_data_list([data, data])
    assert batch.coincide("input", "output") and batch.samples == 2
    assert batch.points("latent")[1].tolist() == [0] * 5 + [1] * 5


def test_new_points_drop_the_graphs_that_touch_them():
    data = AttentionGraphs(0.2, 0.3, 0.2)(sample(50, 10, 20, 7))
    changed = copy.copy(data)
    changed.set_points("out", torch.rand(4, 2))
    assert changed.has_graph("encoder") and not changed.has_graph("decoder") and not changed.has_graph("output")
    changed.set_points("latent", torch.rand(4, 2))
    assert not changed.has_graph("encoder")
    assert data.has_graph("encoder")


def test_graphs_are_small():
    pos = torch.rand(1000, 2)
    hood = quantile(pos, pos, 0.02)
    assert hood.index.dtype == hood.degree.dtype == torch.int32
    assert hood.edge_index.dtype == torch.int64


def test_from_edge_index_sorts_by_target_and_says_how():
    edges = torch.tensor([[3, 1, 2, 0], [1, 0, 1, 2]])
    hood, order = Neighborhood.from_edge_index(edges, 4, 4)
    assert torch.equal(hood.edge_index, edges[:, order])
    assert hood.degree.tolist() == [1, 2, 1, 0] and hood.pointer.tolist() == [0, 1, 3, 4, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pos": torch.rand(0, 2)}, "at least one point"),
        ({"pos": torch.rand(5)}, r"shape \[N, D\]"),
        ({"pos": torch.ones(5, 2, dtype=torch.long)}, "floating-point"),
        ({"pos": torch.tensor([[0.0, torch.nan]])}, "'pos' to be finite"),
        ({"pos": torch.rand(5, 2), "x": torch.rand(4, 1)}, r"'x' to have shape \[5, channels\]"),
        ({"pos": torch.rand(5, 2), "y": torch.rand(5)}, "'y' to have shape"),
        ({"pos": torch.rand(5, 2), "y": torch.full((5, 1), torch.nan), "sample_id": 3}, "in sample 3 to be finite"),
        ({"pos": torch.rand(5, 2), "quadrature": torch.ones(4), "sample_id": 3}, r"in sample 3 to have shape \[5\]"),
        ({"pos": torch.rand(5, 2), "quadrature": torch.tensor([1.0, 0, 1, 1, 1])}, r"1 not positive or not finite"),
        ({"pos": torch.rand(5, 2), "quadrature": torch.tensor([1.0, torch.inf, 1, 1, 1])}, r"1 not positive"),
        ({"pos": torch.rand(5, 2), "pos_out": torch.rand(5, 3)}, "2 axes"),
        ({"pos": torch.rand(5, 2), "pos_latent": torch.rand(0, 2)}, "'pos_latent' to hold at least one"),
    ],
)
def test_bad_samples_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PointData(**arguments)


def test_unknown_names_are_refused():
    data = PointData(pos=torch.rand(5, 2))
    with pytest.raises(ValueError, match="'latent' or 'out'"):
        data.set_points("inner", torch.rand(2, 2))
    with pytest.raises(ValueError, match="one of"):
        data.set_graph("latent", quantile(data.pos, data.pos, 0.5))
