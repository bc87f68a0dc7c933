"""Time series on meshes: one-step samples to train on, whole series to test a roll-out on."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_case import MeshCase
from pitgeo.data.fields.mesh_sizes import MeshSizes
from pitgeo.data.samples import Samples, Transform
from pitgeo.datasets.folder.cache import load, open_series
from pitgeo.datasets.folder.numbered import numbered_series
from pitgeo.datasets.folder.reading import Reading
from pitgeo.datasets.folder.samples import MeshSamples
from pitgeo.mesh import Mesh
from pitgeo.mesh.step_numbers import step_range

if TYPE_CHECKING:
    from typing_extensions import Self

log = logging.getLogger(__name__)

Case = tuple[Path, ...]
"""The files of one sample, or of one series: several numbered ones, or one that holds or names all steps."""


def group_series(files: Sequence[Path], series: str) -> dict[Path, Case]:
    """The files of every case, by the first of them.

    Args:
        files: All files.
        series: Empty: every file is a case of its own; ``"file"``: every file holds a series; else a file name with
            ``{step}`` and other names in braces that tell the series apart, ``"{case}_{step}.vtu"``. The step is a
            number, which may have a sign, a decimal point and an exponent.

    Raises:
        ValueError: If the pattern has no ``{step}``, a file does not match it, two are one step, or names can be
            read in two ways, which put files in other series or another order.
    """
    if series in ("", "file"):
        return {path: (path,) for path in files}
    return {steps[0].path: tuple(step.path for step in steps) for steps in numbered_series(files, series)}


def warn_of_steps(readings: Sequence[Reading], series: str) -> None:
    """Log steps of different lengths: a model from one step to the next takes all of them for one length.

    Args:
        readings: The series.
        series: The pattern of numbered files, whose numbers are taken for times, or ``"file"``.
    """
    lengths = step_lengths(readings, series)
    range_ = step_range(np.concatenate(lengths)) if lengths else None
    if range_ is None:
        return
    uneven = [number for number, own in enumerate(lengths) if step_range(own)]
    first = uneven[0] if uneven else next(k for k, own in enumerate(lengths) if step_range([*lengths[0], *own]))
    log.warning(
        "%s: Expected time steps of one length in all series, since a model learns from one step to the next (got "
        "steps from %g to %g%s); leave steps out, or interpolate to equal ones",
        readings[first].path,
        *range_,
        f", different ones within {len(uneven)} of {len(readings)} series" if uneven else " from series to series",
    )


def step_lengths(readings: Sequence[Reading], series: str) -> list[NDArray[np.float64]]:
    """The time from each state to the next, of every series; see :func:`warn_of_steps`."""
    times = [np.array(reading.times) for reading in readings]
    if series != "file":
        found = numbered_series([path for reading in readings for path in reading.case], series)
        numbers = {step.path: step.number for steps in found for step in steps}
        times = [np.array([numbers[path] for path in reading.case]) for reading in readings]
    return [np.diff(own) for own in times]


class SeriesSamples(Samples):
    """Steps of time series: from one state to the next, or from the first to all others.

    Args:
        cases: One sample a series, its input values ending with the state.
        steps: 0 for pairs of states, one after the other; else how many states follow the first of every series.
        time_step: The time from one state to the next.
    """

    keeps_samples = True
    table: FieldTable

    def __init__(self, cases: MeshSamples, steps: int = 0, time_step: float | None = None) -> None:
        self.cases, self.steps, self.time_step = cases, steps, time_step
        self.table = cases.table
        labels, last = self.table.target_labels, max(steps - 1, 0)
        self.targets = labels
        if steps > 1:
            self.targets = tuple(f"{label}, step {step + 1}" for step in range(steps) for label in labels)
        ends = (step * len(labels) + channel for step in (0, last) for channel in range(len(labels)))
        self.drawn = tuple(dict.fromkeys(ends))
        counts = [1 if steps else reading.steps - 1 for reading in cases.readings]
        self.places = [(case, step) for case, count in enumerate(counts) for step in range(count)]
        self._states: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> PointData | Self:
        if isinstance(index, slice):
            result = copy.copy(self)
            result.places = self.places[index]
            return result
        case, step = self.places[self._number(index)]
        states, sample = self._load(case), self.cases[case]
        channels = states.shape[-1]
        sample.x = torch.cat([sample.x[:, : sample.x.shape[1] - channels], states[step]], 1)
        following = states[step + 1 : step + 1 + max(self.steps, 1)]
        sample.y = following.transpose(0, 1).flatten(1)
        return sample

    def with_transform(self, transform: Transform, progress: bool = False) -> Self:
        """The same samples on transformed points."""
        result = copy.copy(self)
        result.cases = self.cases.with_transform(transform, progress)
        return result

    def name(self, index: int) -> str:
        """The file of a sample's series."""
        return self.cases.name(self.places[index][0])

    def mesh(self, index: int) -> Mesh:
        """The mesh of a sample's first state."""
        case, step = self.places[index]
        return open_series(self.cases.readings[case].case).mesh(step)

    def ranges(self) -> list[tuple[float, float]]:
        """Smallest and largest value of every input number of all samples."""
        return self.cases.ranges()

    def typical(self) -> list[float]:
        """Typical size of every target channel: the median over the samples that are not at rest."""
        return self.cases.typical()

    def case(self, index: int) -> MeshCase:
        """The first state of a sample's series as a few numbers, to compare it with others."""
        return self.cases.case(self.places[index][0])

    def mesh_sizes(self) -> MeshSizes:
        """How large and how fine the meshes are, and how long a step is."""
        return replace(self.cases.mesh_sizes(), time_step=self.time_step)

    def _load(self, case: int) -> Tensor:
        if case not in self._states:
            reading: Reading = self.cases.readings[case]
            states = load(reading.cache)["targets"].numpy()
            parts = [self.table.narrow(state, "targets") for state in states]
            if sum(kept.nbytes for kept in self._states.values()) > self.cases.memory:
                self._states.clear()
            self._states[case] = torch.from_numpy(np.stack(parts).astype(np.float32))
        return self._states[case]
