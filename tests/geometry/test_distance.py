"""Distances to points, segments and triangles, beside those to every one of them, and VTK's."""

from __future__ import annotations

import numpy as np
import pytest

from pitgeo.geometry import distance
from pitgeo.geometry.distance import distance_to

pyvista = pytest.importorskip("pyvista")


def brute_force(queries, points, pieces):
    """The least distance to any of the pieces, one after the other."""
    return np.min([to_simplex(queries, points[nodes]) for piece in pieces for nodes in piece], axis=0)


def to_simplex(queries, corners):
    """Distance to the foot of the perpendicular where that lies in the simplex, else to its nearest side."""
    if len(corners) == 1:
        return np.linalg.norm(queries - corners[0], axis=1)
    edges = corners[1:] - corners[0]
    share = np.linalg.lstsq(edges.T, (queries - corners[0]).T, rcond=1e-12)[0]
    foot = np.linalg.norm(queries - corners[0] - share.T @ edges, axis=1)
    sides = [to_simplex(queries, np.delete(corners, corner, 0)) for corner in range(len(corners))]
    inside = (share >= 0).all(0) & (share.sum(0) <= 1)
    return np.where(inside, foot, np.min(sides, axis=0))


def soup(random, simplices, width, sizes, dimension=3):
    """Simplices that share no corner."""
    sizes = np.broadcast_to(sizes, simplices)[:, None, None]
    corners = random.normal(size=(simplices, 1, dimension))
    corners = corners + sizes * random.normal(size=(simplices, width, dimension))
    return corners.reshape(-1, dimension), np.arange(simplices * width).reshape(-1, width)


def agrees(queries, points, pieces):
    expected = brute_force(queries, points, pieces)
    assert np.allclose(distance_to(queries, points, pieces), expected, rtol=1e-12, atol=1e-14 * np.ptp(points))


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("sizes", ["alike", "graded", "one large"])
def test_distance_is_the_least_to_any_simplex(width, dimension, sizes):
    random = np.random.default_rng(width)
    size = {"alike": 0.05, "graded": 10.0 ** random.uniform(-8, 1, 300), "one large": np.append(np.full(299, 1e-3), 9)}
    points, simplices = soup(random, 300, width, size[sizes], dimension)
    agrees(random.normal(size=(700, dimension)), points, [simplices])
    agrees(points + 1e-9 * random.normal(size=points.shape), points, [simplices])


@pytest.mark.parametrize("pairs", [2**18, 64])
def test_points_on_a_surface_and_far_from_it(pairs, monkeypatch):
    monkeypatch.setattr(distance, "PAIRS", pairs)
    random = np.random.default_rng(0)
    points, triangles = soup(random, 200, 3, 0.3)
    share = random.dirichlet(np.ones(3), 200)
    on = np.einsum("tc,tcd->td", share, points[triangles])
    assert distance_to(np.concatenate([points, on]), points, [triangles]).max() < 1e-15
    agrees(1e6 * random.normal(size=(50, 3)), points, [triangles])
    agrees(random.normal(size=(300, 3)) + 1e4, points + 1e4, [triangles])


def test_slender_triangles_and_those_without_area():
    random = np.random.default_rng(0)
    points, triangles = soup(random, 240, 3, 1.0)
    corners = points.reshape(-1, 3, 3)
    corners[:80, 2] = corners[:80, 0] + random.random((80, 1)) * (corners[:80, 1] - corners[:80, 0])  # needles
    corners[:40, 2] += 1e-6 * random.normal(size=(40, 3))
    corners[80:120, 1] = corners[80:120, 0]
    corners[120:140] = corners[120:140, :1]
    agrees(random.normal(size=(600, 3)), points, [triangles])


def test_ties_and_pieces_of_all_kinds_together():
    steps = np.linspace(0, 1, 9)
    points = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)
    number = np.arange(729).reshape(9, 9, 9)
    walls = [number.take(end, axis) for axis in range(3) for end in (0, 8)]
    quads = np.concatenate(
        [np.stack([w[:-1, :-1], w[1:, :-1], w[1:, 1:], w[:-1, 1:]], -1).reshape(-1, 4) for w in walls]
    )
    gap = np.minimum(points, 1 - points).min(1)
    assert np.allclose(distance_to(points, points, [quads]), gap, rtol=0, atol=1e-15)
    nodes = np.unique(quads)[:, None]
    assert np.allclose(distance_to(points, points, [nodes, quads]), gap, rtol=0, atol=1e-15)
    pieces = [quads[:20, [0, 1, 2]], quads[100:140, :2], nodes[::17]]
    agrees(np.random.default_rng(0).random((500, 3)), points, pieces)


def test_center_of_a_sphere_where_all_triangles_are_as_near():
    ball = pyvista.Icosphere(1.0, (0, 0, 0), 3)
    points, triangles = np.asarray(ball.points, np.float64), ball.faces.reshape(-1, 4)[:, 1:]
    queries = np.random.default_rng(0).normal(size=(40, 3)) * 10.0 ** np.arange(-9, 1).repeat(4)[:, None]
    agrees(queries, points, [triangles])


def test_distance_is_that_of_vtk():
    surface = pyvista.ParametricEllipsoid(1.0, 0.6, 0.02, u_res=24, v_res=14).triangulate().clean()
    points, faces = np.asarray(surface.points, np.float64), surface.faces.reshape(-1, 4)[:, 1:]
    queries = np.random.default_rng(0).normal(size=(300, 3))
    surface = pyvista.PolyData(points, surface.faces)
    _, nearest = surface.find_closest_cell(queries, return_closest_point=True)
    assert np.allclose(distance_to(queries, points, [faces]), np.linalg.norm(nearest - queries, axis=1), atol=1e-12)
