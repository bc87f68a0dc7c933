"""Damaged EnSight files: one error that names the case, or, where the damage cannot be seen, a mesh."""

import numpy as np
import pytest

from pitgeo.mesh import read_mesh
from tests.mesh.ensight_files import FORMS, Words, geometry, in_times, variable, write
from tests.mesh.helpers import damaged, is_read, refused
from tests.mesh.test_ensight import block, two_parts


def small(folder, form):
    points = np.random.default_rng(0).random((5, 3))
    parts = [
        (1, "a b", points, [("tetra4", [[0, 1, 2, 3], [1, 2, 3, 4]]), ("nsided", [[0, 1, 2], [1, 2, 3, 4]])]),
        (2, "c", points + 3, [("tria3", [[0, 1, 2]])]),
    ]
    values = {
        "n": variable([(1, [("coordinates", np.arange(5) + 0.125)]), (2, [("coordinates", np.arange(5) - 0.25)])]),
        "e": variable([(1, [("tetra4", np.ones((2, 3))), ("nsided", np.ones((2, 3)))]), (2, [("tria3", [[1, 2, 3]])])]),
    }
    lines = ["scalar per node: N n", "vector per element: E e"]
    return write(folder, form, {"run.geo": geometry(parts, "given", True), **values}, lines)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["n", "e", "run.geo"])
def test_files_that_are_cut(tmp_path, form, name):
    path, file = small(tmp_path, form), tmp_path / name
    whole = file.read_bytes()
    assert is_read(path)
    for end in range(0, len(whole) - (form == "text"), 3 if form == "text" else 17):
        file.write_bytes(whole[:end])
        message = refused(path)  # a geometry cut after a part is whole, but for the variables
        assert f"{name} of '{name.upper()}'" in message or name == "run.geo"
    for end in (1, 4, 8, 40, 80, 84):  # near the end, where counts may fit
        file.write_bytes(whole[: len(whole) - end - (form == "text")])
        refused(path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["n", "run.geo"])
def test_files_that_are_too_long(tmp_path, form, name):
    path, file = small(tmp_path, form), tmp_path / name
    whole = file.read_bytes()
    more = [Words().reals([1]).content(form), Words().text("part").content(form), b"\1", b"rubbish\n" * 20]
    more += [Words().text("part").wholes([1]).text("coordinates").reals(range(5)).content(form)]
    for rest in more:
        file.write_bytes(whole + rest)
        refused(path, name)


@pytest.mark.parametrize("form", FORMS)
def test_parts_and_elements_that_do_not_fit(tmp_path, form):
    path = small(tmp_path, form)
    good = (1, [("coordinates", range(5))])
    for parts in (
        [],
        [good],
        [good, (3, [("coordinates", range(5))])],
        [good, good],
        [good, (2, [("coordinates", range(4))])],
        [good, (2, [("coordinates", range(6))])],
        [good, (2, [("block", range(5))])],
        [good, (2, [("coordinates oddly", range(5))])],
        [(1, [("tetra4", [1, 2])]), (2, [("tria3", [1])])],
    ):
        (tmp_path / "n").write_bytes(variable(parts).content(form))
        refused(path, "n of 'N'")
    (tmp_path / "n").unlink()
    refused(path, "'n'", "no such file")


@pytest.mark.parametrize("form", FORMS)
def test_geometry_that_does_not_fit(tmp_path, form):
    points = np.random.default_rng(0).random((5, 3))
    for elements, what in (
        ([("tetra4", [[0, 1, 2, 5]])], "nodes from 1 to 5 of tetra4 elements"),
        ([("tetra4", [[0, 1, 2, -1]])], "nodes from 1 to 5 of tetra4 elements"),
        ([("nsided", [[0, 1]])], "3 nodes or more of every nsided element"),
        ([("nfaced", [[0, 1]])], "nfaced, which are polyhedra"),
        ([("tetra5", [[0, 1, 2, 3, 4]])], "a type of elements"),
    ):
        refused(write(tmp_path, form, {"run.geo": geometry([(1, "a", points, elements)])}), "run.geo, part 1 'a'", what)
    refused(write(tmp_path, form, {"run.geo": geometry([])}), "parts")
    refused(write(tmp_path, form, {"run.geo": geometry([(1, "a", points, []), (1, "b", points, [])])}), "parts of")
    for value in (np.nan, np.inf):
        refused(write(tmp_path, form, {"run.geo": geometry([(1, "a", points * value, [])])}), "finite coordinates")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [-1, -(2**31), 2**31 - 1, 100_000_000, 16777216])
def test_counts_that_are_no_counts(tmp_path, form, count):
    start = Words().text("a", "b", "node id off", "element id off", "part").wholes([1]).text("a")
    points = Words().text("coordinates").wholes([3]).reals(np.eye(3))
    starts = Words([*start, *points])
    refused(write(tmp_path, form, {"run.geo": Words([*start, *Words().text("coordinates").wholes([count])])}))
    refused(write(tmp_path, form, {"run.geo": Words([*starts, *Words().text("tria3").wholes([count, 1, 2, 3])])}))
    refused(write(tmp_path, form, {"run.geo": Words([*starts, *Words().text("nsided").wholes([1, count, 1, 2, 3])])}))
    for shape in ("", " uniform", " rectilinear"):
        grid = Words().text(f"block{shape}").wholes([count, 2, 1], 3).reals([0, 0, 0, 1, 1, 1])
        if shape != " uniform" or count < 0 or count > 2**27:
            refused(write(tmp_path, form, {"run.geo": Words([*start, *grid])}))
    refused(write(tmp_path, form, {"run.geo": block(["uniform"], [2**15, 2**14, 3], Words().reals([0] * 6))}))
    values = Words().text("u", "part").wholes([1]).text("coordinates partial").wholes([count, 1]).reals([1])
    refused(write(tmp_path, form, {"run.geo": starts, "u": values}, ["scalar per node: u u"]), "u of 'u'")
    for number in (0, 4, count):
        values = Words().text("u", "part").wholes([1]).text("coordinates partial").wholes([1, number]).reals([1])
        refused(write(tmp_path, form, {"run.geo": starts, "u": values}, ["scalar per node: u u"]), "u of 'u'")


@pytest.mark.parametrize("form", FORMS)
def test_several_times_that_are_cut(tmp_path, form):
    points = np.random.default_rng(0).random((5, 3))
    steps = [variable([(1, [("coordinates", np.arange(5) + k)])]) for k in range(3)]
    files = {"run.geo": geometry([(1, "a", points, [("tria3", [[0, 1, 2]])])]), "u": in_times(steps)}
    more = "TIME\ntime set: 1\nnumber of steps: 3\ntime values: 0 1 2\nFILE\nfile set: 1\nnumber of steps: 3\n"
    path = write(tmp_path, form, files, ["scalar per node: 1 1 u u"], more)
    assert is_read(path)
    whole = (tmp_path / "u").read_bytes()
    for end in range(0, len(whole) - (form == "text"), 7):
        (tmp_path / "u").write_bytes(whole[:end])
        refused(path, "u of 'u'")
    (tmp_path / "u").write_bytes(whole + b"more of it")
    refused(path, "u of 'u'")


@pytest.mark.parametrize("form", FORMS)
def test_bytes_that_are_changed(tmp_path, form):
    """Hundreds of files, each with one damage."""
    path, rng = small(tmp_path, form), np.random.default_rng(1)
    read = 0
    for name in ("run.geo", "n", "e", "run.case"):
        file = tmp_path / name
        whole = file.read_bytes()
        for content in damaged(whole, rng, 60):
            file.write_bytes(content)
            read += is_read(path)
        for content in (b"", b"\0" * 500, rng.bytes(3000), b"\xff" * 999, b"part\n" * 99, b"1\n" * 500):
            file.write_bytes(content)
            refused(path)
        file.write_bytes(whole)
    assert read < 200 and is_read(path)


def test_numbers_as_fortran_writes_them_and_others(tmp_path):
    path = small(tmp_path, "text")
    text = (tmp_path / "n").read_text()
    for word, value in (("1.125D+00", 1.125), ("0.125-100", 1.25e-101), ("+1.5d1", 15), (".5", 0.5), ("NaN", np.nan)):
        (tmp_path / "n").write_text(text.replace(" 1.12500e+00", word))
        assert np.isclose(read_mesh(path).point_data["N"][1], value, equal_nan=True)
    for word in ("1_0", "0x1", "1,5", "******", "1.0 2.0", "1e", "--1"):
        (tmp_path / "n").write_text(text.replace(" 1.12500e+00", word))
        refused(path, "n of 'N'")


def test_byte_orders_of_files_differ(tmp_path):
    path, _ = two_parts(tmp_path, ">")
    big = (tmp_path / "n.scalar").read_bytes()
    two_parts(tmp_path, "<")
    (tmp_path / "n.scalar").write_bytes(big)
    refused(path, "n.scalar of 'nscalar'")
