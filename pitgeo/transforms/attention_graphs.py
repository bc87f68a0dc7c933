"""The graphs that local and cross position-attention run on."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from pitgeo.data import GRAPHS, PointData
from pitgeo.metric import Metric
from pitgeo.neighbors import quantile


@dataclass(frozen=True)
class AttentionGraphs:
    """Build the quantile neighbourhoods of a sample, or of a batch; those already there are kept.

    Args:
        encoder: Quantile of input points that a latent point attends to; ``None`` for no such graph.
        decoder: Quantile of latent points that an output point attends to; ``None`` for no such graph.
        output: Quantile of output points that an output point attends to; ``None`` for no such graph.
        metric: Periods of the domain, and the divisor that the layers will use.

    Raises:
        ValueError: If a quantile is not in (0, 1].

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

    def __post_init__(self) -> None:
        for name in GRAPHS:
            q = getattr(self, name)
            if q is not None and not 0 < q <= 1:
                raise ValueError(f"Expected the {name} quantile to be above 0 and at most 1 (got {q})")

    def __call__(self, data: PointData) -> PointData:
        """A copy with all graphs."""
        missing = [name for name in GRAPHS if getattr(self, name) is not None and not data.has_graph(name)]
        if not missing:
            return data
        result = copy.copy(data)
        for name in missing:
            targets, sources = (data.points(kind) for kind in GRAPHS[name])
            q = getattr(self, name)
            hood = quantile(targets[0], sources[0], q, self.metric, targets[1], sources[1])
            result.set_graph(name, hood)
        return result
