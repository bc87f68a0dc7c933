"""Pictures of fields on meshes: the cells drawn are those of the mesh, and colours stand for values."""

from __future__ import annotations

import logging
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, TriMesh
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from pitgeo.evaluation.plots import MeshSample, cells, mesh_fields, meshes, space
from pitgeo.evaluation.plots.arcs import chains
from pitgeo.evaluation.plots.sections import section
from pitgeo.mesh import Mesh, read_mesh

CASES = Path(__file__).parents[3] / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="other programs' meshes are not beside the project")
CUBE = np.array([[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])[[0, 1, 3, 2, 4, 5, 7, 6]]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures saved so far, so that tests can look inside."""
    saved: list[Figure] = []
    save = meshes.save

    def keep(figure: Figure, output: Path | str) -> Path:
        saved.append(figure)
        return save(figure, output)

    monkeypatch.setattr(meshes, "save", keep)
    return saved


@pytest.fixture
def can_render() -> None:
    pytest.importorskip("pyvista")
    if not space.can_render():
        pytest.skip("VTK cannot draw on this machine")


def grid(across: int = 4, up: int = 3) -> Mesh:
    """A plate of unit squares, some of them cut into triangles, and its lower edge as lines."""
    x, y = np.meshgrid(np.arange(across + 1.0), np.arange(up + 1.0))
    number = np.arange(x.size).reshape(x.shape)
    quads = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], -1).reshape(-1, 4)
    cut = quads[-across:]
    triangles = np.concatenate([cut[:, [0, 1, 2]], cut[:, [0, 2, 3]]])
    lines = np.stack([number[0, :-1], number[0, 1:]], 1)
    blocks = (("line", lines), ("quad", quads[:-across]), ("triangle", triangles))
    return Mesh(np.stack([x.ravel(), y.ravel()], 1), blocks)


def drawn(figure: Figure, kind: type) -> list[Any]:
    axes = figure.axes
    return [found for ax in axes for found in ax.collections if type(found) is kind and ax.get_title()]


def area(polygons: NDArray[np.float64]) -> float:
    x, y = polygons[..., 0], polygons[..., 1]
    return float(np.abs((x * np.roll(y, -1, -1) - y * np.roll(x, -1, -1)).sum(-1)).sum() / 2)


def test_values_on_points_are_shaded_on_the_cells(tmp_path: Path, figures: list[Figure]) -> None:
    mesh = grid()
    truth = mesh.points[:, 0]
    rows = [MeshSample("a", mesh, "point", truth, truth + 1), MeshSample("b", mesh, "point", truth, truth + 3)]
    path = mesh_fields(rows, tmp_path / "new" / "f.png", "stress")
    assert path is not None
    with Image.open(path) as picture:
        assert picture.size[0] > 1500
    shaded = drawn(figures[0], TriMesh)
    assert len(shaded) == 6
    for values, error in zip(shaded[:3], (truth, truth + 1, np.ones(len(truth))), strict=True):
        np.testing.assert_array_equal(values.get_array(), error)
    assert shaded[0].get_clim() == shaded[1].get_clim() != shaded[2].get_clim() == shaded[5].get_clim()
    assert shaded[0].get_cmap().name == shaded[1].get_cmap().name != shaded[2].get_cmap().name
    polygons = drawn(figures[0], PolyCollection)  # 8 squares and 8 triangles in each of 6 pictures
    assert [len(found.get_paths()) for found in polygons] == [8, 8] * 6
    (outline, *_) = drawn(figures[0], LineCollection)
    assert len(outline.get_segments()) == 2 * (4 + 3)
    assert all(found.axes.get_aspect() == 1.0 for found in shaded)


def colors_at(path: Path, figure: Figure, number: int, places: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """The colours of a picture at positions of the mesh."""
    ax = [ax for ax in figure.axes if ax.get_title()][number]
    with Image.open(path) as picture:
        image = np.asarray(picture.convert("RGB"))
    across, up = (ax.transData.transform(places) * image.shape[1] / float(figure.bbox.width)).T
    return [tuple(image[len(image) - 1 - int(y), int(x)]) for x, y in zip(across, up, strict=True)]


def test_values_on_cells_are_flat(tmp_path: Path, figures: list[Figure]) -> None:
    mesh = grid()
    centres = np.concatenate([mesh.points[nodes].mean(1) for _, nodes in mesh.cells])
    truth = np.floor(centres[:, 0]) + 4 * np.floor(centres[:, 1])
    path = mesh_fields([MeshSample("a", mesh, "cell", truth, truth)], tmp_path / "f.png")
    assert path is not None
    left = np.array([[i + 0.25, j + 0.4] for j in range(3) for i in range(4)])
    right = np.array([[i + 0.75, j + 0.6] for j in range(3) for i in range(4)])
    first, second = (colors_at(path, figures[0], 0, places) for places in (left, right))
    assert first == second and len(set(first)) == 12
    expected = [drawn(figures[0], TriMesh)[0].to_rgba(float(number)) for number in range(12)]
    assert np.abs(np.array(first) / 255 - np.array(expected)[:, :3]).max() < 0.03
    # the same values without those of the lines
    mesh_fields([MeshSample("a", mesh, "cell", truth[4:], truth[4:])], tmp_path / "g.png")
    np.testing.assert_array_equal(*(drawn(figure, TriMesh)[0].get_array() for figure in figures))


def test_one_column_without_truth(tmp_path: Path, figures: list[Figure]) -> None:
    mesh = grid()
    mesh_fields([MeshSample("a", mesh, "point", None, mesh.points[:, 0])], tmp_path / "f.png")
    assert [ax.get_title() for ax in figures[0].axes] == ["prediction", ""]
    both = [MeshSample("a", mesh, "point", None, mesh.points[:, 0]), MeshSample("b", mesh, "point", *2 * [np.ones(20)])]
    mesh_fields(both, tmp_path / "f.png")
    assert len(drawn(figures[1], TriMesh)) == 4


def test_points_without_cells_and_branching_curves(tmp_path: Path, figures: list[Figure]) -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    mesh_fields([MeshSample("a", Mesh(points), "point", np.arange(4), np.arange(4))], tmp_path / "f.png")
    assert [len(np.asarray(found.get_offsets())) for found in drawn(figures[0], PathCollection)] == [4, 4, 4]
    star = Mesh(points, (("line", np.array([[0, 1], [0, 2], [0, 3]])),))
    rows = [MeshSample("p", star, "point", *2 * [np.arange(4)]), MeshSample("c", star, "cell", *2 * [np.arange(3)])]
    mesh_fields(rows, tmp_path / "g.png")
    lines = drawn(figures[1], LineCollection)
    assert [found.get_array().tolist() for found in (lines[0], lines[3])] == [[0.5, 1.0, 1.5], [0.0, 1.0, 2.0]]


def test_a_curve_is_drawn_over_its_arc_length(tmp_path: Path, figures: list[Figure]) -> None:
    angle = 2 * np.pi * np.arange(200) / 200
    shuffled = np.random.default_rng(0).permutation(200)
    place = np.empty(200, int)
    place[shuffled] = np.arange(200)
    ring = np.stack([place, np.roll(place, -1)], 1)[np.random.default_rng(1).permutation(200)]
    points = np.stack([np.cos(angle), np.sin(angle)], 1)[shuffled]
    mesh = Mesh(points, (("line", ring),))
    truth = points[:, 1]
    mesh_fields([MeshSample("ring", mesh, "point", truth, truth + 0.5)], tmp_path / "f.png", "u")
    shape, left, right = figures[0].axes[:3]
    length, values = (np.asarray(part)[:-1] for part in left.lines[0].get_data())
    start = math.atan2(points[0, 1], points[0, 0])
    assert length[-1] == pytest.approx(2 * math.pi, rel=1e-3) and len(length) == 201
    turns = [np.abs(values - np.sin(start + way * length)).max() for way in (1, -1)]
    assert min(turns) < 1e-3
    np.testing.assert_allclose(np.asarray(right.lines[0].get_ydata())[:-1], 0.5)
    assert len(shape.collections[0].get_segments()) == 200
    mesh_fields([MeshSample("ring", mesh, "cell", None, np.arange(200))], tmp_path / "g.png", "u")
    cell_values = np.asarray(figures[1].axes[1].lines[0].get_ydata())[:-1]
    assert sorted(cell_values.tolist()) == list(range(200))


def test_chains() -> None:
    found = chains(np.array([[5, 6], [1, 2], [3, 2], [8, 9], [9, 7], [7, 8]]))
    assert found is not None
    assert [part.points.tolist() for part in found] == [[1, 2, 3], [5, 6], [7, 9, 8, 7]]
    assert [part.segments.tolist() for part in found] == [[1, 2], [0], [4, 3, 5]]
    assert chains(np.array([[0, 1], [0, 2], [0, 3]])) is None


def test_a_line(tmp_path: Path, figures: list[Figure]) -> None:
    x = np.array([[0.0], [2.0], [1.0]])
    mesh = Mesh(x, (("line", np.array([[2, 1], [0, 2]])),))
    rows = [MeshSample("p", mesh, "point", x[:, 0], x[:, 0]), MeshSample("c", mesh, "cell", [7.0, 8.0], [7.0, 9.0])]
    mesh_fields(rows, tmp_path / "f.png")
    lines = [ax.lines[0] for ax in figures[0].axes if ax.get_legend() is not None]
    assert lines[0].get_xdata().tolist() == lines[0].get_ydata().tolist() == [0, 1, 2]
    assert lines[1].get_xdata().tolist() == [0.5, 1.5] and lines[1].get_ydata().tolist() == [8, 7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": np.zeros(5)}, r"'truth' to have shape \[20\], one a point \(got \[5\]\)"),
        ({"prediction": np.zeros((20, 1))}, r"'prediction' .*got \[20, 1\]"),
        ({"place": "cell"}, r"shape \[20\] or \[16\], one a cell"),
        ({"place": "edge"}, "'place' to be 'point' or 'cell'"),
        ({"mesh": Mesh(np.zeros((20, 2))), "place": "cell"}, "Expected a mesh with cells"),
        ({"mesh": Mesh(np.zeros((20, 2)), (("blob", np.zeros((1, 3), int)),))}, "got 'blob'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    sample = {
        "title": "a",
        "mesh": grid(),
        "place": "point",
        "truth": np.zeros(20),
        "prediction": np.zeros(20),
    } | change
    if change.get("place") == "cell":
        sample["prediction"] = np.zeros(19)
    with pytest.raises(ValueError, match=message):
        mesh_fields([MeshSample(**sample)], tmp_path / "f.png")
    with pytest.raises(ValueError, match="at least one sample"):
        mesh_fields([], tmp_path / "f.png")


@pytest.mark.parametrize(
    ("kind", "nodes", "dimension", "corners"),
    [("triangle6", 6, 2, 3), ("quad9", 9, 2, 4), ("polygon5", 5, 2, 5), ("tetra10", 10, 3, 4), ("line3", 3, 1, 2),
     ("hexahedron27", 27, 3, 8), ("wedge15", 15, 3, 6), ("pyramid13", 13, 3, 5), ("VTK_LAGRANGE_TRIANGLE", 6, 2, 3)],
)  # fmt: skip
def test_high_order_cells_are_drawn_by_their_corners(kind: str, nodes: int, dimension: int, corners: int) -> None:
    mesh = Mesh(np.zeros((40, 3)), (("vertex", np.zeros((2, 1), int)), (kind, np.arange(nodes)[None])))
    found, (block,) = cells.largest_cells(mesh)
    assert found == dimension and block.numbers.tolist() == [2]
    assert block.corners.tolist() == [list(range(corners))]


def test_the_largest_plane_meshes_are_drawn_in_seconds(tmp_path: Path) -> None:
    mesh = grid(400, 300)
    values = np.arange(sum(len(nodes) for _, nodes in mesh.cells), dtype=float)
    assert mesh_fields([MeshSample("a", mesh, "cell", None, values)], tmp_path / "f.png") is not None


@needs_cases
def test_other_programs_plane_meshes_keep_their_area(tmp_path: Path) -> None:
    for name, expected in (("annulus", None), ("mixedtriquad", None), ("quadratic_quad", None), ("square", 4.0)):
        mesh = read_mesh(CASES / "meshes" / f"{name}.msh")
        _, blocks = cells.largest_cells(mesh)
        whole = sum(area(mesh.points[block.corners]) for block in blocks)
        cut, owners = cells.triangles(blocks)
        assert area(mesh.points[cut]) == pytest.approx(whole)
        assert set(owners) == set(np.concatenate([block.numbers for block in blocks]))
        ends = mesh.points[cells.boundary(blocks)]
        found = chains(cells.boundary(blocks))
        assert found is not None and len(found) == (2 if name == "annulus" else 1)
        assert expected is None or np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum() == pytest.approx(expected)
    rows = [MeshSample("a", mesh, "point", *2 * [mesh.points[:, 0]])]
    assert mesh_fields(rows, tmp_path / "f.png") is not None


@pytest.mark.parametrize("extents", [(4.0, 1.0, 0.1), (1.0, 0.1, 4.0), (0.1, 4.0, 1.0), (1.0, 4.0, 0.1)])
def test_thin_things_are_seen_from_their_flat_side(extents: tuple[float, float, float]) -> None:
    thin, long = np.argmin(extents), np.argmax(extents)
    points = np.random.default_rng(0).random((500, 3)) * extents
    view = space.best_view(points)
    assert abs(view.direction[thin]) == 1 and view.right[long] == 1
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    turned = space.best_view(points @ turn.T)
    assert abs(turned.direction @ turn[:, thin]) > 0.99 and abs(turned.right @ turn[:, long]) > 0.99


@pytest.mark.parametrize(("extents", "up"), [((1, 1, 1), 2), ((1.8, 1.2, 4.5), 1), ((6, 6, 1), 2), ((1, 1, 5), 2)])
def test_other_things_are_seen_from_above_a_corner(extents: tuple[float, float, float], up: int) -> None:
    view = space.best_view(np.random.default_rng(0).random((500, 3)) * extents)
    assert (view.direction > 0.3).all() and view.up.argmax() == up
    frame = np.stack([view.right, view.up, view.direction])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1)


@pytest.mark.usefixtures("can_render")
def test_every_face_of_a_solid_has_its_colour(capfd: pytest.CaptureFixture[str]) -> None:
    mesh = Mesh(CUBE, (("vertex", np.array([[0]])), ("hexahedron", np.arange(8)[None])))
    red, blue = (space.Colors(np.array([0.0, value]), "bwr", (0, 1)) for value in (1, 0))
    corners = [CUBE[CUBE.sum(1).argmax()], CUBE[CUBE.sum(1).argmin()]]
    shown = space.render(mesh, "cell", [red, blue, red], width=200, marked=corners)
    assert shown is not None
    first, second, third = shown.pictures
    assert np.array_equal(first, third) and (first[0, 0] == 255).all()
    assert [mark.is_hidden for mark in shown.marks] == [False, True]  # the nearest corner, and that behind it
    for mark in shown.marks:
        assert abs(mark.row - len(first) / 2) < 0.4 * len(first)
    seen = (first != 255).any(-1)
    assert 0.5 < seen.mean() < 0.95 and np.array_equal(seen, (second != 255).any(-1))
    assert seen.any(0).mean() > 0.95 and seen.any(1).mean() > 0.95  # tight
    center = len(first) // 2, first.shape[1] // 2
    assert first[center][0] > 2 * first[center][2].astype(int) and second[center][2] > 2 * second[center][0].astype(int)
    said = capfd.readouterr()
    assert said.out == said.err == ""


@pytest.mark.usefixtures("can_render")
def test_points_of_a_solid_have_their_values(tmp_path: Path) -> None:
    mesh = Mesh(CUBE, (("hexahedron", np.arange(8)[None]),))
    surface, origin = space.visible_surface(space.grid(mesh), "point")
    np.testing.assert_allclose(surface.points, CUBE[origin], atol=1e-6)
    assert surface.area == pytest.approx(6) and set(origin) == set(range(8))
    rows = [
        MeshSample("cube", mesh, "point", CUBE[:, 0], CUBE[:, 1]),
        MeshSample("cloud", Mesh(CUBE), "point", *2 * [CUBE[:, 0]]),
    ]
    path = mesh_fields(rows, tmp_path / "f.png")
    assert path is not None
    with Image.open(path) as picture:
        image = np.asarray(picture.convert("RGB"))
    thirds = np.array_split(image[: len(image) // 2], 3, axis=1)
    assert all(((part != 255).any(-1)).mean() > 0.2 for part in thirds)


@pytest.mark.usefixtures("can_render")
@pytest.mark.parametrize("place", ["point", "cell"])
def test_below_a_solid_is_a_cut_at_its_peak_with_marks(
    tmp_path: Path, figures: list[Figure], place: Literal["point", "cell"]
) -> None:
    points = CUBE * (3, 2, 1)
    low, high = points * (1, 1, 0.5), points * (1, 1, 0.5) + (0, 0, 0.5)
    mesh = Mesh(np.concatenate([low, high]), (("hexahedron", np.arange(16).reshape(2, 8)),))
    truth = np.array([0.0, 1.0]) if place == "cell" else mesh.points @ (1, 1, 0)
    mesh_fields([MeshSample("a", mesh, place, truth, -truth)], tmp_path / "f.png")
    titles = [text.get_text() for text in figures[0].texts]
    assert titles == ["a", f"cut at z = {0.75 if place == 'cell' else 0.025:.4g}, by the peak of the truth"]
    shown = [ax for ax in figures[0].axes if ax.get_title()]
    assert [ax.get_title() for ax in shown[:3]] == [
        "truth, \N{WHITE CIRCLE} peak",
        "prediction, \N{MULTIPLICATION SIGN} peak",
        "absolute error",
    ]
    assert [len(ax.lines) for ax in shown] == [4, 4, 4, 2, 2, 2]  # each mark with a white rim


def test_a_section_has_the_values_of_the_plane_through_a_place() -> None:
    pytest.importorskip("pyvista")
    points = CUBE * (3, 2, 1)
    mesh = Mesh(points, (("hexahedron", np.arange(8)[None]),), {"u": points @ (1, 10, 100)})
    where, place, cut = section(mesh, np.array([3.0, 2.0, 1.0]))
    assert where == "z = 0.95" and place.tolist() == [3, 2, 0.95]
    np.testing.assert_allclose(cut.point_data["u"], cut.points @ (1, 10, 100))
    assert np.ptp(cut.points, axis=0) == pytest.approx([3, 2, 0]) and cut.points[0, 2] == pytest.approx(0.95)
    assert section(mesh, np.array([1.0, 1.0, 0.25]))[0] == "z = 0.5"  # of no cell's corner: the middle of the nearest


@needs_cases
@pytest.mark.usefixtures("can_render")
def test_other_programs_solids_and_surfaces(tmp_path: Path) -> None:
    car = read_mesh(CASES / "fields" / "car_0.vtu")
    surface, origin = space.visible_surface(space.grid(car), "cell")
    assert surface.n_cells == len(origin) == 7168
    assert np.array_equal(np.sort(origin), np.arange(7168))
    notch = read_mesh(CASES / "fields" / "notch_stress_fixed.vtk")
    assert space.visible_surface(space.grid(notch), "point")[0].n_cells < 2 * 2192
    stress = notch.point_data["Nodal Stress-normed"]
    assert mesh_fields([MeshSample("notch", notch, "point", None, stress)], tmp_path / "f.png") is not None


def test_where_vtk_cannot_draw_the_picture_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("pyvista")
    monkeypatch.setattr(space, "PROBE", "import os; os.abort()")  # as VTK does
    space.can_render.cache_clear()
    try:
        with caplog.at_level(logging.WARNING):
            rows = [MeshSample("cube", Mesh(CUBE), "point", CUBE[:, 0], CUBE[:, 1])]
            assert mesh_fields(rows, tmp_path / "f.png") is None
    finally:
        space.can_render.cache_clear()
    assert "left out" in caplog.text and not (tmp_path / "f.png").exists()


def test_without_pyvista_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(ImportError, match=r"pip install .pitgeo\[vtk\]"):
        mesh_fields([MeshSample("cube", Mesh(CUBE), "point", None, CUBE[:, 0])], tmp_path / "f.png")


def test_large_and_small_values_have_a_power_of_ten_in_the_label(tmp_path: Path, figures: list[Figure]) -> None:
    mesh = grid()
    for size, power in ((3e6, "⁶"), (2e-7, "⁻⁷"), (0.5, None)):
        truth = size * mesh.points[:, 0] / 4
        mesh_fields([MeshSample("a", mesh, "point", truth, 1.5 * truth)], tmp_path / "f.png", "u")
        *_, bar, _ = figures[-1].axes
        label, (low, high) = bar.get_ylabel(), bar.get_ylim()
        assert label == ("u" if power is None else f"u (\N{MULTIPLICATION SIGN}10{power})")
        assert low == 0 and high == pytest.approx(size / 10.0 ** {"⁶": 6, "⁻⁷": -7, None: 0}[power])


@pytest.mark.parametrize("height", [0.1, 0.5, 1.0, 2.0])
def test_a_long_name_does_not_push_the_power_of_ten_out_of_the_label(
    tmp_path: Path, figures: list[Figure], height: float
) -> None:
    mesh = grid()
    mesh = replace(mesh, points=mesh.points * (1, height))
    truth = 2e-5 * mesh.points[:, 0] / 4
    for name in ("displacement_x", "displacement of the loaded face along the first axis of the part"):
        mesh_fields([MeshSample("a", mesh, "point", truth, 1.5 * truth)], tmp_path / "f.png", name)
        *_, bar, error = figures[-1].axes
        for label in (bar.get_ylabel() or bar.get_xlabel(), error.get_ylabel() or error.get_xlabel()):
            assert label.endswith("(\N{MULTIPLICATION SIGN}10⁻⁵)") and label.startswith("displ")
