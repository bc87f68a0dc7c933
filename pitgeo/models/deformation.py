"""A learned map from the points of a mesh to a torus."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor, nn

_CENTER = -1e-4  # of angles and radii: just outside of the box, so that no point lies on it


class Deformation(nn.Module):
    r"""A displacement of points, from their positions and a code of the sample.

    .. math::
        \xi = p + p \odot \operatorname{MLP}(c, \operatorname{Linear}(z), \sin(\pi 2^j z), \cos(\pi 2^j z)), \qquad
        z = (p, \lVert p - o \rVert, \operatorname{angle}(p - o))

    with :math:`o` near the origin, a corner of the box, :math:`j` from 0 to ``width / 4 - 1``, a linear map of the code
    :math:`c`, and tanh in the MLP. The angle exists in two dimensions only. An output point may lie below or left of
    the box, where the angle would jump by a full turn, and its sines with it; it takes the angle of the nearest point
    that does not lie there. All of it runs in single or double precision, also under autocast.

    Args:
        dimension: Axes of the positions.
        code_channels: Size of the code; 0 for none.
        width: Size of each part of the input of the MLP, a multiple of 4; the MLP is four times as wide.

    Shapes:
        - **pos** ``[B, N, dimension]``, from 0 to 1; output points may lie outside.
        - **code** ``[B, code_channels]``, or ``None`` without one.
        - **output** ``[B, N, dimension]``.

    Raises:
        ValueError: If ``width`` is not a positive multiple of 4.

    Reference:
        Li et al., arXiv:2207.05209, section 3, and ``elasticity/elas_geofno.py`` of neuraloperator/Geo-FNO.

    Example:
        >>> Deformation(2)(torch.rand(1, 5, 2), None).shape
        torch.Size([1, 5, 2])
    """

    def __init__(self, dimension: int, code_channels: int = 0, width: int = 32) -> None:
        super().__init__()
        if width < 4 or width % 4:
            raise ValueError(f"Expected 'width' to be a positive multiple of 4 (got {width})")
        self.dimension, self.code_channels, self.octaves = dimension, code_channels, width // 4
        features = dimension + 1 + (dimension == 2)
        self.lift = nn.Linear(features, width)
        self.code = nn.Linear(code_channels, width) if code_channels else None
        inputs = width + 2 * features * self.octaves + (width if code_channels else 0)
        sizes = [inputs, 4 * width, 4 * width, 4 * width]
        layers = (part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), nn.Tanh()))
        self.network = nn.Sequential(*layers, nn.Linear(4 * width, dimension))

    def forward(self, pos: Tensor, code: Tensor | None) -> Tensor:
        """Deform."""
        if (self.code is None) != (code is None):
            raise ValueError(
                f"Expected {'a' if self.code is not None else 'no'} code with 'code_channels' = {self.code_channels} "
                f"(got {'none' if code is None else 'one'})"
            )
        with torch.autocast(pos.device.type, enabled=False):
            apart = pos - _CENTER
            parts = [pos, apart.norm(dim=-1, keepdim=True)]
            if self.dimension == 2:
                right, up = apart.clamp(min=-_CENTER).split(1, -1)  # in the box, angles go from 0 to a quarter turn
                parts.append(torch.atan2(up, right))
            features = torch.cat(parts, -1)
            octaves = math.pi * 2.0 ** torch.arange(self.octaves, dtype=pos.dtype, device=pos.device)
            angles = (features.unsqueeze(-1) * octaves).flatten(-2)
            parts = [self.lift(features), angles.sin(), angles.cos()]
            if self.code is not None and code is not None:  # both, or neither
                parts.insert(0, self.code(code).unsqueeze(1).expand(-1, pos.shape[1], -1))
            moved: Tensor = pos + pos * self.network(torch.cat(parts, -1))
            return moved
