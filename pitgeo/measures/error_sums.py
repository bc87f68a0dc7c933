"""Sums over points, and the errors computed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pitgeo.measures.peaks import Peak, find_peak
from pitgeo.measures.reference import CONSTANT, Values, pooled
from pitgeo.measures.relative_error import relative_error

SUMMARY = ("mean", "median", "lower_quartile", "upper_quartile", "smallest", "largest")


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """Sums over the points of a sample, for one target or component, or over several samples together.

    For a vector, ``|.|`` is its length at a point.

    Args:
        sample: Number of the sample.
        count: Number of points.
        error: Sum of ``|prediction - truth|``.
        square: Sum of ``|prediction - truth|^2``.
        largest_absolute: Largest ``|prediction - truth|``.
        size: Sum of ``|truth|``.
        norm: Sum of ``|truth|^2``.
        scale: Largest ``|truth|``.
        mean: Mean of every component of the truth.
        spread: Sum of the squared deviations of the truth from ``mean``.
        variation: Sum of the squared deviations of the truth from the mean of the training set.
        known: Relative l1 and l2 errors, if they are known already.
        peak: The largest values.
    """

    sample: int
    count: float
    error: float
    square: float
    largest_absolute: float
    size: float
    norm: float
    scale: float
    mean: Values
    spread: float
    variation: float
    known: tuple[float, float] | None = None
    peak: Peak | None = None

    @classmethod
    def of(
        cls,
        sample: int,
        truth: Values,
        prediction: Values,
        mean: Values,
        known: tuple[float, float] | None = None,
        pos: Values | None = None,
        has_peak: bool = True,
    ) -> ErrorSums:
        """The sums for values ``[n, components]``.

        Args:
            sample: Number of the sample.
            truth: True values.
            prediction: Predicted values.
            mean: Mean of every component on the training set; NaN if it is not known.
            known: Relative l1 and l2 errors, if they are known already.
            pos: Positions ``[n, D]``.
            has_peak: Whether to find the largest values.
        """
        difference, size = (np.linalg.norm(values, axis=1) for values in (prediction - truth, truth))
        center = truth.mean(0)
        peak = None
        if has_peak and truth.shape[1] == 1:
            peak = find_peak(truth[:, 0], prediction[:, 0], pos)
        elif has_peak:
            peak = find_peak(size, np.linalg.norm(prediction, axis=1), pos)
        return cls(
            sample,
            len(truth),
            float(difference.sum()),
            float(np.square(difference).sum()),
            float(difference.max()),
            float(size.sum()),
            float(np.square(size).sum()),
            float(size.max()),
            center,
            float(np.square(truth - center).sum()),
            float(np.square(truth - mean).sum()),
            known,
            peak,
        )

    @classmethod
    def together(cls, rows: Sequence[ErrorSums]) -> ErrorSums:
        """The sums over all points of several samples."""
        total = {
            key: sum(getattr(row, key) for row in rows)
            for key in ("count", "error", "square", "size", "norm", "variation")
        }
        largest = {key: max(getattr(row, key) for row in rows) for key in ("largest_absolute", "scale")}
        counts, means = np.array([[row.count] for row in rows]), np.stack([row.mean for row in rows])
        _, mean, between = pooled(counts, means, np.zeros_like(means))
        spread = sum(row.spread for row in rows) + float(between.sum())
        return cls(-1, mean=mean, spread=spread, **total, **largest)

    @property
    def rmse(self) -> float:
        """Root mean square error."""
        return math.sqrt(self.square / self.count)

    @property
    def mean_absolute(self) -> float:
        """Mean absolute error."""
        return self.error / self.count

    @property
    def r2(self) -> float | None:
        """Coefficient of determination; ``None`` if the truth is constant."""
        return 1 - self.square / self.spread if self._varies(self.spread) else None

    @property
    def relative_l1(self) -> float | None:
        """The l1 error relative to the truth; ``None`` if the truth is zero."""
        if self.norm == 0:
            return None
        return self.error / self.size if self.known is None else self.known[0]

    @property
    def relative_l2(self) -> float | None:
        """The l2 error relative to the truth; ``None`` if the truth is zero."""
        if self.norm == 0:
            return None
        return math.sqrt(self.square / self.norm) if self.known is None else self.known[1]

    @property
    def variation_l2(self) -> float | None:
        """The l2 error relative to the truth less the mean of the training set."""
        return math.sqrt(self.square / self.variation) if self._varies(self.variation) else None

    def _varies(self, square: float) -> bool:
        """Whether a sum of squared deviations exceeds rounding errors."""
        return math.sqrt(square / self.count) > CONSTANT * self.scale


def relative_errors(prediction: Tensor, truth: Tensor) -> Values:
    """Relative l1 and l2 errors of every channel, ``[2, K]``; 0 for a channel whose truth is zero everywhere."""
    zero = (truth == 0).all(0)
    truth, prediction = (torch.where(zero, 1.0, values) for values in (truth, prediction))
    return np.stack([relative_error(prediction, truth, norm=norm)[0].double().numpy() for norm in (1, 2)])


def summary(values: Sequence[float]) -> dict[str, float]:
    """Mean, quartiles and extremes of errors."""
    array = np.array(values, np.float64)
    low, median, high = (float(value) for value in np.quantile(array, (0.25, 0.5, 0.75)))
    numbers = (float(array.mean()), median, low, high, float(array.min()), float(array.max()))
    return dict(zip(SUMMARY, numbers, strict=True))


def statistic(values: Sequence[float | None], together: float | None, reason: str = "") -> dict[str, Any]:
    """The entry of an error: statistics over the samples, ``pooled``, and the reason if a number is not defined."""
    known = [value for value in values if value is not None]
    entry: dict[str, Any] = {**(summary(known) if len(known) == len(values) else dict.fromkeys(SUMMARY))}
    entry["pooled"] = together
    return entry | ({"reason": reason} if None in entry.values() else {})
