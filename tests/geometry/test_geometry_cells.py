"""Geometry inputs of every type of cell that VTK has, against the convex body of its corners."""

import importlib

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pitgeo.geometry import geometry_values
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.mesh.cell_types import VTK_TYPES, base, dimension

pytest.importorskip("pyvista")
vtk = importlib.import_module("vtkmodules.vtkCommonDataModel")
sources = importlib.import_module("vtkmodules.vtkFiltersSources")


def reference(number, order=1):
    """Places of the nodes of one straight cell, ``[nodes, 3]``."""
    if number == 7:
        angles = np.arange(5) * 2 * np.pi / 5
        return np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1)
    if number >= 68:
        number -= 7 if number >= 75 else 0
        if number == 74:
            return reference(14 if order == 1 else 27)
        source = sources.vtkCellTypeSource()
        source.SetCellType(number)
        source.SetCellOrder(order)
        source.SetBlocksDimensions(1, 1, 1)
        source.Update()
        points = source.GetOutput().GetCell(0).GetPoints()
        return np.array([points.GetPoint(k) for k in range(points.GetNumberOfPoints())])
    cell = vtk.vtkGenericCell()
    cell.SetCellType(number)
    places = cell.GetParametricCoords()
    return np.array([places[k] for k in range(3 * cell.GetNumberOfPoints())]).reshape(-1, 3)


def turned(points, seed=0):
    """Points moved, turned and sheared in space, so that straight sides stay straight."""
    random = np.random.default_rng(seed)
    return points @ (np.eye(3) + 0.3 * random.standard_normal((3, 3))) + random.random(3)


CASES = [(number, 1) for number in VTK_TYPES if number < 68 and VTK_TYPES[number] != "vertex"]
CASES += [(number, order) for number in range(68, 74) for order in (1, 2, 3)]
CASES += [(number, 1) for number in range(74, 82)]


@pytest.mark.parametrize(("number", "order"), CASES)
def test_a_straight_cell_is_the_body_of_its_corners(number, order):
    kind = VTK_TYPES[number]
    places, axes = reference(number, order), dimension(VTK_TYPES[number])
    inner = places[:1] + 0.9 * (np.random.default_rng(1).dirichlet(np.ones(len(places)), 20) @ places - places[:1])
    all_points = turned(np.concatenate([places, inner]))[:, :axes]
    mesh = Mesh(all_points, ((kind, np.arange(len(places))[None]),))
    if axes == 1:
        low, high = all_points[: len(places), 0].min(), all_points[: len(places), 0].max()
        exact, size = np.minimum(all_points[:, 0] - low, high - all_points[:, 0]), high - low
    else:
        hull = ConvexHull(all_points[: len(places)])
        exact = -(all_points @ hull.equations[:, :-1].T + hull.equations[:, -1]).max(1)
        size = hull.volume ** (1 / axes)
    assert np.allclose(
        geometry_values(mesh, "boundary_distance", "point")[:, 0], exact, atol=1e-6
    )  # VTK places nodes in single precision
    assert np.allclose(geometry_values(mesh, "cell_size", "cell"), size)
    assert np.allclose(geometry_values(mesh, "cell_size", "point"), size)


@pytest.mark.parametrize(("number", "order"), [case for case in CASES if dimension(VTK_TYPES[case[0]]) < 3])
def test_a_flat_cell_in_space_has_its_plane_as_normal(number, order):
    places, axes = turned(reference(number, order), 2), dimension(VTK_TYPES[number])
    space = places if axes == 2 else places[:, :2]
    mesh = Mesh(space, ((VTK_TYPES[number], np.arange(len(space))[None]),))
    normals = np.concatenate([geometry_values(mesh, "normals", place) for place in ("cell", "point")])
    assert np.allclose(np.linalg.norm(normals, axis=1), 1) and np.allclose(normals, normals[0])
    assert np.allclose((space - space[0]) @ normals[0], 0)


@pytest.mark.parametrize("number", [*range(75, 82), 74])
@pytest.mark.parametrize("name", ["boundary_distance", "cell_size", "normals", "boundary_distance:all"])
def test_nodes_that_are_not_on_the_cell_are_refused(number, name):
    places = turned(reference(number, 2))
    mesh = Mesh(places, ((VTK_TYPES[number], np.arange(len(places))[None]),), cell_sets={"all": (np.array([0]),)})
    with pytest.raises(ValueError, match=rf"Expected cells of a type that VTK has.*{VTK_TYPES[number]}"):
        geometry_values(mesh, name, "point")


def test_orders_that_differ_by_direction_are_refused():
    mesh = Mesh(turned(reference(72, 2))[:18], (("VTK_LAGRANGE_HEXAHEDRON", np.arange(18)[None]),))
    with pytest.raises(ValueError, match="as many in all directions"):
        geometry_values(mesh, "boundary_distance", "point")


@pytest.mark.parametrize("number", [68, 69, 70, 71, 72, 73])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_lagrange_cells_share_faces(number, order):
    """Several cells that fill a box."""
    source = sources.vtkCellTypeSource()
    source.SetCellType(number)
    source.SetCellOrder(order)
    source.SetBlocksDimensions(2, 2, 2)
    source.Update()
    grid, axes = importlib.import_module("pyvista").wrap(source.GetOutput()), dimension(VTK_TYPES[number])
    points = np.array(grid.points, np.float64)[:, :axes]
    mesh = Mesh(points, ((VTK_TYPES[number], grid.cells.reshape(grid.n_cells, -1)[:, 1:]),))
    exact = np.minimum(points - points.min(0), points.max(0) - points).min(1)
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact, atol=1e-12)
    sizes = geometry_values(mesh, "cell_size", "cell") ** axes
    assert np.isclose(sizes.sum(), np.ptp(points, axis=0).prod())


def test_repeated_nodes_make_no_boundary():
    """A quad that is a triangle beside one, and a hexahedron that is a wedge between two."""
    points = np.array([[0.0, 0], [2, 0], [2, 2], [0, 2], [1, 1]])
    quads = np.array([[0, 1, 4, 4], [1, 2, 4, 4], [4, 4, 2, 3], [3, 0, 4, 4]])
    mesh = Mesh(points, (("quad", quads),))
    assert geometry_values(mesh, "boundary_distance", "point")[:, 0].tolist() == [0, 0, 0, 0, 1]
    grid = np.stack(np.meshgrid([0.0, 1, 2], [0, 1, 2], [0, 1, 2], indexing="ij"), -1).reshape(-1, 3)
    number = np.arange(27).reshape(3, 3, 3)
    bricks = []
    for i, j, k in np.ndindex(2, 2, 2):
        a, b, c, d = number[i, j], number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]
        low, high = [side[k] for side in (a, b, c, d)], [side[k + 1] for side in (a, b, c, d)]
        for one, two, three in ((0, 1, 2), (0, 2, 3)):
            bricks.append([low[one], low[two], low[three], low[three], high[one], high[two], high[three], high[three]])
    mesh = Mesh(grid, (("hexahedron", np.array(bricks)),))
    exact = np.minimum(grid, 2 - grid).min(1)
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact)
    wedges = np.array(bricks)[8:, [0, 1, 2, 4, 5, 6]]  # the other half by wedges: faces are the same
    mesh = Mesh(grid, (("hexahedron", np.array(bricks)[:8]), ("wedge", wedges)))
    assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact)


@pytest.mark.parametrize("version", ["0.1", "1.0", "2.0", "2.1", "2.3"])
def test_the_order_of_nodes_is_that_of_the_files_version(version, tmp_path):
    """VTK numbered two edges of Lagrange hexahedra otherwise before version 2.1 of its files."""
    pyvista = importlib.import_module("pyvista")
    places = reference(72, 2)
    grid = pyvista.UnstructuredGrid([27, *range(27)], [72], places)
    grid.save(tmp_path / "new.vtu", binary=False)
    text = (tmp_path / "new.vtu").read_text().replace('version="2.3"', f'version="{version}"')
    (tmp_path / "mesh.vtu").write_text(text.replace(' compressor="vtkZLibDataCompressor"', ""))
    mesh = read_mesh(tmp_path / "mesh.vtu")
    known = pyvista.read(tmp_path / "mesh.vtu")
    assert np.array_equal(mesh.cells[0][1][0], known.cells[1:])
    for ending in ("vtu", "vtk"):
        write_mesh(tmp_path / f"again.{ending}", mesh)
        assert np.array_equal(pyvista.read(tmp_path / f"again.{ending}").cells[1:], known.cells[1:])


def test_every_name_has_a_shape():
    assert all(base(kind) for kind in VTK_TYPES.values())
