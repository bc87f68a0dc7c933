"""Options of the Fourier Neural Operators, for data with and without a grid."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from torch import nn

from pitgeo.data.transforms import Compose, GridInterpolation
from pitgeo.models.fno import FNO
from pitgeo.models.interpolated_fno import InterpolatedFNO
from pitgeo.models.model_options import Count, DataSpec, ModelOptions


class FNOOptions(ModelOptions):
    """Options of ``model.name = "fno"``, see :class:`FNO`.

    Without ``cells``, data must lie on a regular grid. With ``cells``, nodes along each axis, values are interpolated
    to a grid over the bounding box of each sample, and back: see :class:`InterpolatedFNO`.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "fno", "fno": {"modes": 6}}}
        >>> parse_config(tables).model.options.modes
        6
    """

    block: ClassVar[Literal["fno", "fno++"]] = "fno"
    modes: Count = 12
    width: Count = 32
    layers: Count = 4
    padding: Annotated[float, Field(ge=0, le=1)] = 0.0
    cells: tuple[Count, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> FNOOptions:
        self.transform()
        if self.cells and self.modes > (most := (min(self.cells) + math.ceil(self.padding * min(self.cells))) // 2):
            raise ValueError(
                f"Expected 'modes' to be at most {most}, half the fewest of 'cells' = {list(self.cells)} and of the "
                f"padding (got {self.modes})"
            )
        return self

    def transform(self) -> Compose:
        """The transform of samples: none, or a grid to interpolate to."""
        return Compose() if self.cells is None else Compose((GridInterpolation(self.cells),))

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model."""
        fno = FNO(
            spec.in_channels + (self.cells is not None),
            spec.out_channels,
            spec.dimension,
            self.modes,
            self.width,
            self.layers,
            self.block,
            self.padding,
        )
        return fno if self.cells is None else InterpolatedFNO(fno, self.cells)


class FNOPlusOptions(FNOOptions):
    """Options of ``model.name = "fno_plus"``: FNO++, as the paper's comparison names it.

    Example:
        >>> from pitgeo.config.config import parse_config
        >>> tables = {"data": {"name": "elasticity"}, "model": {"name": "fno_plus", "fno_plus": {"modes": 6}}}
        >>> parse_config(tables).model.options.modes
        6
    """

    block: ClassVar[Literal["fno", "fno++"]] = "fno++"
