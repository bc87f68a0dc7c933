"""GINO, the geometry-informed neural operator of the package neuraloperator, an extra that is imported on demand."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from pydantic import model_validator
from torch import Tensor, nn

from pitgeo.data import PointData
from pitgeo.graphs.checks import batch_pointer
from pitgeo.models.fno import check_nodes
from pitgeo.models.model_options import Count, DataSpec, ModelOptions
from pitgeo.nn.checks import check_counts, check_input, check_lengths


class GINO(nn.Module):
    r"""A graph operator from points to a regular grid, an FNO there, and a graph operator to the output points.

    .. math::
        v_g = \frac{1}{|N(g)|} \sum_{j \in N(g)} k(p_g, p_j) \odot (p_j, x_j), \qquad
        y_i = \operatorname{MLP}\left(\sum_{g \in N(i)} k'(p_i, p_g) \odot \operatorname{FNO}(v, d)_g\right)

    with MLPs :math:`k, k'` of sines and cosines of the positions, and neighbours within a radius. The radius of an
    output point is the diagonal of a cell; that of a node is two point spacings, but at least this diagonal. The FNO
    also takes the distance :math:`d_g` from a node to the nearest input point; in the paper it is the signed distance
    to a surface. The grid fills a box from the lowest corner of a sample on, with sides of ``extent``, or of the
    largest side of the sample if that is larger: a mesh much longer than wide leaves most of it empty.

    The network is that of neuraloperator, and has its limits:

    - It takes one geometry at a time, so samples of a batch run one after another, except on a shared mesh. Small
      samples use a CPU badly, and a GPU even worse.
    - Its neighbour search without Open3D, used here in all dimensions, holds all distances between nodes and points,
      once for each direction and once more for :math:`d`: 4 bytes for each pair, 4 GB for 32 x 32 x 32 nodes and
      30,000 points.
    - Its spectral convolutions have single precision, also in a model in double precision. Under autocast everything
      runs in the precision of the model.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        dimension: Axes of the positions: 1, 2 or 3.
        extent: Size of the meshes.
        spacing: Distance between neighbouring input points.
        modes: Frequencies kept, of either sign; the package's default: 8.
        width: Channels of the FNO; the package's default: 64.
        layers: Layers of the FNO.
        nodes: Points of the grid along each axis. The kernels have 64, 64 and 128, 64 hidden channels; the package's
            default: 80, 80, 80 and 512, 256.

    Shapes:
        - **data.pos** ``[N, D]``, **data.x** ``[N, in_channels - D]``, ``[B, N, in_channels - D]`` on a shared mesh.
        - **output** ``[M, out_channels]`` (or ``[B, M, out_channels]``), in the order of the output points.

    Raises:
        ImportError: If neuraloperator is missing.
        ValueError: If an option is out of range, or the data has other channels or another type than the model.

    Reference:
        Li et al., "Geometry-Informed Neural Operator for Large-Scale 3D PDEs", NeurIPS 2023.

    Example:
        >>> import torch
        >>> from pitgeo.data import PointData
        >>> model = GINO(3, 1, 2, modes=2, width=4, layers=1, nodes=8)
        >>> model(PointData(pos=torch.rand(20, 2), x=torch.rand(20, 1))).shape
        torch.Size([20, 1])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dimension: int,
        extent: float = 1.0,
        spacing: float = 0.05,
        modes: int = 8,
        width: int = 32,
        layers: int = 4,
        nodes: int = 32,
    ) -> None:
        super().__init__()
        if dimension not in (1, 2, 3):
            raise ValueError(f"Expected 'dimension' to be 1, 2 or 3 (got {dimension})")
        check_counts(modes=modes, width=width, layers=layers)
        check_lengths(extent=extent)
        check_nodes(nodes, modes)
        self.in_channels = in_channels
        self.dimension, self.nodes, self.extent = dimension, nodes, extent
        diagonal = 1.05 * math.sqrt(dimension) / (nodes - 1)  # a little more than the diagonal of a cell
        self.network = neuraloperator().GINO(
            in_channels=in_channels,
            out_channels=out_channels,
            latent_feature_channels=1,
            gno_coord_dim=dimension,
            in_gno_radius=max(diagonal, 2 * spacing / self.extent),
            out_gno_radius=diagonal,
            in_gno_channel_mlp_hidden_layers=[64, 64],
            out_gno_channel_mlp_hidden_layers=[128, 64],
            fno_in_channels=in_channels,
            fno_n_modes=(2 * modes,) * dimension,
            fno_hidden_channels=width,
            fno_n_layers=layers,
            gno_use_open3d=False,
        )
        for convolution in self.network.fno_blocks.convs:
            convolution.register_forward_pre_hook(_to_single)
        self.register_state_dict_post_hook(_without_metadata)  # type: ignore[no-untyped-call]

    def forward(self, data: PointData) -> Tensor:
        """Values at the output points."""
        check_input(data, self.in_channels, self)
        with torch.autocast(data.x.device.type, enabled=False):
            if data.x.dim() == 3:
                return self._on_geometry(data.pos, data.x, data.points("output")[0])
            (pos, batch), (pos_out, batch_out) = data.points("input"), data.points("output")
            starts, starts_out = (
                batch_pointer(numbers, len(points), data.samples)
                for numbers, points in ((batch, pos), (batch_out, pos_out))
            )
            parts = []
            for sample in range(data.samples):
                rows, rows_out = (slice(*pointer[sample : sample + 2]) for pointer in (starts, starts_out))
                parts.append(self._on_geometry(pos[rows], data.x[None, rows], pos_out[rows_out])[0])
            return torch.cat(parts)

    def _on_geometry(self, pos: Tensor, x: Tensor, pos_out: Tensor) -> Tensor:
        """Values ``[B, M, out_channels]`` on one geometry, from ``[B, N, C]``."""
        all_points = torch.cat([pos, pos_out])
        low = all_points.amin(0)
        size = (all_points.amax(0) - low).amax().clamp(min=self.extent)
        place, place_out = ((points - low) / size for points in (pos, pos_out))
        axes = [torch.linspace(0, 1, self.nodes, dtype=pos.dtype, device=pos.device)] * self.dimension
        grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)
        by_differences = "donot_use_mm_for_euclid_dist"
        distance = torch.cdist(grid.reshape(-1, self.dimension), place, compute_mode=by_differences).amin(1)
        features = torch.cat([place.expand(len(x), -1, -1), x], -1)
        with _segment_sums():
            values: Tensor = self.network(
                place[None],
                grid[None],
                place_out[None],
                x=features,
                latent_features=distance.reshape(1, *grid.shape[:-1], 1).expand(len(x), *grid.shape[:-1], 1),
            )
        return values


def neuraloperator() -> Any:
    """The models of the package; its import changes Python's warning filters, which are restored.

    Raises:
        ImportError: If it is missing.
    """
    try:
        with warnings.catch_warnings():
            return importlib.import_module("neuralop.models")
    except ImportError as error:
        raise ImportError(
            f"Expected the package neuraloperator, whose GINO this is (got: {error}); pip install 'pitgeo[baselines]'"
        ) from error


@contextmanager
def _segment_sums() -> Iterator[None]:
    """Have torch sum over neighbours: without torch-scatter, the package loops over points in single precision."""
    module: Any = importlib.import_module("neuralop.layers.integral_transform")
    before = module.segment_csr
    module.segment_csr = segment_csr
    try:
        yield
    finally:
        module.segment_csr = before


def segment_csr(src: Tensor, indptr: Tensor, reduction: str, use_scatter: bool = False) -> Tensor:
    """Sums or means over segments of rows, ``[..., n, C]`` -> ``[..., m, C]``, as neuraloperator asks for them.

    Args:
        src: The rows ``[n, C]``, or ``[B, n, C]`` of samples on the same segments.
        indptr: Where segments begin, ``[m + 1]`` or ``[B, m + 1]``.
        reduction: ``"sum"`` or ``"mean"``; both are 0 for an empty segment.
        use_scatter: Not used.
    """
    pointer = indptr.reshape(-1, indptr.shape[-1])[0]
    rows = src.movedim(-2, 0)
    flat = rows.reshape(len(rows), -1)
    sums = torch.segment_reduce(flat, "sum", offsets=pointer, axis=0, unsafe=True)
    if reduction == "mean":
        sums = sums / pointer.diff().clamp(min=1).unsqueeze(1)
    return sums.reshape(len(pointer) - 1, *rows.shape[1:]).movedim(0, -2)


def _to_single(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return (inputs[0].float(), *inputs[1:])  # the result has the type of the bias, which is that of the model


def _without_metadata(module: nn.Module, state: dict[str, Any], prefix: str, local: Any) -> None:
    state.pop("_metadata", None)  # arguments of the network, functions included; no weights


class GINOOptions(ModelOptions):
    """Options of ``model.name = "gino"``, see :class:`GINO`; needs the extra ``baselines``.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "gino", "gino": {"modes": 4}}}
        >>> parse_config(tables).model.options.modes
        4
    """

    modes: Count = 8
    width: Count = 32
    layers: Count = 4
    nodes: Count = 32

    @model_validator(mode="after")
    def _check(self) -> GINOOptions:
        check_nodes(self.nodes, self.modes)
        return self

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        return GINO(spec.in_channels, spec.out_channels, spec.dimension, spec.extent, spec.spacing, **self.model_dump())
