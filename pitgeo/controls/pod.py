"""Proper orthogonal decomposition as a control."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from pitgeo.controls.control import Control
from pitgeo.controls.pod_map import PODMap
from pitgeo.controls.training_set import TrainingSet
from pitgeo.data import PointData

NAMES = {"rbf": "POD with radial basis functions", "gp": "POD with Gaussian processes"}


class POD(Control):
    """Principal components of the fields on one mesh, by an interpolation between the inputs of training samples.

    Where inputs are fields, these are principal components too. Of a series, it is the change of the state.

    Args:
        interpolation: ``"rbf"`` or ``"gp"``.
        has_fields: Whether inputs are fields.
    """

    def __init__(self, interpolation: Literal["rbf", "gp"] = "rbf", has_fields: bool = False) -> None:
        self.interpolation = interpolation
        self.name = "POD of inputs and targets" if has_fields else NAMES[interpolation]

    def fit(self, training: TrainingSet) -> None:
        """Find components and interpolation."""
        self.state = training.state
        self.model = None if training.state or training.horizon > 1 else "pod"
        self.map = PODMap(training.samples[0].x.shape[1], interpolation=self.interpolation)
        self.map.fit(training.x, training.y())

    def predict(self, sample: PointData) -> Tensor:
        """The interpolated field."""
        with torch.no_grad():
            values: Tensor = self.map(sample.x.unsqueeze(0))[0]
        return values + sample.x[:, -self.state :] if self.state else values
