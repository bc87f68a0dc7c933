"""Controls that learn next to nothing: the mean field, the nearest training case, and no change at all."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pitgeo.controls.control import Control
from pitgeo.controls.places import PlacedField, positions, unit_places
from pitgeo.controls.training_set import TrainingSet, change
from pitgeo.data import PointData

PLACES = 5_000
"""Places that a mean over meshes that differ is taken at, at most."""
MESHES = 100
"""Meshes that such a mean is taken over, at most."""


class MeanField(Control):
    """The mean of the training fields, point by point, or at the nearest places where meshes differ.

    Example:
        >>> import torch
        >>> from pitgeo.controls import TrainingSet
        >>> from pitgeo.data import PointData
        >>> points = torch.rand(6, 2)
        >>> samples = [PointData(pos=points, x=torch.full((6, 1), q), y=q * points[:, :1]) for q in (1.0, 2.0, 3.0)]
        >>> training = TrainingSet.choose(samples)
        >>> control = MeanField()
        >>> control.fit(training)
        >>> torch.allclose(control.predict(samples[0]), 2 * points[:, :1])
        True
    """

    name = "the mean training field"

    def fit(self, training: TrainingSet) -> None:
        """Take the mean."""
        samples = training.samples
        self.state, self.placed = training.state, None
        if training.is_shared:
            self.mean = sum(
                (change(s, self.state).double() for s in samples[1:]), change(samples[0], self.state).double()
            )
            self.mean = (self.mean / len(samples)).float()
            return
        if len(samples) > MESHES:
            samples = samples[:: -(-len(samples) // MESHES)]
            self.note = f"the mean over {len(samples)} meshes"
        places = [unit_places(sample)[:: -(-len(sample.y) * len(samples) // PLACES)] for sample in samples]
        together = np.concatenate(places)
        total = torch.zeros(len(together), samples[0].y.shape[1], dtype=torch.float64)
        for sample in samples:
            total += PlacedField.of(sample, change(sample, self.state)).at(together).double()
        self.placed = PlacedField(together, (total / len(samples)).float())

    def predict(self, sample: PointData) -> Tensor:
        """The mean, at the places of the output points; of a series, the state with the mean change."""
        mean = self.mean if self.placed is None else self.placed.at(unit_places(sample))
        return mean + sample.x[:, -self.state :] if self.state else mean


class NearestCase(Control):
    """The field of the training sample whose inputs, and shape where meshes differ, are nearest.

    Example:
        >>> import torch
        >>> from pitgeo.controls import TrainingSet
        >>> from pitgeo.data import PointData
        >>> points = torch.rand(6, 2)
        >>> samples = [PointData(pos=points, x=torch.full((6, 1), q), y=q * points[:, :1]) for q in (1.0, 2.0, 3.0)]
        >>> training = TrainingSet.choose(samples)
        >>> control = NearestCase()
        >>> control.fit(training)
        >>> new = PointData(pos=points, x=torch.full((6, 1), 2.2))
        >>> torch.equal(control.predict(new), samples[1].y)
        True
    """

    name = "the nearest training case"

    def fit(self, training: TrainingSet) -> None:
        """Keep the samples, by what tells them apart."""
        self.samples, self.state, self.is_shared = training.samples, training.state, training.is_shared
        features = torch.stack([self._features(sample) for sample in self.samples])
        self.shift = features.mean(0)
        spread = (features - self.shift).square().mean(0)
        size = self.samples[0].x.shape[1]
        if self.is_shared:  # one scale a channel, whatever its number of points
            spread = spread.unflatten(0, (-1, size)).sum(0).repeat(len(spread) // size)
        self.scale = torch.where(spread > 1e-12 * self.shift.square(), spread, torch.inf).sqrt()
        self.features = (features - self.shift) / self.scale
        if not bool((self.features.amax(0) > self.features.amin(0)).any()):
            raise ValueError("Expected training samples that differ in their inputs or shapes (got none that do)")

    def predict(self, sample: PointData) -> Tensor:
        """The field of the nearest sample, at the nearest places; of a series, the state with the change there."""
        found = (self._features(sample) - self.shift) / self.scale
        near = self.samples[int((self.features - found).square().sum(1).argmin())]
        values = change(near, self.state)
        if not self.is_shared:
            values = PlacedField.of(near, values).at(unit_places(sample))
        return values + sample.x[:, -self.state :] if self.state else values

    def _features(self, sample: PointData) -> Tensor:
        """The input values, point by point; where meshes differ, their means and spreads, and those of the points."""
        if self.is_shared:
            x: Tensor = sample.x
            return x.flatten().float()
        pos = positions(sample, "input")
        unit = torch.from_numpy(unit_places(sample, "input"))
        parts = [pos.amax(0) - pos.amin(0), pos.mean(0), *_moments(unit), *_moments(sample.x.double())]
        return torch.cat(parts).float()


def _moments(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the columns."""
    mean = values.mean(0)
    return mean, (values - mean).square().mean(0).sqrt()


class Persistence(Control):
    """The last known state, unchanged.

    Example:
        >>> import torch
        >>> from pitgeo.controls import TrainingSet
        >>> from pitgeo.data import PointData
        >>> step = PointData(pos=torch.rand(4, 2), x=torch.rand(4, 1), y=torch.rand(4, 1))
        >>> control = Persistence()
        >>> control.fit(TrainingSet.choose([step], is_series=True))
        >>> torch.equal(control.predict(step), step.x)
        True
    """

    name = "persistence (the last state, unchanged)"

    def fit(self, training: TrainingSet) -> None:
        """Note where the state is."""
        if not training.state and training.horizon == 1:
            raise ValueError("Expected time series (got samples without steps)")
        self.state, self.horizon = training.state or 1, training.horizon

    def predict(self, sample: PointData) -> Tensor:
        """The state."""
        state: Tensor = sample.x[:, -self.state :].repeat(1, self.horizon)
        return state
