"""Factors of error bounds from errors on held-out samples, with a guarantee for any model (conformal methods)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
MOST = 2000
"""Scores that are kept of a sample; of more, groups are replaced by their largest."""


def least_samples(level: int) -> int:
    r"""The smallest number of held-out samples that gives a factor: :math:`n \ge 1 / \alpha - 1`.

    Example:
        >>> [least_samples(level) for level in (80, 90, 95)]
        [4, 9, 19]
    """
    return math.ceil(100 / (100 - level) - 1)


def conformal_factor(scores: Sequence[Values], level: int) -> float | None:
    r"""The smallest factor by conformal risk control.

    A score is the absolute error at a point, divided by the width of the bound there. The loss :math:`L_s(\lambda)` of
    a sample is the share of its points with scores above :math:`\lambda`. The factor is the smallest :math:`\lambda`
    with

    .. math::
        \frac{n \hat{R}(\lambda) + 1}{n + 1} \le \alpha, \qquad \hat{R}(\lambda) = \frac{1}{n} \sum_s L_s(\lambda),
        \qquad \alpha = 1 - \frac{\text{level}}{100}.

    If samples are exchangeable, the expected share of the points of a new sample within :math:`\lambda` widths is at
    least the level. Of samples with one score each, this is the :math:`\lceil (n + 1)(1 - \alpha) \rceil`-th smallest
    score, that of split conformal prediction.

    Args:
        scores: The scores of every held-out sample, ``[m]`` each with ``m`` at least 1.
        level: Share of the points within the bound, in percent, from 1 to 99.

    Returns:
        The factor; ``None`` if there are fewer than :func:`least_samples` samples.

    Raises:
        ValueError: If the level is not a percentage, or a sample has no score.

    Example:
        >>> conformal_factor([np.array([score]) for score in (3.0, 1.0, 2.0, 5.0, 4.0)], 50)
        3.0

    Reference:
        Angelopoulos, Bates, Fisch, Lei and Schuster, *Conformal Risk Control*, ICLR 2024, equation (4).
    """
    if not 1 <= level <= 99:
        raise ValueError(f"Expected a level from 1 to 99 percent (got {level})")
    if any(not len(own) for own in scores):
        raise ValueError("Expected at least one score of every sample (got a sample without any)")
    allowed = (100 - level) * (len(scores) + 1) / 100 - 1
    if allowed < 0:
        return None
    values = np.concatenate(scores)
    order = np.argsort(values)
    weights = np.concatenate([np.full(len(own), 1 / len(own)) for own in scores])[order]
    above = np.append(np.cumsum(weights[:0:-1])[::-1], 0.0)  # what lies above each of the sorted values
    return float(values[order[np.argmax(above <= allowed + 1e-9)]])


def condensed(scores: Values) -> Values:
    """Sorted scores; of many, evenly chosen ones that stand for smaller ones too, so that bounds are rather too wide.

    The share of the scores above any number grows by less than one in :data:`MOST`.
    """
    scores = np.sort(scores)
    if len(scores) <= MOST:
        return scores
    numbers = np.ceil(np.arange(1, MOST + 1) * len(scores) / MOST).astype(np.int64) - 1
    return scores[numbers]
