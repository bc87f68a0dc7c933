"""A simple predictor, fitted to training samples alone, that a network is compared with."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pitgeo.controls.training_set import TrainingSet
from pitgeo.data import PointData


class Control(ABC):
    """A simple predictor that a network is compared with.

    A subclass has a ``name``, for messages, and may set ``note``, on what it was fitted to, and ``model``, the name in
    the registry of models that gives the same.

    Example:
        >>> class Zero(Control):
        ...     name = "zero"
        ...     def fit(self, training: TrainingSet) -> None:
        ...         self.channels = training.samples[0].y.shape[1]
        ...     def predict(self, sample: PointData) -> Tensor:
        ...         return sample.pos.new_zeros(len(sample.points("output")[0]), self.channels)
        >>> sample = PointData(pos=torch.rand(4, 2), y=torch.rand(4, 3))
        >>> control = Zero()
        >>> control.fit(TrainingSet.choose([sample]))
        >>> control.predict(sample).shape
        torch.Size([4, 3])
    """

    name: str
    note: str = ""
    model: str | None = None

    @abstractmethod
    def fit(self, training: TrainingSet) -> None:
        """Find what is to be found on the training samples.

        Raises:
            ValueError: If these samples do not allow it.
        """

    @abstractmethod
    def predict(self, sample: PointData) -> Tensor:
        """Values ``[M, K]`` at the output points of a raw sample."""

    def roll_out(self, sample: PointData, steps: int) -> Tensor:
        """States ``[M, steps * K]`` that follow, each from the last one, which is the last of the input values."""
        sample, states = copy.copy(sample), []
        for _ in range(steps):
            state = self.predict(sample)
            states.append(state)
            sample.x = torch.cat([sample.x[:, : -state.shape[1]], state], 1)
        return torch.cat(states, 1)
