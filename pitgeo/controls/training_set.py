"""The training samples that controls are fitted to, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pitgeo.controls.inputs import number_channels
from pitgeo.data import PointData
from pitgeo.datasets.shared_mesh import SharedMesh

MOST_VALUES = 10_000_000
"""Input and target values together that controls are fitted to at most."""
MOST_SAMPLES = 400
LEAST_SAMPLES = 10


@dataclass(frozen=True)
class TrainingSet:
    """Raw training samples, evenly chosen where all would take too long.

    Args:
        samples: Those that were chosen.
        total: How many there are in all.
        is_shared: Whether all have the same points.
        state: How many of the last input values, the targets at the last step, become those of the next; 0 without
            steps.
        horizon: Steps that the targets hold one after another, of benchmarks that are rolled out; else 1.

    Example:
        >>> import torch
        >>> samples = [PointData(pos=torch.rand(n, 2), y=torch.rand(n, 1)) for n in (3, 4)]
        >>> training = TrainingSet.choose(samples)
        >>> training.total, training.is_shared
        (2, False)
    """

    samples: tuple[PointData, ...]
    total: int
    is_shared: bool
    state: int = 0
    horizon: int = 1

    @classmethod
    def choose(cls, samples: Sequence[PointData], is_series: bool = False, horizon: int = 1) -> TrainingSet:
        """The training set of a run.

        Args:
            samples: All training samples, in physical units.
            is_series: Whether samples are steps of time series.
            horizon: Steps that the targets hold.

        Raises:
            ValueError: If there is no sample.
        """
        if len(samples) == 0:
            raise ValueError("Expected training samples to fit controls to (got none)")
        first = samples[0]
        size = first.x.numel() + first.y.numel()
        most = min(MOST_SAMPLES, max(LEAST_SAMPLES, MOST_VALUES // size))
        count = min(len(samples), most)
        numbers = [number * len(samples) // count for number in range(count)]
        chosen = tuple(samples[number] for number in numbers)
        is_shared = isinstance(samples, SharedMesh) or all(same_points(first, sample) for sample in chosen)
        return cls(chosen, len(samples), is_shared, first.y.shape[1] if is_series else 0, horizon)

    def half(self) -> TrainingSet:
        """Every other one of the samples."""
        return replace(self, samples=self.samples[::2])

    @property
    def note(self) -> str:
        """How many samples were taken, where these are not all."""
        return "" if len(self.samples) == self.total else f"fitted to {len(self.samples)} of {self.total} samples"

    @property
    def x(self) -> Tensor:
        """Input values ``[S, N, C]`` of samples that share their points."""
        return torch.stack([sample.x for sample in self.samples])

    def y(self) -> Tensor:
        """Targets ``[S, M, K]`` of samples that share their points; of a series, what they change by."""
        return torch.stack([change(sample, self.state) for sample in self.samples])

    @property
    def number_channels(self) -> Tensor:
        """Which input channels are numbers of the whole mesh, ``[C]``, of samples that share their points."""
        return number_channels(self.x)[0]

    @property
    def differing_channels(self) -> Tensor:
        """Which input channels are not the same in all samples, ``[C]``, of samples that share their points."""
        found = torch.zeros(self.samples[0].x.shape[1], dtype=torch.bool)
        for sample in self.samples[1:]:
            found |= (sample.x != self.samples[0].x).any(0)
        return found


def change(sample: PointData, state: int) -> Tensor:
    """The targets of a sample, less the state that it starts from where it is a step of a series."""
    target: Tensor = sample.y
    return target - sample.x[:, -state:] if state else target


def same_points(first: PointData, second: PointData) -> bool:
    """Whether two samples have the same input and output points."""
    pairs = [(first.points(kind)[0], second.points(kind)[0]) for kind in ("input", "output")]
    return all(a.shape == b.shape and torch.equal(a, b) for a, b in pairs)
