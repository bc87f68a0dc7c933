"""Refusals of models that cannot do what is asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor


def check_space(predictor: MeshPredictor) -> None:
    """Refuse meshes for a model that was trained on a reference grid.

    Raises:
        ValueError: If it was.
    """
    data = predictor.config.data
    if not data.options.is_in_space:
        raise ValueError(
            f"Expected a model whose positions are those of a mesh file (got {predictor.path}, trained on a reference "
            f"grid, whose points a file does not give); train with data.{data.name}.positions = 'physical'"
        )


def check_states(predictor: MeshPredictor) -> None:
    """Refuse models whose predictions are not functions of a mesh and its numbers alone.

    Raises:
        ValueError: If the model was trained on a reference grid, or on time series.
    """
    check_space(predictor)
    if predictor.is_one_step:
        raise ValueError(
            f"Expected a model of single states to vary the numbers of a mesh (got {predictor.path}, of time series); "
            f"predict files that hold the numbers"
        )
