"""From a trained model to fields on meshes and in mesh files: one model, ensembles, exported programs."""

from typing import TYPE_CHECKING

from pitgeo.system.lazy_names import lazy_names

if TYPE_CHECKING:
    from pitgeo.prediction.derivatives import sensitivity
    from pitgeo.prediction.predictor import Predictor, load

__all__ = ["Predictor", "load", "sensitivity"]

__getattr__ = lazy_names(__name__, {"Predictor": "predictor", "load": "predictor", "sensitivity": "derivatives"})
