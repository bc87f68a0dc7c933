"""Meshes that are not like those of the training are named at prediction; results keep what they were made with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pitgeo import load
from pitgeo.cli.main import main
from pitgeo.config.config import load_config
from pitgeo.config.toml import tomllib
from pitgeo.data.fields.mesh_sizes import MeshSizes, sizes
from pitgeo.mesh import Mesh, read_mesh, read_series, write_mesh, write_series
from pitgeo.prediction.roll_out import write_roll_out
from pitgeo.workflows.run import train
from pitgeo.workflows.run_folder import as_begun
from tests.datasets.folder.test_auto_geometry import LEFT, QUADS, plate, surface
from tests.small_runs import small_run

pytestmark = pytest.mark.usefixtures("no_pictures")


def trained(folder: Path, meshes: list[Mesh], *changes: str, inputs: tuple[str, ...] = ()) -> Path:
    for number, mesh in enumerate(meshes):
        write_mesh(folder / "cases" / f"case_{number}.vtu", mesh)
    return train(small_run(folder, "cases/*.vtu", inputs, ["u"], *changes), folder / "out").checkpoint


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plates of 1 to 1.5 by 1 with a temperature in kelvins."""
    meshes = [plate(1 + k / 10, left=LEFT).with_point_data("T", np.linspace(290 + k, 350 + k, 25)) for k in range(6)]
    return trained(tmp_path_factory.mktemp("plates"), meshes, inputs=("T",))


def case(scale: float = 1.0, T: tuple[float, float] = (293, 350)) -> Mesh:  # noqa: N803
    mesh = plate(1.25, left=LEFT).with_point_data("T", np.linspace(*T, 25))
    return replace(mesh, points=scale * mesh.points)


def test_the_sizes_of_a_mesh() -> None:
    assert sizes(plate(3.0)) == {"extent": pytest.approx(10**0.5), "spacing": 0.25}
    assert sizes(Mesh(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5]]))) == {"extent": 0.5, "spacing": 0.5}
    assert sizes(Mesh(np.zeros((1, 2)))) == {"extent": 0.0, "spacing": 0.0}
    known = MeshSizes((1.0, 2.0), (0.1, 0.2), (0.0, 0.0, 1.0), 0.5)
    assert MeshSizes.parse(json.loads(json.dumps(known.plain()))) == known


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (case(1000.0), "larger than the training meshes (an extent of 1601, in training 1.414 to 1.803): mm and m?"),
        (case(0.01), "smaller than the training meshes (an extent of 0.01601, in training 1.414 to 1.803): cm and m?"),
        (case(7.0), "times larger than the training meshes (an extent of 11.21, in training 1.414 to 1.803): do not"),
        (case(T=(20.0, 77.0)), "'T' runs from 20 to 77, outside of the 290 to 355 of the training set (°C and K?)"),
        (case(T=(293e3, 350e3)), "290 to 355 of the training set (by 1000: are units mixed?): do not rely"),
        (case(T=(100.0, 120.0)), "outside of the 290 to 355 of the training set: do not rely on the prediction"),
        (case(), ""),
        (case(1.05), ""),
    ],
)  # fmt: skip
def test_meshes_unlike_those_of_the_training_are_named(
    run: Path, mesh: Mesh, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    load(run).predict_mesh(mesh)
    said = [record.getMessage() for record in caplog.records if "training" in record.getMessage()]
    assert len(said) == bool(message) and (not message or message in said[0]), said


def test_finer_meshes_are_named(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    x, y = np.meshgrid(np.linspace(0, 1.2, 21), np.linspace(0, 1, 21))
    points = np.stack([x.ravel(), y.ravel()], 1)
    quads = np.array([[i, i + 1, i + 22, i + 21] for i in range(420) if i % 21 < 20])
    load(run).predict_mesh(
        Mesh(points, (("quad", quads),), {"T": np.full(441, 300.0)}, point_sets={"left": np.array([0])})
    )
    assert "points are 5 times closer than those of the training meshes (about 0.05, in training 0.25)" in caplog.text


def test_warnings_of_many_files_are_summed_up(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        write_mesh(tmp_path / "new" / f"a{number}.vtu", case(1000.0 + number))
    command = ["predict", str(run), str(tmp_path / "new" / "*.vtu"), "--output", str(tmp_path / "out"), "--quiet"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    (line,) = [line for line in err.splitlines() if "training meshes" in line]
    assert "a0.vtu: 1003 times larger" in line and "in 3 of 3 files" in line and out == f"3 files in {tmp_path}/out\n"
    assert sum(".vtu" in line for line in err.splitlines()) == 1, err


def test_faces_turned_over_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    predictor = load(trained(tmp_path, [surface(k) for k in range(6)]))
    caplog.clear()
    assert predictor.facts["meshes"]["normal"][2] > 0.9
    predictor.predict_mesh(surface(2))
    assert "normals" not in caplog.text
    predictor.predict_mesh(surface(2, flip=True))
    assert "normals point the other way than in the training meshes" in caplog.text


def test_the_choice_is_written_and_kept(run: Path, tmp_path: Path) -> None:
    folder = run.parents[1]
    names = ("boundary_distance", "boundary_distance:left")
    written = tomllib.loads((run.parent / "config.toml").read_text())["data"]["meshes"]["geometry"]
    assert tuple(written) == names == load(run).config.data.options.geometry
    assert [field.name for field in load(run).table.geometry] == list(names)
    assert (
        "by data.meshes.geometry = 'auto': boundary_distance, boundary_distance:left"
        in (run.parent / "log.txt").read_text()
    )
    config = small_run(folder, "cases/*.vtu", ["T"], ["u"])
    assert config.data.options.geometry == "auto" and as_begun(config, run).data.options.geometry == names
    train(config, run.parent, resume=True)  # it has finished, and is the same run
    with pytest.raises(ValueError, match=r"data\.meshes\.geometry was \[.*\] and is \[\]"):
        train(small_run(folder, "cases/*.vtu", ["T"], ["u"], "data.meshes.geometry=[]"), run.parent, resume=True)
    with pytest.raises(ValueError, match="Expected a set of points or cells named 'left'"):
        load(run).predict_mesh(replace(case(), point_sets={}))
    assert load_config(run.parent / "config.toml").data.options.geometry == names


def test_a_resumed_run_goes_on_with_the_inputs_it_began_with(tmp_path: Path) -> None:
    meshes = [plate(1 + k / 10) for k in range(6)]
    checkpoint = trained(tmp_path, meshes, "training.schedule='constant'")
    config = small_run(tmp_path, "cases/*.vtu", [], ["u"], "training.schedule='constant'")
    longer = config.model_copy(update={"training": config.training.model_copy(update={"epochs": 2})})
    with pytest.raises(ValueError, match=r"training\.epochs was 1 and is 2"):
        train(longer, checkpoint.parent, resume=True)


def test_results_keep_the_parameters_they_were_made_with(tmp_path: Path) -> None:
    table = "\n".join(["file,angle,drag", *(f"case_{k},{k / 2},{k}" for k in range(6))])
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "table.csv").write_text(table)
    changes = f"data.meshes.parameters='{tmp_path}/cases/table.csv'"
    checkpoint = trained(tmp_path, [plate(1 + k / 10) for k in range(6)], changes, inputs=("angle",))
    write_mesh(tmp_path / "new" / "case_9.vtu", plate(1.2))
    write_mesh(tmp_path / "new" / "case_8.vtu", replace(plate(1.2), field_data={"angle": np.array([1.25])}))
    (tmp_path / "new.csv").write_text("file,angle\ncase_9,1.75\ncase_8,2.5")
    command = [
        "predict",
        str(checkpoint),
        str(tmp_path / "new/*.vtu"),
        "--output",
        str(tmp_path / "results"),
        "--quiet",
    ]
    assert main([*command, "--parameters", str(tmp_path / "new.csv")]) == 0
    results = [read_mesh(tmp_path / "results" / f"case_{k}.vtu").field_data for k in (9, 8)]
    assert results[0]["angle"].tolist() == [1.75] and results[1]["angle"].tolist() == [1.25]
    assert "drag" not in results[0]


@pytest.mark.parametrize("kind", ["file", "{case}_{step}.vtu"])
def test_a_single_mesh_goes_on_in_the_steps_of_the_training(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for k in range(4):
        states = [plate().with_point_data("u", 1 + k + step + np.arange(25) / 9, "replace") for step in range(4)]
        if kind == "file":
            write_series(tmp_path / "cases" / f"run{k}.pvd", states, [0.0, 0.1, 0.2, 0.3])
        for step, state in enumerate(states if kind != "file" else ()):
            write_mesh(tmp_path / "cases" / f"run{k}_{step / 10:g}.vtu", state)
    name = "*.pvd" if kind == "file" else "*.vtu"
    changes = (f"data.meshes.series='{kind}'", "data.meshes.validation=0", "data.meshes.test=1")
    checkpoint = train(small_run(tmp_path, f"cases/{name}", [], ["u"], *changes), tmp_path / "out").checkpoint
    predictor = load(checkpoint)
    assert predictor.facts["meshes"]["time_step"] == pytest.approx(0.1)
    write_mesh(tmp_path / "start.vtu", plate().with_point_data("u", 2 + np.arange(25) / 9, "replace"))
    write_roll_out(predictor, tmp_path / "start.vtu", tmp_path / "single.pvd", 3)
    assert read_series(tmp_path / "single.pvd").times.tolist() == pytest.approx([0, 0.1, 0.2, 0.3])
    states = [plate().with_point_data("u", 2 + step + np.arange(25) / 9, "replace") for step in range(2)]
    assert "steps of" not in caplog.text
    write_series(tmp_path / "other.pvd", states, [1.0, 1.5])
    write_roll_out(predictor, tmp_path / "other.pvd", tmp_path / "on.pvd", 3)
    assert read_series(tmp_path / "on.pvd").times.tolist() == pytest.approx([1.0, 1.5, 2.0, 2.5])
    assert "steps of 0.5, but those of the training are of 0.1" in caplog.text
    assert QUADS.shape == (16, 4)
