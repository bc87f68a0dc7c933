"""The control that looks at no input."""

from __future__ import annotations

from typing import Any

import torch

from pitgeo.config.config import RunConfig
from pitgeo.measures.measures import measure
from pitgeo.measures.reference import Reference

LABEL = "training mean field"


def mean_field(config: RunConfig) -> dict[str, Any]:
    """Test errors of predicting, at point number i, the mean of all training targets at their point number i.

    Args:
        config: The run, for its data.

    Returns:
        ``errors`` of every target, with the keys of an evaluation.

    Raises:
        ValueError: If samples have different numbers of points, so that points of one number do not correspond, or a
            target does not belong to all points.
    """
    options = config.data.options
    training, test = options.training_parts()[0], options.test_samples()
    shapes = {tuple(sample.y.shape) for samples in (training, test) for sample in samples}
    if len(shapes) != 1:
        raise ValueError(f"Expected all samples to have one number of points for a mean field (got {sorted(shapes)})")
    table, first = options.table(training[0]), training[0]
    if table.scalars or "y_mask" in first:
        raise ValueError("Expected targets that all belong to the same points for a mean field (got others)")
    mean = torch.zeros_like(first.y, dtype=torch.float64)
    for sample in training:
        mean += sample.y
    mean /= len(training)
    truths = [sample.y.double() for sample in test]
    return {"errors": measure(table, truths, [mean] * len(truths), Reference.fit(training, table.scalars))}
