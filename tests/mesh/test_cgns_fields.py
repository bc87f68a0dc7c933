"""Solutions of CGNS files."""

import numpy as np
import pytest

from pitgeo.mesh import centroids, read_mesh
from tests.mesh import cgns_files as cgns
from tests.mesh.helpers import texts


def test_rind_values_are_left_out(tmp_path):
    """Ghosts before and behind along each axis, in coordinates and fields, and of an unstructured zone."""
    points = cgns.lattice(6, 6, 4)
    inner = points[1:5, 0:4, 1:4]
    field = points @ [1.0, 10.0, 100.0]
    cells = points[:-1, :-1, :-1] @ [1.0, 10.0, 100.0]
    held = cgns.zone(
        "Z",
        inner,
        cgns.solution("S", {"T": field}, cgns.rind(1, 1, 0, 2, 1, 0)),
        cgns.solution("C", {"T": cells}, cgns.rind(1, 1, 0, 2, 1, 0), location="CellCenter"),
        coordinates=cgns.coordinates_of(points, cgns.rind(1, 1, 0, 2, 1, 0)),
    )
    mesh = cgns.read(tmp_path / "x.cgns", held)
    assert np.array_equal(mesh.points, np.stack([cgns.flat(inner[..., axis]) for axis in range(3)], 1))
    assert np.array_equal(mesh.point_data["T"], mesh.points @ [1.0, 10.0, 100.0])
    assert np.allclose(mesh.cell_data["T"][0], (centroids(mesh) - 0.5) @ [1.0, 10.0, 100.0])

    flat_points, quads = cgns.plane()
    more = np.concatenate([[[9, 9], [9, 8]], flat_points, [[7, 7]]])
    held = cgns.zone(
        "Z",
        flat_points,
        cgns.section("Cells", cgns.QUAD, 1, quads),
        cgns.solution("S", {"T": more[1:, 0]}, cgns.rind(1, 1)),
        cgns.solution("C", {"Heat": np.arange(12)}, cgns.rind(0, 3), location="CellCenter"),
        cells=9,
        coordinates=cgns.coordinates_of(more, cgns.rind(2, 1)),
    )
    mesh = cgns.read(tmp_path / "y.cgns", held, cells=2, space=2)
    assert np.array_equal(mesh.points, flat_points) and np.array_equal(mesh.point_data["T"], flat_points[:, 0])
    assert mesh.cell_data["Heat"][0].tolist() == list(range(9))


def test_vectors_are_one_field(tmp_path):
    values = np.random.default_rng(0).random((8, 16))
    names = ["VelocityX", "VelocityY", "MomentumX", "MomentumY", "MomentumZ", "StressXX", "StressXY", "IndeX"]
    cells = {"GradX": np.arange(9.0), "GradY": np.arange(9.0) + 9}
    mesh = cgns.read(
        tmp_path / "x.cgns",
        cgns.quads(
            cgns.solution("S", dict(zip(names, values, strict=True))), cgns.solution("C", cells, location="CellCenter")
        ),
        cells=2,
        space=2,
    )
    assert list(mesh.point_data) == ["IndeX", "Momentum", "StressXX", "StressXY", "Velocity"]
    assert np.array_equal(mesh.point_data["Velocity"], values[:2].T)
    assert np.array_equal(mesh.point_data["Momentum"], values[2:5].T)
    assert np.array_equal(mesh.cell_data["Grad"][0], np.stack([cells["GradX"], cells["GradY"]], 1))
    assert not mesh.notes


def test_several_solutions(tmp_path):
    """Of other fields they are put together; of the same fields, each has the name of its solution."""
    points, _ = cgns.plane()
    x, y = points.T
    held = [
        cgns.solution("Init", {"Pressure": x, "VelocityX": x, "VelocityY": y}),
        cgns.solution("End", {"Pressure": y, "VelocityX": -x, "VelocityY": -y}),
        cgns.solution("More", {"Density": x + y}, location=""),
        cgns.solution("Means", {"Pressure": np.arange(9)}, location="CellCenter"),
        cgns.solution("Faces", {"Flux": np.arange(24.0)}, location="FaceCenter"),
        cgns.Node("Discrete", "DiscreteData_t", None, (cgns.array("Rank", np.arange(16)), cgns.array("Text", "abc"))),
    ]
    mesh = cgns.read(tmp_path / "x.cgns", cgns.quads(*held), cgns.quads(held[0], name="Y", shift=2.0), cells=2, space=2)
    one = slice(16, 32)  # zones are in the order of their names
    assert np.array_equal(mesh.point_data["Pressure (Init)"], np.r_[x, x])
    assert np.array_equal(mesh.point_data["Pressure (End)"][one], y)
    assert np.isnan(mesh.point_data["Pressure (End)"][:16]).all()
    assert np.array_equal(mesh.point_data["Velocity (End)"][one], -points)
    assert np.array_equal(mesh.point_data["Density"][one], x + y)
    assert mesh.point_data["Rank"][one].tolist() == list(range(16))
    assert mesh.cell_data["Pressure"][1].tolist() == list(range(9))
    assert set(mesh.point_data) == {
        "Pressure (Init)",
        "Pressure (End)",
        "Velocity (Init)",
        "Velocity (End)",
        "Density",
        "Rank",
    }
    assert "fields of 'Faces' at FaceCenter are left out" in texts(mesh)
    assert "the field 'Pressure' of 'End' is called 'Pressure (End)'" in texts(mesh)


@pytest.mark.parametrize("pointers", [True, False])
def test_of_several_times_the_first_is_read(pointers, tmp_path):
    points, _ = cgns.plane()
    steps = [cgns.solution(f"Step{number}", {"T": points[:, 0] + number}) for number in (10, 9, 11)]
    cells = [
        cgns.solution(f"Mean{number}", {"T": np.arange(9.0) + number}, location="CellCenter") for number in (10, 9, 11)
    ]
    fixed = cgns.solution("Fixed", {"Wall": points[:, 1]})
    order = [f"Step{number}" for number in (10, 9, 11)], [f"Mean{number}" for number in (10, 9, 11)]
    data = cgns.iterations(FlowSolutionPointers=order[0], FlowSolutionCellPointers=order[1]) if pointers else fixed
    mesh = cgns.read(
        tmp_path / "x.cgns",
        cgns.quads(fixed, *steps, *cells, *([data] if pointers else [])),
        cgns.times(3),
        cells=2,
        space=2,
    )
    first = 10 if pointers else 9  # as the file says, else in the order of names
    assert np.array_equal(mesh.point_data["T"], points[:, 0] + first)
    assert np.array_equal(mesh.cell_data["T"][0], np.arange(9.0) + first)
    assert np.array_equal(mesh.point_data["Wall"], points[:, 1])
    assert texts(mesh) == ["the first of 3 times is read"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["i4", "i8", "u4", "u8", "f4", "f8"])
def test_numbers_of_every_type(order, kind, tmp_path):
    values = (np.arange(16) * 3).astype(kind)
    made = cgns.solution("S", {"T": values, "Z": values * (1 + 1j)})
    options = {"compression": "gzip", "chunks": True} if kind == "f8" else {}
    cgns.write(tmp_path / "x.cgns", cgns.base(cgns.quads(made), cells=2, space=2), order=order, **options)
    mesh = read_mesh(tmp_path / "x.cgns")
    assert mesh.point_data["T"].dtype == np.dtype(kind)
    assert np.array_equal(mesh.point_data["T"], values)
    assert np.array_equal(mesh.points, cgns.plane()[0])
    assert texts(mesh) == ["Z left out, which hold no real numbers"]
