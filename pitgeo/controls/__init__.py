"""Simple predictors that a network has to beat, fitted to the training samples in seconds."""

from pitgeo.controls.choice import controls_for
from pitgeo.controls.control import Control
from pitgeo.controls.local import LocalRegression
from pitgeo.controls.pod import POD, PODMap
from pitgeo.controls.simple import MeanField, NearestCase, Persistence
from pitgeo.controls.training_set import TrainingSet

__all__ = [
    "POD",
    "Control",
    "LocalRegression",
    "MeanField",
    "NearestCase",
    "PODMap",
    "Persistence",
    "TrainingSet",
    "controls_for",
]
