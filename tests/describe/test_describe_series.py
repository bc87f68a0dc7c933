"""What describe says of time series, and that what it suggests is trained on as it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pitgeo.cli.main import main
from pitgeo.config.toml import tomllib
from pitgeo.describe import Description, describe, format_description
from pitgeo.describe.files import mesh_files
from pitgeo.mesh import Mesh, write_mesh, write_series
from pitgeo.mesh.formats import FORMATS
from tests.describe.test_describe import by_check, plate

TIMES = (0.0, 0.5, 1.0)


def states(seed: int = 0, times: tuple[float, ...] = TIMES) -> list[Mesh]:
    """``u`` grows with time, ``k`` stays."""
    first = plate(seed, k=np.linspace(seed, seed + 1, 25))
    return [first.with_point_data("u", first.point_data["u"] + time, "replace") for time in times]


def series(folder: Path, count: int = 3, times: tuple[float, ...] = TIMES) -> Path:
    for seed in range(count):
        write_series(folder / f"run_{seed}.pvd", states(seed, times), times)
    return folder


def xdmf(path: Path, meshes: list[Mesh], times: tuple[float, ...] = TIMES) -> Path:
    """The same in XDMF, a function a field."""

    def item(values: np.ndarray, kind: str = "Float") -> str:
        text = " ".join(map(repr, values.ravel().tolist()))
        dimensions = " ".join(map(str, values.shape))
        return f'<DataItem Dimensions="{dimensions}" NumberType="{kind}" Precision="8" Format="XML">{text}</DataItem>'

    mesh = meshes[0]
    shape = (
        f'<Topology TopologyType="Quadrilateral" NumberOfElements="16">{item(mesh.cells[0][1], "Int")}</Topology>'
        f'<Geometry GeometryType="XY">{item(mesh.points)}</Geometry>'
    )
    functions = ""
    for name in mesh.point_data:
        steps = "".join(
            f'<Grid>{shape}<Time Value="{time}"/>'
            f'<Attribute Name="{name}">{item(step.point_data[name])}</Attribute></Grid>'
            for time, step in zip(times, meshes, strict=True)
        )
        functions += f'<Grid Name="{name}" GridType="Collection" CollectionType="Temporal">{steps}</Grid>'
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'<Xdmf Version="3.0"><Domain>{functions}</Domain></Xdmf>')
    return path


def found(description: Description) -> dict[str, list[str]]:
    return by_check(description)


def test_series_are_described_by_all_their_steps(tmp_path: Path) -> None:
    description = describe([str(series(tmp_path) / "*.pvd")])
    summary = description.series
    assert summary is not None and (summary.files, summary.steps, summary.times) == (3, (3, 3), (0, 1))
    assert summary.lengths == (0.5, 0.5) and summary.is_even
    assert description.points == (25, 25) and found(description) == {}
    u, k = description.fields
    values = [step.point_data["u"] for seed in range(3) for step in states(seed)]
    assert u.ranges == tuple(zip(np.min(values, (0, 1)).tolist(), np.max(values, (0, 1)).tolist(), strict=True))
    assert (k.low, k.high) == (0, 3)
    text = " ".join(format_description(description).split())
    assert "steps 3 a file, times 0 to 1, 0.5 apart; the mesh is that of the first" in text
    assert json.loads(json.dumps(description.to_dict(), allow_nan=False))["series"]["steps"] == [3, 3]


def test_the_suggestion_for_series(tmp_path: Path) -> None:
    table = tomllib.loads(describe([series(tmp_path, 5)]).suggestion)["data"]["meshes"]
    assert table == {
        "files": f"{tmp_path}/*.pvd", "series": "file", "inputs": ["k"], "targets": ["u"],
        "geometry": "auto", "validation": 0.1, "test": 0.2,
    }  # fmt: skip
    table = tomllib.loads(describe([tmp_path / "run_0.pvd"]).suggestion)["data"]["meshes"]
    assert (table["files"], table["validation"], table["test"]) == (f"{tmp_path}/run_0.pvd", 0, 0)


@pytest.mark.parametrize("kind", ["pvd", "one pvd", "xdmf", "folder", "pieces"])
def test_what_is_suggested_is_trained_on(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given: list[str | Path] = ["runs/*.pvd"]
    if kind == "xdmf":
        given = [str(xdmf(tmp_path / "runs" / f"r{seed}.xdmf", states(seed))) for seed in range(4)]
    elif kind == "pieces":
        pyvista = pytest.importorskip("pyvista")
        Path("cases").mkdir()
        for seed in range(4):
            write_mesh("piece.vtu", plate(seed))
            pyvista.MultiBlock([pyvista.read("piece.vtu")]).save(f"cases/m{seed}.vtm")
        given = ["cases"]
    else:
        series(tmp_path / "runs", 1 if kind == "one pvd" else 4)
        given = ["runs"] if kind == "folder" else given
    text = describe(given).suggestion
    assert tomllib.loads(text)["data"]["meshes"].get("series") == (None if kind == "pieces" else "file")
    Path("run.toml").write_text(text)
    assert main(["train", "run.toml", "--dry-run", "--set", "model.pit.latent.number=8"]) == 0


def test_series_of_xdmf_are_those_of_collections(tmp_path: Path) -> None:
    theirs = describe([xdmf(tmp_path / "a" / "run_0.xdmf", states())])
    mine = describe([series(tmp_path / "b", 1) / "run_0.pvd"])
    assert theirs.fields == mine.fields and theirs.series == mine.series and theirs.cell_types == mine.cell_types


def test_series_of_one_step_are_meshes(tmp_path: Path) -> None:
    description = describe([xdmf(tmp_path / "a.xdmf", states(0, (2.0,)), (2.0,))])
    assert description.series is None and "series" not in tomllib.loads(description.suggestion)["data"]["meshes"]


def test_uneven_steps_are_named(tmp_path: Path) -> None:
    description = describe([series(tmp_path, 2, (0.0, 0.5, 1.5))])
    assert description.series is not None and not description.series.is_even
    assert "0.5 to 1 apart, not equally spaced" in " ".join(format_description(description).split())
    (text,) = found(description)["uneven steps"]
    assert "(0.5 to 1 within 2 of 2 series, first in run_0.pvd)" in text


def test_points_that_move_are_named(tmp_path: Path) -> None:
    for k, mesh in enumerate(states()):
        moved = Mesh(mesh.points + 0.25 * (k == 2), mesh.cells, mesh.point_data)
        write_mesh(tmp_path / f"s{k}.vtu", moved)
    lines = "".join(f'<DataSet timestep="{k}" file="s{k}.vtu"/>' for k in range(3))
    (tmp_path / "run.pvd").write_text(f'<VTKFile type="Collection"><Collection>{lines}</Collection></VTKFile>')
    (text,) = found(describe([tmp_path]))["moving meshes"]
    assert "which training refuses" in text and "s2.vtu" in text and "up to 0.25 away" in text


def test_steps_that_lack_a_field_or_cannot_be_read_are_named(tmp_path: Path) -> None:
    series(tmp_path, 2)
    mesh = states()[1]
    write_mesh(tmp_path / "run_0_0001.vtu", Mesh(mesh.points, mesh.cells, {"u": mesh.point_data["u"]}))
    description = describe([tmp_path])
    assert found(description)["partial fields"] == [
        "field 'k' of points is missing at some time steps, or has another number of components there (first at step "
        "1 of run_0.pvd)"
    ]
    assert '# Left out, since not at every step: "k".' in description.suggestion
    (tmp_path / "run_1_0002.vtu").unlink()
    unreadable = describe([tmp_path / "run_0.pvd", tmp_path / "run_1.pvd"]).unreadable
    assert "run_1_0002.vtu, of step 2 at time 1 " in unreadable[(tmp_path / "run_1.pvd").as_posix()]


def test_series_and_meshes_are_told_apart(tmp_path: Path) -> None:
    series(tmp_path, 1)
    write_mesh(tmp_path / "alone.vtu", plate(7))
    description = describe([tmp_path])
    assert len(description.files) == 2
    assert "time series (1 files, first run_0.pvd) among single meshes (1, first alone.vtu)" in str(found(description))


def test_long_series_are_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pitgeo.describe.series.MOST", 8)
    times = tuple(float(k) for k in range(9))
    description = describe([series(tmp_path, 1, times)])
    assert "ranges are those of 3 of 9 steps, first, middle and last" in description.readings[0]
    assert description.fields[0].high == states(0, times)[-1].point_data["u"].max()


def test_restarts_are_among_the_readings(tmp_path: Path) -> None:
    path = series(tmp_path, 1) / "run_0.pvd"
    line = '<DataSet timestep="0.5" part="0" file="run_0_0002.vtu"/>'
    path.write_text(path.read_text().replace("</Collection>", line + "</Collection>"))
    assert "1 entry is replaced by a later one of the same time" in describe([path]).readings[0]


def test_folders_have_what_names_the_others(tmp_path: Path) -> None:
    series(tmp_path, 2)
    assert mesh_files([tmp_path]) == [tmp_path / "run_0.pvd", tmp_path / "run_1.pvd"]
    (tmp_path / "all.pvtu").write_text('<VTKFile><Piece Source="part_0.vtu"/><Piece Source="part_1.vtu"/></VTKFile>')
    for k in range(2):
        write_mesh(tmp_path / f"part_{k}.vtu", plate(k))
    write_mesh(tmp_path / "own.vtu", plate(3))
    names = [path.name for path in mesh_files([tmp_path])]
    assert names == ["all.pvtu", "own.vtu", "run_0.pvd", "run_1.pvd"]


@pytest.mark.parametrize("ending", sorted(FORMATS))
def test_folders_know_all_that_is_read(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a{ending}").write_text("mesh")
    assert mesh_files([tmp_path]) == [tmp_path / f"a{ending}"]
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "b.vtu").write_text("mesh")
    (tmp_path / "setup.xml").write_text("mine")
    assert tmp_path / "setup.xml" not in mesh_files([tmp_path])


def test_the_two_files_of_tetgen_are_one_mesh(tmp_path: Path) -> None:
    for ending in (".node", ".ele"):
        (tmp_path / f"box{ending}").write_text("mesh")
    assert len(mesh_files([tmp_path])) == 1
