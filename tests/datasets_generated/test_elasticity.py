"""The Elasticity generator: mechanics against theory and an independent assembly, and the files."""

from __future__ import annotations

import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import elasticity_samples as elasticity
import numpy as np
import pytest
import skfem
from elasticity_mesh import (
    GAUSS_POINTS,
    GAUSS_WEIGHTS,
    Floats,
    Ints,
    gauss_cells,
    gauss_grid,
    gauss_subcells,
    mesh_elements,
    mesh_nodes,
    shape_functions,
    side_edges,
    subcell_corners,
    void_radii,
    void_radius,
)
from elasticity_samples import FILES, MESH, draw_theta, generate, picture, solve
from elasticity_solver import (
    RivlinSaunders,
    cauchy_stress,
    edge_load,
    element_gradients,
    equilibrium,
    forces,
    von_mises,
)
from scipy.spatial import cKDTree
from skfem.helpers import ddot, grad, transpose

from pitgeo.datasets import resumable
from pitgeo.system import processes

LAW = RivlinSaunders()
YOUNG = 6 * (LAW.c1 + LAW.c2)
TRIANGLE = [(0, 0), (1, 1), (0, 1)]  # Voigt components


def random_mesh(number: int = 0) -> tuple[Floats, Ints]:
    theta = draw_theta(0, number)
    return mesh_nodes(lambda angle: void_radius(theta, angle)), mesh_elements()


def random_strain(size: float, count: int = 20) -> Floats:
    gradient = np.random.default_rng(0).uniform(-size, size, (count, 2, 2))
    deformation = np.eye(2) + gradient
    return (deformation.transpose(0, 2, 1) @ deformation - np.eye(2)) / 2


# The law


def test_law_is_the_three_dimensional_one_with_the_pressure_eliminated() -> None:
    strain = random_strain(0.3)
    stress, _ = LAW.response(strain)
    for e, s in zip(strain, stress, strict=True):
        c = np.eye(3)
        c[:2, :2] += 2 * e
        c[2, 2] = 1 / np.linalg.det(c[:2, :2])
        assert np.linalg.det(c) == pytest.approx(1)  # incompressible
        inner = 2 * LAW.c1 * np.eye(3) + 2 * LAW.c2 * (np.trace(c) * np.eye(3) - c)
        full = inner - inner[2, 2] * c[2, 2] * np.linalg.inv(c)
        np.testing.assert_allclose([full[i] for i in TRIANGLE], s, rtol=1e-12, atol=1e-12 * LAW.c1)


def test_law_is_the_derivative_of_the_energy() -> None:
    def energy(strain: Floats) -> Any:
        c = np.eye(2) + 2 * strain
        det, trace = np.linalg.det(c), np.trace(c, axis1=-2, axis2=-1)
        return LAW.c1 * (trace + 1 / det - 3) + LAW.c2 * (trace / det + det - 3)

    strain, step = random_strain(0.2), 1e-6
    stress, _ = LAW.response(strain)
    for number, (i, j) in enumerate(TRIANGLE):
        change = np.zeros((2, 2))
        change[i, j] = change[j, i] = step if i == j else step / 2
        slope = (energy(strain + change) - energy(strain - change)) / (2 * step)
        np.testing.assert_allclose(slope, stress[:, number], rtol=1e-6, atol=1e-3)


def test_law_tangent_against_finite_differences() -> None:
    strain, step = random_strain(0.2), 1e-6
    _, tangent = LAW.response(strain)
    np.testing.assert_allclose(tangent, tangent.transpose(0, 2, 1), rtol=1e-12)
    for number, (i, j) in enumerate(TRIANGLE):
        change = np.zeros((2, 2))
        change[i, j] = change[j, i] = step if i == j else step / 2
        slope = (LAW.response(strain + change)[0] - LAW.response(strain - change)[0]) / (2 * step)
        np.testing.assert_allclose(slope, tangent[:, :, number], rtol=1e-6, atol=1e-2)


def test_law_at_rest_is_linear_plane_stress_without_compressibility() -> None:
    stress, tangent = LAW.response(np.zeros((2, 2)))
    expected = YOUNG / 0.75 * np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 0.25]])
    np.testing.assert_array_equal(stress, 0)
    np.testing.assert_allclose(tangent, expected, rtol=1e-14)


def test_rotation_makes_no_stress_and_turns_the_stress_there_is() -> None:
    nodes, elements = random_mesh()
    turn = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
    gradients = element_gradients(nodes, elements)
    force, _ = forces(nodes @ turn.T - nodes, elements, gradients, LAW)
    assert np.abs(force).max() < 1e-8
    stretched = nodes + 0.1 * np.sin(3 * nodes[:, ::-1])
    stress = cauchy_stress(nodes, elements, stretched - nodes)
    turned = cauchy_stress(nodes, elements, stretched @ turn.T - nodes)
    np.testing.assert_allclose(turned, turn @ stress @ turn.T, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(von_mises(turned), von_mises(stress), rtol=1e-9)


# The mesh


def test_mesh_numbers_and_boundaries() -> None:
    nodes, elements = random_mesh()
    assert nodes.shape == (504, 2) and elements.shape == (108, 9)
    assert np.array_equal(np.unique(elements), np.arange(504))
    corners = np.array([(1, 1), (0, 1), (0, 0), (1, 0)])
    nearest(nodes, corners)
    sides = {"top": (1, 1), "left": (0, 0), "bottom": (1, 0), "right": (0, 1)}
    for side, edges in side_edges().items():
        axis, value = sides[side]
        assert edges.shape == (9, 3)
        np.testing.assert_allclose(nodes[edges][..., axis], value, atol=1e-15)
    hole = nodes[::7] - 0.5
    angle = np.arctan2(hole[:, 1], hole[:, 0])
    np.testing.assert_allclose(np.linalg.norm(hole, axis=1), void_radius(draw_theta(0, 0), angle), rtol=1e-13)


def test_node_order_is_that_of_a_biquadratic_quadrilateral() -> None:
    nodes = mesh_nodes(lambda angle: np.full_like(angle, 0.3), 288, 24)
    corner = nodes[mesh_elements(288, 24)]
    ends = [(0, 1), (1, 2), (2, 3), (3, 0)]
    for number, (i, j) in enumerate(ends):
        np.testing.assert_allclose(corner[:, 4 + number], (corner[:, i] + corner[:, j]) / 2, atol=2e-4)
    np.testing.assert_allclose(corner[:, 8], corner[:, :4].mean(axis=1), atol=2e-4)
    one, two = corner[:, 1] - corner[:, 0], corner[:, 3] - corner[:, 0]
    assert (one[:, 0] * two[:, 1] > one[:, 1] * two[:, 0]).all()  # counter-clockwise


def test_shape_functions() -> None:
    points = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (0, -1), (1, 0), (0, 1), (-1, 0), (0, 0)], float)
    np.testing.assert_array_equal(shape_functions(points)[0], np.eye(9))
    points = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    value, slope = shape_functions(points)
    np.testing.assert_allclose(value.sum(axis=1), 1, rtol=1e-14)
    for axis in range(2):
        change = 1e-6 * np.eye(2)[axis]
        numeric = (shape_functions(points + change)[0] - shape_functions(points - change)[0]) / 2e-6
        np.testing.assert_allclose(slope[..., axis], numeric, atol=1e-8)


def test_radii_lie_in_their_range_and_no_element_is_inverted_in_200_shapes() -> None:
    for number in range(200):
        theta = draw_theta(1, number)
        radii = void_radii(theta)
        assert radii.shape == (42,) and radii[0] == radii[-1]
        assert 0.2 < radii.min() < radii.max() < 0.4
        nodes = mesh_nodes(lambda angle, theta=theta: void_radius(theta, angle))  # type: ignore[misc]
        assert element_gradients(nodes, mesh_elements()).jacobian.min() > 0
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], float)
        assert element_gradients(nodes, mesh_elements(), corners).jacobian.min() > 0


def test_inverted_element_is_refused() -> None:
    nodes, elements = random_mesh()
    with pytest.raises(ValueError, match=r"no inverted element \(got 108\)"):
        element_gradients(nodes[:, ::-1], elements)


@pytest.mark.parametrize("theta", [np.zeros(9), np.full(10, np.nan), np.zeros((1, 10))])
def test_wrong_coefficients_are_refused(theta: Floats) -> None:
    with pytest.raises(ValueError, match="10 finite coefficients"):
        solve(theta)


def test_gauss_points_form_a_polar_grid() -> None:
    sample, grid = solve(draw_theta(0, 0)), gauss_grid()
    assert grid.shape == (108, 9) and np.array_equal(np.sort(grid, axis=None), np.arange(972))
    offset = sample.points[grid] - 0.5
    angle = np.unwrap(np.arctan2(offset[..., 1], offset[..., 0]), axis=0)
    assert (np.diff(angle, axis=0) > 0).all()
    assert (angle[-1] - angle[0] < 2 * np.pi).all()
    assert (np.diff(np.linalg.norm(offset, axis=-1), axis=1) > 0).all()


def test_cells_and_subcells_are_counter_clockwise_and_cover_the_domain() -> None:
    nodes, elements = random_mesh()
    points = solve(draw_theta(0, 0)).points
    cells = gauss_cells()
    assert cells.shape == (864, 4) and np.array_equal(np.unique(cells), np.arange(972))
    assert (area(points[cells]) > 0).all()

    polygons, corners = gauss_subcells(nodes, elements), subcell_corners()
    assert polygons.shape == (972, 4, 2) and np.array_equal(np.unique(corners), np.arange(1080))
    shared = np.empty((1080, 2))
    shared[corners] = polygons
    np.testing.assert_allclose(shared[corners], polygons, atol=1e-15)  # neighbours agree
    areas = area(polygons)
    assert (areas > 0).all()
    volume = (element_gradients(nodes, elements).jacobian * GAUSS_WEIGHTS).ravel()
    assert areas.sum() == pytest.approx(volume.sum(), rel=1e-3)
    assert np.abs(areas / volume - 1).max() < 0.1
    for polygon, point in zip(polygons, points, strict=True):  # each holds its Gauss point
        side, to = np.roll(polygon, -1, axis=0) - polygon, point - polygon
        assert (side[:, 0] * to[:, 1] > side[:, 1] * to[:, 0]).all()


def area(polygons: Floats) -> Any:
    x, y = polygons[..., 0], polygons[..., 1]
    return (x * np.roll(y, -1, axis=-1) - y * np.roll(x, -1, axis=-1)).sum(axis=-1) / 2


# The solver


def test_reaction_equals_traction() -> None:
    for number in range(5):
        nodes, elements = random_mesh(number)
        edges = side_edges()
        load = edge_load(nodes, edges["top"], (0.0, 100.0))
        np.testing.assert_allclose(load.sum(axis=0), [0, 100], rtol=1e-14)
        displacement, reaction = equilibrium(nodes, elements, load, np.unique(edges["bottom"]))
        np.testing.assert_allclose(reaction.sum(axis=0), [0, -100], rtol=1e-12, atol=1e-10)
        moment = (nodes + displacement)[np.unique(edges["bottom"])] - 0.5
        pull = nodes + displacement - 0.5
        total = cross(moment, reaction).sum() + cross(pull, load).sum()
        assert abs(total) < 1e-9


def cross(one: Floats, two: Floats) -> Any:
    return one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]


def test_stiffness_against_finite_differences() -> None:
    nodes, elements = random_mesh()
    elements = elements[:4]
    gradients = element_gradients(nodes, elements)
    displacement = 0.1 * np.random.default_rng(0).uniform(-0.1, 0.1, nodes.shape) + 0.1 * np.sin(2 * nodes[:, ::-1])
    _, stiffness = forces(displacement, elements, gradients, LAW)
    np.testing.assert_allclose(stiffness, stiffness.transpose(0, 2, 1), atol=1e-9 * np.abs(stiffness).max())
    for column in range(18):
        for element in range(4):
            change = np.zeros_like(nodes)
            change[elements[element, column // 2], column % 2] = 1e-6
            ahead, _ = forces(displacement + change, elements, gradients, LAW)
            behind, _ = forces(displacement - change, elements, gradients, LAW)
            slope = (ahead - behind)[element] / 2e-6
            np.testing.assert_allclose(slope, stiffness[element, :, column], atol=1e-7 * np.abs(stiffness).max())


def test_against_an_assembly_by_scikit_fem() -> None:
    nodes, elements = random_mesh()
    displacement = 0.05 * np.sin(3 * nodes[:, ::-1] + [0, 1])
    force, stiffness = forces(displacement, elements, element_gradients(nodes, elements), LAW)
    basis, order = scikit_fem_basis(nodes, elements)

    number = scikit_fem_numbers(basis, order)
    vector = displacement.ravel()[number]

    def kinematics(u: Any) -> tuple[Any, Any, Any]:
        slope = grad(u)
        f = np.eye(2)[:, :, None, None] + slope
        e = (slope + transpose(slope) + np.einsum("ki...,kj...->ij...", slope, slope)) / 2
        return f, *LAW.response(np.moveaxis(e, (0, 1), (-2, -1)))

    def full(voigt: Any) -> Any:
        return np.moveaxis(voigt[..., [0, 2, 2, 1]].reshape(*voigt.shape[:-1], 2, 2), (-2, -1), (0, 1))

    def rate(f: Any, v: Any) -> Any:
        product = np.einsum("ki...,kj...->ij...", f, grad(v))
        return (product + transpose(product)) / 2

    @skfem.LinearForm
    def internal(v: Any, w: Any) -> Any:
        f, stress, _ = kinematics(w.u)
        return ddot(full(stress), rate(f, v))

    @skfem.BilinearForm
    def tangential(u: Any, v: Any, w: Any) -> Any:
        f, stress, tangent = kinematics(w.u)
        e = rate(f, u)
        voigt = np.stack([e[0, 0], e[1, 1], 2 * e[0, 1]], axis=-1)
        geometric = np.einsum("ki...,kj...->ij...", grad(u), grad(v))
        return ddot(full((tangent @ voigt[..., None])[..., 0]), rate(f, v)) + ddot(full(stress), geometric)

    field = basis.interpolate(vector)
    dofs = (2 * elements[..., None] + np.arange(2)).reshape(108, 18)
    ours = np.bincount(dofs.ravel(), force.ravel(), minlength=1008)[number]
    np.testing.assert_allclose(ours, internal.assemble(basis, u=field), atol=1e-10 * np.abs(ours).max())
    dense = np.zeros((1008, 1008))
    np.add.at(dense, (dofs[:, :, None], dofs[:, None, :]), stiffness)
    theirs = tangential.assemble(basis, u=field).toarray()
    np.testing.assert_allclose(dense[np.ix_(number, number)], theirs, atol=1e-10 * np.abs(theirs).max())


def nearest(points: Floats, wanted: Floats) -> Ints:
    distance, number = cKDTree(points).query(wanted)
    np.testing.assert_allclose(distance, 0, atol=1e-12)
    return np.asarray(number, np.int64)


def scikit_fem_basis(nodes: Floats, elements: Ints) -> tuple[Any, Ints]:
    """A basis on the same curved mesh, and our numbers of its nodes."""
    used, vertices = np.unique(elements[:, :4], return_inverse=True)
    straight = skfem.MeshQuad(nodes[used].T.copy(), vertices.reshape(-1, 4).T.copy())
    mesh = skfem.MeshQuad2.from_mesh(straight)
    chords = np.empty_like(nodes)
    corner = nodes[elements[:, :4]]
    chords[elements[:, :4]] = corner
    chords[elements[:, 4:8]] = (corner + np.roll(corner, -1, axis=1)) / 2
    chords[elements[:, 8]] = corner.mean(axis=1)
    order = nearest(chords, mesh.doflocs.T)
    curved = skfem.MeshQuad2(nodes[order].T.copy(), mesh.t)
    vector = skfem.ElementVector(skfem.ElementQuad2())
    rule = ((GAUSS_POINTS.T + 1) / 2, GAUSS_WEIGHTS / 4)
    return skfem.Basis(curved, vector, quadrature=rule), order


def scikit_fem_numbers(basis: Any, order: Ints) -> Ints:
    number = np.empty(basis.N, int)
    node = nearest(basis.mesh.doflocs.T, basis.doflocs.T)
    for component in range(2):
        dofs = np.concatenate(
            [part[component::2].ravel() for part in (basis.nodal_dofs, basis.facet_dofs, basis.interior_dofs)]
        )
        number[dofs] = 2 * order[node[dofs]] + component
    return number


def kirsch(points: Floats, radius: float, tension: float) -> Floats:
    """Displacement of an infinite plate with a hole, pulled along x, with Poisson's ratio 1/2."""
    shear, kappa = YOUNG / 3, 5 / 3
    x = points - 0.5
    r, angle = np.linalg.norm(x, axis=-1) / radius, np.arctan2(x[..., 1], x[..., 0])
    scale = tension * radius / (8 * shear)
    cosine, sine, cosine3, sine3 = np.cos(angle), np.sin(angle), np.cos(3 * angle), np.sin(3 * angle)
    one = r * (kappa + 1) * cosine + 2 / r * ((1 + kappa) * cosine + cosine3) - 2 / r**3 * cosine3
    two = r * (kappa - 3) * sine + 2 / r * ((1 - kappa) * sine + sine3) - 2 / r**3 * sine3
    displacement: Floats = scale * np.stack([one, two], axis=-1)
    return displacement


def test_peak_stress_of_kirschs_plate_converges_to_three() -> None:
    tension, radius, peaks, errors = 1e-2, 0.2, list[float](), list[float]()
    hole = np.array([(-1, -1), (-1, 0), (-1, 1)], float)
    for sectors, layers in ((36, 3), (72, 6), (144, 12)):
        nodes = mesh_nodes(lambda angle: np.full_like(angle, radius), sectors, layers)
        elements = mesh_elements(sectors, layers)
        fixed = np.unique(np.concatenate(list(side_edges(sectors, layers).values())))
        exact = kirsch(nodes, radius, tension)
        displacement, _ = equilibrium(nodes, elements, np.zeros_like(nodes), fixed, exact[fixed])
        errors.append(np.abs(displacement - exact).max() / np.abs(exact).max())
        peaks.append(von_mises(cauchy_stress(nodes, elements, displacement, hole)).max() / tension)
    np.testing.assert_allclose(peaks, [3.0254, 3.0057, 3.0005], atol=1e-4)
    assert errors[0] < 0.01
    assert errors[0] / errors[1] > 5 and errors[1] / errors[2] > 7  # third order


def test_strains_are_small_enough_for_linear_plane_stress() -> None:
    for number in range(3):
        theta = draw_theta(0, number)
        nodes, elements = random_mesh(number)
        edges = side_edges()
        load = edge_load(nodes, edges["top"], (0.0, 1e-4))  # a million times less, and scaled
        displacement, _ = equilibrium(nodes, elements, load, np.unique(edges["bottom"]))
        slope = 1e6 * np.einsum("eai,eqaj->eqij", displacement[elements], element_gradients(nodes, elements).shape)
        strain = (slope + np.swapaxes(slope, -1, -2)) / 2
        trace = np.trace(strain, axis1=-2, axis2=-1)[..., None, None] * np.eye(2)
        linear = von_mises(YOUNG / 1.5 * (strain + trace)).ravel()
        stress = solve(theta).von_mises
        assert np.linalg.norm(linear - stress) / np.linalg.norm(stress) < 2e-3


def test_statistics_are_those_of_the_originals() -> None:
    stress = np.stack([solve(draw_theta(0, number)).von_mises for number in range(60)])
    assert stress.shape == (60, 972)
    assert np.median(stress.mean(axis=1)) == pytest.approx(187, rel=0.1)
    assert np.median(stress.max(axis=1)) == pytest.approx(860, rel=0.2)
    assert stress.mean(axis=1).min() > 140 and stress.mean(axis=1).max() < 270


# The files


def make(output: Path, samples: int, **options: Any) -> dict[str, bytes]:
    generate(output, samples, processes=1, progress=False, **options)
    return {name: (output / name).read_bytes() for name in FILES}


def test_files_have_the_names_and_shapes_of_the_originals(tmp_path: Path) -> None:
    make(tmp_path, 3)
    arrays = [np.load(tmp_path / name) for name in FILES[:4]]
    assert [array.shape for array in arrays] == [(972, 2, 3), (972, 3), (42, 3), (3, 10)]
    sample = solve(arrays[3][2])
    for array, expected in zip(arrays, (sample.points, sample.von_mises, sample.radii), strict=False):
        np.testing.assert_array_equal(array[..., 2], expected.astype(np.float32))
    with np.load(tmp_path / MESH) as mesh:
        shapes = {name: mesh[name].shape for name in mesh.files}
        polygons = mesh["corners"][mesh["subcells"], :, 2]
    assert shapes == {
        "nodes": (504, 2, 3),
        "elements": (108, 9),
        "cells": (864, 4),
        "corners": (1080, 2, 3),
        "subcells": (972, 4),
    }
    np.testing.assert_allclose(polygons, gauss_subcells(sample.nodes, mesh_elements()), atol=1e-7)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, resumable.MANIFEST])


def test_a_sample_does_not_depend_on_the_number_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "few", 3)
    monkeypatch.setattr(elasticity, "_CHUNK", 2)
    make(tmp_path / "more", 5)
    make(tmp_path / "other", 3, seed=1)
    few, more, other = (np.load(tmp_path / name / FILES[1]) for name in ("few", "more", "other"))
    np.testing.assert_array_equal(more[:, :3], few)
    assert not np.array_equal(few, other)


def test_an_interrupted_run_goes_on_and_gives_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elasticity, "_CHUNK", 2)
    whole = make(tmp_path / "whole", 7)
    solved: list[int] = []

    def interrupted(seed: int, number: int) -> Floats:
        if number == 5:
            raise KeyboardInterrupt
        return draw_theta(seed, number)

    def counted(seed: int, number: int) -> Floats:
        solved.append(number)
        return draw_theta(seed, number)

    output = tmp_path / "output"
    monkeypatch.setattr(elasticity, "draw_theta", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(output, 7)
    assert [path.name for path in output.iterdir()] == ["parts"]
    part = next(output.rglob("000002-000004.npz"))
    part.write_bytes(part.read_bytes()[:1000])  # a truncated part is made again
    monkeypatch.setattr(elasticity, "draw_theta", counted)
    assert make(output, 7) == whole
    assert solved == [2, 3, 4, 5, 6]
    assert not (output / "parts").exists()


def test_an_interruption_while_files_are_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace, calls = os.replace, list[str]()

    def failing(part: Path, target: Path) -> None:
        if Path(target).name == FILES[0]:
            raise OSError("no space left on device")
        calls.append(Path(target).name)
        replace(part, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="no space"):
        make(tmp_path, 2)
    assert set(calls[-len(FILES) + 1 :]) == {*FILES[1:]}
    monkeypatch.undo()
    whole = make(tmp_path, 2)
    assert all(whole.values())
    assert json.loads((tmp_path / resumable.MANIFEST).read_text())["complete"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, resumable.MANIFEST])


def test_files_that_are_there_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = make(tmp_path, 3)
    with monkeypatch.context() as patch:
        patch.setattr(elasticity, "solve", None)
        with caplog.at_level("INFO"):
            assert make(tmp_path, 3) == before
            assert make(tmp_path, 2) == before
    assert "Nothing to do" in caplog.text
    for options in ({"samples": 4}, {"samples": 3, "seed": 1}):
        with pytest.raises(FileExistsError, match="delete them, or choose another output folder"):
            make(tmp_path, **options)
    (tmp_path / FILES[1]).unlink()
    with pytest.raises(FileExistsError, match="ask for as many"):
        make(tmp_path, 2)
    assert make(tmp_path, 3) == before


def test_originals_are_never_replaced(tmp_path: Path) -> None:
    original = tmp_path / FILES[0]
    original.write_bytes(b"downloaded")
    with pytest.raises(FileExistsError, match="downloaded originals"):
        make(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == [FILES[0]]
    original.unlink()
    make(tmp_path, 1)
    original.write_bytes(b"downloaded")  # over a generated file
    with pytest.raises(FileExistsError, match=f"got {FILES[0]}, different"):
        make(tmp_path, 1)
    assert original.read_bytes() == b"downloaded"
    (tmp_path / resumable.MANIFEST).write_text("{")
    with pytest.raises(FileExistsError, match="to be a manifest"):
        make(tmp_path, 1)


@pytest.mark.parametrize("options", [{"samples": 0}, {"samples": 1, "seed": -1}, {"samples": 1, "processes": 0}])
def test_numbers_out_of_range_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    name = list(options)[-1]
    with pytest.raises(ValueError, match=f"Expected '{name}' to be at least"):
        generate(tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_the_pool_gives_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads stand in for processes, whose start takes seconds; what they are sent is pickled all the same."""

    class Pool(ThreadPoolExecutor):
        def __init__(self, processes: int, mp_context: Any, initializer: Any) -> None:
            assert processes == 2 and mp_context.get_start_method() == "spawn"
            super().__init__(1, initializer=initializer)

        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
            assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
            function, arguments = pickle.loads(pickle.dumps((function, arguments)))
            return super().submit(function, *arguments, **options)

    monkeypatch.setattr(elasticity, "_CHUNK", 2)
    monkeypatch.setattr(processes, "ProcessPoolExecutor", Pool)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    generate(tmp_path / "two", 5, processes=2, progress=False)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3" and "MKL_NUM_THREADS" not in os.environ
    assert make(tmp_path / "one", 5) == {name: (tmp_path / "two" / name).read_bytes() for name in FILES}


def test_a_sample_that_cannot_be_solved_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elasticity, "draw_theta", lambda seed, number: np.full(10, np.nan))
    with pytest.raises(ArithmeticError, match="Sample 0 with seed 0 could not be solved: Expected 'theta'"):
        make(tmp_path, 1)


def test_picture(tmp_path: Path) -> None:
    make(tmp_path, 4)
    assert picture(tmp_path, tmp_path / "pictures" / "samples.png", samples=4).read_bytes()[1:4] == b"PNG"
    with pytest.raises(FileNotFoundError, match=FILES[1]):
        picture(tmp_path / "pictures", tmp_path / "samples.png")
