"""Mean and variation of the targets on the training set: what errors and a loss are relative to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.data import PointData

Values = NDArray[np.float64]
CONSTANT = 1e-7
"""Values that vary by less than this, relative to the largest of them, are constant: single precision ends there."""
WEAK = 0.01
"""In a loss, the variation of a component counts as at least this share of its vector's."""


@dataclass(frozen=True)
class Reference:
    r"""Mean and variation of every target channel, pooled over all points of all training samples.

    .. math::
        m_k = \frac{1}{N} \sum_{s, i} y_{sik}, \qquad v_k = \sqrt{\frac{1}{N} \sum_{s, i} (y_{sik} - m_k)^2}

    One number a channel, also where all samples share a mesh. Points that a target does not belong to do not count; a
    number of the whole mesh counts once a sample.

    Args:
        mean: The mean :math:`m` of every channel.
        variation: The variation :math:`v` of every channel, a standard deviation.
    """

    mean: tuple[float, ...]
    variation: tuple[float, ...]

    @classmethod
    def fit(cls, samples: Iterable[PointData], scalars: int = 0) -> Reference:
        """Find them on training samples, in float64.

        Args:
            samples: Samples with targets ``y``, and perhaps ``y_mask``.
            scalars: How many channels, the last ones, belong to the mesh as a whole.

        Raises:
            ValueError: If there is no sample.
        """
        parts = [_sums(sample, scalars) for sample in samples]
        if not parts:
            raise ValueError("Expected at least one training sample to find the mean of the targets on (got none)")
        counts, means, squares = (np.stack(part) for part in zip(*parts, strict=True))
        total, mean, square = pooled(counts, means, squares)
        variation = np.sqrt(square / np.maximum(total, 1))
        return cls(tuple(mean.tolist()), tuple(variation.tolist()))

    def scales(self, channels: Sequence[int]) -> tuple[float, ...]:
        """What errors are divided by in a loss, positive for every channel.

        That is the variation of the channel; of a component, at least a hundredth of its vector's, so that rounding in
        a component that is zero is not learned. A constant channel counts as large as it is, or 1 if it is zero.

        Args:
            channels: Channels of every target, which are the components of a vector.
        """
        mean, own = np.array(self.mean), np.array(self.variation)
        found, start = [], 0
        for count in channels:
            part = slice(start, start + count)
            start += count
            size = np.where(own[part] > CONSTANT * np.abs(mean[part]), own[part], 0.0)
            size = np.maximum(size, WEAK * np.sqrt(np.square(size).mean()))
            found.append(np.where(size > 0, size, np.where(mean[part] == 0, 1.0, np.abs(mean[part]))))
        return tuple(np.concatenate(found).tolist())

    def plain(self) -> dict[str, list[float]]:
        """Plain lists, for a checkpoint."""
        return {"mean": list(self.mean), "variation": list(self.variation)}

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> Reference:
        """What :meth:`plain` was called on."""
        return cls(*(tuple(float(number) for number in plain[key]) for key in ("mean", "variation")))


def pooled(counts: Values, means: Values, squares: Values) -> tuple[Values, Values, Values]:
    """Count, mean and squared deviations of all samples together, from those of each, along the first axis.

    Args:
        counts: How many values each sample has.
        means: Their mean; 0 where there are none.
        squares: Sum of the squared deviations from it.
    """
    total = counts.sum(0)
    mean = (counts * means).sum(0) / np.maximum(total, 1)
    return total, mean, (squares + counts * np.square(means - mean)).sum(0)


def _sums(sample: PointData, scalars: int) -> tuple[Values, Values, Values]:
    """Count, mean and squared deviations of every channel of a sample."""
    y = sample.y.double().numpy()
    known = np.ones(y.shape, bool) if sample.get("y_mask") is None else sample.y_mask.numpy().copy()
    if scalars:
        known[1:, -scalars:] = False
    count = known.sum(0).astype(np.float64)
    mean = np.where(known, y, 0.0).sum(0) / np.maximum(count, 1)
    return count, mean, np.where(known, np.square(y - mean), 0.0).sum(0)
