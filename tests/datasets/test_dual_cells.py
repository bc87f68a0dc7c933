"""Cells round the nodes of a triangle mesh: they share its area as finite elements lump it."""

import numpy as np
import pytest

from pitgeo.datasets.dual_cells import dual_cells


def mesh(size=5):
    """A grid of squares, each cut in two, without the square in the middle; the inner nodes are moved."""
    axis = np.linspace(0, 1, size)
    points = np.stack([part.ravel() for part in np.meshgrid(axis, axis, indexing="ij")], -1)
    inner = ((points > 0) & (points < 1)).all(1)
    points[inner] += np.random.default_rng(0).uniform(-0.04, 0.04, (int(inner.sum()), 2))
    number = np.arange(size * size).reshape(size, size)
    corners = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
    a, b, c, d = (corner.ravel() for corner in corners)
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    hole = (size - 1) ** 2 // 2 + 1
    return points, np.delete(triangles, [hole, hole + (size - 1) ** 2], 0)


def areas(polygons):
    x, y = polygons[..., 0], polygons[..., 1]
    return 0.5 * (x * np.roll(y, -1, -1) - y * np.roll(x, -1, -1)).sum(-1)


def test_every_cell_is_a_third_of_its_triangles():
    points, triangles = mesh()
    cells = dual_cells(points, triangles)
    lumped = np.bincount(triangles.ravel(), np.repeat(areas(points[triangles]) / 3, 3), len(points))
    assert np.allclose(areas(cells), lumped) and cells.shape[::2] == (25, 2)
    assert (lumped > 0).all() and np.isclose(areas(cells).sum(), areas(points[triangles]).sum())


def test_a_cell_holds_its_node_and_no_other():
    from matplotlib.path import Path

    points, triangles = mesh()
    for number, cell in enumerate(dual_cells(points, triangles)):
        inside = Path(cell).contains_points(points, radius=1e-9) | (np.abs(cell[:, None] - points) < 1e-12).all(2).any(
            0
        )
        assert np.flatnonzero(inside).tolist() == [number]


def test_a_node_without_triangles_has_a_cell_without_area():
    points, triangles = mesh()
    cells = dual_cells(np.concatenate([points, [[2.0, 3.0]]]), triangles)
    assert np.array_equal(np.unique(cells[-1], axis=0), [[2.0, 3.0]])


def test_two_fans_at_a_node_are_refused():
    points = np.array([[0.0, 0], [1, 0], [1, 1], [-1, 0], [-1, -1]])
    with pytest.raises(ValueError, match="round node 0"):
        dual_cells(points, np.array([[0, 1, 2], [0, 3, 4]]))
