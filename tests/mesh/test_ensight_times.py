"""EnSight cases of several times, and what their lines may say."""

import numpy as np
import pytest

from pitgeo.datasets.folder.cache import open_series
from pitgeo.describe import describe
from pitgeo.mesh import read_mesh, read_series
from pitgeo.mesh.ensight.reader import read_ensight
from pitgeo.mesh.named_files import named_files
from tests.mesh.ensight_files import FORMS, geometry, in_times, variable, write
from tests.mesh.helpers import listed_cells, texts

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2.0]]
GEOMETRY = geometry([(1, "only", POINTS, [("tetra4", [[0, 1, 2, 3]])])])
TIME = "TIME\ntime set: 1 main\nnumber of steps: 3\n{numbers}\ntime values: 0.5 1\n 2.5\n"
START = "filename start number: 8\nfilename increment: 2"


def at(value):
    return variable([(1, [("coordinates", np.arange(4) + value)])])


def numbered(folder, form="text", numbers=START, lines=(), names=(8, 10, 12), more=""):
    files = {"run.geo": GEOMETRY, **{f"T.{number:03d}": at(10 * k) for k, number in enumerate(names)}}
    return write(folder, form, files, ["scalar per node: 1 T T.***", *lines], TIME.format(numbers=numbers) + more)


def check(path):
    mesh = read_mesh(path)
    assert mesh.point_data["T"].tolist() == [0, 1, 2, 3]
    assert texts(mesh) == ["the first of 3 times, 0.5, is read"]
    series = read_series(path)
    assert series.times.tolist() == [0.5, 1, 2.5]
    for k in (2, 0, 1):
        assert series.mesh(k).point_data["T"].tolist() == [10 * k + value for value in range(4)]
        assert not series.mesh(k).notes
    assert [(kind, nodes.tolist()) for kind, nodes in series.mesh(-1).cells] == [("tetra", [[0, 1, 2, 3]])]


@pytest.mark.parametrize("form", FORMS)
def test_a_file_a_time(tmp_path, form):
    check(numbered(tmp_path, form))


def test_numbers_of_files(tmp_path):
    check(numbered(tmp_path, numbers="filename numbers: 3 5\n900", names=(3, 5, 900)))
    (tmp_path / "numbers.txt").write_text("1\n2\n3\n")
    check(numbered(tmp_path, numbers="filename numbers file: numbers.txt", names=(1, 2, 3)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("index", [b"", b"index"])
def test_several_times_in_a_file(tmp_path, form, index):
    files = {"run.geo": in_times([GEOMETRY] * 3), "T": in_times([at(0), at(10), at(20)])}
    more = TIME.format(numbers="") + "FILE\nfile set: 1\nnumber of steps: 3\nGEOMETRY\nmodel: 1 1 run.geo\n"
    path = write(tmp_path, form, files, ["scalar per node: 1 1 T T"], more)
    if index and form in "<>":
        places = np.zeros(3, form + "i8").tobytes()
        end = np.array(3, form + "i4").tobytes() + places + b"\0" * 12 + b"FILE_INDEX".ljust(80)
        (tmp_path / "T").write_bytes((tmp_path / "T").read_bytes() + end)
    check(path)
    for broken in ("", "2", "4"):
        path.write_text(path.read_text().replace("steps: 3\nGEOM", f"steps: {broken}\nGEOM"))
        with pytest.raises(ValueError, match=r"run\.case: Expected"):
            read_mesh(path)
        path.write_text(path.read_text().replace(f"steps: {broken}\nGEOM", "steps: 3\nGEOM"))


def test_several_times_in_several_files(tmp_path):
    files = {"run.geo": GEOMETRY, "T01": in_times([at(0), at(10)]), "T02": in_times([at(20)])}
    more = "FILE\nfile set: 4\nfilename index: 1\nnumber of steps: 2\nfilename index: 2\nnumber of steps: 1\n"
    check(write(tmp_path, "<", files, ["scalar per node: 1 4 T T**"], TIME.format(numbers="") + more))


def test_variables_of_other_times(tmp_path):
    path = numbered(
        tmp_path, lines=["scalar per node: 2 q q*", "constant per case: 1 load 4 5\n6", "constant per case: k 7"]
    )
    path.write_text(
        path.read_text()
        + "time set: 2\nnumber of steps: 2\nfilename start number: 0\nfilename increment: 1\ntime values: 1 2.5\n"
    )
    for step in range(2):
        (tmp_path / f"q{step}").write_bytes(at(100 * step).content("text"))
    series = read_series(path)
    assert series.times.tolist() == [0.5, 1, 2.5]
    assert [series.mesh(k).field_data["load"].tolist() for k in range(3)] == [[4], [5], [6]]
    assert series.mesh(1).field_data["k"].tolist() == [7]
    assert [series.mesh(k).point_data["q"][0] for k in range(3)] == [0, 0, 100]
    assert [note.text for note in series.mesh(0).notes] == ["'q' has no values at time 0.5: those at 1 are read"]
    assert not series.mesh(2).notes


def test_what_has_a_single_time_is_that_of_all(tmp_path):
    path = numbered(tmp_path, lines=["scalar per node: 7 q T.008", "constant per case: 7 k 3"])
    text = path.read_text().replace("model: run.geo", "model: 7 run.geo")
    path.write_text(text + "time set: 7\nnumber of steps: 1\ntime values: -4\n")
    check(path)
    assert read_series(path).mesh(2).point_data["q"].tolist() == [0, 1, 2, 3]
    assert open_series((path,)).times.tolist() == [0.5, 1, 2.5]  # as training does
    path.write_text(text.replace("number of steps: 3", "number of steps: 1").replace("0.5 1\n 2.5", "0.5"))
    path.write_text(path.read_text() + "time set: 7\nnumber of steps: 1\ntime values: -4\n")
    assert not read_mesh(path).notes and read_mesh(path).field_data["k"].tolist() == [3]


def test_points_that_move_are_no_series_but_a_mesh(tmp_path):
    files = {f"run.geo{k}": geometry([(1, "only", np.add(POINTS, k), [("tetra4", [[0, 1, 2, 3]])])]) for k in range(3)}
    more = TIME.format(numbers="filename start number: 0\nfilename increment: 1")
    path = write(tmp_path, ">", files, [], more + "GEOMETRY\nmodel: 1 run.geo* change_coords_only\n")
    assert np.array_equal(read_mesh(path).points, POINTS)
    assert np.array_equal(read_ensight(path, 2).points, np.add(POINTS, 2))
    with pytest.raises(ValueError, match="points that move are no time series here"):
        read_series(path).mesh(1)
    assert not describe([str(path)]).unreadable


def test_elements_of_one_step(tmp_path):
    alone = geometry([(1, "only", np.add(POINTS, 1), [])])
    files = {"run.geo0": alone, "run.geo1": GEOMETRY, "run.geo2": alone}
    more = TIME.format(numbers="filename start number: 0") + "GEOMETRY\nmodel: 1 run.geo* change_coords_only 1\n"
    path = write(tmp_path, "text", files, [], more)
    assert np.array_equal(read_mesh(path).points, np.add(POINTS, 1))
    assert listed_cells(read_mesh(path)) == [("tetra", [[0, 1, 2, 3]])]


def test_what_describes_and_trains_sees_a_series(tmp_path):
    found = describe([str(numbered(tmp_path))])
    assert found.series is not None and not found.unreadable


@pytest.mark.parametrize(
    "line",
    [
        'scalar per node: "my T" "my file.scl"',
        "scalar per node: my T my file.scl",
        "scalar  per Node:   my T  my file.scl",
        "scalar per node: 1 my T my file.scl",
    ],
)
def test_names_with_blanks(tmp_path, line):
    (tmp_path / "my folder").mkdir()
    path = write(tmp_path / "my folder", "text", {"run.geo": GEOMETRY, "my file.scl": at(0)}, [line])
    assert read_mesh(path).point_data["my T"].tolist() == [0, 1, 2, 3]
    assert {file.name for file in named_files(path)} == {"run.geo", "my file.scl"}


def test_names_in_folders_and_other_ends_of_lines(tmp_path):
    (tmp_path / "data").mkdir()
    path = write(tmp_path, "text", {"run.geo": GEOMETRY, "data/T": at(0)}, ["scalar per node: T data/T"])
    for file in (path, tmp_path / "run.geo", tmp_path / "data/T"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert read_mesh(path).point_data["T"].tolist() == [0, 1, 2, 3]


def test_what_is_left_out_is_noted(tmp_path):
    lines = ["complex scalar per node: z re im 60", "scalar per measured node: m file"]
    path = write(tmp_path, "text", {"run.geo": GEOMETRY}, lines, "MATERIAL\nmaterial set number: 1\n")
    path.write_text(path.read_text().replace("model: run.geo", "model: run.geo\nmeasured: drops"))
    assert texts(read_mesh(path)) == [
        "measured: drops of the case is left out",
        "the variable complex scalar per node: z re im 60 is left out",
        "the variable scalar per measured node: m file is left out",
        "the materials of the case are left out",
    ]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ensight gold", "ensight", "Expected the format EnSight Gold .got EnSight 6.; save it as EnSight Gold"),
        ("ensight gold", "master_server gold", "Expected one line 'type: ensight gold'"),
        ("model: run.geo", "", "Expected a line 'model: file'"),
        ("model: run.geo", "model: run.geo\nrigid_body: file", "Expected one model"),
        ("model: run.geo", "model: other.geo", "Expected the file 'other.geo' of the geometry"),
        ("T.***", "S.***", "Expected the file 'S.008' of 'T' beside the case .got no such file"),
        ("T.***", "T.008", "Expected a '\\*' in the name of the file of 'T'"),
        ("scalar per node: 1", "scalar per node: 2", "Expected the time set 2 in the case"),
        ("scalar per node", "scalar per nod", "Expected a variable"),
        ("number of steps: 3", "number of steps: 4", "Expected 4 time values of time set 1"),
        ("0.5 1", "1 0.5", "Expected times that increase"),
        ("0.5 1", "0.5 x", "Expected numbers for the time values of time set 1 .got 'x'"),
        (START, "", "Expected a time set with numbers for the name"),
        ("VARIABLE", "VARIABLES", "Expected sections of a case"),
        ("VARIABLE\n", "VARIABLE\nconstant per case: 1 c 3 4\n", "Expected 3 values of the constant 'c' .got 2"),
        ("VARIABLE\n", "VARIABLE\nscalar per node: 1 T T.***\n", "Expected variables of a node of different names"),
    ],
)
def test_cases_that_are_refused(tmp_path, old, new, reason):
    path = numbered(tmp_path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ValueError, match=rf"run\.case: {reason}"):
        read_mesh(path)
