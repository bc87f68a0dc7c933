"""What happens to samples before their fields are scaled: they are turned, and divided by reference quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch import Tensor

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.data.symmetries import Symmetries, Turned
from pitgeo.data.transforms import AttentionGraphs, LatentMesh, UnitBox
from pitgeo.training.metadata import weights_of


@dataclass(frozen=True)
class BeforeScaling:
    """What happens to samples before their fields are scaled.

    Args:
        references: What fields are divided by; ``None`` for nothing.
        symmetries: What training samples are turned by; ``None`` for nothing.
    """

    references: ReferenceQuantities | None
    symmetries: Symmetries | None

    def values(self, sample: PointData, key: Literal["x", "y"]) -> Tensor:
        """Input values or targets, divided by their references."""
        return cast(Tensor, sample[key]) if self.references is None else self.references.divided(sample, key)

    def turned(self, key: Literal["x", "y"]) -> tuple[Turned, ...]:
        """The fields that are turned."""
        both = None if self.symmetries is None else {"x": self.symmetries.inputs, "y": self.symmetries.targets}
        return () if both is None else both[key]

    def moments(self, fields: Sequence[Turned], mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance over all turned samples."""
        return (mean, variance) if self.symmetries is None else self.symmetries.moments(mean, variance, fields)


def before_scaling(config: RunConfig, table: FieldTable, is_of_files: bool = True) -> BeforeScaling:
    """Reference quantities and symmetries of a configuration; names are checked, but no values of samples.

    Args:
        config: The run.
        table: Inputs and targets.
        is_of_files: Whether samples come from mesh files, whose fields the table knows.

    Raises:
        ValueError: If a name is not known, or samples, scalings or the model do not go with turned samples.
    """
    training = config.training
    references = ReferenceQuantities.of(config.scaling.reference, table)
    weights_of(training, {"table": table.plain()})
    if not training.augment:
        return BeforeScaling(references, None)
    if not is_of_files:
        raise ValueError(
            f"Expected data of mesh files for training.augment (got data.name = {config.data.name!r}); leave it out"
        )
    symmetries = Symmetries(training.augment, table, training.augment_as)
    if what := _obstacle(config, config.model.options, symmetries, table, references):
        raise ValueError(f"Expected {what} with training.augment; change that, or leave training.augment out")
    return BeforeScaling(references, symmetries)


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
