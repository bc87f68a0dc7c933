"""The table ``[scaling]`` of a configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from pitgeo.config.table import Table
from pitgeo.data.formula import Formula


class ScalingConfig(Table):
    """What is brought to unit size: the positions, the input values, the targets.

    ``"channel"`` has one mean and scale for all points, ``"point"`` one for every point of a mesh that all share.
    ``log`` names the inputs and targets, all positive, whose logarithm is scaled. ``reference`` has formulas of the
    numbers of a mesh, by which inputs and targets are divided before (:mod:`pitgeo.data.reference_quantities`).
    """

    box: Literal["none", "unit"] = "none"
    inputs: Literal["none", "channel", "point"] = "none"
    targets: Literal["none", "channel", "point"] = "channel"
    log: tuple[str, ...] = ()
    reference: dict[str, str] = Field(default_factory=dict)

    @field_validator("reference")
    @classmethod
    def _check(cls, value: dict[str, str]) -> dict[str, str]:
        for text in value.values():
            Formula(text)
        return value
