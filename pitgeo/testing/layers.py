"""Assertions for layers and models: permutation of points, rigid motion, batches, linearity.

A sample is a :class:`~pitgeo.data.PointData`, which a model takes as it is, or another ``Data`` of PyG, whose ``x``,
``pos`` and ``edge_index`` a layer takes. For other arguments, give ``inputs``. Call ``.eval()`` first on layers that
behave differently in training (dropout, batch norm). Comparison is best in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch_geometric.data import Batch, Data

from pitgeo.testing.calls import Layer, compare, name_of, result
from pitgeo.testing.changes import Motion, moved, permuted


def assert_permutation_equivariant(
    layer: Layer, sample: Data, inputs: Sequence[str] | None = None, tolerance: float | None = None
) -> None:
    r"""Check that points in another order get the same values in that order.

    .. math:: f(P x, P p) = P f(x, p)

    Graphs are renumbered with the points. Latent and output points are shuffled too, if the sample has them.

    Args:
        layer: A layer, a model, or any function of samples.
        sample: A sample of at least two points; not one on a grid.
        inputs: Names of the sample's attributes that the layer takes, in order; ``None``: ``x``, ``pos`` and
            ``edge_index``, or the sample itself if it is a :class:`~pitgeo.data.PointData`.
        tolerance: Largest difference, relative to the largest value; ``None``: 1e-9 in float64, 1e-4 in float32.

    Raises:
        AssertionError: If values differ by more, are not finite, or there is not one row for every output point.
        ValueError: If the sample has only one point, or a grid.

    Example:
        >>> from pitgeo import PositionAttention
        >>> pos = torch.rand(30, 2)
        >>> edges = torch.randint(30, (2, 90))
        >>> sample = Data(x=torch.rand(30, 4), pos=pos, edge_index=edges)
        >>> assert_permutation_equivariant(PositionAttention(4, 8), sample)
    """
    changed, order = permuted(sample)
    before, after = result(layer, sample, inputs), result(layer, changed, inputs)
    if before.shape[-2] != len(order):
        raise AssertionError(
            f"Expected {name_of(layer)} to give a row for each of {len(order)} output points (got {before.shape[-2]})"
        )
    expected = before.index_select(-2, order.to(before.device))
    compare(f"{name_of(layer)} to give points in another order the same values", after, expected, tolerance)


def assert_rigid_motion_invariant(
    layer: Layer,
    sample: Data,
    inputs: Sequence[str] | None = None,
    motion: Motion = "rigid",
    tolerance: float | None = None,
) -> None:
    r"""Check that rotated and shifted points have the same values.

    .. math:: f(x, R p + t) = f(x, p)

    Stored graphs stay as they are; the layer builds its own graphs again.

    Args:
        layer: A layer, a model, or any function of samples.
        sample: A sample.
        inputs: As for :func:`assert_permutation_equivariant`.
        motion: ``"rigid"``: a rotation and a shift; ``"translation"``: a shift only, for layers that use directions.
        tolerance: As for :func:`assert_permutation_equivariant`.

    Raises:
        AssertionError: If values differ by more, or are not finite.
        ValueError: If ``motion`` is unknown.

    Example:
        >>> from pitgeo import PositionAttention
        >>> pos = torch.rand(30, 2).double()
        >>> edges = torch.randint(30, (2, 90))
        >>> sample = Data(x=torch.rand(30, 4).double(), pos=pos, edge_index=edges)
        >>> assert_rigid_motion_invariant(PositionAttention(4, 8).double(), sample)
    """
    after, before = result(layer, moved(sample, motion), inputs), result(layer, sample, inputs)
    moved_points = "moved rigidly" if motion == "rigid" else "shifted"
    compare(f"{name_of(layer)} to give points that are {moved_points} the same values", after, before, tolerance)


def assert_batch_independent(
    layer: Layer, samples: Sequence[Data], inputs: Sequence[str] | None = None, tolerance: float | None = None
) -> None:
    """Check that a batch of samples, as PyG's loader makes it, has the results of the single samples.

    Args:
        layer: A layer, a model, or any function of samples and batches.
        samples: At least two samples, best of different sizes.
        inputs: As for :func:`assert_permutation_equivariant`; ``"batch"`` is ``None`` for a single sample.
        tolerance: As for :func:`assert_permutation_equivariant`.

    Raises:
        AssertionError: If values differ by more, or are not finite.
        ValueError: If there are fewer than two samples.

    Example:
        >>> from pitgeo import PiT, PointData
        >>> samples = [PointData(pos=torch.rand(size, 2), x=torch.rand(size, 1)) for size in (30, 50)]
        >>> assert_batch_independent(PiT(in_channels=3, out_channels=1, channels=8), samples)
    """
    if len(samples) < 2:
        raise ValueError(f"Expected at least two samples, to batch them (got {len(samples)})")
    alone = [result(layer, sample, inputs) for sample in samples]
    together = result(layer, Batch.from_data_list(list(samples)), inputs)
    rows = [out.shape[-2] for out in alone]
    if together.shape[-2] != sum(rows):
        raise AssertionError(
            f"Expected {name_of(layer)} to give {sum(rows)} rows for a batch of samples with {rows} (got "
            f"{together.shape[-2]})"
        )
    for number, (part, expected) in enumerate(zip(together.split(rows, -2), alone, strict=True)):
        compare(f"{name_of(layer)} to give sample {number} the same in a batch and alone", part, expected, tolerance)


def assert_linear_in_values(
    layer: Layer, sample: Data, inputs: Sequence[str] | None = None, tolerance: float | None = None
) -> None:
    r"""Check that the values are mapped linearly: weights do not depend on them, and there is no bias.

    .. math:: f(2 x - 3 x', p) = 2 f(x, p) - 3 f(x', p)

    Args:
        layer: A layer, a model, or any function of samples.
        sample: A sample with values ``x``.
        inputs: As for :func:`assert_permutation_equivariant`.
        tolerance: As for :func:`assert_permutation_equivariant`.

    Raises:
        AssertionError: If values differ by more, or are not finite.
        ValueError: If the sample has no values.

    Example:
        >>> from pitgeo import PositionAttention
        >>> edges = torch.randint(30, (2, 90))
        >>> sample = Data(x=torch.rand(30, 4), pos=torch.rand(30, 2), edge_index=edges)
        >>> assert_linear_in_values(PositionAttention(4, 8), sample)
    """
    if sample.get("x") is None or not sample.x.numel():
        raise ValueError("Expected a sample with values 'x', in which to be linear (got none)")
    other, both = copy.copy(sample), copy.copy(sample)
    draw = torch.randn(sample.x.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    other.x = draw.to(sample.x.device, sample.x.dtype)
    both.x = 2 * sample.x - 3 * other.x
    expected = 2 * result(layer, sample, inputs) - 3 * result(layer, other, inputs)
    compare(f"{name_of(layer)} to be linear in the values", result(layer, both, inputs), expected, tolerance)
