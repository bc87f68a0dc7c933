"""The graphs that local and cross position-attention run on."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from torch import Tensor

from pitgeo.data.point_data import GRAPHS, PointData
from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.neighbors import quantile
from pitgeo.graphs.quadrature import quadrature_weights


@dataclass(frozen=True)
class AttentionGraphs:
    """Build the quantile neighbourhoods of a sample, or of a batch; those already there are kept.

    Args:
        encoder: Quantile of input points that a latent point attends to; ``None`` for no such graph.
        decoder: Quantile of latent points that an output point attends to; ``None`` for no such graph.
        output: Quantile of output points that an output point attends to; ``None`` for no such graph.
        metric: Periods of the domain, and the divisor that the layers will use.
        quadrature: Whether to find how much of the domain each input point stands for, too
            (:func:`~pitgeo.graphs.quadrature.quadrature_weights`), as ``quadrature`` ``[N]`` of the data.

    Raises:
        ValueError: If a quantile is not in (0, 1], or ``quadrature`` is wanted on a periodic domain.

    Example:
        >>> import torch
        >>> data = AttentionGraphs(encoder=0.1, decoder=0.1)(PointData(pos=torch.rand(100, 2)))
        >>> data.graph("encoder").degree.unique().tolist()
        [10]

    Reference:
        Chen and Wu, ICML 2024, equation (8) and table 8.
    """

    encoder: float | None = 0.02
    decoder: float | None = 0.02
    output: float | None = None
    metric: Metric = field(default_factory=Metric)
    quadrature: bool = False

    def __post_init__(self) -> None:
        for name in GRAPHS:
            q = getattr(self, name)
            if q is not None and not 0 < q <= 1:
                raise ValueError(f"Expected the {name} quantile to be above 0 and at most 1 (got {q})")
        if self.quadrature and self.metric.is_periodic:
            raise ValueError(f"Expected no period with 'quadrature' (got {self.metric.period}); leave one of them out")

    def __call__(self, data: PointData) -> PointData:
        """A copy with all graphs."""
        missing = [name for name in GRAPHS if getattr(self, name) is not None and not data.has_graph(name)]
        weighs = self.quadrature and data.get("quadrature") is None
        if not missing and not weighs:
            return data
        result = copy.copy(data)
        if weighs:
            result.quadrature = quadrature_weights(data.pos, data.get("batch"))
        for name in missing:
            result.set_graph(name, self.find(name, data))
        return result

    def find(self, name: str, data: PointData, rows: Tensor | slice | None = None) -> Neighborhood:
        """One graph of a sample or batch.

        Args:
            name: Which.
            data: The sample or batch.
            rows: The target points that it is wanted for, a range or numbers that do not decrease; ``None`` for all.
        """
        (targets, batch), (sources, source_batch) = (data.points(kind) for kind in GRAPHS[name])
        if rows is not None:
            targets, batch = targets[rows], None if batch is None else batch[rows]
        return quantile(targets, sources, getattr(self, name), self.metric, batch, source_batch)
