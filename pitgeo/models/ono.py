"""ONO: integrals with a kernel of learned, orthonormal features."""

from __future__ import annotations

from typing import Annotated, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import softplus

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints
from pitgeo.models.linear_attention import LinearAttention, LinearAttentionOptions
from pitgeo.models.model_options import Count, DataSpec
from pitgeo.nn.blocks import from_positions, mlp
from pitgeo.nn.checks import check_counts, check_lengths
from pitgeo.nn.dense import at_least_single


class OrthogonalAttention(nn.Module):
    r"""An integral with a kernel that is diagonal in orthonormal features.

    .. math::
        \psi = \operatorname{Linear}(u), \qquad C = L L^T, \qquad \hat{\psi} = \psi L^{-T}, \qquad
        y_i = \hat{\psi}_i \operatorname{diag}(\mu) \, \frac{1}{N} \sum_j \hat{\psi}_j^T h_j

    In training, :math:`C` is the mean of :math:`\psi^T \psi` over all points of the batch, so that :math:`\hat{\psi}`
    is orthonormal over them. In evaluation, :math:`C` is a running mean, kept with the weights (the identity before any
    training). A hundred-thousandth of the mean of its diagonal is added to the diagonal, so that linearly dependent
    features have a factorisation too. :math:`\mu` is positive, by a softplus.

    Args:
        channels: Size of each value.
        features: Number of features.
        momentum: Share of the running mean that stays in every training step.

    Shapes:
        - **u**, **h** ``[B, N, channels]``, **mask** ``[B, N]``, true where a point is, or ``None`` if everywhere.
        - **output** ``[B, N, channels]``.

    Raises:
        ValueError: If ``momentum`` is not from 0 to below 1.

    Example:
        >>> u, h = torch.rand(2, 3, 50, 8)
        >>> OrthogonalAttention(8, features=4)(u, h).shape
        torch.Size([3, 50, 8])

    Reference:
        Xiao et al., ICML 2024, orthogonal attention.
    """

    def __init__(self, channels: int, features: int, momentum: float = 0.9) -> None:
        super().__init__()
        if not 0 <= momentum < 1:
            raise ValueError(f"Expected 'momentum' to be from 0 to below 1 (got {momentum})")
        self.momentum = momentum
        self.features = nn.Linear(channels, features)
        self.strength = nn.Parameter(torch.zeros(features))
        self.covariance: Tensor
        self.steps: Tensor
        self.register_buffer("covariance", torch.eye(features))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, u: Tensor, h: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend."""
        features = self.features(u)
        with torch.autocast(u.device.type, enabled=False):
            features, values = at_least_single(features), at_least_single(h)
            if mask is not None:
                features = features.masked_fill(~mask.unsqueeze(-1), 0)
            features = features @ self._whitening(features, mask).to(features.dtype)
            if mask is None:
                count: Tensor = features.new_tensor(features.shape[1])
            else:
                count = mask.sum(-1).view(-1, 1, 1).to(features.dtype)
            projected = features.transpose(-1, -2) @ values / count
            strength = softplus(self.strength.to(features.dtype))
            return ((features * strength) @ projected).to(h.dtype)

    def _whitening(self, features: Tensor, mask: Tensor | None) -> Tensor:
        """The matrix ``L^-T``, computed in double precision."""
        if self.training:
            rows = features.flatten(0, 1).double()
            covariance = rows.T @ rows / (rows.shape[0] if mask is None else mask.sum())
            with torch.no_grad():
                momentum = self.momentum * (self.steps > 0).double()
                self.covariance.copy_(momentum * self.covariance + (1 - momentum) * covariance)
                self.steps += 1
        else:
            covariance = self.covariance.double()
        identity = torch.eye(covariance.shape[0], dtype=covariance.dtype, device=covariance.device)
        ridge = 1e-5 * covariance.diagonal().mean() + torch.finfo(torch.float32).tiny
        lower = torch.linalg.cholesky(covariance + ridge * identity)
        return cast(Tensor, torch.linalg.solve_triangular(lower, identity, upper=False).T)


class ONO(nn.Module):
    r"""The Orthogonal Neural Operator, an operator from values to values on the same points.

    .. math::
        (U, H) &= \operatorname{MLP}(p, x), \\
        U &\leftarrow U + \operatorname{Att}(\operatorname{LN}(U)), \qquad
        U \leftarrow U + \operatorname{MLP}(\operatorname{LN}(U)), \\
        H &\leftarrow \operatorname{MLP}(\operatorname{LN}(H + \operatorname{OrthAtt}(U, H))), \qquad
        y = H \text{ after the last block}

    There are two pathways: one learns features of the points, the other passes the solution through kernels that are
    diagonal in these features, see :class:`OrthogonalAttention`. The last block has a linear layer, not a last MLP.

    In training, the samples of a batch share the covariance of their features, and so depend on each other; in
    evaluation they do not. With several processes, each has the covariance of its own samples, and the running one is
    that of the first process: losses differ from those of one process. In roll-outs it mixes all steps.

    Simplified: Att is Galerkin attention, an option of the authors' code, not the Nyström attention of most of their
    runs; the kernel has a mean over points, not a sum, so that results do not grow with the number of points; there is
    no dropout. The covariances of training and evaluation are as in the authors' code. Its sizes for Elasticity: width
    128, 8 heads, 8 layers, 8 features.

    Args:
        in_channels: Coordinates and values of a point together.
        out_channels: Values of a point of the result.
        width: Encoding dimension of each pathway.
        heads: Number of heads of the attention; divides ``width``.
        layers: Number of blocks.
        features: Number of orthonormal features of a block.
        momentum: Share of the running covariance that stays in every training step.
        extent: Size of the meshes; the network sees positions divided by it.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``; **output** ``[N, out_channels]``;
          **data.x** and **output** with ``B`` before these, for samples on one shared mesh.

    Raises:
        ValueError: If an option is out of range, or the data has other channels, or output points that are not the
            input points.

    Example:
        >>> data = PointData(pos=torch.rand(80, 2), x=torch.rand(80, 3))
        >>> ONO(in_channels=5, out_channels=1)(data).shape
        torch.Size([80, 1])

    Reference:
        Xiao et al., "Improved Operator Learning by Orthogonal Attention", ICML 2024, section 3.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        width: int = 64,
        heads: int = 4,
        layers: int = 4,
        features: int = 16,
        momentum: float = 0.9,
        extent: float = 1.0,
    ) -> None:
        super().__init__()
        check_counts(width=width, layers=layers, features=features)
        check_lengths(extent=extent)
        self.in_channels, self.extent = in_channels, extent
        self.lift = mlp(in_channels, 2 * width, 2 * width)
        self.blocks = nn.ModuleList(
            _Block(width, heads, features, momentum, out_channels if number == layers else None)
            for number in range(1, layers + 1)
        )

    def forward(self, data: PointData) -> Tensor:
        """Values at the points."""
        points = DensePoints.of(data, self.in_channels, self)
        points.require_coincide("ONO")
        lifted = from_positions(self.lift, torch.cat([points.pos / self.extent, points.x], -1))
        u, h = lifted.chunk(2, -1)
        for block in self.blocks:
            u, h = block(u, h, points.mask)
        return points.rows(h)


class _Block(nn.Module):
    """A transformer layer for the features, and an integral and a network for the solution."""

    def __init__(self, width: int, heads: int, features: int, momentum: float, out_channels: int | None) -> None:
        super().__init__()
        self.before, self.between, self.after = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = LinearAttention(width, heads, "layer")
        self.mlp = mlp(width, width, width)
        self.orthogonal = OrthogonalAttention(width, features, momentum)
        self.head = mlp(width, width, width) if out_channels is None else nn.Linear(width, out_channels)

    def forward(self, u: Tensor, h: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        normal = self.before(u)
        u = u + cast(Tensor, self.attention(normal, normal, mask))
        u = u + cast(Tensor, self.mlp(self.between(u)))
        h = h + cast(Tensor, self.orthogonal(u, h, mask))
        return u, self.head(self.after(h))


class ONOOptions(LinearAttentionOptions):
    """Options of ``model.name = "ono"``, see :class:`ONO`.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "ono", "ono": {"layers": 2}}}
        >>> parse_config(tables).model.options.layers
        2
    """

    layers: Count = 4
    features: Count = 16
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return ONO(spec.in_channels, spec.out_channels, extent=spec.extent, **self.model_dump())
