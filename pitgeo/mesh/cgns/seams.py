"""Seams of a zone with itself, as in an O-grid round a body, and axes that collapse to a line."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh.cgns.grids import NONE, Grid
from pitgeo.mesh.cgns.nodes import Node, Numbers
from pitgeo.mesh.cgns.sets import conditions, picked
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import AGREE, tolerance, weld_points
from pitgeo.mesh.raw import Raw

COLLAPSED = ("BCDegenerateLine", "BCDegeneratePoint", "BCSymmetryPolar", "BCAxisymmetricWedge")
"""Boundary conditions of faces or lines that may be of no extent."""

SEAMS = (("PointRange", "PointList"), ("PointRangeDonor", "PointListDonor"))


def weld_seams(raw: Raw, grid: Grid) -> Raw:
    """Weld the points of a zone that lie at one place on its own seams and axes.

    A seam is a connectivity of the zone to itself that is not periodic. Points at which values differ stay apart.

    Raises:
        ValueError: If a connectivity names what is not there.
    """
    pairs = [np.zeros((0, 2), np.int64)]
    reach = 0.0
    for places in _places(grid):
        reach = reach or tolerance(raw)
        _, first, inverse = np.unique(raw.points[places], axis=0, return_index=True, return_inverse=True)
        near = kd_tree(raw.points[places[first]]).query_pairs(reach, output_type="ndarray")
        pairs += [np.stack([places, places[first][inverse.ravel()]], 1), places[first][near]]
    joined = np.concatenate(pairs)
    if not len(joined):
        return raw
    count = len(raw.points)
    graph = coo_array((np.ones(len(joined), bool), joined.T), shape=(count, count))
    _, labels = connected_components(graph, directed=False)
    _, first = np.unique(labels, return_index=True)
    same = first[labels]
    apart = np.zeros(count, bool)
    for values in raw.point_data.values():
        if values.dtype.kind == "f":
            scale = np.abs(values[np.isfinite(values)]).max(initial=0.0)
            apart |= np.abs(values - values[same]) > AGREE * scale
    apart = np.isin(labels, labels[apart])
    same[apart] = np.flatnonzero(apart)
    words = f"{int((same != np.arange(count)).sum()):,} points of the zone {grid.node.name!r} on its seams with itself "
    words += "or on its axis are one with another"
    if apart.any():
        words += f"; {int(apart.sum()):,} stay apart, where values differ"
    raw.notes.append(Note("seams", words))
    return weld_points(raw, same, np.zeros(count, bool))


def _places(grid: Grid) -> list[Numbers]:
    """The points of every seam and axis."""
    found = []
    for holder in grid.node.all("ZoneGridConnectivity_t"):
        for node in holder.all("GridConnectivity1to1_t", "GridConnectivity_t"):
            if node.text().split("/")[-1] != grid.node.name or _is_periodic(node):
                continue
            sides = [_points(grid, node, names) for names in SEAMS]
            found.append(np.unique(np.concatenate(sides)))
    for node in conditions(grid.node):
        if node.text() in COLLAPSED:
            found.append(_points(grid, node, ()))
    return [places for places in found if len(places) > 1]


def _is_periodic(node: Node) -> bool:
    return any(child.all("Periodic_t") for child in node.all("GridConnectivityProperty_t"))


def _points(grid: Grid, node: Node, names: tuple[str, ...]) -> Numbers:
    """The points that a node names, or those of the cells that it names."""
    members = picked(grid, node, *names)
    if members is None:
        return NONE
    if isinstance(members, list):
        nodes = [block.nodes[own].ravel() for block, own in zip(grid.blocks, members, strict=True)]
        members = np.unique(np.concatenate([NONE, *nodes]))
    return members
