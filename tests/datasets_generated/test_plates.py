"""The generator of plates with holes: mesh, mechanics against theory and an independent assembly, and the files."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import plates_mesh
import plates_samples as plates
import pytest
import skfem
from plates_mesh import (
    Floats,
    Hole,
    plane_mesh,
    quality,
    smallest_ligament,
    solid_points,
    solid_tetrahedra,
)
from plates_samples import COLUMNS, STEEL, Plate, draw_plate, generate, solve
from plates_solver import PlateSpace, equilibrium
from scipy.sparse.linalg import spsolve
from scipy.spatial import cKDTree
from skfem.models.elasticity import lame_parameters, linear_elasticity

from pitgeo.datasets import mesh_samples, resumable
from pitgeo.datasets.elastic import Elastic, von_mises
from pitgeo.datasets.mesh_samples import TABLE
from pitgeo.evaluation.plots.bent import bent_solids, outer_faces
from pitgeo.mesh import read_mesh

HOLES = (Hole((0.6, 0.4), (0.2, 0.12), 0.5), Hole((1.4, 0.65), (0.1, 0.1)))


def space_of(
    holes: tuple[Hole, ...] = HOLES, size: float = 0.3, layers: int = 1, thickness: float = 0.15
) -> PlateSpace:
    return PlateSpace(plane_mesh(holes, size), thickness, layers)


def points_of(space: PlateSpace) -> Floats:
    return solid_points(space.plane_points, space.height)


def on_surface(space: PlateSpace, points: Floats) -> Any:
    plane = np.zeros(len(space.plane_points), bool)
    plane[space.plane.get_dofs().all()] = True
    return np.repeat(plane, space.planes) | np.isin(points[:, 2], space.height[[0, -1]])


# The mesh


@pytest.mark.parametrize("number", range(6))
def test_mesh_covers_the_plate_but_for_its_holes(number: int) -> None:
    plate = draw_plate(7, number)
    space = space_of(plate.holes, 0.3, thickness=plate.thickness)
    corners = space.plane_points[space.triangles[:, :3]]
    assert quality(corners).min() > 0.35
    angles = [np.arccos(cosine(corners, i)) for i in range(3)]
    assert np.degrees(np.min(angles)) > 18
    expected = 2 - sum(np.pi * np.prod(hole.semi_axes) for hole in plate.holes)
    assert space.plane.dx.sum() == pytest.approx(expected, rel=2e-5)  # the rims are curved
    assert space.plane.dx.min() > 0
    for hole in plate.holes:
        level = hole.level(space.plane_points)
        assert level.min() == pytest.approx(1, abs=1e-12)
        assert (np.abs(level - 1) < 1e-12).sum() >= 32  # corners and middles of 16 edges

    points = points_of(space)
    cells = solid_tetrahedra(points, space.triangles)
    volume = np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]]) / 6
    assert volume.min() > 0
    assert volume.sum() == pytest.approx(expected * plate.thickness, rel=2e-3)  # straight rims
    assert np.array_equal(np.unique(cells), np.arange(len(points)))


def cosine(corners: Floats, i: int) -> Any:
    one, two = corners[:, i - 1] - corners[:, i], corners[:, i - 2] - corners[:, i]
    return (one * two).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(two, axis=-1)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_surface_is_closed_with_as_many_handles_as_holes(count: int) -> None:
    space = space_of(HOLES[:count], 0.4, layers=2)
    points = points_of(space)
    cells = solid_tetrahedra(points, space.triangles)
    faces = outer_faces(cells)
    edges, uses = np.unique(
        np.sort(faces[:, [(0, 1), (1, 2), (0, 2)]].reshape(-1, 2), axis=1), axis=0, return_counts=True
    )
    assert (uses == 2).all()
    assert len(np.unique(faces)) - len(edges) + len(faces) == 2 - 2 * count
    a, b, c = np.moveaxis(points[faces], 1, 0)
    flux = (a * np.cross(b, c)).sum() / 6  # by the divergence theorem, of faces that look outwards
    assert flux == pytest.approx(np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]]).sum() / 6)


def test_vtk_agrees_on_volumes() -> None:
    pyvista = pytest.importorskip("pyvista")
    sample = solve(Plate(0.1, np.array([1e7, 0, 0]), HOLES), 0.4)
    cells = np.column_stack([np.full(len(sample.cells), 4), sample.cells]).ravel()
    grid = pyvista.UnstructuredGrid(cells, np.full(len(sample.cells), pyvista.CellType.TETRA), sample.points)
    volume = grid.compute_cell_sizes()["Volume"]
    assert volume.min() > 0
    assert volume.sum() == pytest.approx(0.1 * (2 - np.pi * (0.2 * 0.12 + 0.1**2)), rel=2e-3)


def test_ligament_against_circles() -> None:
    one, two = Hole((0.5, 0.5), (0.2, 0.2)), Hole((1.1, 0.5), (0.1, 0.1))
    assert smallest_ligament([one, two]) == pytest.approx(0.3, abs=1e-3)
    assert smallest_ligament([Hole((0.5, 0.3), (0.25, 0.1))]) == pytest.approx(0.2, abs=1e-3)
    assert smallest_ligament([Hole((0.5, 0.3), (0.25, 0.1), np.pi / 2)]) == pytest.approx(0.05, abs=1e-3)
    assert smallest_ligament([one, Hole((0.5, 0.5), (0.05, 0.05))]) < 0  # one in the other
    assert smallest_ligament([one, Hole((0.75, 0.5), (0.1, 0.1))]) < 0
    assert smallest_ligament([Hole((0.1, 0.5), (0.2, 0.2))]) < 0


def test_what_cannot_be_meshed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="Expected holes apart from each other"):
        plane_mesh([HOLES[0], HOLES[0]], 0.2)
    with pytest.raises(ValueError, match=r"Expected 'size' to be positive \(got 0\)"):
        plane_mesh(HOLES, 0)
    with pytest.raises(ValueError, match="ratio of at most 5"):
        Hole((0.5, 0.5), (0.4, 0.001))
    monkeypatch.setattr(plates_mesh, "_LEAST_QUALITY", 0.99)
    monkeypatch.setattr(plates_mesh, "_TRIES", 2)
    with pytest.raises(ArithmeticError, match="No mesh of good triangles was found in 2 tries"):
        plane_mesh([], 0.4)


# The solver


def test_uniform_tension_is_exact() -> None:
    space, tension = space_of((), 0.5, layers=2), 1e7
    points = points_of(space)
    held = points == 0  # each face at 0 may slide
    displacement, _ = equilibrium(space.stiffness(STEEL), space.end_load(2.0, np.array([tension, 0, 0])), held)
    expected = tension / 210e9 * points * (1, -0.3, -0.3)
    np.testing.assert_allclose(displacement, expected, atol=1e-11 * np.abs(expected).max())
    stress = STEEL.stress(space.gradient(displacement))
    np.testing.assert_allclose(stress, np.broadcast_to(np.diag([tension, 0, 0]), stress.shape), atol=1e-7 * tension)
    np.testing.assert_allclose(von_mises(stress), tension, rtol=1e-7)


def test_any_linear_displacement_is_in_equilibrium_round_holes() -> None:
    space = space_of(layers=2)
    points = points_of(space)
    slope = np.random.default_rng(0).normal(size=(3, 3))
    surface = np.repeat(on_surface(space, points)[:, None], 3, axis=1)
    exact = points @ slope.T + 1
    displacement, _ = equilibrium(space.stiffness(STEEL), np.zeros_like(points), surface, exact)
    assert not surface.all()
    np.testing.assert_allclose(displacement, exact, atol=1e-11)
    gradient = space.gradient(displacement)
    np.testing.assert_allclose(gradient, np.broadcast_to(slope, gradient.shape), atol=1e-10)


def test_moving_rigidly_makes_no_stress_and_nothing_else_does_not() -> None:
    space = space_of((), 1.0)
    stiffness, points = space.stiffness(Elastic(1.0, 0.3)), points_of(space)
    np.testing.assert_allclose((stiffness - stiffness.T).toarray(), 0, atol=1e-14)
    values = np.linalg.eigvalsh(stiffness.toarray())
    assert np.abs(values[:6]).max() < 1e-12 < 1e-5 < values[6]
    for axis in np.eye(3):
        turned = np.cross(axis, points)
        assert np.abs(stiffness @ turned.ravel()).max() < 1e-13
        assert von_mises(Elastic(1.0, 0.3).stress(space.gradient(turned))).max() < 1e-13


def test_von_mises() -> None:
    assert von_mises(np.diag([2.0, 0, 0])) == pytest.approx(2)
    assert von_mises(5 * np.eye(3)) == pytest.approx(0)
    shear = np.zeros((3, 3))
    shear[0, 1] = shear[1, 0] = 1
    assert von_mises(shear) == pytest.approx(np.sqrt(3))


@pytest.mark.parametrize(("axis", "height", "width"), [(2, 0.1, 0.2), (1, 0.2, 0.1)])
def test_deflection_of_a_slender_cantilever(axis: int, height: float, width: float) -> None:
    """Timoshenko's beam of 2 x 0.2 x 0.1, bent through its thickness and in its plane."""
    traction = 1e5 * np.eye(3)[axis]
    space = PlateSpace(plane_mesh([], 0.1, 2.0, 0.2), 0.1, 1)
    points = points_of(space)
    held = np.repeat(points[:, :1] == 0, 3, axis=1)
    load = space.end_load(2.0, traction)
    displacement, _ = equilibrium(space.stiffness(STEEL), load, held)
    force, shear = 1e5 * 0.02, 210e9 / 2.6
    expected = force * 2**3 / (3 * 210e9 * width * height**3 / 12) + force * 2 / (5 / 6 * shear * 0.02)
    end = points[:, 0] == 2
    assert displacement[end, axis].mean() == pytest.approx(expected, rel=0.01)
    stress = STEEL.stress(space.gradient(displacement))
    middle = np.abs(points[:, 0] - 1) < 0.2
    top = middle & (points[:, axis] == height)
    bending = -force * (2 - points[top, 0]) * height / 2 / (width * height**3 / 12)
    np.testing.assert_allclose(stress[top, 0, 0], bending, rtol=0.03)


def test_peak_stress_at_a_small_hole_is_about_three_times_the_tension() -> None:
    """Howland's strip with a hole of a fifth of its width, by Peterson's fit: 3.13 times the stress far away."""
    tension, share = 1.0, 0.2
    net = 3 - 3.13 * share + 3.66 * share**2 - 1.53 * share**3
    peaks = []
    for size in (0.04, 0.025):
        space = PlateSpace(plane_mesh([Hole((0.5, 0.25), (0.05, 0.05))], size, 1.0, 0.5), 0.01, 1)
        points = points_of(space)
        held = np.zeros(points.shape, bool)
        held[points[:, 0] == 0, 0] = True
        held[(points == 0).all(axis=1), 1] = True
        held[(points[:, 0] == 0) & (points[:, 2] == 0), 2] = True
        load = space.end_load(1.0, np.array([tension, 0, 0]))
        displacement, _ = equilibrium(space.stiffness(Elastic(1.0, 0.3)), load, held)
        stress = Elastic(1.0, 0.3).stress(space.gradient(displacement))
        peak = stress[:, 0, 0].argmax()
        np.testing.assert_allclose(np.abs(points[peak, :2] - (0.5, 0.25)), [0, 0.05], atol=0.012)
        peaks.append(stress[peak, 0, 0])
    assert peaks[0] == pytest.approx(net / (1 - share), rel=0.08)
    assert peaks[1] == pytest.approx(net / (1 - share), rel=0.03)


def test_reactions_balance_the_load() -> None:
    for number in range(2):
        plate = draw_plate(0, number)
        space = space_of(plate.holes, 0.4, thickness=plate.thickness)
        points = points_of(space)
        load = space.end_load(2.0, plate.traction)
        held = np.repeat(points[:, :1] == 0, 3, axis=1)
        _, reaction = equilibrium(space.stiffness(STEEL), load, held)
        force = plate.traction * plate.thickness
        np.testing.assert_allclose(load.sum(axis=0), force, rtol=1e-12)
        np.testing.assert_allclose(reaction.sum(axis=0), -force, atol=1e-8 * np.abs(force).max())
        moment = np.cross([2, 0.5, plate.thickness / 2], force)  # the load acts at the middle of the end
        np.testing.assert_allclose(np.cross(points, reaction).sum(axis=0), -moment, atol=1e-8 * np.abs(force).max())


def test_error_falls_with_the_third_power_of_the_size_and_that_of_stress_with_the_second() -> None:
    r"""The gradient of a harmonic function is in equilibrium without forces: exp(5 z) sin(3 x) sin(4 y)."""
    errors = []
    for size, layers in ((0.4, 1), (0.2, 2), (0.1, 4)):
        mesh = skfem.MeshTri.init_tensor(np.linspace(0, 2, round(2 / size) + 1), np.linspace(0, 1, round(1 / size) + 1))
        space = PlateSpace(skfem.MeshTri2.from_mesh(mesh), 0.4, layers)
        points = points_of(space)
        sine, cosine = np.sin(points * (3, 4, 0)), np.cos(points * (3, 4, 0))
        wave = np.stack([3 * cosine[:, 0] * sine[:, 1], 4 * sine[:, 0] * cosine[:, 1], 5 * sine[:, 0] * sine[:, 1]], 1)
        exact = np.exp(5 * points[:, 2:]) * wave
        curved = np.exp(5 * points[:, 2]) * sine[:, 0] * sine[:, 1] * np.array([-9, -16, 25])[:, None]
        surface = np.repeat(on_surface(space, points)[:, None], 3, axis=1)
        displacement, _ = equilibrium(space.stiffness(Elastic(1.0, 0.3)), np.zeros_like(points), surface, exact)
        inside = ~surface[:, 0]
        slope = np.diagonal(space.gradient(displacement), axis1=1, axis2=2).T
        errors.append(
            (
                np.sqrt(((displacement - exact)[inside] ** 2).mean()),
                np.sqrt(((slope - curved)[:, inside] ** 2).mean()),
            )
        )
    rates = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert (rates[:, 0] > 2.7).all() and rates[-1, 1] > 1.75, rates


def test_against_quadratic_tetrahedra_of_scikit_fem() -> None:
    straight = plane_mesh(HOLES, 0.3)
    straight = skfem.MeshTri2.from_mesh(skfem.MeshTri(straight.doflocs[:, : straight.t.max() + 1], straight.t))
    space = PlateSpace(straight, 0.15, 1)
    points, traction = points_of(space), np.array([3e7, 2e6, 3e5])
    held = np.repeat(points[:, :1] == 0, 3, axis=1)
    ours, _ = equilibrium(space.stiffness(STEEL), space.end_load(2.0, traction), held)

    count = straight.t.max() + 1
    corners = np.concatenate([points[np.arange(count) * 3], points[np.arange(count) * 3 + 2]])
    a, b, c = np.sort(straight.t, axis=0)
    up = count
    cells = np.concatenate([(a, b, c, c + up), (a, b, b + up, c + up), (a, a + up, b + up, c + up)], axis=1)
    mesh = skfem.MeshTet(corners.T.copy(), cells)
    element = skfem.ElementVector(skfem.ElementTetP2())
    basis = skfem.Basis(mesh, element, intorder=2)
    end = skfem.FacetBasis(mesh, element, facets=mesh.facets_satisfying(lambda at: at[0] > 2 - 1e-9), intorder=2)
    pull = skfem.LinearForm(lambda v, w: traction[0] * v[0] + traction[1] * v[1] + traction[2] * v[2]).assemble(end)
    stiffness = linear_elasticity(*lame_parameters(210e9, 0.3)).assemble(basis)
    clamp = basis.get_dofs(lambda at: at[0] < 1e-9).all()
    matrix, load, theirs, free = skfem.condense(stiffness, pull, D=clamp)
    theirs[free] = spsolve(matrix, load)
    their_corners = theirs[basis.nodal_dofs].T
    distance, number = cKDTree(points).query(corners)
    assert distance.max() == 0
    difference = np.linalg.norm(ours[number] - their_corners) / np.linalg.norm(their_corners)
    assert difference < 0.02  # both err, in different ways


def test_a_plate_that_is_not_held_is_refused() -> None:
    space = space_of((), 1.0)
    points = points_of(space)
    load = space.end_load(2.0, np.array([1e6, 0, 0]))
    with pytest.raises(ArithmeticError, match="hold more points"):
        equilibrium(space.stiffness(STEEL), load, np.zeros(points.shape, bool))


# The samples


def test_draws_lie_in_their_ranges() -> None:
    drawn = [draw_plate(3, number) for number in range(60)]
    assert {len(plate.holes) for plate in drawn} == {1, 2, 3}
    traction = np.array([plate.traction for plate in drawn])
    assert (traction[:, 0] >= 10e6).all() and (np.abs(traction) <= (50e6, 3e6, 0.4e6)).all()
    assert traction[:, 1].min() < 0 < traction[:, 1].max() and traction[:, 2].min() < 0 < traction[:, 2].max()
    thickness = [plate.thickness for plate in drawn]
    assert 0.1 <= min(thickness) < 0.11 and 0.19 < max(thickness) <= 0.2
    assert min(smallest_ligament(plate.holes) for plate in drawn) >= 0.08
    assert draw_plate(3, 5).holes == drawn[5].holes
    assert draw_plate(4, 5).holes != drawn[5].holes


def test_answer_is_linear_in_the_load() -> None:
    plate = draw_plate(0, 1)
    parts = [solve(Plate(plate.thickness, pull, plate.holes), 0.4) for pull in np.diag(plate.traction)]
    whole = solve(plate, 0.4)
    total = sum(part.displacement for part in parts)
    np.testing.assert_allclose(whole.displacement, total, atol=1e-9 * np.abs(total).max())
    twice = solve(Plate(plate.thickness, 2 * plate.traction, plate.holes), 0.4)
    np.testing.assert_allclose(twice.von_mises, 2 * whole.von_mises, rtol=1e-6)


def test_a_sample_is_close_to_one_on_a_finer_mesh() -> None:
    plate = draw_plate(0, 0)
    coarse, fine = solve(plate), solve(plate, 0.08)
    assert 2000 < len(coarse.points) < 4000 < len(fine.points)
    assert coarse.tip_deflection == pytest.approx(fine.tip_deflection, rel=0.01)
    assert coarse.peak_stress == pytest.approx(fine.peak_stress, rel=0.05)


def test_summaries_of_a_sample() -> None:
    sample = solve(draw_plate(0, 0), 0.4)
    assert np.array_equal(sample.clamped, sample.points[:, 0] == 0) and sample.clamped.any()
    assert not sample.displacement[sample.clamped].any()
    assert sample.peak_stress == sample.von_mises[sample.points[:, 0] >= 0.1].max()
    end = sample.displacement[sample.points[:, 0] == 2]
    lengths = np.linalg.norm(end, axis=1)
    assert lengths.min() < sample.tip_deflection < lengths.max()
    with pytest.raises(ValueError, match="Expected a positive thickness"):
        solve(Plate(0.0, np.ones(3), ()))


# The files


def make(output: Path, samples: int, **options: Any) -> dict[str, bytes]:
    generate(output, samples, processes=1, progress=False, **{"size": 0.5, **options})
    return {path.name: path.read_bytes() for path in output.glob("p*.*")}


def plate_name(number: int) -> str:
    return mesh_samples.file_name("plate", number)


def test_files(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    assert sorted(made) == [TABLE, *map(plate_name, range(3))]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*made, resumable.MANIFEST])
    rows = list(csv.DictReader(made[TABLE].decode().splitlines()))
    assert list(rows[0]) == ["file", *COLUMNS] and len(rows) == 3
    sizes = set()
    for number, row in enumerate(rows):
        plate = draw_plate(0, number)
        sample, mesh = solve(plate, 0.5), read_mesh(tmp_path / row["file"])
        sizes.add(len(mesh.points))
        np.testing.assert_allclose(mesh.points, sample.points, atol=1e-7)
        assert mesh.cells[0][0] == "tetra" and np.array_equal(mesh.cells[0][1], sample.cells)
        for name in ("displacement", "von_mises", "clamped"):
            np.testing.assert_allclose(mesh.point_data[name], getattr(sample, name), rtol=1e-6)
        assert mesh.point_data["clamped"].dtype.kind == "i"
        np.testing.assert_array_equal(mesh.field_data["traction"], plate.traction)
        assert mesh.field_data["thickness"] == plate.thickness == float(row["thickness"])
        assert [float(row[f"traction_{axis}"]) for axis in "xyz"] == plate.traction.tolist()
        assert int(row["holes"]) == len(plate.holes)
        assert float(row["peak_stress"]) == sample.peak_stress
        assert float(row["tip_deflection"]) == sample.tip_deflection
    assert len(sizes) > 1


def test_vtk_reads_the_files(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    make(tmp_path, 1)
    grid, mesh = pyvista.read(tmp_path / plate_name(0)), read_mesh(tmp_path / plate_name(0))
    np.testing.assert_array_equal(grid.points, mesh.points)
    np.testing.assert_array_equal(grid["displacement"], mesh.point_data["displacement"])
    np.testing.assert_array_equal(grid.field_data["traction"], draw_plate(0, 0).traction)
    assert grid.n_cells == len(mesh.cells[0][1])


def test_a_sample_does_not_depend_on_the_number_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = make(tmp_path / "few", 2)
    monkeypatch.setattr(mesh_samples, "_CHUNK", 2)
    more = make(tmp_path / "more", 3)
    other = make(tmp_path / "other", 1, seed=1)
    assert all(more[plate_name(number)] == few[plate_name(number)] for number in range(2))
    assert more[TABLE].startswith(few[TABLE])
    assert other[plate_name(0)] != few[plate_name(0)]


def test_an_interrupted_run_goes_on_and_gives_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_samples, "_CHUNK", 2)
    whole = make(tmp_path / "whole", 5)
    solved: list[int] = []

    def interrupted(seed: int, number: int) -> Plate:
        if number == 3:
            raise KeyboardInterrupt
        return draw_plate(seed, number)

    def counted(seed: int, number: int) -> Plate:
        solved.append(number)
        return draw_plate(seed, number)

    output = tmp_path / "output"
    monkeypatch.setattr(plates, "draw_plate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(output, 5)
    assert [path.name for path in output.iterdir()] == ["parts"]
    monkeypatch.setattr(plates, "draw_plate", counted)
    replace = os.replace

    def failing(part: Path, target: Path) -> None:
        if Path(target) == output / plate_name(2):
            raise OSError("no space left on device")
        replace(part, target)

    with monkeypatch.context() as patch:  # once more, while files are put in place
        patch.setattr(os, "replace", failing)
        with pytest.raises(OSError, match="no space"):
            make(output, 5)
    assert make(output, 5) == whole
    assert solved == [2, 3, 4]
    assert json.loads((output / resumable.MANIFEST).read_text())["complete"]
    assert not (output / "parts").exists()


def test_files_that_are_there_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = make(tmp_path, 2)
    monkeypatch.setattr(plates, "solve", None)
    assert make(tmp_path, 2) == before and make(tmp_path, 1) == before
    for options in ({"samples": 3}, {"samples": 2, "seed": 1}, {"samples": 2, "size": 0.4}):
        with pytest.raises(FileExistsError, match="delete them, or choose another output folder"):
            make(tmp_path, **options)  # type: ignore[arg-type]
    (tmp_path / plate_name(1)).write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="no files that were not generated"):
        make(tmp_path, 2)
    assert (tmp_path / plate_name(1)).read_bytes() == b"mine"


def test_wrong_numbers_and_unsolved_samples_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ({"samples": 0}, {"samples": 1, "seed": -1}):
        with pytest.raises(ValueError, match=f"Expected '{list(options)[-1]}' to be at least"):
            make(tmp_path, **options)
    with pytest.raises(ValueError, match=r"Expected 'size' to be from 0.02 to 1 m \(got -1\)"):
        make(tmp_path, 1, size=-1)
    monkeypatch.setattr(plates, "draw_plate", lambda seed, number: Plate(0.1, np.ones(3), (HOLES[0], HOLES[0])))
    with pytest.raises(ArithmeticError, match="Sample 0 with seed 0 could not be solved: Expected holes apart"):
        make(tmp_path, 1)


def test_picture(tmp_path: Path) -> None:
    make(tmp_path, 2)
    assert bent_solids("plate", tmp_path, tmp_path / "pictures" / "plates.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(FileNotFoundError, match=r"Expected files plate_\*.vtu"):
        bent_solids("plate", tmp_path / "pictures", tmp_path / "plates.png")
    with pytest.raises(ValueError, match="Expected 'samples' to be at least 1"):
        bent_solids("plate", tmp_path, tmp_path / "plates.png", samples=0)
