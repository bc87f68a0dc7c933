"""The control that a network corrects, and the scalings that go with it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.samples import Samples
from pitgeo.data.scaling import Scaling
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.models.registry import DataSpec
from pitgeo.training import OperatorModule
from pitgeo.training.fitted import Fitted
from pitgeo.workflows.fit_scalings import check_held_out, fit_scalings

log = logging.getLogger(__name__)


def fit_before(
    config: RunConfig,
    spec: DataSpec,
    samples: Samples,
    held_out: Samples,
    table: FieldTable,
) -> Fitted:
    """Fit the scalings of a run, and the control that its model corrects.

    Raises:
        ValueError: If the configuration asks for what the samples do not allow; the message names it.
    """
    if config.model.options.is_closed:  # it has scalings of its own
        unscaled = config.scaling.model_copy(update={"inputs": "none", "targets": "none"})
        config = config.model_copy(update={"scaling": unscaled})
    fitted = fit_scalings(config, samples, table)
    check_held_out(config, table, held_out)
    control: Any = config.model.options.control(spec)
    if control is None:
        return fitted
    names = {field.name for field in table.targets}
    wrong = [
        *(["a checkpoint in training.start_from"] if config.training.start_from else []),
        *(["no validation samples"] if config.data.options.counts()[1] == 0 else []),
        *(f"{name!r} in scaling.log" for name in config.scaling.log if name in names),
    ]
    if wrong:
        raise ValueError(
            f"Expected validation samples, no training.start_from, and no target in scaling.log with a network that "
            f"corrects a control (got {', '.join(wrong)}); change that, or set model.{config.model.name}.residual_of = "
            f"'none'"
        )
    control.fit_closed(samples)
    log.info("The network corrects a control, in which training samples were left out in turn")
    residuals = fit_scalings(config, _with_base(control, samples).residuals(), table).targets
    zero = Scaling(0 * residuals.mean, residuals.std, tuple(residuals.grid.tolist()))
    return replace(fitted, targets=zero, control=control)


def with_control(module: OperatorModule, samples: Sequence[PointData]) -> Sequence[PointData]:
    """Training samples with the predictions of a module's control, each of a control fitted without that sample.

    A control that interpolates is exact on the samples it was fitted to. The network learns the residuals of samples
    that were left out, which are like those of new samples. Without a control the samples stay as they are.
    """
    return samples if module.control is None else _with_base(module.control, samples)


def _with_base(control: Any, samples: Sequence[PointData]) -> SharedMesh:
    shared = cast(SharedMesh, samples)
    return shared.with_base(control.left_out(shared))
