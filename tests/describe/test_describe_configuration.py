"""The configuration that describe ends in: what it takes for inputs and targets, and that it is trained with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pitgeo.cli.main import main
from pitgeo.config.config import load_config, parse_config
from pitgeo.config.toml import tomllib
from pitgeo.describe import describe
from pitgeo.describe.defaults import DEFAULTS
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.models.registry import MODELS, MLPOptions
from tests.describe.test_describe import plate, written
from tests.describe.test_describe_series import series
from tests.pictures import without_pictures

SMALL = ["training.epochs=1", "model.pit.channels=8", "model.pit.heads=2", "model.pit.layers=1",
         "model.pit.latent.number=8", "training.device=cpu"]  # fmt: skip


def suggested(*paths: str | Path) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads(describe(paths).suggestion)["data"]["meshes"]
    return found


def one_mesh(number: int) -> Mesh:
    mesh = plate(0)
    return replace(
        mesh,
        point_data={"T": 300 + number * mesh.points[:, 0] + mesh.points[:, 1]},
        field_data={"power": np.array([1.0 + number])},
    )


def files(kind: str, folder: Path) -> tuple[list[str], dict[str, object]]:
    """Files of a kind of problem, and what the configuration says of them."""
    if kind == "series":
        return [str(series(folder, 5))], {"series": "file", "inputs": ["k"], "targets": ["u"]}
    if kind == "one mesh":
        written(folder, *map(one_mesh, range(6)))
        return [f"{folder}/*.vtu"], {"inputs": ["power"], "targets": ["T"]}
    if kind == "table":
        written(folder, *(replace(one_mesh(k), field_data={}) for k in range(6)))
        rows = "\n".join(f"{k}.vtu,{k + 1},fine,{k * k},7" for k in range(6))
        (folder / "cases.csv").write_text(f"file,power,quality,area,same\n{rows}\n")
        (folder / "other.json").write_text('{"0": {"power": 3}}')
        table = (folder / "cases.csv").as_posix()
        return [str(folder)], {"parameters": table, "inputs": ["power", "area"], "targets": ["T"]}
    if kind == "cells":
        written(
            folder, *(replace(plate(k), point_data={}, cell_data={"q": (np.linspace(1, 2 + k, 16),)}) for k in range(6))
        )
        return [str(folder)], {"inputs": [], "targets": ["q"]}
    if kind == "points":
        written(folder, *(Mesh(plate(k).points, (), {"u": 1 + plate(k).points}) for k in range(6)))
        return [str(folder)], {"inputs": [], "targets": ["u"]}
    written(folder, *(plate(k, load=1.5 + k, wall=(np.arange(25) < 5).astype(float)) for k in range(6)))
    return [str(folder / "*.vtu")], {"inputs": ["load", "wall"], "targets": ["u"]}


PROBLEMS = {
    "meshes": "meshes differ from file to file",
    "one mesh": "one mesh in all files, and numbers that differ from file to file",
    "table": "one mesh in all files, and numbers that differ from file to file",
    "series": "time series",
    "cells": "meshes differ from file to file",
    "points": "points alone that differ from file to file",
}


@pytest.mark.parametrize("kind", PROBLEMS)
@without_pictures()
def test_what_is_written_is_trained_with(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").mkdir()
    given, expected = files(kind, tmp_path / "cases")
    assert main(["describe", *given, "--write", "run.toml", "--quiet"]) == 0
    table = tomllib.loads(Path("run.toml").read_text())["data"]["meshes"]
    assert {key: table.get(key) for key in expected} == expected
    assert Path("run.toml").read_text() == describe(given).suggestion and describe(given).problem == PROBLEMS[kind]
    changes = [part for change in SMALL for part in ("--set", change)]
    assert main(["train", "run.toml", "--quiet", *changes]) == 0
    trained = load_config("runs/run/config.toml")
    assert (trained.model.name == "pit") == (
        kind not in ("one mesh", "table") or "pod" not in Path("run.toml").read_text()
    )
    lists = {"meshes": ("boundary_distance", "boundary_distance:wall"), "one mesh": (), "table": (), "points": ()}
    assert trained.data.options.geometry == lists.get(kind, ("boundary_distance",))


def test_a_pod_is_tried_first_where_numbers_alone_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "pod", MLPOptions)
    written(tmp_path / "numbers", *map(one_mesh, range(6)))
    description = describe([tmp_path / "numbers"])
    text = tomllib.loads(description.suggestion)
    assert text["model"]["name"] == "pod" and text["model"]["pit"]["layers"] == 4
    assert text["data"]["meshes"]["validation"] == 0  # a POD chooses by leaving out training files
    assert description.advice == 'a POD, fitted in seconds (model.name = "pod"), then a PiT ("pit")'
    fields = [one_mesh(k).with_point_data("k", np.linspace(0, 1, 25) > k / 6) for k in range(6)]
    for name, meshes in {"fields": fields, "shapes": [plate(k, load=1.5 + k) for k in range(6)]}.items():
        written(tmp_path / name, *meshes)
        description = describe([tmp_path / name])
        assert tomllib.loads(description.suggestion)["model"]["name"] == "pit" and "POD" not in description.advice
    monkeypatch.delitem(MODELS, "pod")
    assert tomllib.loads(describe([tmp_path / "numbers"]).suggestion)["model"]["name"] == "pit"


def test_it_has_the_defaults(tmp_path: Path) -> None:
    written(tmp_path, *(plate(k) for k in range(6)))
    text = tomllib.loads(describe([tmp_path]).suggestion)
    files = {key: text["data"]["meshes"][key] for key in ("files", "inputs", "targets")}
    own = {**DEFAULTS, "data": {"name": "meshes", "meshes": {**DEFAULTS["data"]["meshes"], **files}}}
    assert parse_config(text) == parse_config(own)


def test_a_file_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in written(tmp_path, plate(0), plate(1))]
    file = tmp_path / "run.toml"
    file.write_text("mine")
    assert main(["describe", *paths, "--write", str(file), "--quiet"]) == 2
    assert "run.toml, which is there" in capsys.readouterr().err and file.read_text() == "mine"
    assert main(["describe", *paths, "--write", str(file), "--quiet", "--overwrite"]) == 0
    assert tomllib.loads(file.read_text())["data"]["meshes"]["targets"] == ["u"]


def test_files_that_cannot_be_read_are_not_meant(tmp_path: Path) -> None:
    paths = written(tmp_path, *(plate(k) for k in range(6)))
    (tmp_path / "3.vtu").write_text("no mesh")
    rest = [path.as_posix() for path in paths if path.name != "3.vtu"]
    for given in (str(tmp_path / "*.vtu"), tmp_path):
        assert suggested(given)["files"] == rest
    parse_config(tomllib.loads(describe([tmp_path]).suggestion)).data.options.training_parts()
    (tmp_path / "3.vtu").rename(tmp_path / "bad_3.vtu")
    assert suggested(tmp_path / "[0-9].vtu")["files"] == (tmp_path / "[0-9].vtu").as_posix()


def test_files_of_another_kind_are_left_out(tmp_path: Path) -> None:
    written(tmp_path, *(plate(k) for k in range(5)))
    write_mesh(tmp_path / "solid.vtu", Mesh(np.eye(4)[:, :3] * 2, (("tetra", np.arange(4)[None]),), {"u": np.ones(4)}))
    table, text = suggested(tmp_path), describe([tmp_path]).suggestion
    assert table["files"] == [f"{tmp_path.as_posix()}/{k}.vtu" for k in range(5)]
    assert "1 of 6 files left out, of another kind: solid.vtu is a mesh in 3D" in text
    parse_config(tomllib.loads(text)).data.options.training_parts()


def dome(number: int, flip: bool = False) -> Mesh:
    """A curved surface over a square."""
    mesh = plate(number)
    x, y = mesh.points.T
    points = np.stack([x, y, 0.05 * (x * y + number)], 1)
    cells = tuple((kind, nodes[:, ::-1] if flip else nodes) for kind, nodes in mesh.cells)
    return Mesh(points, cells, {"p": 1 + x})


def test_coordinates_normals_and_sets_are_no_targets(tmp_path: Path) -> None:
    def mesh(k: int) -> Mesh:
        mesh = dome(k)
        slope = np.stack([-0.05 * mesh.points[:, 1], -0.05 * mesh.points[:, 0], np.ones(25)], 1)
        across = slope / np.linalg.norm(slope, axis=1, keepdims=True)
        fields = {
            "n": across, "place": mesh.points.astype(np.float32), "X": mesh.points[:, 0],
            "inlet": (mesh.points[:, 0] < 1.5).astype(np.float32), "speed": 2 * across,
            "heading": np.roll(across, 1, 1),
        }  # fmt: skip
        return replace(mesh, point_data={**mesh.point_data, **fields}, point_sets={"left": np.array([0, 5])})

    table = suggested(*written(tmp_path, *map(mesh, range(5))))
    assert table["targets"] == ["p", "speed", "heading"] and table["inputs"] == ["inlet"]
    text = describe([tmp_path]).suggestion
    assert 'normals of the mesh: "n".' in text and 'the coordinates of the mesh: "place", "X".' in text


def test_files_turned_over_are_named(tmp_path: Path) -> None:
    def found(*meshes: Mesh) -> list[str]:
        findings = describe(written(tmp_path, *meshes)).findings
        return [finding.text for finding in findings if finding.check == "turned files"]

    assert found(*(dome(k) for k in range(4))) == []
    (text,) = found(*(dome(k, flip=k == 2) for k in range(4)))
    assert text.startswith("2.vtu: the corners of its cells go round the other way") and "in 1 of 4 files" in text
    planes = [plate(k) for k in range(4)]
    planes[1] = replace(planes[1], cells=(("quad", planes[1].cells[0][1][:, ::-1]),))
    assert found(*planes)[0].startswith("1.vtu")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    solids = [
        Mesh(corners * k, (("tetra", np.array([[0, 1, 2, 3]] if k != 3 else [[0, 2, 1, 3]])),)) for k in (1, 2, 3)
    ]
    assert found(*solids)[0].startswith("2.vtu")
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    closed = [Mesh(corners * k, (("triangle", faces[:, ::-1] if k == 1 else faces),)) for k in (1, 2, 3)]
    assert found(*closed)[0].startswith("0.vtu")
    ball = [
        Mesh(corners @ np.diag([1, 1, s]), (("triangle", faces[1:] if s > 0 else faces[1:, ::-1]),)) for s in (1, -1)
    ]
    assert found(*ball) == []  # they look different ways as they are


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([(293, 353), (20, 81), (295, 350), (291, 352)], "from 20 to 81 in 1 file (first 1.vtu), but values from 291"),
        ([(293, 593), (20, 320), (295, 570), (291, 600)], "they differ by about 273.15; °C and K?"),
        ([(300, 300), (310, 310), (25, 25), (305, 305)], "a value of 25 in 1 file (first 2.vtu), but values from 300"),
        ([(20, 80), (22, 85), (293.15, 353.15)], "first 2.vtu), but values from 20 to 85 in 2 files (first 0.vtu)"),
        ([(0.9, 1.1), (0.95, 1.2), (0.8, 1.15), (3.5, 3.9)], "they do not overlap; are units or references mixed?"),
        ([(1, 2), (3, 4), (5, 6), (7, 8)], None),
        ([(0, 300), (0, 310), (0, 25), (0, 305)], None),
        ([(1, 1), (2, 2), (3, 3), (6, 6)], None),
        ([(20, 80), (293, 353), (150, 200), (90, 140), (210, 280)], None),
    ],
)
def test_fields_that_are_shifted(values: list[tuple[float, float]], message: str | None, tmp_path: Path) -> None:
    paths = written(tmp_path, *(plate(k, T=np.linspace(*pair, 25)) for k, pair in enumerate(values)))
    found = [finding.text for finding in describe(paths).findings if finding.check == "field offsets"]
    assert [message in text for text in found] == [True] * (message is not None)
    assert not found or found[0].startswith("point field 'T': ")


def test_units_of_coordinates_by_a_hundred(tmp_path: Path) -> None:
    meshes = [plate(k) for k in range(5)]
    meshes[3] = replace(meshes[3], points=100 * meshes[3].points)
    found = [finding.text for finding in describe(written(tmp_path, *meshes)).findings]
    assert any("first 3.vtu" in text and "are units mixed" in text for text in found)


def test_sets_of_floats_are_read_as_sets(tmp_path: Path) -> None:
    marks = np.zeros(25)
    marks[[0, 7]] = 1
    write_mesh(tmp_path / "a.vtu", plate().with_point_data("set:wall", marks))
    assert read_mesh(tmp_path / "a.vtu").point_sets["wall"].tolist() == [0, 7]
