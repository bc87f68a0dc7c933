"""Mean and variation of the targets on the training set, to which errors and a loss are relative."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.data import PointData
from pitgeo.data.symmetries import Symmetries

Values = NDArray[np.float64]
CONSTANT = 1e-7
"""Values that vary by less than this share of the largest are constant: it is the rounding of single precision."""
WEAK = 0.01
"""In a loss, the variation of a component counts as at least this share of that of its vector."""


@dataclass(frozen=True)
class Reference:
    r"""Mean and variation of every target channel, pooled over all points of all training samples.

    .. math::
        m_k = \frac{1}{N} \sum_{s, i} y_{sik}, \qquad v_k = \sqrt{\frac{1}{N} \sum_{s, i} (y_{sik} - m_k)^2}

    There is one number for each channel, also if all samples share a mesh. Points without a value do not count; a
    number of the whole mesh counts once for each sample.

    Args:
        mean: The mean :math:`m` of every channel.
        variation: The variation :math:`v` of every channel, a standard deviation.

    Example:
        >>> Reference(mean=(300.0,), variation=(8.0,)).variation
        (8.0,)
    """

    mean: tuple[float, ...]
    variation: tuple[float, ...]

    @classmethod
    def fit(cls, samples: Iterable[PointData], scalars: int = 0) -> Reference:
        """Mean and variation on training samples, computed in float64.

        Args:
            samples: Samples with targets ``y``, and perhaps ``y_mask``.
            scalars: Number of channels, the last ones, that belong to the mesh as a whole.

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
        """The divisors of errors in a loss, positive for every channel.

        The divisor is the variation of the channel. For a component it is at least a hundredth of the variation of its
        vector, so that rounding in a component that is zero is not learned. For a constant channel it is the absolute
        value of the constant, or 1 if that is zero.

        Args:
            channels: Number of channels of every target, which are the components of a vector.
        """
        mean, variation = np.array(self.mean), np.array(self.variation)
        scales, start = [], 0
        for count in channels:
            part = slice(start, start + count)
            start += count
            size = np.where(variation[part] > CONSTANT * np.abs(mean[part]), variation[part], 0.0)
            size = np.maximum(size, WEAK * np.sqrt(np.square(size).mean()))
            scales.append(np.where(size > 0, size, np.where(mean[part] == 0, 1.0, np.abs(mean[part]))))
        return tuple(np.concatenate(scales).tolist())

    def turned(self, symmetries: Symmetries) -> Reference:
        """Mean and variation over all turned samples; see :meth:`pitgeo.data.symmetries.Symmetries.moments`."""
        own = torch.tensor([self.mean, self.variation], dtype=torch.float64)
        mean, variance = symmetries.moments(own[0], own[1].square(), symmetries.targets)
        return Reference(tuple(mean.tolist()), tuple(variance.sqrt().tolist()))

    def plain(self) -> dict[str, list[float]]:
        """Plain lists, for a checkpoint."""
        return {"mean": list(self.mean), "variation": list(self.variation)}

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> Reference:
        """The reference from the result of :meth:`plain`."""
        return cls(*(tuple(float(number) for number in plain[key]) for key in ("mean", "variation")))


def pooled(counts: Values, means: Values, squares: Values) -> tuple[Values, Values, Values]:
    """Count, mean and squared deviations of all samples together, from those of each, along the first axis.

    Args:
        counts: Number of values of each sample.
        means: Mean of these values; 0 if there are none.
        squares: Sum of their squared deviations from the mean.
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
