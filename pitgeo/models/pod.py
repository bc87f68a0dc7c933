"""Proper orthogonal decomposition as a model: no network, fitted in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from pitgeo.controls.inputs import FittedModule
from pitgeo.controls.pod import PODMap
from pitgeo.data import PointData
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.models.model_options import Count, DataSpec, ModelOptions

NEAR = 1e-4
"""Largest distance of a point from that of training, as a share of the extent."""


class POD(FittedModule):
    r"""Principal components of the fields on one mesh, interpolated between the inputs of the training samples.

    See :class:`pitgeo.controls.PODMap`. Positions serve only to refuse a mesh other than that of training.

    Args:
        map: From input values to fields.
        extent: Size of the mesh.

    Shapes:
        - **data.x** ``[N, C]``, a batch of samples of ``N`` points included; **output** ``[M, K]``.
        - or **data.x** ``[B, N, C]`` and **output** ``[B, M, K]``.

    Raises:
        ValueError: If it has not been fitted, or the points are not those of training.

    Reference:
        Berkooz, Holmes and Lumley, The proper orthogonal decomposition in the analysis of turbulent flows, 1993.

    Example:
        >>> import torch
        >>> from pitgeo.controls import PODMap
        >>> import numpy as np
        >>> from pitgeo.datasets import Fields, SharedMesh
        >>> place, load = np.linspace(0, 1, 9)[:, None], np.linspace(1, 3, 5).reshape(5, 1, 1)
        >>> x, y = (part.astype(np.float32) for part in (load + 0 * place, load * place))
        >>> samples = SharedMesh(Fields(place, (9,), x, y, np.arange(5)), ("load",), ("heat",))
        >>> model = POD(PODMap(1), extent=1.0)
        >>> _ = model.fit_closed(samples)
        >>> torch.allclose(model(samples[1]), samples[1].y, atol=1e-3)
        True
    """

    pos: Tensor
    pos_out: Tensor

    def __init__(self, map: PODMap, extent: float) -> None:
        super().__init__()
        self.map, self.extent = map, extent
        for name in ("pos", "pos_out"):
            self.register_buffer(name, torch.zeros(0, 0))

    def fit_closed(self, samples: Sequence[PointData]) -> None:
        """Fit the map, and keep the mesh, of training samples.

        Raises:
            ValueError: If the samples do not share a mesh, or their inputs do not distinguish them.
        """
        if not isinstance(samples, SharedMesh):
            raise ValueError(_OTHER_MESHES)
        self.pos, self.pos_out = samples.points.pos.clone(), samples.points.points("output")[0].clone()
        self.map.fit(samples.x, samples.y)

    def left_out(self, samples: SharedMesh) -> Tensor:
        """Predictions ``[S, M, K]`` for the samples of :meth:`fit_closed`, each from all other samples."""
        return self.map.left_out(samples.x, samples.y)

    def forward(self, data: PointData) -> Tensor:
        """Values at the output points."""
        if data.x.dim() == 3:
            self._check(data, 1)
            shared: Tensor = self.map(data.x)
            return shared
        count = data.samples
        self._check(data, count)
        values: Tensor = self.map(data.x.unflatten(0, (count, -1)))
        return values.flatten(0, 1)

    def _check(self, data: PointData, count: int) -> None:
        if not self.map.is_fitted:
            raise ValueError("Expected a POD that was fitted to samples (got a new one); train or load it")
        for kind, trained in (("input", self.pos), ("output", self.pos_out)):
            points = data.points(kind)[0]
            if points.shape == (count * len(trained), trained.shape[1]):
                distance = float((points.unflatten(0, (count, -1)) - trained).abs().max())
                if distance <= NEAR * self.extent:
                    continue
                got = f"points up to {distance:.3g} away"
            else:
                got = f"{len(points)} points of {count} samples, not {len(trained)} each"
            raise ValueError(
                f"Expected the {kind} points of the mesh that the POD was trained on (got {got}); interpolate to "
                f"that mesh, or take a model for meshes that differ, such as 'pit'"
            )


class PODOptions(ModelOptions):
    """Options of ``model.name = "pod"``, see :class:`POD` and :class:`pitgeo.controls.PODMap`.

    It is for samples on one mesh that differ in numbers of the mesh or in fields on it. Options that are not given are
    chosen by cross-validation on the training samples. Epochs and learning rates have no effect.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "pod", "pod": {"rank": 8}}}
        >>> parse_config(tables).model.options.rank
        8
    """

    is_closed: ClassVar[bool] = True

    rank: Count | None = None
    interpolation: Literal["auto", "rbf", "gp"] = "auto"
    log: Literal["auto", "none", "all"] = "auto"

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model, to be fitted.

        Raises:
            ValueError: If samples do not share a mesh, or a model is to be rolled out.
        """
        if not spec.is_shared:
            raise ValueError(_OTHER_MESHES)
        if spec.steps > 1:
            raise ValueError(
                f"Expected data without steps with a POD (got predictions that become inputs, over {spec.steps} "
                f"steps); take another model, such as 'pit'"
            )
        values = spec.in_channels - spec.dimension
        if values == 0:
            raise ValueError(
                "Expected input values with a POD, to tell samples apart (got none); name some among the inputs of the "
                "data"
            )
        return POD(PODMap(values, self.rank, self.interpolation, self.log), spec.extent)


_OTHER_MESHES = (
    "Expected samples on one mesh with a POD, held once (got meshes of their own, a time series, or more data than "
    "data.meshes.memory); interpolate to one mesh, give more memory, or take a model for meshes that differ, such as "
    "'pit'"
)
