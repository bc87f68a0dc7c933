"""The meshes to simulate next: unlike each other and what is known, where an ensemble disagrees."""

import csv
import math

import numpy as np
import pytest

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.config import load_config
from pitgeo.datasets.smoothing import Smoothing
from pitgeo.integrals import compute
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.prediction.ensemble import Calibration, Ensemble
from pitgeo.workflows.choose import SAME, choose, farthest, with_values
from pitgeo.workflows.run import train
from tests.pictures import without_pictures
from tests.plates import plate, write_plates
from tests.small_runs import SMALL, small_run

TARGETS = ["v", "q", "peak"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("choose")
    write_plates(root)
    for number in range(10, 16):
        write_mesh(root / "pool" / f"case_{number}.vtu", plate(number))
    for seed in (0, 1):
        config = small_run(
            root, "cases/*.vtu", ["load", "wind"], TARGETS, f"training.seed={seed}", "data.meshes.test=1"
        )
        with without_pictures():
            train(config, root / f"member_{seed}")
    return root


@pytest.fixture(scope="module")
def model(root):
    return load(root / "member_0" / "best.ckpt")


@pytest.fixture(scope="module")
def ensemble(root, model):
    return Ensemble([model, load(root / "member_1" / "best.ckpt")], Calibration((2.0,) * 4))


def in_order(pool, known, weights, number):
    """The places by comparing everything with everything in every step."""
    order = []
    for _ in range(number):
        scores = []
        for place, point in enumerate(pool):
            others = [*known, *(pool[other] for other in order)]
            distance = min(math.dist(point, other) for other in others)
            scores.append(weights[place] * distance if distance > SAME else -1.0)
        if max(scores) < 0:
            break
        order.append(scores.index(max(scores)))
    return order


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_comparing_everything(seed):
    random = np.random.default_rng(seed)
    pool, known, weights = random.normal(size=(30, 3)), random.normal(size=(5, 3)), random.random(30)
    pool[20:] = pool[:10]  # copies, of other weights
    order, distances = farthest(pool, known, weights, 25)
    assert order == in_order(pool, known, weights, 25) and len(order) == 20
    assert len({tuple(pool[place]) for place in order}) == 20 and min(distances) > SAME
    assert farthest(pool, known, weights, 8)[0] == order[:8]
    assert order == farthest(pool, known, 7.0 * weights, 25)[0]


def test_a_batch_has_no_copies_and_is_the_same_again(ensemble):
    meshes = [plate(number) for number in range(10, 15)]
    turned = [
        Mesh(
            mesh.points[::-1].copy(),
            tuple((kind, len(mesh.points) - 1 - nodes) for kind, nodes in mesh.cells),
            {name: values[::-1].copy() for name, values in mesh.point_data.items()},
            mesh.cell_data,
            mesh.field_data,
        )
        for mesh in meshes
    ]
    pool = [*meshes, *turned, *meshes, plate(1)]  # the last is known
    chosen = choose(ensemble, pool, 5)
    assert sorted(own.place % 5 for own in chosen) == list(range(5)) and max(own.place for own in chosen) < 10
    assert chosen == choose(ensemble, pool, 5)
    with pytest.raises(ValueError, match=r"at least 6 meshes that differ .* \(got 5 among 16\); ask for fewer"):
        choose(ensemble, pool, 6)


def test_it_goes_where_nothing_is_known(model):
    loads = [1.15, 1.25, 1.3, 1.45, 3.0, 1.55]
    pool = with_values(model, plate(3), {"load": loads})
    assert choose(model, pool, 1)[0].place == 4
    known = with_values(model, plate(3), {"load": [3.0, 1.5, 1.6]})
    first, second = choose(model, pool, 2, training=known)
    assert (first.place, second.place) == (0, 3) or (first.place, second.place) == (0, 2)
    assert math.isnan(first.spread) and first.distance > second.distance > 0
    far = choose(model, pool, 1, training=known, describe=lambda mesh, numbers: [abs(mesh.field_data["load"][0] - 1.5)])
    assert far[0].place == 0


def test_the_spread_is_that_of_the_fields_and_of_a_quantity(ensemble, model):
    pool = [plate(number) for number in range(10, 14)]
    found = {own.place: own.spread for own in choose(ensemble, pool, 4)}
    for place, mesh in enumerate(pool):
        squares = []
        members = [member.predict_mesh(mesh) for member in ensemble.members]
        for name in TARGETS:
            parts = [{**own.point_data, **own.field_data} for own in members]
            values = [
                own.cell_data[f"{name}_prediction"][0] if name == "q" else part[f"{name}_prediction"]
                for own, part in zip(members, parts, strict=True)
            ]
            both = np.stack([value.reshape(len(value), -1) for value in values])
            squares += [*np.square(2.0 * both.std(0, ddof=1)).mean(0)[: 2 if name == "v" else None]]
        variation = np.array(model.reference.variation)
        assert found[place] == pytest.approx(np.sqrt(np.mean(np.array(squares) / variation**2)), rel=1e-4)
    for text, name in (("mean:v_x", "mean:v_prediction_x"), ("peak", "")):
        chosen = choose(ensemble, pool, 1, text)[0]
        members = [member.predict_mesh(pool[chosen.place]) for member in ensemble.members]
        numbers = [compute(own, name)[name] if name else own.field_data["peak_prediction"][0] for own in members]
        assert chosen.spread == pytest.approx(np.std(numbers, ddof=1), rel=1e-3)


def test_training_samples_of_a_benchmark_are_known(tmp_path):
    sizes = ("data.smoothing.size=9", "data.smoothing.train=6", "data.smoothing.validation=0", "data.smoothing.test=2")
    with without_pictures():
        model = load(train(load_config("configs/smoothing.toml", [*SMALL, *sizes]), tmp_path / "run").checkpoint)
    samples = Smoothing(range(12), size=9)
    pool = [samples.mesh(number) for number in range(12)]
    assert {own.place for own in choose(model, pool, 6)} == set(range(6, 12))
    with pytest.raises(ValueError, match="got 6 among 12"):
        choose(model, pool, 7)


def test_mistakes(model, ensemble, monkeypatch):
    pool = [plate(number) for number in range(10, 12)]
    for number in (0, 3):
        with pytest.raises(ValueError, match=rf"'number' to be from 1 to the 2 meshes of the pool \(got {number}\)"):
            choose(model, pool, number)
    with pytest.raises(ValueError, match="Expected an ensemble, whose members disagree on 'mean:v_x'"):
        choose(model, pool, 1, "mean:v_x")
    with pytest.raises(ValueError, match="Expected a quantity of a target"):
        choose(ensemble, pool, 1, "mean:w")
    with pytest.raises(ValueError, match="files or meshes in memory"):
        choose(model, [pool[0], "case.vtu"], 1)
    with pytest.raises(FileNotFoundError, match=r"none\.vtu.*named by .*'pool'"):
        choose(model, ["none.vtu"], 1)
    monkeypatch.setattr(type(model.config.data.options), "is_in_space", False)
    with pytest.raises(ValueError, match="trained on a reference grid"):
        choose(model, pool, 1)
    monkeypatch.undo()
    monkeypatch.setattr(type(model), "is_one_step", True)
    with pytest.raises(ValueError, match="Expected a model of single states"):
        choose(model, pool, 1)


def command(root, *arguments, pool="pool/*.vtu"):
    start = ["choose", str(root / "member_0" / "best.ckpt"), str(root / pool)]
    return [*start, *arguments, "--quiet", "--device", "cpu"]


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_command_writes_a_table(root, model, tmp_path, capsys):
    out = tmp_path / "new" / "chosen.csv"
    assert main(command(root, "--number", "3", "--output", str(out))) == 0
    expected = choose(model, [str(root / "pool" / "*.vtu")], 3)
    assert capsys.readouterr().out.splitlines() == [*(own.name for own in expected), str(out)]
    assert rows(out) == [{"file": own.name, "distance": str(own.distance)} for own in expected]
    vary = ["--vary", "load=1:3:5", "--vary", "wind_x=1,2"]
    assert main(command(root, "--number", "4", *vary, "--output", str(out), pool="pool/case_12.vtu")) == 0
    found = rows(out)
    assert list(found[0]) == ["load", "wind_x", "distance"] and found[0]["load"] == "3.0"
    assert len({(row["load"], row["wind_x"]) for row in found}) == 4


MISTAKES = [
    (["--number", "7"], "Expected --number to be from 1 to the 6 meshes"),
    (["--number", "1", "--quantity", "mean:v_x"], "train one with --members"),
    (["--number", "1", "--vary", "lod=1,2"], "did you mean 'load'"),
    (["--number", "2", "--vary", "load=2,2"], "at least 2 meshes that differ"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_one_line_and_write_nothing(root, tmp_path, capsys, arguments, message):
    out = tmp_path / "new" / "chosen.csv"
    pool = "pool/case_12.vtu" if "--vary" in arguments else "pool/*.vtu"
    assert main(command(root, *arguments, "--output", str(out), pool=pool)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("pitgeo: error: ") and message in error and not out.parent.exists()
