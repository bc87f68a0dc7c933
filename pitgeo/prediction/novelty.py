"""How far a sample lies from the nearest training sample, compared with how far those lie from each other."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]

LEAST = 20
"""With fewer training samples, their distances tell nothing."""
GROUPS = 20
"""Training samples are left out in so many groups, or one by one if there are no more of them."""
SHRINKAGE = 1e-3
"""Least variance of a direction, as a share of that of a standardised descriptor."""
VARIES = 1e-3
"""A descriptor that varies by less than this share of its size is constant."""
CONSTANT = 0.01
"""A sample that differs in a constant descriptor by less than this, or this share of it, is taken for the same."""
RARE = 0.01
"""Share of the training samples that may be farther from the others than a new sample that counts as outside."""
MARGIN = 0.1
"""Outside are samples beyond what is known from the training set by more than this share of it."""
FEW = 4.0
"""With fewer than 40 training samples the share is this, divided by their number: they show too little."""


class Novelty:
    r"""Compares descriptors of samples with those of a training set.

    Descriptors are standardised and whitened with their covariance on the training set, whose eigenvalues are raised by
    a thousandth, since some descriptors depend on others. The distance of a sample is that to the nearest training
    sample. Those of the training samples to each other are the measure of it: :math:`d_i` is the distance of one to the
    others, whitened without it. If a new sample is drawn as the training samples were, then its distance :math:`d` has
    the conformal p-value

    .. math::
        p = \frac{1 + \#\{i : d_i \ge d\}}{n + 1},

    so the :meth:`limit` that at most :math:`k` of the :math:`d_i` exceed is exceeded with a probability of about
    :math:`(k + 1) / (n + 1)`. Descriptors that are not finite, or the same in all training samples, have no part in it.

    Args:
        values: Descriptors of the training samples, ``[n, d]``.
        sizes: What differences of each descriptor are small or large against, ``[d]``.

    Reference:
        Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005, chapter 2.
    """

    def __init__(self, values: Floats, sizes: Floats) -> None:
        self.values, self.sizes = np.asarray(values, np.float64), np.asarray(sizes, np.float64)
        finite = np.isfinite(self.values).all(0)
        varies = np.ptp(np.where(finite, self.values, 0.0), 0) > VARIES * self.sizes
        self.varying, self.fixed = np.flatnonzero(finite & varies), np.flatnonzero(finite & ~varies)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def distances(self) -> Floats:
        """The distance of every training sample to the nearest other one, in increasing order."""
        own = self.values[:, self.varying]
        groups = np.arange(len(own)) % min(GROUPS, len(own))
        found = np.zeros(len(own))
        for group in range(groups.max() + 1):
            out = groups == group
            found[out] = _nearest(own[~out], own[out])
        return np.sort(found)

    def distance(self, sample: Floats) -> float:
        """The distance of a sample ``[d]`` to the nearest training sample."""
        values = np.asarray(sample, np.float64)
        known = self.varying[np.isfinite(values[self.varying])]
        return float(_nearest(self.values[:, known], values[None, known])[0]) if len(known) else 0.0

    @property
    def margin(self) -> float:
        """Share of what is known from the training set that a sample may exceed it by without being outside."""
        return max(MARGIN, FEW / len(self))

    def compare(self, sample: Floats, share: float = RARE, margin: float | None = None) -> str:
        """How a sample ``[d]`` differs from the training set, as the end of a sentence; empty if it does not.

        Args:
            sample: Its descriptors.
            share: Share of the training samples that may be farther from the others than this one.
            margin: Share of their distances that the distance may exceed them by; ``None`` for :attr:`margin`.
        """
        values = np.asarray(sample, np.float64)
        gaps = np.abs(values - self.values[0])[self.fixed]  # not finite in a mesh without cells
        if (gaps > CONSTANT * self.sizes[self.fixed]).any():
            return "differs from that of all training samples in what these have in common"
        margin = self.margin if margin is None else margin
        if not len(self.varying) or self.distance(values) <= (1 + margin) * self.limit(share):
            return ""
        beyond = math.floor(share * len(self))
        others = "any" if not beyond else f"{100 * (1 - beyond / len(self)):.3g}%"
        return f"is farther from the nearest one of the training set than {others} of these from each other"

    def limit(self, share: float) -> float:
        """The distance that at most a share of the training samples exceed; the largest one if these are few."""
        return float(self.distances[len(self.distances) - 1 - math.floor(share * len(self.distances))])


def _nearest(training: Floats, samples: Floats) -> Floats:
    """Distances of samples to the nearest training sample, in the whitened descriptors of these."""
    scale = training.std(0)
    scale[scale == 0] = 1.0
    training, samples = training / scale, samples / scale
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(training, rowvar=False, bias=True)))
    whitening = vectors / np.sqrt(values.clip(0) + SHRINKAGE)
    nearest: Floats = cdist(samples @ whitening, training @ whitening).min(1)
    return nearest
