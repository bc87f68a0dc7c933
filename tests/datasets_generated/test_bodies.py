"""The generator of bodies in a stream: shapes, potential flow against theory and source panels, and the files."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bodies_accuracy
import bodies_samples as bodies
import numpy as np
import pytest
from bodies_accuracy import (
    against_closed_form,
    against_finer,
    ellipsoid_added_mass,
    ellipsoid_velocity,
    measure,
)
from bodies_picture import picture
from bodies_samples import FAMILIES, Case, draw_case, generate, panels_along, pressure_coefficient, solve
from bodies_shape import Body, Floats, frame, frontal_area, is_star_shaped, measures, panels
from bodies_solver import solid_angles
from bodies_solver import solve as solve_flow
from scipy.special import ellipeinc, ellipkinc, gamma

from pitgeo.cli import main
from pitgeo.datasets import mesh_samples, resumable
from pitgeo.datasets.mesh_samples import TABLE
from pitgeo.evaluation.plots.space import can_render
from pitgeo.geometry import geometry_values
from pitgeo.mesh import Mesh, read_mesh

BALL = Body((1.0, 1.0, 1.0))
ELLIPSOID = Body((1.5, 1.0, 0.6))
BOX = Body((1.2, 0.8, 1.0), exponent=4.0)
CAR = Body((2.0, 0.8, 0.4), 3.0, cabin=1.1, center=-0.1, length=0.5, taper=0.25)
STREAM = np.array([0.6, -0.48, 0.64])


@dataclass(frozen=True)
class Turned(Body):
    """A body turned about the origin."""

    turn: Any = None

    def position(self, directions: Floats) -> Floats:
        return super().position(directions) @ self.turn.T

    def jacobian(self, directions: Floats) -> Floats:
        return self.turn @ super().jacobian(directions)


def random_turn() -> Floats:
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    return turn * np.linalg.det(turn)


def rates(errors: list[Any], counts: tuple[int, ...]) -> Any:
    return np.diff(np.log(np.array(errors)), axis=0).T / -np.diff(np.log(counts))


# The shapes


@pytest.mark.parametrize("body", [BALL, BOX, CAR])
def test_panels_are_a_closed_surface_that_looks_outwards(body: Body) -> None:
    mesh = panels(body, 8)
    assert len(mesh.quads) == 6 * 8**2 and len(mesh.points) == len(mesh.quads) + 2
    edges = np.stack([mesh.quads, np.roll(mesh.quads, -1, axis=1)], axis=-1).reshape(-1, 2)
    assert len(np.unique(edges, axis=0)) == len(edges)  # each is used once either way
    assert np.array_equal(np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0))
    np.testing.assert_array_equal(mesh.outline_points[mesh.outlines[:, ::2]], mesh.points[mesh.quads])
    a, b, c, d = np.moveaxis(mesh.points[mesh.quads], 1, 0)
    volume = (a * np.cross(b, c) + a * np.cross(c, d)).sum() / 6
    assert 0.94 < volume / measures(body, 8)[0] < 1

    found = geometry_values(Mesh(mesh.points, (("quad", mesh.quads),)), "normals", "point")
    normals = frame(body, mesh.point_directions).normals
    assert (found * normals).sum(axis=1).min() > 0.93
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1)
    assert is_star_shaped(body, mesh.point_directions)


@pytest.mark.parametrize("body", [ELLIPSOID, BOX, CAR, Turned(CAR.half_lengths, turn=random_turn())])
def test_jacobian_against_differences(body: Body) -> None:
    directions = panels(BALL, 8).directions
    differences = [
        (body.position(directions + step) - body.position(directions - step)) / 2e-5 for step in 1e-5 * np.eye(3)
    ]
    np.testing.assert_allclose(body.jacobian(directions), np.stack(differences, axis=-1), atol=1e-8)


def test_panels_have_no_poles() -> None:
    mesh = panels(BALL, 16)
    sides = np.linalg.norm(np.diff(mesh.points[mesh.quads[:, [0, 1, 2, 3, 0]]], axis=1), axis=-1)
    assert sides.max() < 1.5 * sides.min()


def test_volume_and_surface_in_closed_form() -> None:
    volume, surface = measures(ELLIPSOID)
    a, b, c = ELLIPSOID.half_lengths
    assert volume == pytest.approx(4 / 3 * np.pi * a * b * c, rel=1e-9)
    angle = np.arccos(c / a)
    modulus = a**2 * (b**2 - c**2) / (b**2 * (a**2 - c**2))
    legendre = ellipeinc(angle, modulus) * np.sin(angle) ** 2 + ellipkinc(angle, modulus) * np.cos(angle) ** 2
    assert surface == pytest.approx(2 * np.pi * (c**2 + a * b / np.sin(angle) * legendre), rel=1e-6)
    p = BOX.exponent
    expected = 8 * np.prod(BOX.half_lengths) * gamma(1 + 1 / p) ** 3 / gamma(1 + 3 / p)
    assert measures(BOX)[0] == pytest.approx(expected, rel=1e-6)


def test_frontal_area_of_an_ellipsoid_in_closed_form() -> None:
    a, b, c = ELLIPSOID.half_lengths
    exact = np.pi * np.linalg.norm(STREAM * (b * c, a * c, a * b))
    errors = [1 - frontal_area(panels(ELLIPSOID, count), STREAM) / exact for count in (8, 16)]
    assert 0 < errors[1] < 1.5e-3 and errors[0] / errors[1] > 3.5


def test_frontal_area_of_a_body_with_a_dent_is_that_of_its_shadow() -> None:
    mesh = panels(CAR, 8)
    direction = np.array([0.1, 1.0, 0.05]) / np.linalg.norm([0.1, 1.0, 0.05])
    across = np.linalg.svd(direction[None])[2][1:]
    corners = (mesh.points @ across.T)[mesh.quads]
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    grid = low + (high - low) * (np.stack(np.meshgrid(*2 * [np.arange(80)]), axis=-1).reshape(-1, 2) + 0.5) / 80
    shadow = np.zeros(len(grid), bool)
    for quad in corners:
        side = np.roll(quad, -1, axis=0) - quad
        left = np.stack([s[0] * (grid - q)[:, 1] - s[1] * (grid - q)[:, 0] for s, q in zip(side, quad, strict=True)])
        shadow |= (left >= 0).all(axis=0) | (left <= 0).all(axis=0)
    assert frontal_area(mesh, direction) == pytest.approx(shadow.mean() * np.prod(high - low), rel=0.015)


def test_wrong_bodies_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected positive lengths"):
        Body((1.0, 0.0, 1.0))
    for wrong in ({"exponent": 1.5}, {"cabin": -0.1}, {"taper": 1.0}):
        with pytest.raises(ValueError, match="Expected an exponent of at least 2"):
            replace(BALL, **wrong)
    with pytest.raises(ValueError, match=r"Expected at least 8 panels along a side of the cube \(got 7\)"):
        panels(BALL, 7)
    tower = Case("car", replace(CAR, cabin=8.0, center=0.8, length=0.2), STREAM, 20.0)
    with pytest.raises(ValueError, match="every ray from its middle meets once"):
        solve(tower, 0.2)


# The solver


def test_solid_angle_against_quadrature() -> None:
    """Of a flat polygon of eight corners, one of them at a dent, from either side."""
    turn = np.arange(8) * np.pi / 4
    radius = np.where(np.arange(8) == 3, 0.4, 1.0)
    outline = np.stack([radius * np.cos(turn), radius * np.sin(turn), 0 * turn], axis=1)
    eyes = np.array([(0.2, 0.1, 0.5), (0.2, 0.1, -0.5), (1.5, 0.3, 0.2), (-0.5, 0.4, 0.3)])
    found = solid_angles(eyes, outline, np.arange(8)[None])[:, 0]
    nodes, weights = np.polynomial.legendre.leggauss(40)
    u, v = (np.stack(np.meshgrid(nodes, nodes)).reshape(2, -1) + 1) / 2
    weight = np.outer(weights, weights).ravel() / 4
    expected = np.zeros(len(eyes))
    for one, two in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        points = u[:, None] * ((1 - v)[:, None] * one + v[:, None] * two)  # a triangle with the origin
        area = np.cross(one, two)[2] * u * weight
        away = points - eyes[:, None]
        expected += (away[..., 2] / np.linalg.norm(away, axis=-1) ** 3 * area).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found[0] == pytest.approx(-found[1])


def test_solid_angles_of_a_closed_surface() -> None:
    mesh = panels(CAR, 8)
    inside, outside = 0.5 * CAR.position(mesh.directions), 1.2 * CAR.position(mesh.directions)
    for eyes, expected in ((inside, 4 * np.pi), (outside, 0)):
        total = solid_angles(eyes, mesh.outline_points, mesh.outlines).sum(axis=1)
        np.testing.assert_allclose(total, expected, atol=1e-11)


def test_pressure_on_a_ball_converges_with_the_second_power() -> None:
    counts = (8, 12, 20)
    errors = []
    for count in counts:
        flow = solve_flow(BALL, count)
        error = []
        for at in (flow.mesh.point_directions, flow.mesh.directions):
            pressure = pressure_coefficient(flow.velocity(at, STREAM))
            cosine = at @ STREAM / np.linalg.norm(at, axis=1)
            error.append(np.sqrt(((pressure - (1 - 9 / 4 * (1 - cosine**2))) ** 2).mean()))
        errors.append([*error, abs(flow.added_mass()[0, 0] - 0.5)])
    assert (rates(errors, counts) > 1.85).all(), rates(errors, counts)
    assert max(errors[-1][:2]) < 1e-3 and errors[-1][2] < 2e-5


@pytest.mark.parametrize("half_lengths", [(1.5, 1.0, 0.6), (0.5, 0.6, 2.0)])
def test_ellipsoids_converge_to_lambs_closed_form(half_lengths: tuple[float, float, float]) -> None:
    case = Case("ellipsoid", Body(half_lengths), STREAM, 1.0)
    found = [against_closed_form(case, count) for count in (8, 16)]
    errors = [(one.points, one.largest, one.middles, one.added_mass) for one in found]
    assert (rates(errors, (8, 16)) > 1.7).all(), errors
    assert found[1].points < 4e-3 and found[1].added_mass < 2e-3


def test_closed_forms_of_added_mass() -> None:
    np.testing.assert_allclose(ellipsoid_added_mass((2.0, 2.0, 2.0)), 0.5)
    slender = ellipsoid_added_mass((1.0, 1.0, 200.0))  # nearly a cylinder
    np.testing.assert_allclose(slender, [1, 1, 0], atol=3e-4)
    e = np.sqrt(3) / 2  # the eccentricity of a spheroid, twice as long as wide; Lamb, section 114, has its logarithms
    log = np.log((1 + e) / (1 - e))
    along = 2 * (1 - e**2) / e**3 * (log / 2 - e)
    across = 1 / e**2 - (1 - e**2) / (2 * e**3) * log
    spheroid = [along / (2 - along), *2 * [across / (2 - across)]]
    np.testing.assert_allclose(ellipsoid_added_mass((1.0, 0.5, 0.5)), spheroid, rtol=1e-12)
    velocity = ellipsoid_velocity(BALL, np.array([(1.0, 0, 0), (0, 1.0, 0)]), np.array([1.0, 0, 0]))
    np.testing.assert_allclose(velocity, [(0, 0, 0), (1.5, 0, 0)], atol=1e-12)


@pytest.mark.parametrize("body", [BOX, CAR])
def test_other_bodies_converge(body: Body) -> None:
    found = [against_finer(Case("", body, STREAM, 1.0), count) for count in (8, 10)]
    errors = [(one.points, one.middles, one.added_mass) for one in found]
    assert (rates(errors, (8, 10)) > 1.7).all(), errors


@pytest.mark.parametrize("body", [ELLIPSOID, BOX, CAR])
def test_nothing_flows_inside_nor_through_the_surface(body: Body) -> None:
    """The stream and the panels cancel inside; a layer of doublets has the same normal velocity on either side."""
    errors = []
    for count in (8, 16):
        flow = solve_flow(body, count)
        inside = 0.7 * body.position(panels(BALL, 8).directions)
        angles = solid_angles(inside, flow.mesh.outline_points, flow.mesh.outlines)
        errors.append(np.abs(inside - angles @ flow.potentials / (4 * np.pi)).max())
        velocity = flow.velocity(flow.mesh.directions, STREAM)
        normals = frame(body, flow.mesh.directions).normals
        np.testing.assert_allclose((velocity * normals).sum(axis=1), 0, atol=1e-12)
    assert errors[1] < 0.01 and errors[0] / errors[1] > 2.5, errors


def test_forces_vanish_and_added_mass_is_a_matrix_of_energy() -> None:
    forces, skews = [], []
    for count in (8, 12, 18):
        flow = solve_flow(CAR, count)
        pressure = pressure_coefficient(flow.velocity(flow.mesh.directions, STREAM))
        forces.append(np.abs(pressure @ flow.areas()).max() / frontal_area(flow.mesh, STREAM))
        mass = flow.added_mass()
        skews.append(np.abs(mass - mass.T).max())
        np.testing.assert_allclose(mass[1, [0, 2]], 0, atol=1e-12)  # left and right are alike
        assert np.linalg.eigvalsh(mass + mass.T).min() > 0 and abs(mass[0, 2]) > 5e-3
    assert forces[2] < forces[1] < forces[0] and forces[2] < 3e-3, forces
    assert skews[2] < 1e-4 < skews[0]


def test_turning_body_and_stream_turns_the_flow() -> None:
    turn = random_turn()
    one = solve_flow(CAR, 8)
    two = solve_flow(Turned(**vars(CAR), turn=turn), 8)
    at = one.mesh.point_directions
    np.testing.assert_allclose(two.velocity(at, turn @ STREAM), one.velocity(at, STREAM) @ turn.T, atol=1e-10)
    np.testing.assert_allclose(two.added_mass(), turn @ one.added_mass() @ turn.T, atol=1e-11)
    assert frontal_area(two.mesh, turn @ STREAM) == pytest.approx(frontal_area(one.mesh, STREAM), rel=1e-4)


def test_larger_bodies_and_reversed_streams_have_the_same_pressure() -> None:
    one, two = solve_flow(CAR, 8), solve_flow(replace(CAR, half_lengths=(6.0, 2.4, 1.2)), 8)
    at = one.mesh.point_directions
    velocity = one.velocity(at, STREAM)
    np.testing.assert_allclose(two.velocity(at, -STREAM), -velocity, atol=1e-11)
    parts = sum(one.velocity(at, part) for part in np.diag(STREAM))
    np.testing.assert_allclose(parts, velocity, atol=1e-12)


# Sources of constant strength on flat panels, another method


def source_velocity(eyes: Floats, triangles: Floats) -> Floats:
    """Velocity ``[N, T, 3]`` of unit sources on triangles ``[T, 3, 3]`` (Hess and Smith, 1967)."""
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    points = triangles.reshape(-1, 3)
    angle = solid_angles(eyes, points, np.arange(len(points)).reshape(-1, 3))
    velocity = -angle[..., None] * normal
    distance = np.linalg.norm(triangles - eyes[:, None, None], axis=-1)
    for corner in range(3):
        side = triangles[:, corner - 2] - triangles[:, corner]
        length = np.linalg.norm(side, axis=1)
        total = distance[..., corner] + distance[..., corner - 2]
        outwards = np.cross(side / length[:, None], normal)
        velocity += np.log((total + length) / (total - length))[..., None] * outwards
    return velocity / (4 * np.pi)


def test_source_velocity_against_quadrature() -> None:
    triangle = np.array([(0.0, 0, 0), (1.0, 0.2, 0.1), (0.3, 0.9, -0.2)])
    eyes = np.array([(0.4, 0.4, 0.4), (1.2, -0.3, -0.2), (0.4, 0.3, -0.4)])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    u, v = (np.stack(np.meshgrid(nodes, nodes)).reshape(2, -1) + 1) / 2
    a, b, c = triangle
    points = a + u[:, None] * ((1 - v)[:, None] * (b - a) + v[:, None] * (c - a))
    area = np.linalg.norm(np.cross(b - a, c - a)) * u * np.outer(weights, weights).ravel() / 4
    away = eyes[:, None] - points
    field = away / np.linalg.norm(away, axis=-1, keepdims=True) ** 3
    expected = (field * area[:, None]).sum(axis=1) / (4 * np.pi)
    np.testing.assert_allclose(source_velocity(eyes, triangle[None])[:, 0], expected, rtol=1e-6, atol=1e-9)


def source_panels(body: Body, count: int) -> tuple[Floats, Floats, Floats]:
    """Velocity at the middles of triangles, their vector areas and the sources' strengths; stream ``STREAM``."""
    mesh = panels(body, count)
    triangles = mesh.points[mesh.quads[:, [(0, 1, 2), (0, 2, 3)]]].reshape(-1, 3, 3)
    areas = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2
    size = np.linalg.norm(areas, axis=1)
    normals = areas / size[:, None]
    influence = source_velocity(triangles.mean(axis=1), triangles)
    own = np.arange(len(triangles))
    influence[own, own] += (0.5 - (influence[own, own] * normals).sum(1))[:, None] * normals  # the outer side
    strength = np.linalg.solve((influence * normals[:, None]).sum(-1), -normals @ STREAM)
    return STREAM + np.einsum("ijk,j->ik", influence, strength), areas, strength


def test_against_panels_of_sources() -> None:
    """The averages of the two triangles of a panel, which are less accurate."""
    case = Case("ellipsoid", ELLIPSOID, STREAM, 1.0)
    errors = []
    for count in (8, 11):
        velocity, areas, strength = source_panels(ELLIPSOID, count)
        size = np.linalg.norm(areas, axis=1)
        assert abs(strength @ size) < 2e-3 * (np.abs(strength) @ size)  # what flows out flows in
        pressure = pressure_coefficient(velocity).reshape(-1, 2).mean(axis=1)
        directions = panels(ELLIPSOID, count).directions
        exact = pressure_coefficient(ellipsoid_velocity(ELLIPSOID, directions, STREAM))
        errors.append(np.linalg.norm(pressure - exact) / np.linalg.norm(exact))
    assert errors[1] < errors[0] / 1.25 and errors[1] < 0.1
    assert against_closed_form(case, 11).middles < errors[1] / 2


# The samples


def test_draws_lie_in_their_ranges() -> None:
    drawn = [draw_case(3, number) for number in range(45)]
    assert {case.family for case in drawn} == set(FAMILIES)
    counts = []
    for case in drawn:
        surface = measures(case.body)[1]
        assert 16 <= surface <= 36 and 10 <= case.speed <= 50
        assert np.linalg.norm(case.direction) == pytest.approx(1)
        a, b, c = case.body.half_lengths
        assert max(a, b, c) < (6.3 if case.family == "car" else 3.34) * min(a, b, c)
        assert (case.body.cabin > 0) == (case.family == "car") and (case.body.exponent == 2) == (
            case.family == "ellipsoid"
        )
        assert is_star_shaped(case.body, panels(case.body, 8).point_directions)
        counts.append(6 * panels_along(surface, bodies.SIZE) ** 2)
    assert 1500 < min(counts) < 2000 and 3000 < max(counts) < 4000
    octants = {tuple(case.direction > 0) for case in drawn}
    assert len(octants) == 8
    assert draw_case(3, 5).body == drawn[5].body
    assert draw_case(4, 5).body != drawn[5].body


def test_summaries_of_a_sample() -> None:
    case = Case("car", CAR, STREAM, 20.0)
    sample = solve(case, 0.2)
    assert len(sample.quads) == 6 * panels_along(sample.surface, 0.2) ** 2
    np.testing.assert_allclose(sample.pressure, 1 - (sample.velocity**2).sum(axis=1) / 20**2)
    np.testing.assert_allclose((sample.velocity * sample.normal).sum(axis=1), 0, atol=1e-10)
    assert np.abs(sample.panel_pressure - sample.pressure[sample.quads].mean(axis=1)).mean() < 0.05
    assert sample.pressure.max() < 1.01 and np.abs(sample.force).max() < 0.01


def test_accuracy_is_measured_on_every_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies_accuracy, "panels_along", lambda surface, size: 8)
    found = measure(1, 0, bodies.SIZE, progress=False)
    assert sorted((row.family, against) for against, row in found) == [
        *3 * [("ball", "closed form")],
        ("box", "finer panels"),
        ("car", "finer panels"),
        ("ellipsoid", "closed form"),
        ("ellipsoid", "finer panels"),
    ]
    assert all(0 < row.points < 0.1 and row.largest > 0 and row.added_mass < 0.05 for _, row in found)


# The files


def file_name(number: int) -> str:
    return f"body_{number:04d}.vtp"


def make(output: Path, samples: int, **options: Any) -> dict[str, bytes]:
    pytest.importorskip("pyvista")
    generate(output, samples, processes=1, progress=False, **{"size": 0.2, **options})
    return {path.name: path.read_bytes() for path in output.glob("*.*") if path.name != resumable.MANIFEST}


def test_files(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    assert sorted(made) == [*map(file_name, range(3)), TABLE]
    rows = list(csv.DictReader(made[TABLE].decode().splitlines()))
    assert len(rows) == 3
    for number, row in enumerate(rows):
        case = draw_case(0, number)
        sample, mesh = solve(case, 0.2), read_mesh(tmp_path / row["file"])
        np.testing.assert_allclose(mesh.points, sample.points, atol=2e-7)
        assert [kind for kind, _ in mesh.cells] == ["quad"] and np.array_equal(mesh.cells[0][1], sample.quads)
        np.testing.assert_allclose(mesh.point_data["pressure_coefficient"], sample.pressure, atol=1e-6)
        np.testing.assert_allclose(mesh.point_data["velocity"], sample.velocity, atol=1e-5)
        np.testing.assert_allclose(mesh.point_data["normal"], sample.normal, atol=1e-7)
        np.testing.assert_allclose(mesh.cell_data["panel_pressure_coefficient"][0], sample.panel_pressure, atol=1e-6)
        np.testing.assert_array_equal(mesh.field_data["direction"], case.direction)
        assert mesh.field_data["speed"] == case.speed == float(row["speed"])
        assert row["family"] == case.family and int(row["panels"]) == len(sample.quads)
        assert [float(row[f"half_length_{axis}"]) for axis in "xyz"] == list(case.body.half_lengths)
        assert [float(row[f"direction_{axis}"]) for axis in "xyz"] == case.direction.tolist()
        shape = ("exponent", "cabin", "cabin_center", "cabin_length", "taper")
        assert [float(row[name]) for name in shape] == [
            getattr(case.body, name) for name in ("exponent", "cabin", "center", "length", "taper")
        ]
        for name in ("reference_area", "volume", "surface"):
            assert float(row[name]) == getattr(sample, name)
        assert [float(row[f"force_{axis}"]) for axis in "xyz"] == sample.force.tolist()
        mass = (sample.added_mass + sample.added_mass.T) / 2
        assert [float(row[f"added_mass_{pair}"]) for pair in ("xx", "yy", "zz", "xy", "xz", "yz")] == [
            mass[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        ]


def test_a_sample_does_not_depend_on_the_number_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = make(tmp_path / "few", 2)
    monkeypatch.setattr(mesh_samples, "_CHUNK", 2)
    more = make(tmp_path / "more", 3)
    other = make(tmp_path / "other", 1, seed=1)
    assert all(more[file_name(number)] == few[file_name(number)] for number in range(2))
    assert more[TABLE].startswith(few[TABLE])
    assert other[file_name(0)] != few[file_name(0)]


def test_files_that_are_there_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = make(tmp_path, 2)
    monkeypatch.setattr(bodies, "solve", None)
    assert make(tmp_path, 2) == before and make(tmp_path, 1) == before
    for options in ({"samples": 3}, {"samples": 2, "seed": 1}, {"samples": 2, "size": 0.15}):
        with pytest.raises(FileExistsError, match="delete them, or choose another output folder"):
            make(tmp_path, **options)  # type: ignore[arg-type]


def test_wrong_numbers_and_unsolved_samples_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ({"samples": 0}, {"samples": 1, "seed": -1}):
        with pytest.raises(ValueError, match=f"Expected '{list(options)[-1]}' to be at least"):
            make(tmp_path, **options)
    for size in (0, 0.3, 1e-5, float("nan")):
        with pytest.raises(ValueError, match=re.escape(f"Expected 'size' to be from 0.02 to 0.2 m (got {size})")):
            make(tmp_path, 1, size=size)
    tower = Case("car", replace(CAR, cabin=8.0, center=0.8, length=0.2), STREAM, 20.0)
    monkeypatch.setattr(bodies, "draw_case", lambda seed, number: tower)
    with pytest.raises(ArithmeticError, match="Sample 0 with seed 0 could not be solved: Expected a body"):
        make(tmp_path, 1)


def test_configuration_takes_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "raw", 4)
    options = {"files": f"{tmp_path}/raw/body_*.vtp", "cache": f"{tmp_path}/cache"}
    sets = [f'--set=data.meshes.{name}="{value}"' for name, value in options.items()]
    config = str(Path(__file__).parents[2] / "configs" / "bodies.toml")
    parts = ["--set=data.meshes.validation=1", "--set=data.meshes.test=1", "--dry-run"]
    assert main(["train", config, *sets, *parts]) == 0
    out = capsys.readouterr().out
    assert "input channels: 9 (3 coordinates, 6 values)" in out
    assert "output channels: 1 (pressure_coefficient)" in out


def test_picture(tmp_path: Path) -> None:
    make(tmp_path, 2)
    if can_render():
        assert picture(tmp_path, tmp_path / "pictures" / "bodies.png").read_bytes()[1:4] == b"PNG"
    else:
        with pytest.raises(OSError, match="Expected a machine on which VTK can draw"):
            picture(tmp_path, tmp_path / "bodies.png")
    with pytest.raises(FileNotFoundError, match=r"Expected files body_\*.vtp"):
        picture(tmp_path / "elsewhere", tmp_path / "bodies.png")
    with pytest.raises(ValueError, match="Expected 'samples' to be at least 1"):
        picture(tmp_path, tmp_path / "bodies.png", samples=0)
