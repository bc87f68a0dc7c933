"""Evaluation of trained models: errors, comparison with controls, a verdict, calibration, pictures and a report."""

from typing import TYPE_CHECKING

from pitgeo.system.lazy_names import lazy_names

if TYPE_CHECKING:
    from pitgeo.evaluation.evaluation import evaluate

__all__ = ["evaluate"]

__getattr__ = lazy_names(__name__, {"evaluate": "evaluation"})
