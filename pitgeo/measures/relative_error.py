"""Relative errors of a batch of fields on point sets of unequal sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import huber_loss
from torch_geometric.utils import segment

from pitgeo.system.tensors import TensorRecord

REST = 1e-3
"""Targets smaller than this share of their typical size are at rest: zero up to rounding."""


def relative_error(
    prediction: Tensor,
    target: Tensor,
    batch: Tensor | None = None,
    batch_size: int | None = None,
    norm: Literal[1, 2] = 2,
    sample_id: Tensor | None = None,
    floor: Tensor | None = None,
    groups: Sequence[int] | None = None,
    rows: Tensor | None = None,
    typical: Tensor | None = None,
    sizes: Tensor | None = None,
) -> Tensor:
    r"""Relative l1 or l2 error of every sample and channel.

    .. math::
        e_{bk} = \frac{\lVert \hat{y}_{bk} - y_{bk} \rVert_p}{\lVert y_{bk} \rVert_p}

    Norms run over the points of one sample. Sums are taken in float64, so that large values or millions of points do
    not cost digits; the gradient of a perfect prediction is zero, not NaN.

    If there are predictions only at :math:`n` random points of the :math:`N` points of a sample, the sum over all
    points is estimated from these,

    .. math::
        \lVert \hat{y}_{bk} - y_{bk} \rVert_p^p \approx \frac{N}{n} \sum_{i \in \text{rows}} |\hat{y}_{ik} - y_{ik}|^p,

    while :math:`\lVert y_{bk} \rVert_p` is that of all points. For the l1 norm the expectation over the draws is the
    error itself; for the l2 norm it is that of the square, so the root is too small by a share of order :math:`1 / n`.

    Args:
        prediction: Predicted values ``[M, K]``, or ``[B, M, K]`` for samples on one shared mesh.
        target: True values of the same shape, but always at all points, also with ``rows``; nothing is broadcast.
        batch: The sample of every point, ``[M]``, not decreasing; ``None`` for one sample.
        batch_size: Number of samples ``B``; ``None`` for the last entry of ``batch`` plus one.
        norm: ``1`` or ``2``.
        sample_id: Numbers of the samples in their data set, ``[B]``, for messages.
        floor: Least size ``[K]`` of the target's values, so that targets near zero have an error too.
        groups: Number of components of each vector, in the order of the channels; ``None`` if all are scalars. Errors
            of components are relative to the root mean square (or mean) of the sizes of all components, so that a
            single component may be zero.
        typical: Typical size ``[K]`` of the targets' values. A target smaller than :data:`REST` of it, in the mean over
            its points, is at rest: its error is relative to the typical size. 0 for channels without a typical size.
        rows: Numbers ``[m]`` of the points with predictions, increasing, at least one of every sample (on a shared mesh
            the same for all); ``None`` for all.
        sizes: Positive norms ``[B, K]`` to divide by instead of the norms of the target; ``floor``, ``groups`` and
            ``typical`` then have no effect.

    Shapes:
        - **output** ``[B, K]``

    Raises:
        ValueError: If shapes disagree, ``batch`` or ``rows`` are not sorted, a sample has no row, or the target of a
            sample is zero everywhere.

    Example:
        >>> import torch
        >>> relative_error(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [2.0]]), norm=1)
        tensor([[0.3333]])

    Reference:
        Chen and Wu, ICML 2024, section 4; Horvitz and Thompson, A generalization of sampling without replacement from a
        finite universe, 1952.
    """
    sizes_of = ErrorSizes.of(target, batch, batch_size, norm, sample_id, floor, groups, rows, typical, sizes)
    return sizes_of.errors(prediction, target)


@dataclass(frozen=True)
class ErrorSizes(TensorRecord):
    """What the errors of a batch are relative to, and which points they are of: all that can be checked beforehand.

    With it, :meth:`errors` looks at no number, so that no step of a training waits for the device.

    Args:
        size: Norms to divide by, ``[B, K]``.
        pointer: Where each sample begins among the points with predictions, and where the last one ends, ``[B + 1]``.
        rows: The points with predictions among all, ``[m]``; ``None`` for all.
        ratio: What an estimate from some points is multiplied by, ``[B, 1]``; ``None`` without ``rows``.
        norm: ``1`` or ``2``.
        threshold: Of :func:`huber`, which takes the place of the error at a point; ``None`` for the error itself.
    """

    size: Tensor
    pointer: Tensor
    rows: Tensor | None
    ratio: Tensor | None
    norm: Literal[1, 2]
    threshold: float | None = None

    @classmethod
    def of(
        cls,
        target: Tensor,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        norm: Literal[1, 2] = 2,
        sample_id: Tensor | None = None,
        floor: Tensor | None = None,
        groups: Sequence[int] | None = None,
        rows: Tensor | None = None,
        typical: Tensor | None = None,
        sizes: Tensor | None = None,
    ) -> ErrorSizes:
        """Those of some targets; arguments and errors are those of :func:`relative_error`."""
        if norm not in (1, 2):
            raise ValueError(f"Expected 'norm' to be 1 or 2 (got {norm!r})")
        if rows is not None:
            _check_rows(rows, target.shape[-2])
        flat_rows = rows
        if target.dim() == 3:
            if batch is not None:
                raise ValueError("Expected no 'batch' for samples on a shared mesh (got one)")
            batch_size, points = target.shape[:2]
            samples = torch.arange(batch_size, device=target.device)
            batch = samples.repeat_interleave(points)
            flat_rows = None if rows is None else (rows + points * samples.unsqueeze(1)).flatten()
            target = target.flatten(0, 1)
        pointer = _pointer(target.shape[0], batch, batch_size, target.device)
        if sample_id is not None and sample_id.numel() != pointer.numel() - 1:
            raise ValueError(
                f"Expected 'sample_id' to have one entry for every of {pointer.numel() - 1} samples "
                f"(got {sample_id.numel()})"
            )
        size = sizes
        if size is None:
            size = _norm(target.double(), pointer, norm)
            if groups is not None:
                size = _vector_sizes(size, groups, norm)
            if floor is not None:
                count = pointer.diff()[:, None].double()
                size = torch.maximum(size, floor.double() * (count if norm == 1 else count.sqrt()))
            if typical is not None:
                size = _at_rest(size, typical, pointer, norm)[0]
        size = size.double()
        if bool((size == 0).any()):
            sample, channel = (int(number) for number in (size == 0).nonzero()[0])
            name = int(sample_id.flatten()[sample]) if sample_id is not None else sample
            raise ValueError(
                f"Expected the target of every sample to be non-zero somewhere (got zeros everywhere in sample {name}, "
                f"channel {channel}); a relative error is not defined there: leave the sample out"
            )
        if rows is None or flat_rows is None:
            return cls(size, pointer, None, None, norm)
        row_pointer = torch.searchsorted(flat_rows, pointer)
        return cls(size, row_pointer, rows, _ratio(pointer, row_pointer, norm), norm)

    def errors(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The relative errors ``[B, K]``; shapes are those of :func:`relative_error`."""
        target_rows = target if self.rows is None else target.index_select(-2, self.rows)
        if prediction.dim() not in (2, 3) or prediction.shape != target_rows.shape:
            raise ValueError(
                "Expected 'prediction' and 'target' to have one shape [M, K], or [B, M, K] on a shared mesh "
                f"(got {list(prediction.shape)} and {list(target_rows.shape)}); reshape them, nothing is broadcast"
            )
        difference = (prediction.double() - target_rows.double()).flatten(0, -2)
        difference = difference if self.threshold is None else huber(difference, self.threshold)
        error = _norm(difference, self.pointer, self.norm)
        if self.ratio is not None:
            error = error * self.ratio
        dtype = torch.promote_types(torch.promote_types(prediction.dtype, target.dtype), torch.float32)
        return (error / self.size).to(dtype)


def huber(error: Tensor, threshold: float) -> Tensor:
    r"""Huber's function, half the square of small errors, and in proportion to large ones.

    .. math::
        h_\delta(r) = \begin{cases} r^2 / 2 & |r| \le \delta \\ \delta\, (|r| - \delta / 2) & |r| > \delta \end{cases}

    Args:
        error: Errors :math:`r`.
        threshold: :math:`\delta`.

    Example:
        >>> huber(torch.tensor([0.5, -1.0, 3.0]), 1.0)
        tensor([0.1250, 0.5000, 2.5000])

    Reference:
        Huber, Robust estimation of a location parameter, Annals of Mathematical Statistics 35, 1964.
    """
    return huber_loss(error, torch.zeros_like(error), reduction="none", delta=threshold)


def at_rest(target: Tensor, typical: Tensor, groups: Sequence[int] | None = None) -> Tensor:
    """True ``[K]`` for the channels of a sample's target ``[M, K]`` that are at rest, see :func:`relative_error`."""
    pointer = torch.tensor([0, target.shape[0]], device=target.device)
    size = _norm(target.double(), pointer, 2)
    return _at_rest(size if groups is None else _vector_sizes(size, groups, 2), typical, pointer, 2)[1][0]


def _at_rest(size: Tensor, typical: Tensor, pointer: Tensor, norm: int) -> tuple[Tensor, Tensor]:
    """Sizes in which the typical size replaces those at rest, and a mask of the latter."""
    count = pointer.diff()[:, None].double()
    typical_size = typical.double() * (count if norm == 1 else count.sqrt())
    rests = size < REST * typical_size
    return torch.where(rests, typical_size, size), rests


def _check_rows(rows: Tensor, points: int) -> None:
    if rows.dim() != 1 or rows.numel() == 0 or bool((rows[1:] <= rows[:-1]).any()):
        raise ValueError(
            f"Expected 'rows' to be increasing numbers of points, [m] (got {rows.tolist()[:8]}, of shape "
            f"{list(rows.shape)}); sort them"
        )
    if int(rows[0]) < 0 or int(rows[-1]) >= points:
        raise ValueError(
            f"Expected 'rows' to lie in 0..{points - 1} (got {int(rows[0])}..{int(rows[-1])}); 'target' must have all "
            f"points"
        )


def _ratio(pointer: Tensor, row_pointer: Tensor, norm: int) -> Tensor:
    """What norms of some points of the samples are multiplied by, as estimates of those of all, ``[B, 1]``."""
    ratio = pointer.diff().double() / row_pointer.diff()
    if bool(torch.isinf(ratio).any()):
        sample = int(torch.isinf(ratio).nonzero()[0])
        raise ValueError(
            f"Expected 'rows' to have points of every sample (got none of sample {sample}); draw some of each"
        )
    ratio = ratio.nan_to_num(1.0).unsqueeze(1)
    return ratio if norm == 1 else ratio.sqrt()


def _vector_sizes(size: Tensor, groups: Sequence[int], norm: int) -> Tensor:
    """Sizes in which every component has the mean over the components of its vector."""
    if sum(groups) != size.shape[1]:
        raise ValueError(f"Expected 'groups' to sum to {size.shape[1]} channels (got {list(groups)})")
    parts = []
    for part in size.split_with_sizes(list(groups), 1):
        mean = part.mean(1, keepdim=True) if norm == 1 else part.square().mean(1, keepdim=True).sqrt()
        parts.append(mean.expand_as(part))
    return torch.cat(parts, 1)


def _norm(values: Tensor, pointer: Tensor, norm: int) -> Tensor:
    if norm == 1:
        total: Tensor = segment(values.abs(), pointer)
        return total
    square: Tensor = segment(values.square(), pointer)
    zero = square == 0  # where the gradient of the square root would be infinite; NaN must stay NaN
    return torch.where(zero, 0.0, torch.where(zero, 1.0, square).sqrt())


def _pointer(points: int, batch: Tensor | None, batch_size: int | None, device: torch.device) -> Tensor:
    if batch is None:
        if batch_size not in (None, 1):
            raise ValueError(f"Expected 'batch' for {batch_size} samples (got None)")
        return torch.tensor([0, points], device=device)
    if batch.dim() != 1 or batch.shape[0] != points:
        raise ValueError(f"Expected 'batch' to have shape [{points}] (got {list(batch.shape)})")
    if bool((batch[1:] < batch[:-1]).any()):
        raise ValueError("Expected 'batch' to be sorted (got a decreasing entry); sort the points by sample")
    last = int(batch[-1]) if points else -1
    size = last + 1 if batch_size is None else batch_size
    if last >= size or (points and int(batch[0]) < 0):
        raise ValueError(f"Expected 'batch' to lie in 0..{size - 1} (got {int(batch[0])}..{last})")
    count = torch.bincount(batch, minlength=size)
    return torch.cat([count.new_zeros(1), count.cumsum(0)])
