"""The graphs of local and cross position-attention."""

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
    """Build the quantile neighbourhoods that a sample or a batch lacks.

    Args:
        encoder: Quantile of input points that a latent point attends to; ``None`` for no such graph.
        decoder: Quantile of latent points that an output point attends to; ``None`` for no such graph.
        output: Quantile of output points that an output point attends to; ``None`` for no such graph.
        metric: Periods of the domain, and the divisor that the layers use.
        quadrature: Whether to add the share of the domain that each input point stands for
            (:func:`~pitgeo.graphs.quadrature.quadrature_weights`), as ``quadrature`` ``[N]`` of the data.

    Raises:
        ValueError: If a quantile is not in (0, 1], or the domain is periodic with ``quadrature``.

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
        lacks_weights = self.quadrature and data.get("quadrature") is None
        if not missing and not lacks_weights:
            return data
        result = copy.copy(data)
        if lacks_weights:
            result.quadrature = quadrature_weights(data.pos, data.get("batch"))
        for name in missing:
            result.set_graph(name, self.find(name, data))
        return result

    def find(self, name: str, data: PointData, rows: Tensor | slice | None = None) -> Neighborhood:
        """One graph of a sample or batch.

        Args:
            name: Name of the graph.
            data: The sample or batch.
            rows: Numbers of some target points, a range or ascending numbers; ``None`` for all.
        """
        (targets, batch), (sources, source_batch) = (data.points(kind) for kind in GRAPHS[name])
        if rows is not None:
            targets, batch = targets[rows], None if batch is None else batch[rows]
        return quantile(targets, sources, getattr(self, name), self.metric, batch, source_batch)
