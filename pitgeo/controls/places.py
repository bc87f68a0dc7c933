"""Fields carried over from one mesh to another, by the nearest place in the boxes round them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.graphs.trees import kd_tree

Floats = NDArray[np.float64]


def positions(sample: PointData, kind: str = "output") -> Tensor:
    """The ``"input"`` or ``"output"`` points ``[M, D]`` in double precision, about the origin of all samples."""
    pos: Tensor = sample.points(kind)[0].double()
    origin = sample.get("origin")
    return pos if origin is None else pos + origin


def unit_places(sample: PointData, kind: str = "output") -> Floats:
    """The ``"input"`` or ``"output"`` points ``[M, D]``, the box round the input points being that from 0 to 1."""
    box = positions(sample, "input")
    low, size = box.amin(0), box.amax(0) - box.amin(0)
    places = (positions(sample, kind) - low) / torch.where(size > 0, size, 1.0)
    found: Floats = places.numpy()
    return found


class PlacedField:
    """Values at places, to be read at other places.

    Args:
        places: ``[M, D]``, in the unit box.
        values: ``[M, K]``.
        mask: Which values are known, ``[M, K]``; ``None`` for all.
    """

    def __init__(self, places: Floats, values: Tensor, mask: Tensor | None = None) -> None:
        self.values = values
        self.parts: list[tuple[list[int], Tensor, Any]] = []
        columns = torch.ones_like(values, dtype=torch.bool) if mask is None else mask
        kinds: dict[bytes, list[int]] = {}
        for channel in range(values.shape[1]):
            kinds.setdefault(columns[:, channel].numpy().tobytes(), []).append(channel)
        for channels in kinds.values():
            rows = columns[:, channels[0]].nonzero()[:, 0]
            self.parts.append((channels, rows, kd_tree(places[rows.numpy()])))

    @classmethod
    def of(cls, sample: PointData, values: Tensor) -> PlacedField:
        """Values at the output points of a sample."""
        return cls(unit_places(sample), values, sample.get("y_mask"))

    def at(self, places: Floats) -> Tensor:
        """The values ``[m, K]`` at the nearest places."""
        found = self.values.new_zeros(len(places), self.values.shape[1])
        for channels, rows, tree in self.parts:
            nearest = torch.from_numpy(np.asarray(tree.query(places)[1], np.int64))
            found[:, channels] = self.values[rows[nearest]][:, channels]
        return found
