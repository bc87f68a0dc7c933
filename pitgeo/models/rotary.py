"""Rotary positions: a rotation of features by their point's place, so that products see differences of places alone."""

from __future__ import annotations

import torch
from torch import Tensor


def rotary_angles(pos: Tensor, channels: int, unit: float) -> Tensor:
    r"""The angles by which :func:`rotate` turns features of points.

    .. math:: \phi_{d, k} = 10000^{-k / n} \, p_d / u, \qquad k = 0, \dots, n - 1

    for every axis :math:`d`, with :math:`n` the pairs of channels that an axis gets, ``channels // (2 D)``.

    Args:
        pos: Positions ``[..., D]``.
        channels: Size of a feature.
        unit: The length :math:`u` over which the fastest angle grows by 1; the spacing of the points, say.

    Returns:
        Angles ``[..., D n]``, of the type of ``pos``.

    Raises:
        ValueError: If an axis gets no channels.

    Example:
        >>> rotary_angles(torch.tensor([[0.0, 2.0]]), channels=4, unit=0.5)
        tensor([[0., 4.]])

    Reference:
        Su et al., RoFormer, 2021; for several axes as Li et al., TMLR 2023.
    """
    pairs = channels // (2 * pos.shape[-1])
    if pairs < 1:
        raise ValueError(
            f"Expected at least two channels in a head for each of {pos.shape[-1]} axes, to rotate (got {channels})"
        )
    speed = 10000.0 ** (-torch.arange(pairs, dtype=pos.dtype, device=pos.device) / pairs) / unit
    return (pos.unsqueeze(-1) * speed).flatten(-2)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    r"""Turn pairs of channels by angles.

    .. math:: (a, b) \mapsto (a \cos \phi - b \sin \phi, \; a \sin \phi + b \cos \phi)

    A product of two rotated features depends on the difference of their angles alone. Channel ``k`` makes a pair with
    ``k + A``; those from ``2 A`` on stay as they are.

    Args:
        x: Features ``[..., channels]``.
        angles: ``[..., A]``, ``A`` at most half the channels.

    Returns:
        Features ``[..., channels]``.

    Example:
        >>> rotate(torch.tensor([1.0, 0.0, 5.0]), torch.tensor([torch.pi / 2])).round()
        tensor([-0., 1., 5.])
    """
    half = angles.shape[-1]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([first * cos - second * sin, first * sin + second * cos, rest], -1)
