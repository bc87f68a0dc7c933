"""The cells of a mesh for pictures: those of the highest dimension, without higher-order nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import CORNERS, VTK_NUMBERS, base, dimension

DRAWN = ("vertex", "line", "triangle", "quad", "tetra", "hexahedron", "wedge", "pyramid")
IMAGE_CELLS = {"pixel": ("quad", (0, 1, 3, 2)), "voxel": ("hexahedron", (0, 1, 3, 2, 4, 5, 7, 6))}
"""What cells of images are, and which of their nodes."""


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one kind.

    Args:
        vtk: VTK's number of the kind.
        corners: Connectivity ``[cells, corners]``.
        numbers: Number of every cell among all cells of the mesh ``[cells]``.
    """

    vtk: int
    corners: NDArray[np.int64]
    numbers: NDArray[np.int64]


def largest_cells(mesh: Mesh) -> tuple[int, list[Block]]:
    """The highest dimension of a mesh's cells (0 without any), and the blocks of such cells.

    Raises:
        ValueError: If the mesh has cells of a kind without a picture.
    """
    blocks: list[tuple[int, Block]] = []
    start = 0
    for kind, nodes in mesh.cells:
        dimension, vtk, corners = _family(kind, nodes.shape[1], mesh)
        numbers = np.arange(start, start + len(nodes))
        blocks.append((dimension, Block(vtk, nodes[:, list(corners)], numbers)))
        start += len(nodes)
    highest = max((dimension for dimension, _ in blocks), default=0)
    return highest, [block for dimension, block in blocks if dimension == highest and highest > 0]


def triangles(blocks: list[Block]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Plane cells cut into triangles: their corners ``[T, 3]``, and the number of the cell each is of ``[T]``."""
    corners, owners = [], []
    for block in blocks:
        for last in range(2, block.corners.shape[1]):
            corners.append(block.corners[:, [0, last - 1, last]])
            owners.append(block.numbers)
    return np.concatenate(corners), np.concatenate(owners)


def boundary(blocks: list[Block]) -> NDArray[np.int64]:
    """The edges ``[E, 2]`` that belong to one plane cell alone."""
    edges = [np.stack([block.corners, np.roll(block.corners, -1, axis=1)], -1).reshape(-1, 2) for block in blocks]
    pairs = np.sort(np.concatenate(edges), axis=1)
    _, first, counts = np.unique(pairs[:, 0] * (pairs.max() + 1) + pairs[:, 1], return_index=True, return_counts=True)
    once: NDArray[np.int64] = pairs[first[counts == 1]]
    return once


def _family(kind: str, nodes: int, mesh: Mesh) -> tuple[int, int, tuple[int, ...]]:
    """Dimension, VTK's number of the cell with these corners, and which nodes they are."""
    name, corners = IMAGE_CELLS.get(base(kind), (base(kind), ()))
    if name == "polygon":
        return 2, VTK_NUMBERS[name], tuple(range(nodes))
    if name not in DRAWN:
        raise ValueError(
            f"{mesh.where}Expected cells of {', '.join((*DRAWN, *IMAGE_CELLS))} or polygon kind (got {kind!r})"
        )
    return dimension(name), VTK_NUMBERS[name], corners or tuple(range(CORNERS[name]))
