"""Samples, and batches of all their point sets and graphs."""

import copy
import pickle

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.neighbors import quantile
from pitgeo.nn import Body, PiT, Rollout


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
    graph = quantile(pos, pos, 0.02)
    assert graph.index.dtype == graph.degree.dtype == torch.int32
    assert graph.edge_index.dtype == torch.int64


def test_from_edge_index_sorts_by_target_and_says_how():
    edges = torch.tensor([[3, 1, 2, 0], [1, 0, 1, 2]])
    graph, order = Neighborhood.from_edge_index(edges, 4, 4)
    assert torch.equal(graph.edge_index, edges[:, order])
    assert graph.degree.tolist() == [1, 2, 1, 0] and graph.pointer.tolist() == [0, 1, 3, 4, 4]


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


def sample_with_graph(seed=0):
    torch.manual_seed(seed)
    return AttentionGraphs(encoder=0.2, decoder=0.2)(
        PointData(pos=torch.rand(40, 2), x=torch.rand(40, 1), pos_latent=torch.rand(10, 2))
    )


def sorts(monkeypatch):
    """Numbers of edges that are sorted from now on."""
    seen, argsort = [], torch.argsort
    monkeypatch.setattr(
        torch, "argsort", lambda values, **options: seen.append(len(values)) or argsort(values, **options)
    )
    return seen


def test_a_graph_is_one_object_whose_orders_are_found_once(monkeypatch):
    data, seen = sample_with_graph(), sorts(monkeypatch)
    assert data.graph("encoder") is data.graph("encoder") is not data.graph("decoder")
    orders = [data.graph("encoder").by_source[0], copy.copy(data).graph("encoder").by_source[0]]
    assert orders[0] is orders[1] and len(seen) == 1
    edges = data.graph("encoder")
    order, pointer, targets = edges.by_source
    assert torch.equal(edges.index[order], edges.index.sort(stable=True).values)
    assert torch.equal(pointer.diff(), torch.bincount(edges.index, minlength=40))
    assert torch.equal(targets, edges.target[order].to(targets.dtype))


@pytest.mark.parametrize("kind", ["other", "in place", "degree", "set_graph", "another copy"])
def test_other_edges_are_another_graph(kind):
    data, other = sample_with_graph(), sample_with_graph(1)
    before = data.graph("decoder")
    before.by_source  # noqa: B018
    changed = copy.copy(data) if kind == "another copy" else data
    if kind == "degree":
        degree = data.decoder_degree.clone()
        degree[0], degree[1] = degree[0] - 1, degree[1] + 1
        data.decoder_degree = degree
    elif kind == "in place":
        data.decoder_index[:3] = data.decoder_index[:3].flip(0) + 1
        data.decoder_index.remainder_(10)
    elif kind == "set_graph":
        data.set_graph("decoder", other.graph("decoder"))
    else:
        changed.decoder_index, changed.decoder_degree = other.decoder_index, other.decoder_degree
    after = changed.graph("decoder")
    assert after is not before
    fresh = Neighborhood(changed.decoder_index.clone(), changed.decoder_degree.clone(), 10)
    for one, two in zip(after.by_source, fresh.by_source, strict=True):
        assert torch.equal(one, two)
    assert torch.equal(after.target, fresh.target)
    if kind == "another copy":
        assert data.graph("decoder").index is data.decoder_index is not changed.decoder_index


def test_other_points_are_another_graph():
    data = sample_with_graph()
    data.graph("encoder").by_source  # noqa: B018
    data.pos = torch.cat([data.pos, torch.rand(2, 2)])
    assert data.graph("encoder").num_sources == 42 and data.graph("encoder").by_source[1].shape == (43,)
    data.set_points("latent", torch.rand(5, 2))
    assert not data.has_graph("encoder")


def test_graphs_of_copies_batches_pickles_and_other_devices():
    data = sample_with_graph()
    data.graph("encoder").by_source  # noqa: B018
    size = len(pickle.dumps(sample_with_graph()))
    assert len(pickle.dumps(data)) == size
    for other in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data), data.clone()):
        assert torch.equal(other.graph("encoder").index, data.encoder_index)
        assert other.graph("encoder").index is other.encoder_index is not data.encoder_index
    moved = copy.copy(data).to("meta")
    assert moved.graph("encoder").index.device.type == "meta" and data.graph("encoder").index.device.type == "cpu"
    batch = Batch.from_data_list([data, sample_with_graph(1)])
    assert batch.graph("encoder").num_sources == 80 and batch.graph("encoder") is batch.graph("encoder")
    assert batch[0].graph("encoder").num_sources == 40


def test_orders_that_an_inference_found_serve_training():
    data = sample_with_graph()
    torch.manual_seed(0)
    model = PiT(3, 1, 8, 2, AttentionGraphs(0.2, 0.2), Body(layers=1))
    with torch.inference_mode():
        model(data)
        data.graph("encoder").by_source  # noqa: B018
    model(data).sum().backward()
    kept = [weight.grad.clone() for weight in model.parameters()]
    fresh = PointData(**{key: data[key] for key in ("pos", "x", "pos_latent")})
    model.zero_grad()
    model(fresh).sum().backward()
    assert all(torch.equal(one, weight.grad) for one, weight in zip(kept, model.parameters(), strict=True))


def test_a_roll_out_sorts_edges_once(monkeypatch):
    data = sample_with_graph()
    model = Rollout(PiT(3, 1, 8, 2, AttentionGraphs(0.2, 0.2), Body(layers=1)), 5)
    seen = sorts(monkeypatch)
    for _ in range(3):
        model(data).sum().backward()
    assert sorted(seen) == sorted([data.encoder_index.numel(), data.decoder_index.numel()])
