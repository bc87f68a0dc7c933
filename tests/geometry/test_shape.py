"""Shapes as a few numbers: closed forms, and what moving and scaling a mesh changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pitgeo.geometry.shape import count, shape
from pitgeo.mesh import Mesh

pytest.importorskip("pyvista")


def plate(width: float, height: float, cells: int = 4) -> Mesh:
    x, y = np.meshgrid(np.linspace(0, width, cells + 1), np.linspace(0, height, cells + 1))
    i = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    quads = np.stack([i[:-1, :-1], i[:-1, 1:], i[1:, 1:], i[1:, :-1]], -1).reshape(-1, 4)
    return Mesh(np.stack([x.ravel(), y.ravel()], 1), (("quad", quads),))


def brick(kind: str) -> Mesh:
    """A brick of 1 by 2 by 3, as a hexahedron, as six pyramids round its center or as five tetrahedra."""
    points = np.array([[x, y, z] for z in (0, 3) for y in (0, 2) for x in (0, 1)], float)
    if kind == "hexahedron":
        return Mesh(points, ((kind, np.array([[0, 1, 3, 2, 4, 5, 7, 6]])),))
    if kind == "tetra":
        return Mesh(points, ((kind, np.array([[0, 1, 3, 5], [0, 3, 2, 6], [0, 5, 6, 4], [3, 5, 6, 7], [0, 3, 6, 5]])),))
    faces = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]]
    points = np.concatenate([points, points.mean(0, keepdims=True)])
    return Mesh(points, ((kind, np.array([[*face, 8] for face in faces])),))


def test_a_plate_in_closed_form() -> None:
    found = shape(plate(2.0, 3.0))
    spread = np.sqrt(np.square(np.arange(5) / 4 - 0.5).mean())
    expected = [2, 3, 6, 10, 3 * spread, 2 * spread]
    assert len(found) == count(2) and np.exp(found[:6]) == pytest.approx(expected)
    assert found[6:] == pytest.approx([0] * 4, abs=1e-12)  # the mean in the center, no skewness


@pytest.mark.parametrize("kind", ["hexahedron", "tetra", "pyramid"])
def test_volume_and_surface_of_a_brick(kind: str) -> None:
    found = shape(brick(kind))
    assert len(found) == count(3) and np.exp(found[:5]) == pytest.approx([1, 2, 3, 6, 22])


def test_moving_changes_nothing_and_scaling_adds_logarithms() -> None:
    mesh = plate(2.0, 3.0)
    mesh = replace(mesh, points=mesh.points**1.5)
    moved, scaled = (
        shape(replace(mesh, points=points)) for points in (mesh.points + np.array([40, -7]), 10 * mesh.points)
    )
    assert moved == pytest.approx(shape(mesh), abs=1e-9)
    log = np.log(10)
    expected = np.array(shape(mesh)) + np.array([log, log, 2 * log, log, log, log, 0, 0, 0, 0])
    assert scaled == pytest.approx(expected, abs=1e-9)


def test_meshes_without_cells_or_without_extent() -> None:
    points = Mesh(np.random.default_rng(0).random((20, 3)))
    found = np.array(shape(points))
    assert np.isnan(found[3:5]).all() and np.isfinite(np.delete(found, [3, 4])).all()
    assert np.isfinite(np.delete(shape(Mesh(np.zeros((3, 2)))), [2, 3])).all()
    line = Mesh(np.linspace(0, 2, 5)[:, None], (("line", np.stack([np.arange(4), np.arange(1, 5)], 1)),))
    assert np.exp(shape(line)[:2]) == pytest.approx([2, 2])
