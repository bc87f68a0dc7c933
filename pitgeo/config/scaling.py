"""The table ``[scaling]`` of a configuration."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field, field_validator

from pitgeo.config.table import Table
from pitgeo.data.formula import Formula


class ScalingConfig(Table):
    """What is brought to unit size: the positions, the input values, the targets.

    ``"channel"`` has one mean and scale for all points, ``"point"`` one for every point of a mesh that all share.
    ``log`` names the inputs and targets, all positive, whose logarithm is scaled. ``reference`` has formulas of the
    numbers of a mesh, by which inputs and targets are divided before (:mod:`pitgeo.data.reference_quantities`).
    ``frame`` names a vector of every mesh, along which samples are turned (:mod:`pitgeo.data.frame`). ``linear_in``
    names numbers of a mesh that the targets are linear in, and ``derived`` has formulas of targets that follow from
    others (:mod:`pitgeo.data.response`).
    """

    box: Literal["none", "unit"] = "none"
    inputs: Literal["none", "channel", "point"] = "none"
    targets: Literal["none", "channel", "point"] = "channel"
    log: tuple[str, ...] = ()
    reference: dict[str, str] = Field(default_factory=dict)
    frame: str = ""
    linear_in: tuple[str, ...] = ()
    derived: dict[str, str] = Field(default_factory=dict)

    @field_validator("reference", "derived")
    @classmethod
    def _check(cls, value: dict[str, str]) -> dict[str, str]:
        for text in value.values():
            Formula(text)
        return value

    @property
    def transforms(self) -> dict[str, Collection[str]]:
        """What happens to fields beside shifts and scales, by the key that asks for it."""
        frame = (self.frame,) if self.frame else ()
        own = {"reference": self.reference, "frame": frame, "linear_in": self.linear_in, "derived": self.derived}
        return {key: value for key, value in own.items() if value}
