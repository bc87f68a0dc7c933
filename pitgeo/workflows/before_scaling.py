"""What happens to samples before their fields are scaled, and what is known of their targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch import Tensor

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.frame import Frame
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.data.response import Response
from pitgeo.data.symmetries import Symmetries, Turned
from pitgeo.data.transforms import AttentionGraphs, LatentMesh, UnitBox
from pitgeo.training.metadata import frame_of, references_of, response_of, symmetries_of, weights_of


@dataclass(frozen=True)
class BeforeScaling:
    """What happens to samples before their fields are scaled.

    Args:
        references: What fields are divided by; ``None`` for nothing.
        frame: The frame that samples are turned into; ``None`` for none.
        symmetries: What training samples are turned by, in their frame; ``None`` for nothing.
        response: What targets are linear in, or follow from; ``None`` for nothing.
    """

    references: ReferenceQuantities | None
    frame: Frame | None
    symmetries: Symmetries | None
    response: Response | None

    def values(self, sample: PointData, key: Literal["x", "y"]) -> Tensor:
        """Input values or targets, divided by their references, in their frame."""
        values = cast(Tensor, sample[key]) if self.references is None else self.references.divided(sample, key)
        return values if self.frame is None else self.frame.values(values, sample, key)

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
    metadata = {"table": table.plain(), "config": {"scaling": config.scaling.model_dump()}}
    weights_of(training, metadata)
    references, frame, response = references_of(metadata), frame_of(training, metadata), response_of(metadata)
    symmetries = symmetries_of(training, metadata)
    if response is not None:
        _check_response(config, response, references)
    turned = (("scaling.frame", None if frame is None else frame.symmetries), ("training.augment", symmetries))
    for key, own in turned:
        if own is None:
            continue
        if not is_of_files:
            raise ValueError(
                f"Expected data of mesh files for {key} (got data.name = {config.data.name!r}); leave it out"
            )
        if what := _obstacle(config, config.model.options, own, table, references if own is symmetries else None):
            raise ValueError(f"Expected {what} with {key}; change that, or leave {key} out")
    if frame is not None and symmetries is not None:  # what the frame leaves of them
        left = ("turn_x",) if "turn" in symmetries.names and table.dimension == 3 else ()
        symmetries = Symmetries(left, table, training.augment_as)
    return BeforeScaling(references, frame, symmetries, response)


def _check_response(config: RunConfig, response: Response, references: ReferenceQuantities | None) -> None:
    """Raise a ``ValueError`` for what cannot be had together with linear or derived targets."""
    scaling = config.scaling
    key = "scaling.linear_in" if scaling.linear_in else "scaling.derived"
    linear = {*response.load_channels}
    formulas = {} if references is None else references.formulas
    own = set(response.own if linear else ())
    wrong = [
        *(f"{name!r} in scaling.log" for name in scaling.log if name in {*response.formulas} | own),
        *(
            f"{part!r} in scaling.reference.{name}"
            for name, formula in formulas.items()
            for part in sorted(formula.names)
            if references is not None and linear & {*references.channels[part]}
        ),
        *(["scaling.targets = " + repr(scaling.targets)] if linear and scaling.targets != "channel" else []),
        *(["training.start_from"] if config.training.start_from else []),
        *(["a control that is corrected"] if getattr(config.model.options, "residual_of", "none") != "none" else []),
    ]
    if wrong:
        raise ValueError(
            f"Expected scaling.targets = 'channel', no logarithm of targets that are linear or follow from others, no "
            f"reference made of the loads, no training.start_from and no residual_of with {key} (got "
            f"{', '.join(wrong)}); leave it out"
        )


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
