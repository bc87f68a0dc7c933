"""The generator of brackets: solids, mesh, mechanics against theory and an independent assembly, and the files."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skfem

try:
    import gmsh
except OSError as error:  # a library of the system
    pytest.skip(f"gmsh does not load: {error}", allow_module_level=True)

import brackets_mesh
import brackets_samples as brackets
import brackets_solver
from brackets_accuracy import errors, interpolated, print_accuracy
from brackets_mesh import BracketMesh, bracket_mesh, facets_of, has_sharp_edge, quadratic_mesh
from brackets_samples import Bracket, distance_to_bolts, draw_bracket, generate, solve
from brackets_shapes import FAMILIES, ImpossibleShape, Shape, draw_kind, draw_shape
from brackets_solid import Floats, gmsh_tetrahedra, kernel, make_solid, material_angles
from brackets_solver import SolidSpace, equilibrium
from skfem.models.elasticity import lame_parameters, linear_elasticity

from pitgeo.datasets.elastic import Elastic, von_mises
from pitgeo.datasets.mesh_samples import TABLE, file_name
from pitgeo.mesh import read_mesh
from pitgeo.system.processes import CrashError

COARSE = 12.0
STEEL = Elastic()
ANGLE = Shape(
    "angle", 80, 50, 8, 4, 4, 60, 14, height=80, wall=8, bend=6, ribs=1, rib_thickness=7, rib_length=40, rib_height=40
)  # fmt: skip
BOSS = Shape("boss", 90, 70, 8, 4, 4, 35, 25, height=20, radius=14, bore=7)
RIBBED = Shape("ribbed", 100, 60, 6, 3, 4, 10, 18, ribs=1, rib_thickness=7, rib_length=70, rib_height=12)
LUG = Shape("lug", 80, 60, 8, 4, 4, 30, 20, height=30, wall=10, radius=14, bore=7)
SHAPES = (ANGLE, BOSS, RIBBED, LUG)


def meshed(build: Callable[[], Any], size: float, turn: int = 12) -> skfem.MeshTet2:
    """Quadratic tetrahedra, in the units of ``build``."""
    with kernel():
        build()
        gmsh.model.occ.synchronize()
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", turn)
        gmsh.model.mesh.generate(3)
        gmsh.model.mesh.setOrder(2)
        return quadratic_mesh(*gmsh_tetrahedra())


def beam(length: float, width: float, height: float, size: float) -> SolidSpace:
    return SolidSpace(meshed(lambda: gmsh.model.occ.addBox(0, 0, 0, length, width, height), size))


def plane(space: SolidSpace, axis: int, place: float) -> Any:
    return space.mesh.facets_satisfying(lambda at: np.isclose(at[axis], place), boundaries_only=True)


# The solids and their meshes


@pytest.mark.parametrize("shape", SHAPES, ids=FAMILIES)
def test_mesh_fills_the_solid_and_finds_its_faces(shape: Shape) -> None:
    with kernel():
        volume = gmsh.model.occ.getMass(3, make_solid(shape))
    found = bracket_mesh(shape, 8.0)
    space = SolidSpace(found.mesh)
    assert space.volume * 1e9 == pytest.approx(volume, rel=2e-3)  # edges follow the fillets
    corners = space.points[space.cells]
    assert np.linalg.det(corners[:, 1:] - corners[:, :1]).min() > 0
    assert np.array_equal(np.unique(space.cells), np.arange(space.corners))
    bolts = len(shape.bolts()) * 2 * np.pi * shape.bolt_radius * shape.thickness
    assert space.share(found.clamped).sum() * 1e6 == pytest.approx(bolts, rel=5e-3)
    loaded = {
        "angle": shape.wall * shape.width,
        "boss": np.pi * (shape.radius**2 - shape.bore**2),
        "ribbed": shape.width * shape.thickness + shape.rib_thickness * shape.rib_height
        + 2 * (1 - np.pi / 4) * shape.fillet**2,
        "lug": 2 * np.pi * shape.bore * shape.wall,
    }  # fmt: skip
    assert space.share(found.loaded).sum() * 1e6 == pytest.approx(loaded[shape.family], rel=5e-3)
    assert not has_sharp_edge(found.mesh, 8.0)


def test_gmsh_meshes_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with kernel():
        gmsh.model.add("mine")
        found = bracket_mesh(RIBBED, COARSE)
        assert gmsh.model.getCurrent() == "mine"
    points, cells = brackets_mesh._tetrahedra(RIBBED, COARSE)
    own = quadratic_mesh(1e-3 * points, cells)
    assert np.array_equal(found.mesh.doflocs, own.doflocs) and np.array_equal(found.mesh.t, own.t)

    def crash(*_: Any) -> None:
        raise CrashError("gmsh crashed")

    monkeypatch.setattr(brackets_mesh._GMSH, "call", crash)
    with pytest.raises(ImpossibleShape, match="gmsh crashed"):
        bracket_mesh(RIBBED, COARSE)


def test_volume_of_a_boss_by_hand() -> None:
    """A plate, a cylinder, a bore, four holes, and a fillet by Pappus' theorem."""
    with kernel():
        found = gmsh.model.occ.getMass(3, make_solid(BOSS))
    plate, cylinder = 90 * 70 * 8 - 4 * np.pi * 4**2 * 8, np.pi * 14**2 * 20 - np.pi * 7**2 * 28
    area = (1 - np.pi / 4) * 4**2
    middle = 14 + 4 - (4**2 * 2 - np.pi * 4**2 / 4 * (4 * 4 / (3 * np.pi))) / area
    assert found == pytest.approx(plate + cylinder + 2 * np.pi * middle * area, rel=1e-6)


def test_material_angles_of_a_notched_block() -> None:
    def notched() -> None:
        occ = gmsh.model.occ
        occ.cut([(3, occ.addBox(0, 0, 0, 2, 2, 2))], [(3, occ.addBox(1, -1, 1, 2, 4, 2))])

    mesh = meshed(notched, 1.0)
    edges, angle = material_angles(mesh.p.T, mesh.t.T)
    middle = mesh.p.T[edges].mean(axis=1)
    inner = np.isclose(middle[:, 0], 1) & np.isclose(middle[:, 2], 1) & (np.ptp(mesh.p.T[edges][..., 0], axis=1) == 0)
    assert inner.any()
    np.testing.assert_allclose(angle[inner], 1.5 * np.pi)
    np.testing.assert_allclose(angle[~inner][np.abs(angle[~inner] - np.pi) > 1e-6], np.pi / 2)
    assert has_sharp_edge(mesh, 5.0)


def test_impossible_shapes_are_refused() -> None:
    for change in ({"bolt_x": 40.0, "bolt_y": 8.0}, {"bolt_x": 76.0}):  # too close to the rib, to the edge
        with pytest.raises(ImpossibleShape, match="A hole is too close"), kernel():
            make_solid(Shape(**{**vars(ANGLE), **change}))
    with pytest.raises(ImpossibleShape, match=r"[Ff]illet|hole"), kernel():
        make_solid(Shape(**{**vars(ANGLE), "fillet": 30.0}))
    with pytest.raises(ValueError, match=r"Expected 'size' to be from 1 to 20 mm \(got 0\)"):
        bracket_mesh(ANGLE, 0)
    with pytest.raises(ValueError, match="Expected a family of angle, boss, ribbed, lug"):
        draw_shape(np.random.default_rng(0), "other", 0, 0)


# The solver


def test_any_linear_displacement_is_in_equilibrium_and_has_its_gradient() -> None:
    """The patch test, on elements with curved edges."""
    space = SolidSpace(bracket_mesh(LUG, COARSE).mesh)
    slope = np.random.default_rng(0).normal(size=(3, 3))
    exact = space.points @ slope.T + 0.1
    surface = space.on(space.mesh.boundary_facets())
    found, _ = equilibrium(space, STEEL, np.zeros_like(exact), surface, exact)
    assert not surface.all()
    np.testing.assert_allclose(found, exact, atol=1e-7 * np.abs(exact).max())
    gradient = space.gradient(exact)
    np.testing.assert_allclose(gradient, np.broadcast_to(slope, gradient.shape), atol=1e-10)


def test_stiffness_is_that_of_scikit_fem() -> None:
    space = beam(2, 1, 1, 1.5)
    element = skfem.ElementVector(skfem.ElementTetP2())
    basis = skfem.Basis(space.mesh, element, intorder=3)
    theirs = linear_elasticity(*lame_parameters(2.0, 0.3)).assemble(basis).toarray()
    number = np.concatenate([basis.nodal_dofs.T, basis.edge_dofs.T]).ravel()
    ours = space.stiffness(Elastic(2.0, 0.3)).toarray()
    np.testing.assert_allclose(ours, theirs[np.ix_(number, number)], atol=1e-12)


def test_moving_rigidly_makes_no_stress() -> None:
    space = SolidSpace(bracket_mesh(LUG, COARSE).mesh)
    stiffness = space.stiffness(Elastic(1.0, 0.3))
    for axis in np.eye(3):
        turned = np.cross(axis, space.points)
        scale = np.abs(stiffness.diagonal()).max() * np.abs(turned).max()
        assert np.abs(stiffness @ turned.ravel()).max() < 1e-12 * scale
        assert von_mises(Elastic(1.0, 0.3).stress(space.gradient(turned))).max() < 1e-12


def test_deflection_and_stress_of_a_slender_cantilever() -> None:
    """Timoshenko's beam, 10 x 1 x 1, bent by its own unit of force."""
    space = beam(10, 1, 1, 0.5)
    load = np.multiply.outer(space.share(plane(space, 0, 10)), [0, 0, 1.0])
    found, _ = equilibrium(space, Elastic(1000.0, 0.3), load, space.on(plane(space, 0, 0)))
    bending, shear = 10**3 / (3 * 1000 / 12), 10 / (5 / 6 * 1000 / 2.6)
    end = np.isclose(space.points[:, 0], 10)
    assert found[end, 2].mean() == pytest.approx(bending + shear, rel=0.012)  # its clamp is stiffer
    stress = Elastic(1000.0, 0.3).stress(space.gradient(found))
    points = space.points[: space.corners]
    top = np.isclose(points[:, 2], 1) & (np.abs(points[:, 0] - 5) < 2)
    np.testing.assert_allclose(stress[top, 0, 0], -6 * (10 - points[top, 0]), rtol=0.06)


@pytest.mark.parametrize(("turn", "within"), [(12, 0.08), (24, 0.05)])
def test_stress_at_a_hole_in_a_wide_plate_is_three_times_the_tension(turn: int, within: float) -> None:
    """Twenty times as wide as its hole, thin, with Kirsch's displacements in plane stress on its four sides."""

    def holed() -> None:
        occ = gmsh.model.occ
        occ.cut([(3, occ.addBox(-10, -10, 0, 20, 20, 0.5))], [(3, occ.addCylinder(0, 0, -1, 0, 0, 3, 1))])

    space = SolidSpace(meshed(holed, 2.5, turn))
    points = space.points
    outer = space.on(np.concatenate([plane(space, axis, place) for axis in (0, 1) for place in (-10, 10)]))
    radius, angle = np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])
    poisson, shear, sine, cosine = 0.3, 1 / 2.6, np.sin(2 * angle), np.cos(2 * angle)
    kappa = (3 - poisson) / (1 + poisson)
    across = (kappa - 1) * radius + 2 / radius + 2 * cosine * (radius + (kappa + 1) / radius - 1 / radius**3)
    along = -2 * sine * (radius + (kappa - 1) / radius + 1 / radius**3)
    exact = np.stack(
        [
            (across * np.cos(angle) - along * np.sin(angle)) / (8 * shear),
            (across * np.sin(angle) + along * np.cos(angle)) / (8 * shear),
            -poisson * (points[:, 2] - 0.25) * (1 - 2 * cosine / radius**2),
        ],
        axis=1,
    )
    found, _ = equilibrium(space, Elastic(1.0, poisson), np.zeros_like(points), outer, exact)
    stress = Elastic(1.0, poisson).stress(space.gradient(found))
    places = points[: space.corners]
    top = np.isclose(radius[: space.corners], 1) & (np.abs(places[:, 0]) < 1e-6)
    assert top.any()
    assert stress[top, 0, 0].mean() == pytest.approx(3, rel=within)


def test_error_falls_with_the_third_power_of_the_size_and_that_of_stress_with_the_second() -> None:
    r"""The gradient of a harmonic function is in equilibrium without forces: exp(5 z) sin(3 x) sin(4 y)."""
    rows = []
    for cells in (2, 4, 8):
        grid = np.linspace(0, 1, cells + 1)
        space = SolidSpace(skfem.MeshTet2.from_mesh(skfem.MeshTet.init_tensor(grid, grid, grid)))
        points = space.points
        sine, cosine = np.sin(points * (3, 4, 0)), np.cos(points * (3, 4, 0))
        wave = np.stack([3 * cosine[:, 0] * sine[:, 1], 4 * sine[:, 0] * cosine[:, 1], 5 * sine[:, 0] * sine[:, 1]], 1)
        exact = np.exp(5 * points[:, 2:]) * wave
        curved = np.exp(5 * points[:, 2]) * sine[:, 0] * sine[:, 1] * np.array([-9, -16, 25])[:, None]
        surface = space.on(space.mesh.boundary_facets())
        found, _ = equilibrium(space, Elastic(1.0, 0.3), np.zeros_like(points), surface, exact)
        slope = np.diagonal(space.gradient(found), axis1=1, axis2=2).T
        rows.append(
            (
                np.sqrt(((found - exact)[~surface] ** 2).mean()),
                np.sqrt(((slope - curved[:, : space.corners]) ** 2).mean()),
            )
        )
    rates = np.log2(np.array(rows)[:-1] / np.array(rows)[1:])
    assert rates[-1, 0] > 2.7 and rates[-1, 1] > 1.7, rates


@pytest.mark.parametrize("shape", SHAPES, ids=FAMILIES)
def test_reactions_balance_the_load(shape: Shape) -> None:
    found = bracket_mesh(shape, COARSE)
    space = SolidSpace(found.mesh)
    load = np.multiply.outer(space.share(found.loaded), [3e5, -4e5, 5e5])
    held = space.on(found.clamped)
    displacement, reaction = equilibrium(space, STEEL, load, held)
    np.testing.assert_allclose(reaction.sum(axis=0), -load.sum(axis=0), atol=1e-8 * np.abs(load.sum(axis=0)).max())
    moments = [np.cross(space.points, force).sum(axis=0) for force in (reaction, load)]
    np.testing.assert_allclose(moments[0], -moments[1], atol=1e-8 * np.abs(moments[1]).max())
    residual = (space.stiffness(STEEL) @ displacement.ravel()).reshape(-1, 3) - load
    assert np.linalg.norm(residual[~held]) <= 2e-9 * np.linalg.norm(load)  # what the page states
    assert not displacement[held].any()


def test_what_does_not_converge_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    space = beam(2, 1, 1, 1.0)
    load = np.multiply.outer(space.share(plane(space, 0, 2)), [0, 0, 1.0])
    monkeypatch.setattr(brackets_solver, "_STEPS", 3)
    with pytest.raises(ArithmeticError, match="No equilibrium was found in 3 steps"):
        equilibrium(space, STEEL, load, space.on(plane(space, 0, 0)))


# The samples


def test_draws_are_of_all_kinds_and_depend_on_seed_and_number_alone() -> None:
    kinds = {draw_kind(np.random.default_rng(number)) for number in range(300)}
    assert {family for family, _, _ in kinds} == set(FAMILIES)
    assert len(kinds) == 3 * 2 + 3 + 3 * 3 + 2
    one, mesh = draw_bracket(0, 2, COARSE)
    draw_bracket(0, 5, COARSE)
    again, other = draw_bracket(0, 2, COARSE)
    assert one.shape == again.shape and one.material == again.material
    np.testing.assert_array_equal(mesh.mesh.doflocs, other.mesh.doflocs)
    assert 0.5e6 <= np.linalg.norm(one.traction) <= 2e6
    assert draw_bracket(1, 2, COARSE)[0].shape != one.shape


def solved(shape: Shape, size: float = COARSE) -> tuple[Bracket, BracketMesh]:
    return Bracket(shape, "steel", np.array([4e5, 3e5, -5e5])), bracket_mesh(shape, size)


def test_summaries_of_a_sample() -> None:
    bracket, mesh = solved(ANGLE)
    sample = solve(bracket, mesh)
    assert not sample.displacement[sample.clamped].any()
    assert np.isclose(sample.points[sample.loaded, 2], 0.08).all() and sample.loaded.any()
    assert sample.loaded_area == pytest.approx(8 * 50e-6)
    near = np.min([np.hypot(*(sample.points[:, :2] - (0.06, 0.025 + y)).T) for y in (-0.014, 0.014)], axis=0) - 0.004
    assert not sample.counted[(near < 0.003) & (sample.points[:, 2] <= 0.008)].any()
    assert sample.counted[near >= 0.003].all()
    assert sample.peak_stress == sample.von_mises[sample.counted].max()
    lengths = np.linalg.norm(sample.displacement[sample.loaded], axis=1)
    assert lengths.min() < sample.tip_deflection < lengths.max()
    np.testing.assert_allclose(sample.von_mises, von_mises(sample.stress))
    np.testing.assert_allclose(distance_to_bolts(ANGLE, sample.points)[sample.clamped], 0, atol=1e-9)
    twice = solve(Bracket(ANGLE, "steel", 2 * bracket.traction), mesh)
    np.testing.assert_allclose(twice.displacement, 2 * sample.displacement, atol=1e-6 * sample.tip_deflection)


def test_errors_against_a_finer_mesh() -> None:
    sample, fine = solve(*solved(BOSS)), solve(*solved(BOSS, 7.0))
    np.testing.assert_allclose(errors(sample, sample)[1:], 0, atol=1e-10)
    found = errors(sample, fine)
    assert found[1] < 4 and abs(found[2]) < 4 and found[3] < 25, found
    linear = fine.points @ np.array([(1.0, 2), (3, 4), (5, 6)])
    ours = sample.points @ np.array([(1.0, 2), (3, 4), (5, 6)])
    np.testing.assert_allclose(interpolated(fine, linear, sample.points), ours, atol=1e-12)


# The files


def make(output: Path, samples: int, **options: Any) -> dict[str, bytes]:
    generate(output, samples, processes=1, progress=False, **{"size": COARSE, **options})
    return {path.name: path.read_bytes() for path in output.glob("[bp]*.*")}


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path, 2)
    assert sorted(made) == [*(file_name("bracket", number) for number in range(2)), TABLE]
    rows = list(csv.DictReader(made[TABLE].decode().splitlines()))
    for number, row in enumerate(rows):
        bracket, mesh = draw_bracket(0, number, COARSE)
        sample, file = solve(bracket, mesh), read_mesh(tmp_path / row["file"])
        np.testing.assert_allclose(file.points, sample.points, atol=1e-8)
        assert file.cells[0][0] == "tetra" and np.array_equal(file.cells[0][1], sample.cells)
        for name in ("displacement", "von_mises", "clamped", "loaded"):
            np.testing.assert_allclose(file.point_data[name], getattr(sample, name), rtol=1e-6)
        x, y, z = range(3)
        order = [(x, x), (y, y), (z, z), (x, y), (y, z), (x, z)]
        tensor = np.stack([sample.stress[:, i, j] for i, j in order], axis=1)
        np.testing.assert_allclose(file.point_data["stress"], tensor, rtol=1e-6)
        np.testing.assert_array_equal(file.field_data["traction"], bracket.traction)
        assert file.field_data["young"] == brackets.MATERIALS[row["material"]].young
        assert row["family"] == bracket.shape.family
        assert float(row["length"]) == pytest.approx(bracket.shape.length / 1000)
        assert float(row["peak_stress"]) == sample.peak_stress
        assert float(row["tip_deflection"]) == sample.tip_deflection
        assert float(row["volume"]) == sample.volume
    assert make(tmp_path, 1) == made
    with pytest.raises(FileExistsError, match="delete them, or choose another output folder"):
        make(tmp_path, 2, seed=1)
    with pytest.raises(ValueError, match=r"Expected 'size' to be from 1 to 20 mm \(got 0.005\)"):
        make(tmp_path, 1, size=0.005)  # meant in m
    monkeypatch.setattr(brackets, "_DRAWS", 0)
    with pytest.raises(ArithmeticError, match="Sample 0 with seed 0 could not be solved: No possible numbers"):
        make(tmp_path / "other", 1)


def test_vtk_reads_the_tensor_in_its_order(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    make(tmp_path, 1)
    grid, mesh = pyvista.read(tmp_path / "bracket_0000.vtu"), read_mesh(tmp_path / "bracket_0000.vtu")
    assert grid["stress"].shape[1] == 6
    np.testing.assert_array_equal(grid["stress"], mesh.point_data["stress"])
    assert grid.compute_cell_sizes()["Volume"].min() > 0
    a, b, c, d, e, f = np.asarray(grid["stress"], np.float64).T
    mises = np.sqrt(((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2) / 2 + 3 * (d**2 + e**2 + f**2))
    np.testing.assert_allclose(mises, grid["von_mises"], rtol=1e-4)


def test_accuracy_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_accuracy(1, size=14.0, progress=False)
    lines = capsys.readouterr().out.splitlines()
    assert "peak_stress" in lines[1] and lines[-2].split()[0] == "mean" and lines[-1].split()[0] == "worst"


def test_points_of_the_bolt_face_are_on_its_cylinder() -> None:
    mesh = bracket_mesh(RIBBED, COARSE).mesh
    for face in RIBBED.bolts():
        points = SolidSpace(mesh).points[SolidSpace(mesh).on(facets_of(mesh, face))]
        away: Floats = np.hypot(*(points[:, :2] - np.array(face[0][:2]) / 1000).T)
        np.testing.assert_allclose(away, RIBBED.bolt_radius / 1000, rtol=1e-6)
