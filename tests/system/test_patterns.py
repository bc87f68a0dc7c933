"""Folders whose names look like patterns."""

from pathlib import Path

import numpy as np
import pytest

from pitgeo import load, train_surrogate
from pitgeo.config.config import parse_config
from pitgeo.datasets.folder.manifest import find_files, split_files
from pitgeo.describe.files import mesh_files
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.prediction.files import predict_files
from pitgeo.system.patterns import matches, with_folders
from pitgeo.workflows.run import train
from tests.pictures import without_pictures

NAMES = ["a[1]", "a[!x]", "b*", "what?", "[ab] (copy)", "a[]b]", "**"]


def touched(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return [folder / name for name in names]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_is_there_is_taken_at_its_word(tmp_path, name):
    for other in ("a1", "bx", "whatx", "a (copy)", "a]"):
        touched(tmp_path / other / "deep", "case_1.vtu")
    wanted = touched(tmp_path / name / "deep", "case_1.vtu", "case_2.vtu", "case_[3].vtu")
    pattern = str(tmp_path / name / "deep" / "*.vtu")
    assert set(matches(pattern)) == set(find_files([pattern])) == set(mesh_files([pattern])) == set(wanted)
    assert set(find_files([str(tmp_path / name / "**" / "case_[12].vtu")])) == set(wanted[:2])
    assert set(find_files([str(wanted[2])])) == {wanted[2]}


def test_brackets_of_folders_that_are_not_there_are_a_pattern(tmp_path):
    wanted = touched(tmp_path / "run_1", "a.vtu") + touched(tmp_path / "run_2", "a.vtu")
    touched(tmp_path / "run_3", "a.vtu")
    assert list(find_files([str(tmp_path / "run_[12]" / "*.vtu")])) == wanted
    assert with_folders(f"{tmp_path}/run_[12]/*.vtu") == f"{tmp_path}/run_[12]/*.vtu"


def test_relative_patterns(tmp_path, monkeypatch):
    touched(tmp_path / "a[1]", "x.vtu"), touched(tmp_path / "a1", "y.vtu")
    monkeypatch.chdir(tmp_path)
    for pattern in ("a[1]/*.vtu", "./a[1]/*.vtu", "a[1]//*.vtu"):
        assert find_files([pattern]) == (Path("a[1]/x.vtu"),)


def test_splits_by_patterns_with_such_a_folder(tmp_path):
    files = touched(tmp_path / "a[1]", "t_1.vtu", "t_2.vtu", "v_1.vtu", "e_1.vtu")
    files += touched(tmp_path / "a1", "t_3.vtu")
    found = split_files(files, f"{tmp_path}/a[1]/t_*.vtu", [f"{tmp_path}/a[1]/v_?.vtu"], "e_*.vtu", 0)
    assert [len(part) for part in (found.train, found.validation, found.test)] == [2, 1, 1]
    assert set(found.train) == set(files[:2])


def meshes(count=5):
    points = [np.random.default_rng(number).random((30, 2)) for number in range(count)]
    return [{"points": place, "height": place[:, 0] + 1} for place in points]


SMALL = ["training.epochs=1", "model.pit.channels=8", "model.pit.layers=1", "model.pit.latent.number=10"]


@pytest.mark.parametrize("name", ["a[1]", "what*"])
@without_pictures()
def test_a_run_in_such_a_folder(tmp_path, name):
    """From Python, from a configuration, and predictions on files in it."""
    decoy = tmp_path / "runs" / "a1-meshes"
    for number in range(3):
        write_mesh(decoy / f"sample_{number}.vtu", Mesh(np.random.default_rng(7).random((9, 2))))
    output = tmp_path / "runs" / name
    model = train_surrogate(meshes(), ["height"], output, settings=SMALL, progress=False)
    split = load(model.path).facts["split"]
    folder = output.with_name(f"{name}-meshes")
    names = {Path(file).relative_to(folder).name for part in split.values() for file in part}
    assert names == {f"sample_{number:05d}.vtu" for number in range(5)}
    plain = load(model.path).config.plain()
    plain["data"]["meshes"]["files"] = str(folder / "*.vtu")  # as a user would write it
    again = train(parse_config(plain), tmp_path / f"again{name}")
    assert load(again.checkpoint).facts["split"] == split
    written = predict_files(model.path, [folder / "sample_0000[12].vtu"], tmp_path / f"{name} out")
    assert [path.name for path in written] == ["sample_00001.vtu", "sample_00002.vtu"]
    assert "height_prediction" in read_mesh(written[0]).point_data
