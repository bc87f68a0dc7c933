"""The base class of model options: a model is built from its options and a description of the data."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from pitgeo.data.transforms import Compose

Quantile = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Options(BaseModel):
    """Frozen options that refuse unknown keys."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class DataSpec:
    """What a model must know of the data it is built for.

    Args:
        in_channels: Coordinates and values of an input point together.
        out_channels: Values of an output point.
        dimension: Axes of the positions.
        spacing: Distance between neighbouring input points.
        extent: Size of the meshes.
        latent_spacing: Distance between neighbouring latent points; ``None`` for that of the input points.
        steps: How often the model is applied, each time to its own last predictions among others.
        points: Input points of a sample, where all samples have as many; else ``None``.
        is_shared: Whether all samples have the same input points, held once.

    Raises:
        ValueError: If the extent is not positive: in no sample is there a length to build a model by.
    """

    in_channels: int
    out_channels: int
    dimension: int
    spacing: float
    extent: float
    latent_spacing: float | None = None
    steps: int = 1
    points: int | None = None
    is_shared: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.extent < float("inf"):
            raise ValueError(
                f"Expected meshes with at least two different points, so that lengths can be told "
                f"(got an extent of {self.extent:g}: all points of every mesh coincide, or are not finite); see to "
                f"their positions"
            )


class ModelOptions(Options):
    """Options of a model; a name in :data:`MODELS` stands for a class of this kind.

    ``is_closed`` marks a model that is fitted in closed form by its ``fit_closed(samples)``, without epochs.
    """

    is_closed: ClassVar[bool] = False

    def transform(self) -> Compose:
        """The transform of samples for this model; none by default."""
        return Compose()

    @abstractmethod
    def build(self, spec: DataSpec) -> nn.Module:
        """A new model: called with a :class:`~pitgeo.data.PointData` or a batch, it gives values ``[M, K]``."""

    def control(self, spec: DataSpec) -> nn.Module | None:
        """The predictor that the model corrects, fitted by its ``fit_closed(samples)``; ``None`` for none."""
        return None
