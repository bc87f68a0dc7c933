"""What is timed does the same work, and what is counted is what is done."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.speed import WORKS, Settings, format_speed, measure, profile, run_speed
from benchmarks.speed.attention_forms import COSTS, attention_forms
from benchmarks.speed.big_mesh import big_mesh, prepared
from benchmarks.speed.dense_twin import DenseTwin, Pairs
from benchmarks.speed.networks import Network, c_mesh, regular, scattered
from benchmarks.speed.operations import machine_rates, training_operations
from benchmarks.speed.search import farthest, neighbors
from benchmarks.speed.works import Work, local_layer, network_step, training
from pitgeo.data import PointData
from pitgeo.models.registry import LatentOptions, PiTOptions
from pitgeo.nn import PiT
from pitgeo.nn.sums_first import suits_sums

BLOCKS = PiTOptions(
    channels=8, heads=2, body="paper", encoder="block", decoder="block", encoder_quantile=0.2, decoder_quantile=0.2,
    lengths="random", divisor=2.0, latent=LatentOptions(method="input"),
)  # fmt: skip
LAYERS = PiTOptions(
    channels=8, heads=2, body="paper", encoder_quantile=0.2, decoder_quantile=0.3, positivity="tan", lengths="random",
    latent=LatentOptions(method="regular", cells=(3, 5)),
)  # fmt: skip
POOLED = LAYERS.model_copy(update={"latent": LatentOptions(method="grid", cells=(5, 3))})
NETWORKS = {
    "own points": Network("own points", BLOCKS, 3, 4, scattered(40)),
    "shared grid": Network("shared grid", LAYERS, 3, 1, regular(9), shared=True),
    "pooled": Network("pooled", POOLED, 2, 2, c_mesh(10, 6), grid=(10, 6)),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("keep", [False, True])
def test_dense_twin_has_the_network_s_values_and_gradients(name: str, keep: bool) -> None:
    network = NETWORKS[name]
    pos = network.positions(0)
    x = torch.rand(network.batch, pos.shape[-2], network.values)
    model, data = network.model(pos.shape[-2]).double(), network.data(pos, x)
    twin = DenseTwin(model, keep)
    latent = None if data.coincide("input", "latent") else data.points("latent")[0].double()
    if latent is not None and not network.shared:
        latent = latent.view(network.batch, -1, 2)
    for key in ("pos", "x", "pos_latent"):
        if key in data:
            data[key] = data[key].double()
    ours = model(data).view(network.batch, -1)
    theirs = twin(x.double(), pos.double(), latent).squeeze(-1)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    mine = sum(p.grad.square().sum() for p in model.parameters())
    torch.testing.assert_close(mine, sum(p.grad.square().sum() for p in twin.parameters()), rtol=1e-8, atol=0)


def test_kept_pairs_are_made_once() -> None:
    pos = torch.rand(5, 2)
    kept, made = Pairs(pos, pos, 1.0, keep=True), Pairs(pos, pos, 1.0, keep=False)
    assert kept.squared_distance() is kept.squared_distance()
    assert kept.mask(kept.squared_distance(), 0.5) is kept.mask(kept.squared_distance(), 0.5)
    assert made.squared_distance() is not made.squared_distance()


def sums_of(model: PiT, data: PointData) -> int:
    """Operations of the sums over graphs: of 8 channels once, or of all heads where sums come before the matrices."""
    total = 0
    for name in ("encoder", "decoder"):
        layer, graph = getattr(model, name).attention, data.graph(name)
        heads = layer.value.heads if suits_sums(graph, layer.value, layer.moments) else 1
        total += 3 * 2 * 8 * heads * graph.num_edges * len(data.x)
    return total


def test_operations_are_those_of_the_matrix_products() -> None:
    """Torch's own counter counts all products, and no sums over graphs."""
    network = NETWORKS["shared grid"]
    model, data, step = network_step(network, 0)
    for block in model.processor:
        block.attention.backend = "dense"
    step()
    with FlopCounterMode(display=False) as counter:
        step()
    assert training_operations(model, data) == counter.get_total_flops() + sums_of(model, data)


def test_operations_on_a_grid_are_those_of_the_matrix_products() -> None:
    network = NETWORKS["shared grid"]
    model, data, step = network_step(network, 0)
    step()
    assert all(block.attention.grid is not None for block in model.processor)
    with FlopCounterMode(display=False) as counter:
        step()
    assert training_operations(model, data) == counter.get_total_flops() + sums_of(model, data)


def test_costs_of_attention_forms() -> None:
    table = attention_forms(((2, 30), (1, 60)), (2, 4), (1, 2), repeat=1)
    assert all(f"| {cost} | " in table for cost in COSTS) and "error of the fit" in table


def test_operations_of_moments_are_those_of_the_matrix_products() -> None:
    network = Network("wide", BLOCKS.model_copy(update={"channels": 64}), 2, 4, scattered(400))
    model, data, step = network_step(network, 0)
    step()
    assert all(len(block.attention.expanded) == 2 for block in model.processor)
    with FlopCounterMode(display=False) as counter:
        step()
    sums = 3 * 2 * 64 * sum(data.graph(name).num_edges for name in ("encoder", "decoder"))
    counted = counter.get_total_flops() + sums
    assert 0.95 * counted < training_operations(model, data) <= counted  # the sums of weights are left out


def test_operations_of_other_attention_are_refused() -> None:
    options = BLOCKS.model_copy(update={"attention": ("self", "self", "self")})
    network = Network("self", options, 1, 1, scattered(9))
    model, data, _ = network_step(network, 0)
    with pytest.raises(ValueError, match="Expected position-attention throughout"):
        training_operations(model, data)


def test_first_moments_are_neither_counted_nor_forgotten() -> None:
    network = Network("default", PiTOptions(channels=8, heads=2), 1, 1, scattered(60))
    model, data, _ = network_step(network, 0)
    with pytest.raises(ValueError, match=r"without first moments.* \(got moments along 2 axes"):
        training_operations(model, data)
    with pytest.raises(ValueError, match="without first moments or a quadrature"):
        DenseTwin(model, keep=True)


def test_rates_of_the_machine_are_positive() -> None:
    rates = machine_rates(repeat=1)
    assert rates.products > 1e8
    assert rates.copies > 1e7


def test_every_way_of_a_layer_gives_gradients() -> None:
    work = local_layer(60, 4, 8, 2)
    ordered = "pitgeo, points in the order of a tree"
    assert list(work.ways) == ["pitgeo", ordered, "GATConv", "TransformerConv", "PointTransformerConv"]
    for way in work.ways.values():
        way(0, "cpu")()


def test_options_for_big_meshes_reach_the_step() -> None:
    losses = []
    for options in ({}, {"checkpoint_activations": True}, {"query_points": 50}):
        torch.manual_seed(0)
        module, batch = prepared(300, 30, 8, options)
        assert batch.points("latent")[0].shape == (30, 3)
        losses.append(float(module.training_step(batch, 0).detach()))
    assert losses[0] == losses[1] != losses[2]
    for way in big_mesh(300, 30, 8).ways.values():
        way(0, "cpu")()


def test_a_training_step_changes_the_weights() -> None:
    model, _, step = network_step(NETWORKS["own points"], 0)
    before = [weight.detach().clone() for weight in model.parameters()]
    step()
    assert all(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    dense = training(NETWORKS["own points"])
    assert list(dense.ways) == ["pitgeo", "dense, recomputed", "dense, kept"]
    dense.ways["dense, kept"](0, "cpu")()


def test_measuring_counts_steps_and_the_memory_they_hold() -> None:
    """In a process of its own, which has had no more memory before; then with some that was given back."""
    program = (
        "import torch; from benchmarks.speed.measure import measure; kept = []\n"
        "print(measure(lambda: kept.append(torch.ones(2**24)), repeat=2))\n"  # 64 MB a step
        "before = torch.ones(2**27); del before\n"  # 512 MB
        "print(measure(lambda: kept.append(torch.ones(2**24)), repeat=2))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        found = ast.literal_eval(line)
        assert len(found["seconds"]) == 2
        assert 180 < found["growth_mb"] < 220


MEASURED = {"seconds": [0.25, 0.75], "growth_mb": 7.0, "peak_mb": 70.0}
"""What a process says of a work, where none is started: each takes seconds to import torch."""


def test_works_are_merged_into_one_table(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORKS, "other", Work("Other", {}))
    settings = Settings(rounds=1, repeat=1)
    run_speed(["growth_1000"], tmp_path, settings, progress=False)
    stored = json.loads((tmp_path / "speed.json").read_text())
    stored["works"]["other"] = {
        **stored["works"]["growth_1000"],
        "ways": {
            "pitgeo": {"seconds": 1.0, "fastest": 1.0, "slowest": 1.0, "growth_mb": 10.0, "peak_mb": 50.0},
            "slow": {"seconds": 3.0, "fastest": 2.0, "slowest": 4.0, "growth_mb": 40.0, "peak_mb": 90.0},
        },
    }
    (tmp_path / "speed.json").write_text(json.dumps(stored))
    monkeypatch.setattr("benchmarks.speed.measure._in_process", lambda *_: MEASURED)
    result = run_speed(["growth_1000"], tmp_path, settings, progress=False)
    assert set(result["works"]) == {"growth_1000", "other"}
    assert result["works"]["growth_1000"]["ways"]["pitgeo"]["growth_mb"] == MEASURED["growth_mb"]
    assert "| slow | 3.000 (2.000 - 4.000) | 3.0 | 40 (90) | 25% |" in format_speed(result)
    assert (tmp_path / "speed.md").read_text() == format_speed(result)


@pytest.mark.parametrize(("first", "second", "exponent"), [(1.0, 10.0, 1.0), (1.0, 100.0, 2.0)])
def test_growth_is_told_as_an_exponent(first: float, second: float, exponent: float) -> None:
    row: dict[str, Any] = {"title": "", "settings": {**vars(Settings())}, "machine": {"processor": "", "cores": 1},
           "versions": {"torch": ""}, "date": ""}  # fmt: skip
    works = {
        f"growth_{points}": {
            **row,
            "ways": {"pitgeo": {"seconds": seconds, "fastest": 1.0, "slowest": 1.0, "growth_mb": 1.0, "peak_mb": 1.0}},
        }
        for points, seconds in ((1000, 0.9), (100_000, first), (1_000_000, second))
    }
    assert f"100,000 to 1,000,000 points: to the power {exponent:.2f}" in format_speed({"works": works})


def test_bad_works_and_settings_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="Expected works among elasticity"):
        run_speed(["nonsense"], tmp_path, Settings())
    with pytest.raises(ValueError, match="Expected 'rounds' to be at least 1"):
        Settings(rounds=0)


def test_a_way_that_fails_is_named(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_process, python = measure._in_process, measure.run_python
    monkeypatch.setattr(measure, "_in_process", lambda *run: in_process(*run) if run[0] == "missing" else MEASURED)
    monkeypatch.setattr(measure, "run_python", lambda command, *others: python(["-c", "raise SystemExit(3)"], *others))
    monkeypatch.setitem(WORKS, "missing", Work("Missing", {"pitgeo": lambda seed, device: lambda: None}))
    with pytest.raises(RuntimeError, match=r"'missing' to be measured with 'pitgeo' \(got exit status 3"):
        run_speed(["growth_1000", "missing"], tmp_path, Settings(rounds=1, repeat=1), progress=False)
    assert list(json.loads((tmp_path / "speed.json").read_text())["works"]) == ["growth_1000"]  # what is done is kept


def test_another_checkout_does_the_same_work(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_process = measure._in_process
    monkeypatch.setattr(measure, "_in_process", lambda *run: in_process(*run) if run[1] == "before" else MEASURED)
    with pytest.raises(ValueError, match="Expected a checkout with a folder 'pitgeo' to compare with"):
        Settings(before=str(tmp_path))
    (tmp_path / "pitgeo").mkdir()
    (tmp_path / "pitgeo" / "__init__.py").write_text("raise ImportError('of the other checkout')")
    with pytest.raises(RuntimeError, match=r"(?s)with 'before' \(got .*of the other checkout"):
        run_speed(["growth_1000"], tmp_path, Settings(1, 1, before=str(tmp_path)), progress=False)


def test_configurations_are_stepped_with_and_without_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.speed.quick.PLATE", (0.5, 0.1, 0.01, 300))
    work = WORKS["plates"]
    assert list(work.ways) == ["pitgeo", "averages alone"]
    for way in work.ways.values():
        way(0, "cpu")()


def test_a_profile_tells_where_time_goes(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "NETWORKS", {"small": NETWORKS["own points"]})
    result = profile.run_profile("small", tmp_path, repeat=1)
    assert 0 < result["share_of_products"] < 1
    assert {"matrix products", "sums over graphs", "activations"} <= set(result["kinds"])
    assert "| matrix products |" in (tmp_path / "profile_small.md").read_text()
    with pytest.raises(ValueError, match="Expected a network among small"):
        profile.run_profile("large", tmp_path)


def test_every_way_to_search_takes_the_same_points(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Size] = []
    monkeypatch.setattr(
        "benchmarks.speed.search.knn", lambda targets, sources, k: seen.extend([targets.shape, sources.shape])
    )
    for work in (farthest(300, 20), neighbors(50, 200, 8), neighbors(200, 50, 8)):
        for way in work.ways.values():
            way(0, "cpu")()
    assert seen == [(50, 3), (200, 3), (200, 3), (50, 3)]
