"""The choice of the latent points, on which the processor works."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Literal

from pitgeo.data import PointData
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.sampling import farthest_points, grid_points, regular_points


@dataclass(frozen=True)
class LatentMesh:
    """Choose the latent points of a sample; a sample that has latent points keeps them.

    Args:
        method: ``"input"``: the input points themselves; ``"farthest"``: farthest point sampling of them; ``"grid"``:
            their means over the cells of a regular grid (pooling, for structured grids); ``"regular"``: a regular grid
            over their bounding box, ends included, or over the period.
        number: Number of points for ``"farthest"``; a sample with fewer points keeps all its points.
        ratio: Number of latent points for each input point, instead of ``number``, in (0, 1].
        cells: Cells along each axis, for ``"grid"``; points along each axis, for ``"regular"``.
        metric: Periods of the domain.

    Raises:
        ValueError: If an option is missing, out of range, or not for this method.

    Example:
        >>> import torch
        >>> LatentMesh("farthest", number=16)(PointData(pos=torch.rand(100, 2))).pos_latent.shape
        torch.Size([16, 2])
    """

    method: Literal["input", "farthest", "grid", "regular"] = "input"
    number: int | None = None
    ratio: float | None = None
    cells: tuple[int, ...] | None = None
    metric: Metric = field(default_factory=Metric)

    def __post_init__(self) -> None:
        allowed = {"input": (), "farthest": ("number", "ratio"), "grid": ("cells",), "regular": ("cells",)}
        if self.method not in allowed:
            raise ValueError(f"Expected 'method' to be 'input', 'farthest', 'grid' or 'regular' (got {self.method!r})")
        names = allowed[self.method]
        options = {name: getattr(self, name) for name in ("number", "ratio", "cells")}
        options = {name: value for name, value in options.items() if value is not None}
        if len(options) != min(len(names), 1) or any(name not in names for name in options):
            need = " or ".join(f"'{name}'" for name in names) or "no number of points"
            raise ValueError(f"Expected {need} with the latent mesh {self.method!r} (got {options or 'none'})")
        if self.number is not None and self.number < 1:
            raise ValueError(f"Expected 'number' to be at least 1 (got {self.number})")
        if self.ratio is not None and not 0 < self.ratio <= 1:
            raise ValueError(f"Expected 'ratio' to be above 0 and at most 1 (got {self.ratio})")

    def __call__(self, data: PointData) -> PointData:
        """A copy with latent points."""
        if self.method == "input" or "pos_latent" in data:
            return data
        if self.method == "grid":
            latent = grid_points(data.pos, self.cells or ())
        elif self.method == "regular":
            latent = regular_points(data.pos, self.cells or (), self.metric)
        else:
            count = data.pos.shape[0]
            number = self.number or math.ceil((self.ratio or 1.0) * count - 1e-9)
            latent = data.pos[farthest_points(data.pos, min(number, count), self.metric)]
        result = copy.copy(data)
        result.set_points("latent", latent)
        return result
