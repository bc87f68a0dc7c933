"""A regression over single points: what place, inputs and shape say, without any neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pitgeo.controls.control import Control
from pitgeo.controls.places import Floats, positions, unit_places
from pitgeo.controls.training_set import TrainingSet, change
from pitgeo.data import PointData
from pitgeo.graphs.trees import kd_tree

ROWS = 40_000
"""Points that the regression is fitted to at most."""
VALUES = 240_000
"""Target values of these points at most, of all channels together."""
CHANNELS = 12
"""Target channels at most; each has a regression of its own."""


class LocalRegression(Control):
    """Gradient-boosted trees from position, place in the box round the mesh, its size, and the input values there.

    Example:
        >>> import torch
        >>> from pitgeo.controls import TrainingSet
        >>> clouds = [torch.rand(200, 2, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
        >>> samples = [PointData(pos=points, x=points[:, :1], y=points[:, :1] ** 2) for points in clouds]
        >>> control = LocalRegression()
        >>> control.fit(TrainingSet.choose(samples[:2]))
        >>> bool((control.predict(samples[2]) - samples[2].y).abs().mean() < 0.05)
        True
    """

    name = "a local regression (boosted trees on place and inputs)"

    def fit(self, training: TrainingSet) -> None:
        """Grow the trees, on some points of all samples.

        Raises:
            ValueError: If there are too many target channels.
        """
        from sklearn.ensemble import HistGradientBoostingRegressor  # which takes long to load

        channels = training.samples[0].y.shape[1]
        if channels > CHANNELS:
            raise ValueError(f"Expected at most {CHANNELS} target channels (got {channels})")
        self.state, self.numbers = training.state, _number_channels(training)
        random = np.random.default_rng(0)
        each = max(1, min(ROWS, VALUES // channels) // len(training.samples))
        rows, targets, masks = [], [], []
        for sample in training.samples:
            chosen = random.permutation(len(sample.y))[:each]
            rows.append(_features(sample, self.numbers)[chosen])
            targets.append(change(sample, self.state).numpy()[chosen])
            mask = sample.get("y_mask")
            masks.append(np.ones_like(targets[-1], bool) if mask is None else mask.numpy()[chosen])
        features, values, known = (np.concatenate(parts) for parts in (rows, targets, masks))
        self.trees = []
        for channel in range(channels):
            is_known = known[:, channel]
            tree = HistGradientBoostingRegressor(max_iter=200, learning_rate=0.1, random_state=0, early_stopping=False)
            self.trees.append(tree.fit(features[is_known], values[is_known, channel]))
        self.note = f"fitted to {len(features):,} points" if len(features) < _points(training) else ""

    def predict(self, sample: PointData) -> Tensor:
        """What the trees say at every output point."""
        features = _features(sample, self.numbers)
        found = torch.from_numpy(np.stack([tree.predict(features) for tree in self.trees], 1)).float()
        return found + sample.x[:, -self.state :] if self.state else found


def _points(training: TrainingSet) -> int:
    return sum(len(sample.y) for sample in training.samples)


def _number_channels(training: TrainingSet) -> list[int]:
    """Channels that hold one number at some points of every sample, and zeros at others."""
    is_number = torch.ones(training.samples[0].x.shape[1], dtype=torch.bool)
    has_zeros = torch.zeros_like(is_number)
    for sample in training.samples:
        x: Tensor = sample.x
        is_number &= ((x == 0) | (x == _own_numbers(x))).all(0)
        has_zeros |= (x == 0).any(0) & (x != 0).any(0)
    return [int(channel) for channel in (is_number & has_zeros).nonzero()[:, 0]]


def _own_numbers(x: Tensor) -> Tensor:
    """The number ``[C]`` that every channel ``[N, C]`` holds where it is not zero."""
    return x.gather(0, x.abs().argmax(0, keepdim=True))[0]


def _features(sample: PointData, numbers: Sequence[int]) -> Floats:
    """What is known at the output points, ``[M, F]``; these channels hold a number, which is known everywhere."""
    pos, box = positions(sample).numpy(), positions(sample, "input")
    unit = unit_places(sample)
    values = sample.x.double().numpy()
    if not sample.coincide("input", "output"):
        values = values[np.asarray(kd_tree(box.numpy()).query(pos)[1], np.int64)]
    size = np.broadcast_to((box.amax(0) - box.amin(0)).numpy(), pos.shape)
    known = np.broadcast_to(_own_numbers(sample.x[:, numbers].double()).numpy(), (len(pos), len(numbers)))
    return np.concatenate([pos, unit, size, values, known], 1)
