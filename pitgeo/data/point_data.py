"""One sample: input, latent and output points, values on them, and the attention graphs between them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from pitgeo.graphs.neighborhood import Neighborhood

GRAPHS = {
    "encoder": ("latent", "input"),
    "decoder": ("output", "latent"),
    "output": ("output", "output"),
}
"""The graphs that a sample may have, and the point sets that they join: targets, then sources."""


class PointData(Data):  # type: ignore[misc]
    """Values on points, for learning an operator from input points to output points.

    There are three point sets: **input** points have known values; **latent** points are a coarser set for the
    processor; **output** points are those of the prediction. The last two default to the input points. The sample may
    store three graphs: ``encoder`` (latent points attend to input points), ``decoder`` (output to latent) and
    ``output`` (output to output). PyG's own ``DataLoader`` and ``Batch`` collate all of this; ``B`` samples on a shared
    mesh are a batch already.

    Args:
        pos: Input positions ``[N, D]``.
        x: Input values without coordinates ``[N, C]``, or ``[B, N, C]`` for samples on one shared mesh; ``None`` for
            no values.
        y: Target values at the output points ``[M, K]`` (or ``[B, M, K]``), if known.
        pos_out: Output positions ``[M, D]``; ``None`` for the input points.
        pos_latent: Latent positions ``[L, D]``; ``None`` for the input points.
        sample_id: Number of the sample in its data set, for messages.
        grid: Points along each axis, if the input points form a regular grid, in C order.
        others: More attributes, as for PyG's ``Data``; ``quadrature`` ``[N]`` is the share of the domain that each
            input point stands for (:mod:`pitgeo.graphs.quadrature`).

    Raises:
        ValueError: If shapes disagree, a point set is empty, or a number is not finite.

    Example:
        >>> import torch
        >>> sample = PointData(pos=torch.rand(5, 2), x=torch.rand(5, 3))
        >>> sample.input_dim, sample.num_nodes
        (5, 5)
    """

    def __init__(
        self,
        pos: Tensor | None = None,
        x: Tensor | None = None,
        y: Tensor | None = None,
        pos_out: Tensor | None = None,
        pos_latent: Tensor | None = None,
        sample_id: int | None = None,
        grid: tuple[int, ...] | None = None,
        **others: Any,
    ) -> None:
        super().__init__(pos=pos, x=x, y=y)
        self.__dict__["_kept"] = {}
        if pos is not None and x is None:
            self.x = pos.new_zeros(pos.shape[0], 0)
        if pos_out is not None:
            self.set_points("out", pos_out)
        if pos_latent is not None:
            self.set_points("latent", pos_latent)
        if sample_id is not None:
            self.sample_id = sample_id
        if grid is not None:
            self.grid = tuple(grid)
        for name, value in others.items():  # graphs after points: setting points drops graphs
            self[name] = value
        if pos is not None:  # PyG makes empty objects of this class when it separates a batch
            self._check()

    def set_points(self, kind: str, pos: Tensor) -> None:
        """Set the ``"latent"`` or ``"out"`` positions; graphs that touch them are dropped."""
        if kind not in ("latent", "out"):
            raise ValueError(f"Expected the kind of points to be 'latent' or 'out' (got {kind!r})")
        if "batch" in self:
            raise ValueError("Expected a single sample to set points of (got a batch); set them before batching")
        if pos is self.pos:  # a copy of the input points would count as another point set
            return
        self[f"pos_{kind}"] = pos
        # PyG adds the sample's number to attributes with "batch" in their name: this becomes the batch vector.
        self[f"pos_{kind}_batch"] = torch.zeros(pos.shape[0], dtype=torch.long, device=pos.device)
        for graph in ("encoder", "decoder") if kind == "latent" else ("decoder", "output"):
            if self.has_graph(graph):
                del self[f"{graph}_index"], self[f"{graph}_degree"]

    def points(self, kind: str) -> tuple[Tensor, Tensor | None]:
        """Positions and batch vector of the ``"input"``, ``"latent"`` or ``"output"`` points."""
        name = {"input": "pos", "latent": "pos_latent", "output": "pos_out"}[kind]
        if name not in self or name == "pos":
            return self.pos, self.get("batch")
        return self[name], (self[f"{name}_batch"] if "batch" in self else None)

    def coincide(self, first: str, second: str) -> bool:
        """Whether two point sets are the same object; equal copies are not."""
        return self.points(first)[0] is self.points(second)[0]

    @property
    def input_dim(self) -> int:
        """Input channels of an operator model: coordinates and values."""
        return int(self.pos.shape[-1] + self.x.shape[-1])

    @property
    def samples(self) -> int:
        """The number of samples in the batch."""
        if "batch" in self:
            return int(self.num_graphs)
        return int(self.x.shape[0]) if self.x.dim() == 3 else 1

    @property
    def common_grid(self) -> tuple[int, ...] | None:
        """Points along each axis of the regular grid of every sample; ``None`` without a grid.

        Raises:
            ValueError: If samples of a batch lie on grids of several sizes.
        """
        stored = self.get("grid")
        if not stored:
            return None
        grids = {tuple(grid) for grid in (stored if isinstance(stored[0], (tuple, list)) else [stored])}
        if len(grids) > 1:
            first, second = sorted(grids)[:2]
            raise ValueError(
                f"Expected grids of one size in a batch (got {first} and {second}); interpolate to one, or use batches "
                f"of 1"
            )
        return grids.pop()

    def has_graph(self, graph: str) -> bool:
        """Whether the graph of this name in :data:`GRAPHS` is stored."""
        return f"{graph}_degree" in self

    def graph(self, graph: str) -> Neighborhood:
        """The stored graph of this name in :data:`GRAPHS`.

        It is the same object, with its cached edge orders, until the edges change; copies of the sample share it.
        """
        index, degree = self[f"{graph}_index"], self[f"{graph}_degree"]
        sources = int(self.points(GRAPHS[graph][1])[0].shape[0])
        if torch.compiler.is_compiling():
            return Neighborhood(index, degree, sources)
        cache: dict[str, tuple[Neighborhood, tuple[int, int]]] = self.__dict__.setdefault("_kept", {})
        versions = _version(index), _version(degree)
        if graph in cache:
            edges, cached = cache[graph]
            if edges.index is index and edges.degree is degree and edges.num_sources == sources and cached == versions:
                return edges
        cache[graph] = Neighborhood(index, degree, sources), versions
        return cache[graph][0]

    def set_graph(self, graph: str, edges: Neighborhood) -> None:
        """Store a graph."""
        if graph not in GRAPHS:
            raise ValueError(f"Expected the graph to be one of {tuple(GRAPHS)} (got {graph!r})")
        self[f"{graph}_index"] = edges.index
        self[f"{graph}_degree"] = edges.degree

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # edge orders are computed again

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key in ("pos_latent_batch", "pos_out_batch"):
            return 1
        for graph, (_, kind) in GRAPHS.items():
            if key == f"{graph}_index":
                return self.points(kind)[0].shape[0]
        if key == "sample_id":
            return 0
        return super().__inc__(key, value, *args, **kwargs)

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key in (f"{graph}_index" for graph in GRAPHS):
            return 0
        return super().__cat_dim__(key, value, *args, **kwargs)

    def _check(self) -> None:
        where = f" in sample {self.sample_id}" if "sample_id" in self else ""
        for name in ("pos", "pos_out", "pos_latent"):
            pos = self.get(name)
            if pos is None:
                continue
            if pos.dim() != 2 or not pos.is_floating_point():
                raise ValueError(
                    f"Expected '{name}'{where} to have shape [N, D], floating-point "
                    f"(got {list(pos.shape)} of {pos.dtype})"
                )
            if pos.shape[0] == 0:
                raise ValueError(f"Expected '{name}'{where} to hold at least one point (got none)")
            if pos.shape[1] != self.pos.shape[1]:
                raise ValueError(f"Expected '{name}'{where} to have {self.pos.shape[1]} axes (got {pos.shape[1]})")
        if (grid := self.get("grid")) is not None and math.prod(grid) != self.pos.shape[0]:
            raise ValueError(f"Expected {math.prod(grid)} points{where} on the grid {grid} (got {self.pos.shape[0]})")
        outputs = self.points("output")[0].shape[0]
        for name, rows in (("x", self.pos.shape[0]), ("y", outputs)):
            value = self.get(name)
            if value is not None and (value.dim() not in (2, 3) or value.shape[-2] != rows):
                raise ValueError(
                    f"Expected '{name}'{where} to have shape [{rows}, channels], a row for every point, or "
                    f"[B, {rows}, channels] on a shared mesh (got {list(value.shape)})"
                )
        weights = self.get("quadrature")
        if weights is not None:
            good = (weights > 0) & torch.isfinite(weights)
            if weights.shape != self.pos.shape[:1] or not bool(good.all()):
                raise ValueError(
                    f"Expected 'quadrature'{where} to have shape [{self.pos.shape[0]}], a positive weight of every "
                    f"input point (got shape {list(weights.shape)}, {int((~good).sum())} not positive or not finite)"
                )
        for name in ("pos", "pos_out", "pos_latent", "x", "y"):
            value = self.get(name)
            if value is not None and not bool(torch.isfinite(value).all()):
                row = int((~torch.isfinite(value)).any(-1).nonzero()[0, -1])
                raise ValueError(
                    f"Expected '{name}'{where} to be finite (got {value[..., row, :].tolist()} at point {row})"
                )


def _version(values: Tensor) -> int:
    """How often a tensor was changed in place; 0 for inference tensors, which do not count changes."""
    return 0 if values.is_inference() else values._version
