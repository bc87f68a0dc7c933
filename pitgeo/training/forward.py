"""From samples in physical units to predictions in physical units: all that happens round the model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor, float64

from pitgeo.data import PointData
from pitgeo.data.frame import apart
from pitgeo.data.reference_quantities import sizes_at
from pitgeo.training.output_points import averaged

if TYPE_CHECKING:
    from pitgeo.training.module import OperatorModule


def predicted(
    module: OperatorModule, data: PointData, model: Callable[[PointData], Tensor] | None, rows: Tensor | None
) -> Tensor:
    """Values ``[M, K]``, or ``[B, M, K]`` on a shared mesh, at the output points, see :class:`OperatorModule`.

    Input values are divided by their references, turned into the frame and scaled. The model's output is superposed,
    unscaled, multiplied by its references and turned back; a control is added; numbers of the whole mesh are averaged;
    and targets that follow from others are computed.

    Args:
        module: The model with its scalings.
        data: The samples, transformed.
        model: Another way to apply the model.
        rows: Numbers of the output points to have values at; ``None`` for all.
    """
    frame, response = module.frame, module.response
    if frame is not None and data.x.dim() == 3:  # a shared mesh is turned in another way for each
        parts, numbers = apart(data, rows)
        values = predicted(module, parts, model, numbers)
        return values.reshape(len(data.x), -1, values.shape[-1])
    given_data, base = data, module.base(data, rows)
    data = copy.copy(data)
    grid, is_checked = data.common_grid, not (module.training and data.x.is_cuda)
    given, wanted = sizes_at(module.references, data, rows, is_checked)
    rotations: Sequence[Tensor] = []
    if frame is not None:
        data, rotations = frame.turned(data, is_checked)
    loads = None if response is None else response.loads_of(data, given)
    data.x = module.input_scaling.scale(data.x, grid, data.points("input")[1], given)
    if response is not None:
        data.x = response.without_loads(data.x)
    values = (model or module.model)(data) if rows is None else module.model(data, rows)
    values = values if values.dtype == float64 else values.float()
    if response is not None and loads is not None:
        values = response.superposed(values, loads, data, rows)
    pos, batch = data.points("output")
    some = None if rows is None else (rows, len(pos))
    if data.get("window") is None:  # else they are not scaled, see OperatorModule
        values = module.target_scaling.unscale(values, grid, batch, some, wanted)
    if frame is not None:
        values = frame.targets(values, data, rows, [rotation.T for rotation in rotations])
    if base is not None:
        values = base + (values if module.training else module.share * values)
    if len(module.sizes):
        values = averaged(values, data, len(module.sizes), rows)
    return values if response is None else response.completed(values, given_data, rows)
