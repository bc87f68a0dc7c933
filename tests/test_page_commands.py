"""Every command of every page runs to its end: here, in another test, or it is named with the reason why not."""

from __future__ import annotations

import fnmatch
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pitgeo.cli.main import main
from pitgeo.geometry.filled import fill_surface
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.workflows.run import train
from pitgeo.workflows.train_ensemble import train_ensemble
from tests.pictures import without_pictures
from tests.small_runs import small_run
from tests.test_pages import EACH

ROOT = Path(__file__).parents[1]
HERE = [
    "pitgeo describe cases/*.vtu --write run.toml",
    "pitgeo train run.toml",
    "pitgeo predict runs/run/best.ckpt new/*.vtu --output predicted/",
    "pitgeo predict runs/brackets/best.ckpt *",
    "pitgeo predict runs/run/best.ckpt part.vtu --line*",
    "pitgeo evaluate runs/meshes/best.ckpt --files new/*.vtu",
    "pitgeo calibrate runs/run/best.ckpt held_out/*.vtu",
    "pitgeo choose runs/ensemble/ensemble.json *",
]
"""Patterns of the commands that the test below runs, in a folder that has what they name."""
IN_TESTS = {
    "pitgeo sweep *": "test_docs.py::test_the_page_on_deciding_runs",
    "pitgeo optimise *": "test_docs.py::test_the_page_on_deciding_runs",
    "pitgeo export *": "test_docs.py::test_the_page_on_export_runs_without_pitgeo",
    "pitgeo view *": "view/test_page.py",
    "pitgeo train configs/brackets.toml": "datasets_generated/test_brackets.py",
    "python scripts/train.py configs/meshes.toml --set training.devices=*": "training/test_distributed.py",
    "torchrun --nproc-per-node 4 *": "training/test_distributed.py",
    "python datasets/*/generate.py*": "datasets_generated",
    "python scripts/train.py configs/*": "workflows/test_run.py",
    "python scripts/evaluate.py runs/darcy_small_quick/*": "datasets",
    "python scripts/compare.py *": "workflows/compare",
    "python scripts/benchmark.py *": "benchmarks/test_speed.py",
    "python examples/lightest_plate.py *": "examples/test_lightest_plate.py",
}
"""Patterns of commands whose parts, on small data, other tests run, and the test or the folder of these tests."""
NOT_HERE = {
    "pip install *": "needs a network",
    "make *": "runs this suite, or makes what it needs",
    ".ci/run": "runs this suite",
    ".venv/bin/*": "runs this suite, or its tools",
    ". .venv/bin/activate": "a builtin of the shell",
    "python scripts/trust.py *": "measures for many minutes",
    "torchrun --nnodes 2 *": "needs two machines",
    "srun *": "needs SLURM",
}
COMMANDS = sorted({" ".join(words) for _, words in EACH})


def matching(command, patterns):
    return [pattern for pattern in patterns if fnmatch.fnmatchcase(command, pattern)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_run_or_named(command):
    found = [part for part in (HERE, IN_TESTS, NOT_HERE) if matching(command, part)]
    assert len(found) == 1 or found == [HERE, IN_TESTS], f"{command}: run it here, or name the test that does"


def test_no_row_is_left_over():
    for pattern in (*HERE, *IN_TESTS, *NOT_HERE):
        assert any(matching(command, [pattern]) for command in COMMANDS), pattern
    for place in IN_TESTS.values():
        path, _, name = place.partition("::")
        assert (ROOT / "tests" / path).exists(), place
        assert not name or f"def {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8")


def solid(number, part=None):
    """A block of 0.1 m, clamped on one side, with the fields and numbers of a bracket."""
    rng = np.random.default_rng(number)
    size = np.array([0.1, 0.04, 0.02]) * (1 + 0.1 * rng.random(3))
    mesh = fill_surface(box(size), 0.02, ["clamped"]) if part is None else part
    traction, young = rng.normal(size=3) * 1e6, 1e11 * (1 + rng.random())
    bent = mesh.points[:, :1] ** 2 * traction / young
    stress = np.outer(mesh.points[:, 0], np.arange(1.0, 7)) * traction[0]
    fields = {"displacement": bent, "stress": stress, "von_mises": np.linalg.norm(stress, axis=1)}
    numbers = {"traction": traction, "young": np.array([young]), "poisson": np.array([0.3]), "load": 10 * rng.random(1)}
    clamped = (mesh.points[:, 0] < 1e-9).astype(np.int64)
    return replace(mesh, point_data={**fields, "clamped": clamped}, field_data=numbers)


def box(size):
    """Its surface, of triangles."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * size
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([[(a, b, c), (a, c, d)] for a, b, c, d in quads]).reshape(-1, 3)
    return Mesh(corners, (("triangle", triangles),), point_data={"clamped": (corners[:, 0] == 0).astype(np.int64)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the commands name: solved cases, new ones, a surface and a part, and runs on them."""
    root = tmp_path_factory.mktemp("pages")
    for name, numbers in {"cases": range(6), "new": range(6, 8), "candidates": range(8, 18)}.items():
        for number in numbers:
            write_mesh(root / name / f"part_{number}.vtu", solid(number))
    for number in range(18, 28):
        write_mesh(root / "held_out" / f"part_{number}.vtu", solid(number))
    write_mesh(root / "part.vtp", box(np.array([0.1, 0.04, 0.02])))
    write_mesh(root / "part.vtu", solid(40))
    write_mesh(root / "plate.vtu", solid(41))
    inputs = ["traction", "young", "poisson", "clamped"]
    changes = ['data.meshes.geometry=["boundary_distance"]', "data.meshes.validation=1", "data.meshes.test=1"]
    configs = {
        "brackets": small_run(root, "cases/*.vtu", inputs, ["displacement", "von_mises"], *changes),
        "meshes": small_run(root, "cases/*.vtu", inputs, ["displacement"], *changes),
        "ensemble": small_run(root, "cases/*.vtu", ["load", "young"], ["displacement"], *changes),
    }
    with without_pictures(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        train_ensemble(configs.pop("ensemble"), root / "runs/ensemble", 2)
        for name, config in configs.items():
            train(config, root / "runs" / name)
    return root


def run(command):
    """One of the commands in this process; training is made short, and numbers are those that the page has."""
    words = shlex.split(command)[1:]
    short = ["training.epochs=1", "model.pit.channels=8", "model.pit.heads=2", "model.pit.latent.number=10"]
    if words[0] == "train":
        words += [part for change in short for part in ("--set", change)]
    with without_pictures():
        return main([*words, "--quiet"] if words[0] != "describe" else words)


def test_commands_on_own_meshes(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    commands = [command for pattern in HERE for command in COMMANDS if matching(command, [pattern])]
    for command in commands:
        assert run(command) == 0, (command, capsys.readouterr().err)
    for path in ("run.toml", "runs/run/best.ckpt", "predicted/part_6.vtu", "predicted/part.vtu", "next.csv"):
        assert (folder / path).exists(), path
    assert list((folder / "predicted").glob("part*.csv"))
