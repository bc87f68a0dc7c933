"""A cell round every node of a triangle mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def dual_cells(points: NDArray[np.float64], triangles: NDArray[np.int64]) -> NDArray[np.float64]:
    """The median dual of a triangle mesh in the plane: what a node's value stands for.

    A node's cell has its corners at the midpoints of the node's edges and the centroids of its triangles, alternately,
    and at the node itself on a boundary. The cells cover the mesh, each a third of the node's triangles.

    Args:
        points: Positions ``[N, 2]``.
        triangles: Nodes of each triangle ``[M, 3]``, all counter-clockwise.

    Returns:
        Corners ``[N, K, 2]``, counter-clockwise; the last one is repeated where a cell has fewer than K.

    Raises:
        ValueError: If the triangles of a node are not one fan, as where two parts of a mesh touch in a node.
    """
    following: list[dict[int, tuple[int, int]]] = [{} for _ in points]  # of a node's neighbour: the next one, between
    for number, nodes in enumerate(triangles.tolist()):
        for corner in range(3):
            node, first, second = (nodes[(corner + turn) % 3] for turn in range(3))
            following[node][first] = (second, number)
    centroids = points[triangles].mean(1)
    cells = []
    for node, links in enumerate(following):
        ends = {second for second, _ in links.values()}
        start = next((first for first in links if first not in ends), None)  # none for a node inside
        neighbor = next(iter(links), node) if start is None else start
        cell = []
        while neighbor in links:
            second, number = links.pop(neighbor)
            cell += [(points[node] + points[neighbor]) / 2, centroids[number]]
            neighbor = second
        if links:
            raise ValueError(f"Expected the triangles round node {node} to be one fan (got {len(links)} more)")
        cells.append(cell if cell and start is None else [*cell, (points[node] + points[neighbor]) / 2, points[node]])
    size = max(map(len, cells))
    return np.array([cell + [cell[-1]] * (size - len(cell)) for cell in cells])
