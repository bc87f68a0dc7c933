"""The Fourier Neural Operator for points of a regular grid: a baseline of the paper."""

from __future__ import annotations

import math
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, pad

from pitgeo.data import PointData
from pitgeo.nn.blocks import mlp
from pitgeo.nn.checks import check_counts, check_input


class SpectralConvolution(nn.Module):
    r"""Periodic convolution with a kernel of the lowest frequencies, each with its own weight.

    .. math::
        \hat{x}_k = \sum_n x_n e^{-2 \pi i k \cdot n / N}, \qquad
        y_n = \frac{1}{|N|} \operatorname{Re} \sum_{k \in K} c_k W_k \hat{x}_k e^{2 \pi i k \cdot n / N}

    :math:`N` are the numbers of points along the axes, :math:`|N|` is their product. :math:`K` has the frequencies
    :math:`0, \dots, m - 1` along the last axis and :math:`-m, \dots, m - 1` along the others; :math:`c_k` is 1 if the
    last frequency is 0, else 2. All of it runs in single precision, also under autocast, and in double precision for
    double values.

    Args:
        in_channels: Size of each value.
        out_channels: Size of each result.
        dimension: Axes of the grid.
        modes: Frequencies kept, ``m``.

    Shapes:
        - **x** ``[B, n_1, ..., n_D, in_channels]``.
        - **weight** ``[2 m, ..., 2 m, m, in_channels, out_channels, 2]``: the frequencies along each axis, in the order
          ``0 ... m - 1, -m ... -1``; real and imaginary part last.
        - **output** ``[B, n_1, ..., n_D, out_channels]``, of the type of ``x``.

    Raises:
        ValueError: If the grid has other axes, or fewer than two points a mode along one of them.

    Reference:
        Li et al., ICLR 2021, section 4.
    """

    def __init__(self, in_channels: int, out_channels: int, dimension: int, modes: int) -> None:
        super().__init__()
        self.dimension, self.modes = dimension, modes
        frequencies = (*[2 * modes] * (dimension - 1), modes)
        self.weight = nn.Parameter(torch.empty(*frequencies, in_channels, out_channels, 2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights uniformly, from 0 to 1 / (in_channels out_channels), as Li et al. do."""
        nn.init.uniform_(self.weight, 0.0, 1.0 / math.prod(self.weight.shape[-3:-1]))

    def forward(self, x: Tensor) -> Tensor:
        """Convolve."""
        grid = tuple(x.shape[1:-1])
        if len(grid) != self.dimension:
            raise ValueError(f"Expected 'x' to have shape [B, {self.dimension} axes, channels] (got {list(x.shape)})")
        if self.modes > min(grid) // 2:
            raise ValueError(
                f"Expected 'modes' to be at most half the points along every axis, {min(grid) // 2} on the grid {grid} "
                f"(got {self.modes}); take fewer modes or a finer grid"
            )
        return self.values(self.times_weight(self.spectrum(x)), grid).to(x.dtype)

    def spectrum(self, x: Tensor) -> Tensor:
        """The kept part of the spectrum, as sums over the grid, ``[B, 2 m, ..., 2 m, m, in_channels]``, complex."""
        real = torch.float64 if x.dtype == torch.float64 else torch.float32
        last, *others = range(self.dimension, 0, -1)  # the last axis first, so that later transforms have fewer columns
        spectrum: Tensor = torch.fft.rfft(x.to(real), dim=last).narrow(last, 0, self.modes)
        for axis in others:
            spectrum = torch.fft.fft(spectrum, dim=axis)
            low = spectrum.narrow(axis, 0, self.modes)
            high = spectrum.narrow(axis, x.shape[axis] - self.modes, self.modes)
            spectrum = torch.cat([low, high], axis)
        return spectrum

    def times_weight(self, spectrum: Tensor) -> Tensor:
        """The products of a spectrum with the weights, ``[B, 2 m, ..., 2 m, m, out_channels]``."""
        weight = torch.view_as_complex(self.weight.to(spectrum.real.dtype).contiguous())
        return torch.einsum("b...i,...io->b...o", spectrum, weight)

    def values(self, spectrum: Tensor, grid: tuple[int, ...]) -> Tensor:
        """Values ``[B, n_1, ..., n_D, channels]`` on a grid, from a spectrum of sums over this grid."""
        last, *others = range(self.dimension, 0, -1)
        for axis in others:
            low, high = (spectrum.narrow(axis, first, self.modes) for first in (0, self.modes))
            shape = list(spectrum.shape)
            shape[axis] = grid[axis - 1] - 2 * self.modes
            spectrum = torch.fft.ifft(torch.cat([low, spectrum.new_zeros(shape), high], axis), dim=axis)
        mean = spectrum.narrow(last, 0, 1).real  # on some devices the transform does not ignore the imaginary part
        rest = spectrum.narrow(last, 1, self.modes - 1)
        spectrum = torch.cat([torch.complex(mean, torch.zeros_like(mean)), rest], last)
        values: Tensor = torch.fft.irfft(spectrum, grid[-1], dim=last)  # fills up with zeros
        return values


class FNO(nn.Module):
    r"""The Fourier Neural Operator, an operator from values to values on the points of a regular grid.

    .. math::
        U &= \operatorname{Linear}(p, x), \\
        U &\leftarrow \sigma(\operatorname{MLP}(\mathcal{K} U) + \operatorname{Linear}(U)), \\
        y &= \operatorname{MLP}(U)

    with :math:`\sigma` the GELU, left out after the last block, and :math:`\mathcal{K}` a
    :class:`SpectralConvolution`. The convolution is periodic: it treats every grid as periodic, unless ``padding``
    separates its ends. The default, no padding, is right for a periodic grid without its end point: only there do
    results on different resolutions agree, except for unresolved frequencies that the GELU makes. On a grid with its
    end point the period is one spacing too long, and results differ by the order of one spacing.

    neuraloperator 2.0 has an FNO with settings for the same numbers of parameters, but not for this block, which is
    that of the scripts the paper refers to: its own block has an activation between convolution and MLP.

    Args:
        in_channels: Coordinates and values of a point together.
        out_channels: Values of a point of the result.
        dimension: Axes of the grid: 1, 2 or 3.
        modes: Frequencies kept: the lowest ones of the last axis, as many of either sign along the others.
        width: Channels of the blocks; the last MLP has twice as many in one dimension, else four times.
        layers: Number of blocks.
        block: ``"fno++"``: as above; ``"fno"``: without the MLP in the blocks.
        padding: Zeros after the end of every axis inside the blocks, as a share of its points.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``, points in C order of ``data.grid``, for one
          sample or a batch on grids of one size; **output** ``[N, out_channels]``.
        - or **data.x** and **output** with ``B`` before these, for samples on one shared mesh.

    Raises:
        ValueError: If an option is out of range; if the data has other channels, no grid, grids of several sizes, a
            grid with another number of points or too coarse for the modes, or output points other than the input ones.

    Example:
        >>> pos = torch.cartesian_prod(torch.arange(16) / 16, torch.arange(12) / 12)
        >>> data = PointData(pos=pos, x=torch.rand(192, 1), grid=(16, 12))
        >>> FNO(in_channels=3, out_channels=1, dimension=2, modes=4, width=8)(data).shape
        torch.Size([192, 1])

    Reference:
        Li et al., ICLR 2021; Chen and Wu, ICML 2024, section 4.1, FNO and FNO++.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dimension: int,
        modes: int = 12,
        width: int = 32,
        layers: int = 4,
        block: Literal["fno", "fno++"] = "fno++",
        padding: float = 0.0,
    ) -> None:
        super().__init__()
        if dimension not in (1, 2, 3):
            raise ValueError(f"Expected 'dimension' to be 1, 2 or 3 (got {dimension})")
        check_counts(modes=modes, width=width, layers=layers)
        if block not in ("fno", "fno++"):
            raise ValueError(f"Expected 'block' to be 'fno' or 'fno++' (got {block!r})")
        if not 0 <= padding <= 1:
            raise ValueError(f"Expected 'padding' to be a share of the grid from 0 to 1 (got {padding})")
        self.in_channels = in_channels
        self.dimension, self.padding = dimension, padding
        self.name = "fno" if block == "fno" else "fno_plus"
        self.lift = nn.Linear(in_channels, width)
        self.blocks = nn.ModuleList(_Block(width, dimension, modes, block) for _ in range(layers))
        self.head = mlp(width, (2 if dimension == 1 else 4) * width, out_channels)

    def forward(self, data: PointData) -> Tensor:
        """Values at the points."""
        grid = self._check(data)
        rows = data.x.shape[:-1]
        features = torch.cat([data.pos.expand(*rows, -1), data.x], -1)
        return self.on_grid(features.reshape(data.samples, *grid, -1)).reshape(*rows, -1)

    def on_grid(self, x: Tensor) -> Tensor:
        """Values ``[B, n_1, ..., n_D, out_channels]`` on a grid, from ``[B, n_1, ..., n_D, in_channels]``."""
        grid = x.shape[1:-1]
        with torch.autocast(x.device.type, enabled=False):  # positions are among the inputs
            hidden = self._padded(self.lift(x))
        for number, block in enumerate(self.blocks, 1):
            hidden = block(hidden)
            if number < len(self.blocks):
                hidden = gelu(hidden)
        for axis, points in enumerate(grid, 1):
            hidden = hidden.narrow(axis, 0, points)
        return cast(Tensor, self.head(hidden))

    def _padded(self, x: Tensor) -> Tensor:
        if self.padding == 0:
            return x
        added = [math.ceil(self.padding * points) for points in x.shape[1:-1]]
        return pad(x, [0, 0, *(zeros for points in reversed(added) for zeros in (0, points))])

    @property
    def _instead(self) -> str:
        cells = [64] * self.dimension
        return f"set model.{self.name}.cells = {cells} to interpolate to a grid and back, or use the model 'pit'"

    def _check(self, data: PointData) -> tuple[int, ...]:
        check_input(data, self.in_channels, self)
        if not data.coincide("input", "output"):
            raise ValueError(
                f"Expected output points that are the input points with an FNO (got others); {self._instead}"
            )
        grid = data.common_grid
        if grid is None:
            raise ValueError(
                f"Expected points on a regular grid, and the number of points along each axis in 'grid' of the sample "
                f"(got no grid); {self._instead}"
            )
        if len(grid) != self.dimension:
            raise ValueError(f"Expected a grid of {self.dimension} axes, the model's 'dimension' (got {grid})")
        samples = 1 if data.x.dim() == 3 else data.samples
        if samples * math.prod(grid) != data.pos.shape[0]:
            raise ValueError(
                f"Expected {math.prod(grid)} points in a sample on the grid {grid} "
                f"(got {data.pos.shape[0]} in {samples} sample(s))"
            )
        return grid


def check_nodes(nodes: int, modes: int) -> None:
    """Raise a ``ValueError`` unless a grid has two nodes along an axis for every frequency."""
    if nodes < 2 * modes:
        raise ValueError(f"Expected 'nodes' to be at least {2 * modes}, two a mode (got {nodes})")


class _Block(nn.Module):
    """A spectral convolution, perhaps an MLP after it, and a linear layer in parallel."""

    def __init__(self, width: int, dimension: int, modes: int, block: str) -> None:
        super().__init__()
        self.convolution = SpectralConvolution(width, width, dimension, modes)
        self.mlp = mlp(width, width, width) if block == "fno++" else nn.Identity()
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.mlp(self.convolution(x)) + self.linear(x))
