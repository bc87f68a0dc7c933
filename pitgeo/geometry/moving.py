r"""How a linear quantity changes when the nodes of its mesh move, for fixed values of the field.

A quantity is a sum over cells, :math:`Q = \sum_c q_c(x_c)`, each of the positions of its own nodes. So one difference
for every node of a cell, in all cells at once, gives the whole derivative.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.integration import gauss_points
from pitgeo.geometry.regions import Part, Region
from pitgeo.geometry.weights import Floats, Place, Rule
from pitgeo.mesh import Mesh

STEP = 1e-5
"""Of a node, as a share of the extent of its cell."""


def slope_by_points(
    mesh: Mesh, region: Region, rule: Rule, values: Floats, place: Place, is_mean: bool = False
) -> Floats:
    """The derivative ``[numbers, N, D]`` of a quantity by the positions of all nodes, by central differences.

    Args:
        mesh: The mesh.
        region: What is integrated over.
        rule: What is done at a Gauss point.
        values: Values ``[n, components]`` at the points or cells.
        place: Where they are.
        is_mean: Whether the quantity is divided by the measure of the region.
    """
    count, space = mesh.points.shape
    slope, size_slope = np.zeros((count, space, len(rule.labels))), np.zeros((count, space, 1))
    total, size = np.zeros(len(rule.labels)), 0.0
    for part in region.parts:
        corners = mesh.points[part.nodes]
        origins = corners[:, :1]
        corners = corners - origins
        own = values[part.nodes] if place == "point" else values[part.cells]
        found, measure = _by_cell(part, rule, corners, origins, own, place)
        total, size = total + found.sum(0), size + float(measure.sum())
        step = STEP * np.maximum(np.ptp(corners, axis=1).max(1), np.finfo(float).tiny)
        for node in range(part.nodes.shape[1]):
            for axis in range(space):
                moved = (_moved(corners, node, axis, by) for by in (step, -step))
                ends = [_by_cell(part, rule, nodes, origins, own, place) for nodes in moved]
                change, of_size = (ends[0][k] - ends[1][k] for k in (0, 1))
                np.add.at(slope[:, axis], part.nodes[:, node], change / (2 * step[:, None]))
                np.add.at(size_slope[:, axis, 0], part.nodes[:, node], of_size / (2 * step))
    if is_mean:
        slope = (slope - size_slope * (total / size)) / size
    return slope.transpose(2, 0, 1)


def _moved(corners: Floats, node: int, axis: int, by: Floats) -> Floats:
    result = corners.copy()
    result[:, node, axis] += by
    return result


def _by_cell(
    part: Part, rule: Rule, corners: Floats, origins: Floats, values: Floats, place: Place
) -> tuple[Floats, Floats]:
    """The quantity ``[n, numbers]`` and the measure ``[n]`` of cells whose nodes ``[n, nodes, D]`` are their own.

    Nodes are relative to an origin of each cell ``[n, 1, D]``: far from zero, differences would be rounding errors.
    """
    cells, nodes, space = corners.shape
    numbers = np.arange(cells * nodes).reshape(cells, nodes)
    parts = list(_contributions(part, rule, corners.reshape(-1, space), origins, numbers, values, place))
    return np.concatenate([found for found, _ in parts]), np.concatenate([measure for _, measure in parts])


def _contributions(
    part: Part, rule: Rule, points: Floats, origins: Floats, numbers: NDArray[np.int64], values: Floats, place: Place
) -> Iterator[tuple[Floats, Floats]]:
    for at in gauss_points(points, part.kind, numbers, rule.power):
        at = at._replace(
            normals=at.normals * part.signs[at.rows, None, None], positions=at.positions + origins[at.rows]
        )
        factors = rule.weigh(at)
        if place == "point":
            found = np.einsum("cqrk,qn,cnk->cr", factors, at.values, values[at.rows], optimize=True)
        else:
            found = np.einsum("cqrk,ck->cr", factors, values[at.rows])
        yield found, at.measures.sum(1)
