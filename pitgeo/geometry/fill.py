"""Transfer of values between cells and points, and filling of unknown values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.cells import Block
from pitgeo.graphs.trees import kd_tree


def sums(places: NDArray[np.int64], values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Sums of the values ``[V, channels]`` at each of ``count`` places, ``[count, channels]``."""
    return np.stack([np.bincount(places, column, count) for column in values.T], 1)


def fill(values: NDArray[np.float64], points: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A copy with unknown values taken from the nearest known point."""
    values = values.copy()
    if known.any() and not known.all():
        values[~known] = values[known][kd_tree(points[known]).query(points[~known])[1]]
    return values


def means_of_nodes(blocks: Sequence[Block], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the nodes of each cell, ``[cells, channels]``."""
    return np.concatenate([values[block.nodes].mean(1) for block in blocks])
