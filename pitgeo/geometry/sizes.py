"""Sizes of cells: length, square root of the area, cube root of the volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.cells import blocks_of, top_blocks
from pitgeo.geometry.fill import fill, sums
from pitgeo.geometry.grid import grid_of
from pitgeo.mesh import Mesh


def point_sizes(mesh: Mesh) -> NDArray[np.float64]:
    """The mean size of the cells of the highest dimension around each point ``[N, 1]``."""
    blocks, sizes = blocks_of(mesh), _sizes(mesh)
    _, top = top_blocks(blocks)
    nodes = np.concatenate([block.nodes.ravel() for block in top])
    owners = np.concatenate(
        [np.repeat(np.arange(len(block.nodes)) + block.first, block.nodes.shape[1]) for block in top]
    )
    counts = np.bincount(nodes, minlength=len(mesh.points))[:, None]
    means = sums(nodes, sizes[owners], len(mesh.points)) / np.maximum(counts, 1)
    return fill(means, mesh.points, counts[:, 0] > 0)


def cell_sizes(mesh: Mesh) -> NDArray[np.float64]:
    """The size of each cell ``[cells, 1]``; a vertex has that of its point."""
    sizes = _sizes(mesh)
    for block in blocks_of(mesh):
        if block.kind.dimension == 0:
            sizes[block.first : block.first + len(block.nodes)] = point_sizes(mesh)[block.nodes[:, 0]]
    return sizes


def _sizes(mesh: Mesh) -> NDArray[np.float64]:
    measured = grid_of(mesh).compute_cell_sizes(length=True, area=True, volume=True).cell_data
    sizes = np.zeros((sum(len(nodes) for _, nodes in mesh.cells), 1))
    for block in blocks_of(mesh):
        name = ("", "Length", "Area", "Volume")[block.kind.dimension]
        if name:
            rows = slice(block.first, block.first + len(block.nodes))
            sizes[rows, 0] = np.abs(np.asarray(measured[name])[rows]) ** (1 / block.kind.dimension)
    return sizes
