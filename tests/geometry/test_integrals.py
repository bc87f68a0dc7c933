"""Integrals over meshes and their sets: closed forms, convergence, PyVista's numbers, and what is refused."""

import numpy as np
import pytest
import torch

from pitgeo.geometry import grid_of
from pitgeo.integrals import compute, measure, weights
from pitgeo.mesh import Mesh
from pitgeo.mesh.cells import grid_cells
from pitgeo.mesh.pieces import PIECE

pyvista = pytest.importorskip("pyvista")


def box(counts=(3, 4, 2), sizes=(1.0, 2.0, 0.5), **others):
    """Hexahedra of a box, or quads of a rectangle."""
    axes = [np.linspace(0, size, count + 1) for size, count in zip(sizes, counts, strict=True)]
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack([axis.T.ravel() for axis in grid], 1)
    kind, nodes = grid_cells([count + 1 for count in counts])
    return Mesh(points, ((kind, nodes),), **others)


def with_sides(turned=False):
    """A box with its faces at x = 0 and at x = 0.5 as cells, and sets."""
    mesh = box((2, 2, 2))
    lid = [[0, 3, 12, 9], [3, 6, 15, 12], [9, 12, 21, 18], [12, 15, 24, 21]]
    middle = [[number + 1 for number in row] for row in lid]
    assert np.allclose(mesh.points[lid][..., 0], 0) and np.allclose(mesh.points[middle][..., 0], 0.5)
    quads = np.array([*lid, *middle])
    quads[0] = quads[0][::-1]  # of any winding on the boundary
    if turned:
        quads[4] = quads[4][::-1]
    none, four = np.zeros(0, np.int64), np.arange(4)
    sets = {
        "wall": (none, four),
        "middle": (none, four + 4),
        "left": (np.array([0, 2, 4, 6]), none),
        "mixed": (np.array([0]), np.array([1])),
    }
    points = {"x0": np.unique(lid), "all": np.arange(27), "inside": np.array([0, 13]), "none": none}
    return Mesh(mesh.points, (*mesh.cells, ("quad", quads)), cell_sets=sets, point_sets=points)


def sphere(level):
    return Mesh(*_of(pyvista.Icosphere(nsub=level)))


def _of(surface):
    return np.array(surface.points, float), (("triangle", np.array(surface.faces).reshape(-1, 4)[:, 1:]),)


def test_buoyancy_is_the_weight_of_the_displaced_fluid():
    mesh = box()
    depth = 7.0 - mesh.points[:, 2]
    found = compute(mesh.with_point_data("p", 9.81 * 1000 * depth), "force:p", "moment(0.5,1,0.25):p")
    assert np.allclose(list(found.values()), [0, 0, 9810 * measure(mesh), 0, 0, 0], atol=1e-9)
    about = compute(mesh.with_point_data("p", depth), "moment_x:p", "-moment_x:p", "force_z:p")
    assert np.isclose(about["moment_x:p"], 1.0 * about["force_z:p"])
    assert about["-moment_x:p"] == -about["moment_x:p"]


@pytest.mark.parametrize("name", ["wall", "x0"])
def test_faces_of_a_body_have_normals_out_of_it_whatever_their_winding(name):
    mesh = with_sides()
    mesh = mesh.with_point_data("u", np.tile([3.0, 1.0, 0.0], (27, 1))).with_point_data("p", mesh.points[:, 1])
    found = compute(mesh, *(f"{quantity}@{name}" for quantity in ("flux:u", "force:p", "moment_z:p", "mean:p")))
    assert np.allclose(list(found.values()), [-3 * 1.0, 1.0, 0, 0, -(2**3) / 3 * 0.5, 1.0], atol=1e-12)
    assert measure(mesh, name) == pytest.approx(1.0)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_lines_on_the_boundary_of_a_plane_have_normals_out_of_it(order):
    flat = box((2, 2), (1.0, 2.0))
    lines = np.array([[0, 3], [3, 6]])[:, order]
    sets = {"inlet": (np.zeros(0, np.int64), np.arange(2))}
    mesh = Mesh(flat.points, (*flat.cells, ("line", lines)), cell_sets=sets)
    mesh = mesh.with_point_data("u", np.tile([3.0, 1.0], (9, 1))).with_point_data("p", mesh.points[:, 1])
    found = compute(mesh, "flux:u@inlet", "force:p@inlet", "moment:p@inlet")
    assert np.allclose(list(found.values()), [-6.0, 2.0, 0.0, -(2**3) / 3])


def test_seams_between_pieces_are_no_boundary():
    one, other = box((2, 2, 2)), box((2, 4, 3))  # which do not share their points at x = 1
    points = np.concatenate([one.points, other.points + np.array([1.0, 0, 0])])
    nodes = np.concatenate([one.cells[0][1], other.cells[0][1] + len(one.points)])
    piece = (np.repeat([0, 1], [len(one.cells[0][1]), len(other.cells[0][1])]),)
    sets = {"ends": np.flatnonzero((points[:, 0] == 0) | (points[:, 0] == 2))}
    mesh = Mesh(points, (("hexahedron", nodes),), {"x": points}, {PIECE: piece}, point_sets=sets)
    assert compute(mesh, "flux:x")["flux:x"] == pytest.approx(3 * 2.0)
    assert measure(mesh, "ends") == pytest.approx(2.0)


def test_faces_between_bodies_have_the_normals_of_the_file():
    mesh = with_sides().with_point_data("u", np.tile([3.0, 1.0, 0.0], (27, 1)))
    found = weights(mesh, "flux:u@middle")
    assert np.allclose(found(mesh.point_data["u"]), 3.0)
    assert "are those of the file" in found.notes[0]
    with pytest.raises(ValueError, match=r"Expected faces oriented alike.*'middle'"):
        weights(with_sides(turned=True), "flux:u@middle", "point", 3)
    assert weights(with_sides(turned=True), "force:u@middle", "point", 3).matrix.nnz  # a traction needs no normal


def test_a_set_of_bodies_is_their_volume_and_their_surface():
    mesh = with_sides().with_point_data("x", with_sides().points)
    found = compute(mesh, "integral:x_x@left", "flux:x@left", "flux:x")
    assert np.allclose(list(found.values()), [0.5 * 0.25, 3 * 0.5, 3 * 1.0])
    assert measure(mesh) == pytest.approx(1.0)  # of the bodies alone


def test_values_of_cells_count_by_the_measure_of_the_cell_and_on_its_faces():
    mesh = box((2, 1), (1.0, 1.0))
    left = {"left": np.array([0, 3])}
    mesh = Mesh(np.where(mesh.points == 0.5, 0.2, mesh.points), mesh.cells, point_sets=left)
    mesh = mesh.with_cell_data("p", np.array([1.0, 6.0]))
    found = compute(mesh, "mean:p", "p50:p", "p10:p", "peak:p", "force_x:p@left", "force_x:p")
    assert np.allclose(list(found.values()), [0.2 + 6 * 0.8, 6, 1, 6, 1, 1 - 6])


def test_a_cell_listed_twice_counts_once_and_points_may_be_doubled():
    mesh = box((2, 2), (1.0, 1.0))
    kind, nodes = mesh.cells[0]
    twice = Mesh(mesh.points, ((kind, np.concatenate([nodes, nodes[:1, [1, 2, 3, 0]]])),))
    apart = Mesh(mesh.points[nodes.ravel()], ((kind, np.arange(16).reshape(4, 4)),))
    for own in (twice, apart):
        own = own.with_point_data("x", own.points)
        assert measure(own) == pytest.approx(1.0)
        assert compute(own, "flux:x")["flux:x"] == pytest.approx(2.0)


def test_forces_on_a_closed_surface_converge():
    constant, potential = [], []
    for level in (2, 3, 4):
        mesh = sphere(level)
        cosine = mesh.points[:, 0] / np.linalg.norm(mesh.points, axis=1)
        pressure = 1 - 9 / 4 * (1 - cosine**2)  # of potential flow
        mesh = mesh.with_point_data("one", np.ones(len(cosine))).with_point_data("cp", pressure)
        constant += compute(mesh, "force:one").values()
        potential += compute(mesh, "force:cp").values()
        assert compute(mesh, "integral:cp")["integral:cp"] == pytest.approx(
            4 * np.pi * (1 - 9 / 4 * 2 / 3), rel=0.5 / 4**level
        )
    assert np.allclose(constant, 0, atol=1e-12) and np.allclose(
        potential, 0, atol=1e-7
    )  # PyVista places points in single precision
    sizes = [abs(measure(sphere(level)) / (4 * np.pi) - 1) for level in (2, 3, 4)]
    assert np.allclose(np.log2(np.array(sizes[:-1]) / sizes[1:]), 2, atol=0.1)


def test_a_surface_must_be_oriented_alike_and_is_taken_as_it_is():
    mesh = sphere(1)
    kind, nodes = mesh.cells[0]
    inside_out = Mesh(mesh.points, ((kind, nodes[:, ::-1]),))
    assert not weights(mesh, "force:p", "point", 1).notes
    assert "inwards" in weights(inside_out, "force:p", "point", 1).notes[0]
    nodes = nodes.copy()
    nodes[5] = nodes[5][::-1]
    with pytest.raises(ValueError, match=r"Expected faces oriented alike.*3 edges"):
        weights(Mesh(mesh.points, ((kind, nodes),)), "force:p", "point", 1)
    apart = Mesh(mesh.points[nodes.ravel()], ((kind, np.arange(nodes.size).reshape(-1, 3)),))
    with pytest.raises(ValueError, match=r"Expected faces oriented alike.*3 edges"):
        weights(apart, "flux:u", "point", 3)


def test_curves_in_the_plane_have_lengths_and_normals_to_their_right():
    angle = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    points = np.stack([np.cos(angle), 2 * np.sin(angle)], 1)
    nodes = np.stack([np.arange(2000), np.roll(np.arange(2000), -1)], 1)
    mesh = Mesh(points, (("line", nodes),), point_data={"x": points, "p": points[:, 1]})
    found = compute(mesh, "flux:x", "force:p", "moment:p")
    assert np.allclose(list(found.values()), [4 * np.pi, 0, -2 * np.pi, 0], atol=1e-4)
    assert measure(mesh) == pytest.approx(9.688448220, rel=1e-6)  # of the ellipse, by the complete elliptic integral


@pytest.mark.parametrize("plane_axis", [0, 1, 2])
def test_a_planar_mesh_has_the_axes_and_the_sign_of_space(plane_axis):
    flat, kept = box((2, 3), (1.0, 2.0)), [axis for axis in range(3) if axis != plane_axis]
    mesh = Mesh(flat.points, flat.cells, plane_axis=plane_axis).with_point_data("p", flat.points @ [2.0, 5.0])
    found = compute(mesh, "force:p", "moment:p", f"moment_{'xyz'[plane_axis]}:p")
    force = np.zeros(3)
    force[kept] = [-2.0 * 2, -5.0 * 2]
    center = np.zeros(3)
    center[kept] = flat.points.mean(0)
    assert [key.split(":")[0] for key in found][:2] == [f"force_{'xyz'[axis]}" for axis in kept]
    turn = np.cross(center, force)[plane_axis]
    assert np.allclose(list(found.values()), [*force[kept], turn, turn])
    space = mesh.with_point_data("u", np.tile([1.0, 2.0, 3.0], (len(mesh.points), 1)))
    assert compute(space, "flux:u")["flux:u"] == pytest.approx(0, abs=1e-12)
    assert compute(space, "force:u")[f"force_{'xyz'[kept[1]]}:u"] == pytest.approx(6.0 * (kept[1] + 1))


def test_peaks_minima_and_percentiles():
    mesh = with_sides().with_point_data("u", with_sides().points * [1, 0, 0])
    found = compute(mesh, "peak:u", "min:u_x", "-peak:u_x@wall", "peak:u_x@inside", "p25:u_x", "mean:u@wall")
    assert list(found.values())[:4] == [1.0, 0.0, 0.0, 0.5]
    assert [*found][-3:] == ["mean:u_x@wall", "mean:u_y@wall", "mean:u_z@wall"]
    fine = box((40, 4), (1.0, 1.0))
    fine = fine.with_point_data("heat", fine.points[:, 0] ** 2)
    found = compute(fine, *(f"p{percent}:heat" for percent in (10, 50, 99.5)))
    assert np.allclose(list(found.values()), np.array([0.1, 0.5, 0.995]) ** 2, atol=0.03)


def test_numbers_agree_with_pyvista():
    random = np.random.default_rng(0)
    mesh = box((5, 4, 3))
    mesh = Mesh(mesh.points @ (np.eye(3) + 0.2 * random.standard_normal((3, 3))), mesh.cells)
    mesh = mesh.with_point_data("t", random.random(len(mesh.points)))
    tetra = grid_of(mesh).triangulate()
    cells = (("tetra", np.array(tetra.cells_dict[pyvista.CellType.TETRA])),)
    cut = Mesh(mesh.points, cells).with_point_data("t", mesh.point_data["t"])
    tetra["t"] = mesh.point_data["t"]
    assert np.isclose(compute(cut, "integral:t")["integral:t"], tetra.integrate_data()["t"][0])
    surface = tetra.extract_surface(algorithm="dataset_surface")
    skin = {"skin": np.array(surface["vtkOriginalPointIds"])}
    outside = Mesh(mesh.points, cells, point_sets=skin).with_point_data("t", mesh.point_data["t"])
    assert len(skin["skin"]) < len(mesh.points)
    assert np.isclose(measure(outside, "skin"), surface.area)
    assert np.isclose(compute(outside, "integral:t@skin")["integral:t@skin"], surface.integrate_data()["t"][0])


def test_weights_are_a_matrix_that_torch_differentiates():
    mesh = box()
    values = torch.rand(len(mesh.points), dtype=torch.float64, requires_grad=True)
    found = weights(mesh, "force:p", "point", 1)
    force = found.tensor(torch.float64) @ values
    assert np.allclose(force.detach().numpy(), found(values.detach().numpy()))
    force.square().sum().backward()
    assert np.allclose(values.grad.numpy(), 2 * found.matrix.T @ force.detach().numpy())
    again = compute(mesh.with_point_data("p", values.detach().numpy()), "force:p")
    assert tuple(again) == found.labels and np.allclose(list(again.values()), force.detach().numpy())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean:heat@wal", r"Expected a set of points or cells named 'wal', to integrate over.*did you mean 'wall'"),
        ("peak:heat@wal", r"did you mean 'wall'"),
        ("mean:hat", r"Expected a field 'hat'.*did you mean 'heat'"),
        ("mean:heat@none", r"Expected cells or points in the set 'none' \(got none\)"),
        ("peak:heat@none", r"in the set 'none' \(got none\)"),
        ("mean:heat@inside", r"on the boundary to integrate over \(got 'inside', with 1 of 2 points inside\)"),
        ("mean:heat@mixed", r"of one kind \(got faces and bodies\)"),
        ("mean:broken", r"Expected finite values of 'broken' for 'mean:broken' \(got nan among 1 of 27\)"),
        ("p50:broken", r"Expected finite values of 'broken'"),
        ("peak:broken", r"Expected finite values of 'broken'"),
        ("flux:heat", r"Expected a vector of 3 components"),
        ("force:six", r"Expected a pressure, or a vector of 3 components.*got 6"),
        ("mean:six_7", r"Expected a component that the field has"),
        ("mean:heat_x", r"Expected a component that the field has"),
        ("moment(1,2):heat", r"Expected a point of 3 numbers"),
        ("average:heat", r"Expected integral, mean"),
        ("maen:heat", r"did you mean 'mean'"),
        ("mean_x:heat", r"an axis only of force and moment"),
        ("p:heat", r"a percentile as p95"),
        ("p0:heat", r"between 0 and 100"),
        ("heat", r"Expected '<operation>:<field>'"),
        ("mean:heat@", r"Expected '<operation>:<field>'"),
        ("force(1,2,3):heat", r"only of a moment"),
        ("moment(a,2,3):heat", r"Expected a number"),
        ("mean:word", r"Expected numbers in the field 'word'"),
    ],
)
def test_what_is_refused(text, message):
    mesh = with_sides()
    broken = np.ones(27)
    broken[13] = np.nan
    fields = {"heat": np.ones(27), "broken": broken, "six": np.ones((27, 6)), "word": np.array(["a"] * 27)}
    for name, values in fields.items():
        mesh = mesh.with_point_data(name, values)
    with pytest.raises(ValueError, match=message):
        compute(mesh, text)


def test_two_different_sets_of_one_name_are_told_apart():
    mesh = with_sides()
    mesh = Mesh(mesh.points, mesh.cells, point_sets={"wall": np.arange(9)}, cell_sets=mesh.cell_sets)
    for text in ("mean:x@wall", "peak:x@wall"):
        with pytest.raises(ValueError, match=r"Expected one set 'wall'.*'@point:wall' or '@cell:wall'"):
            compute(mesh.with_point_data("x", mesh.points), text)
    assert measure(mesh, "cell:wall") == pytest.approx(1.0) and measure(mesh, "point:wall") == pytest.approx(2.0)


def test_a_value_that_does_not_count_may_be_missing():
    values = np.ones(27)
    values[13] = np.nan
    assert compute(with_sides().with_point_data("t", values), "mean:t@wall")["mean:t@wall"] == pytest.approx(1.0)


def test_what_has_no_normal_or_no_cells_is_refused():
    line = Mesh(np.array([[0.0], [1.0]]), (("line", np.array([[0, 1]])),))
    curve = Mesh(np.eye(3), (("line", np.array([[0, 1], [1, 2]])),))
    for mesh in (line, curve):
        with pytest.raises(ValueError, match="whose normals are wanted"):
            weights(mesh, "force:p", "point", 1)
    assert measure(curve) == pytest.approx(2 * 2**0.5)
    with pytest.raises(ValueError, match="Expected cells to integrate over"):
        measure(Mesh(np.eye(3)))
    with pytest.raises(ValueError, match="linear"):
        weights(curve, "peak:p", "point", 1)
    twice = curve.with_point_data("p", np.ones(3)).with_cell_data("p", np.ones(2))
    with pytest.raises(ValueError, match="got both"):
        compute(twice, "mean:p")
    assert compute(twice, "mean:cell:p") == {"mean:cell:p": 1.0}
