"""What training samples are turned by, and refusals where they cannot be."""

from __future__ import annotations

from typing import Any

from pitgeo.config.config import RunConfig
from pitgeo.data.fields import FieldTable
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.data.samples import Samples
from pitgeo.data.symmetries import Symmetries
from pitgeo.data.transforms import AttentionGraphs, LatentMesh, UnitBox


def symmetries_of(
    config: RunConfig, samples: Samples, table: FieldTable, references: ReferenceQuantities | None
) -> Symmetries | None:
    """The symmetries of ``training.augment``; ``None`` without any.

    Raises:
        ValueError: If samples, scalings or the model do not go with turned samples; the message says what does not.
    """
    training, options = config.training, config.model.options
    if not training.augment:
        return None
    if samples.table is None:
        raise ValueError(
            f"Expected data of mesh files for training.augment (got data.name = {config.data.name!r}); leave it out"
        )
    symmetries = Symmetries(training.augment, table, training.augment_as)
    if what := _obstacle(config, options, symmetries, table, references):
        raise ValueError(f"Expected {what} with training.augment; change that, or leave training.augment out")
    return symmetries


def _obstacle(
    config: RunConfig,
    options: Any,
    symmetries: Symmetries,
    table: FieldTable,
    references: ReferenceQuantities | None,
) -> str:
    """What would have to be otherwise; empty if nothing."""
    if (control := getattr(options, "residual_of", "none")) != "none":
        return f"no model that corrects a control (got residual_of = {control!r})"
    if any(getattr(options, "period", ())):
        return f"no period (got {options.period})"
    for step in options.transform().transforms:
        is_free = isinstance(step, (AttentionGraphs, UnitBox)) or getattr(step, "method", "") in ("input", "farthest")
        if not is_free:
            got = f"latent points by {step.method!r}" if isinstance(step, LatentMesh) else type(step).__name__
            return f"points and graphs that do not depend on the direction (got {got})"
    if "point" in (config.scaling.inputs, config.scaling.targets):
        return "scaling.inputs and scaling.targets of 'none' or 'channel' (got 'point')"
    for fields, turned in ((table.inputs, symmetries.inputs), (table.targets, symmetries.targets)):
        owners = [field.name for field in fields for _ in range(field.channels)]
        names = [owners[field.channels.start] for field in turned]
        if logs := [name for name in names if name in config.scaling.log]:
            return f"no vector or tensor in scaling.log (got {logs[0]!r})"
    for name, formula in {} if references is None else references.formulas.items():
        for part in sorted(formula.names):
            own = {*references.channels[part]} if references is not None else set()
            if any(own < {*range(field.channels.start, field.channels.stop)} for field in symmetries.inputs):
                return f"no component of a vector in scaling.reference.{name} (got {part!r})"
    return ""
