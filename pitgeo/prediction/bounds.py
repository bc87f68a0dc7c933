"""Bounds of the errors of predictions, calibrated on held-out samples by conformal methods."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields import FieldTable
from pitgeo.measures.conformal import condensed, conformal_factor, least_samples
from pitgeo.measures.reference import Reference
from pitgeo.mesh import Mesh
from pitgeo.system.atomic_files import write_atomic
from pitgeo.training.checkpoint_io import AtomicCheckpointIO, read_checkpoint

Values = NDArray[Any]
Targets = Mapping[str, Values]
"""Values of every target ``[..., n, components]`` by its name."""

LEVELS = (80, 90, 95)
"""Shares of the points within a bound, in percent."""
FLOOR = 0.1
"""Least size of a prediction that the bound of one model goes with, as a share of the typical size in training."""
SPREAD_FLOOR = 1e-3
"""The same of the spread of an ensemble, whose members agree by chance at some points."""
STORED = "calibrated_bounds"
"""The key of the bounds in the metadata of a checkpoint and in an ``ensemble.json``."""
PEAK = "peak:"
"""What the names of peaks begin with."""


@dataclass(frozen=True)
class Bounds:
    r"""Bounds :math:`b \ge 0` of the absolute errors of predictions.

    The bound at a point is a factor times a width. For an ensemble, the width is its calibrated spread there; for one
    model, the size of the prediction on the mesh, channel by channel,

    .. math::
        w_k = \sqrt{\frac{1}{N} \sum_i \hat{y}_{ik}^2 + (0.1\, t_k)^2},

    where :math:`t_k` is the root mean square of the channel over the training set; a thousandth of it is added to a
    spread in the same way, since members may agree by chance. So a mesh with ten times the load
    has ten times the bound. The bound of a peak, the largest value (of a vector: length), is a factor times
    :math:`\sqrt{\hat{p}^2 + (0.1\, t)^2}`. The factors are those of
    :func:`~pitgeo.measures.conformal.conformal_factor`.

    Args:
        typical: :math:`t_k` of every target channel.
        factors: For every target channel, and for ``"peak:<target>"``, a factor for each of :data:`LEVELS`; ``None``
            where there were too few samples.
        samples: How many samples each was calibrated on.
        source: Where these came from.
        has_spread: Whether widths are spreads.
    """

    typical: tuple[float, ...]
    factors: Mapping[str, tuple[float | None, ...]]
    samples: Mapping[str, int]
    source: str
    has_spread: bool = False

    def of(self, table: FieldTable, prediction: Targets, spread: Targets | None, level: int) -> dict[str, Values]:
        """The bounds of predictions, by the names of targets and ``"peak:<target>"``; without those not known.

        Args:
            table: Inputs and targets.
            prediction: Predicted values.
            spread: The calibrated spread of an ensemble; ``None`` for one model.
            level: One of :data:`LEVELS`.

        Raises:
            ValueError: If there is no such level.
        """
        if level not in LEVELS:
            raise ValueError(f"Expected a level of {', '.join(map(str, LEVELS))} percent (got {level})")
        place = LEVELS.index(level)
        own = widths(table, prediction, spread if self.has_spread else None, self.typical)
        labels = {target.name: target.labels for target in table.targets}
        found = {}
        for name, width in own.items():
            factors = [self.factors[label][place] for label in labels.get(name, (name,)) if label in self.factors]
            if len(factors) == len(labels.get(name, (name,))) and None not in factors:
                found[name] = width * np.array(factors, np.float64)
        return found

    def add(self, mesh: Mesh, table: FieldTable, prediction: Targets, spread: Targets | None, level: int) -> Mesh:
        """A copy of a mesh with ``<target>_bound`` and ``<target>_peak_bound``; see :meth:`of`."""
        found = self.of(table, prediction, spread, level)
        mesh = table.add(mesh, found, "_bound")
        for name in (name for name in found if name.startswith(PEAK)):
            mesh = mesh.with_field_data(f"{name[len(PEAK) :]}_peak_bound", found[name].reshape(1), "replace")
        return mesh

    def scores(self, table: FieldTable) -> Scores:
        """An empty collection of errors relative to the widths of these bounds."""
        return Scores(table, self.typical, self.has_spread)

    def lacking(self, level: int) -> str:
        """A sentence if there are too few samples for a level; else empty."""
        few = min(self.samples.values(), default=0)
        if few >= least_samples(level):
            return ""
        return (
            f"no bounds of {level}%: calibrated on {few} held-out samples, and it takes at least {least_samples(level)}"
        )

    def plain(self) -> dict[str, Any]:
        """Plain numbers and lists, for a checkpoint or a JSON file."""
        return {
            "typical": list(self.typical),
            "levels": list(LEVELS),
            "factors": {name: list(factors) for name, factors in self.factors.items()},
            "samples": dict(self.samples),
            "source": self.source,
            "has_spread": self.has_spread,
        }

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> Bounds:
        """The bounds from the result of :meth:`plain`.

        Raises:
            ValueError: If something is missing, or factors are not numbers of these levels.
        """
        try:
            levels = [int(level) for level in plain["levels"]]
            factors = {
                str(name): tuple(
                    None if (value := row[levels.index(level)]) is None else float(value) for level in LEVELS
                )
                for name, row in plain["factors"].items()
            }
            typical = tuple(float(size) for size in plain["typical"])
            samples = {str(name): int(count) for name, count in plain["samples"].items()}
            numbers = [*typical, *(value for row in factors.values() for value in row if value is not None)]
            if not all(math.isfinite(number) and number >= 0 for number in numbers):
                raise ValueError("a number is negative or not finite")
            return cls(typical, factors, samples, str(plain["source"]), bool(plain["has_spread"]))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"something is missing, {error}") from error


@dataclass
class Scores:
    """Errors of predictions on samples with the truth, divided by the widths of their bounds.

    Args:
        table: Inputs and targets.
        typical: Typical size of every target channel, see :func:`typical_sizes`.
        has_spread: Whether widths are spreads.
        rows: The scores of every sample by the label of the channel or ``"peak:<target>"``.
    """

    table: FieldTable
    typical: tuple[float, ...]
    has_spread: bool = False
    rows: dict[str, list[Values]] = field(default_factory=dict)

    def add(self, prediction: Targets, truth: Targets, spread: Targets | None = None) -> None:
        """Add the errors of a sample, for those targets whose truth is given."""
        given = {name: values for name, values in prediction.items() if name in truth and len(truth[name])}
        own = widths(self.table, given, spread if self.has_spread else None, self.typical)
        for target in self.table.targets:
            if target.name not in given:
                continue
            true, predicted = (np.asarray(part[target.name], np.float64) for part in (truth, given))
            scores = _ratio(np.abs(predicted - true), own[target.name])
            for label, column in zip(target.labels, scores.T, strict=True):
                self.rows.setdefault(label, []).append(condensed(column))
            if (name := f"{PEAK}{target.name}") in own:
                error = np.abs(_peak(predicted) - _peak(true))
                self.rows.setdefault(name, []).append(_ratio(error, own[name]).reshape(1))

    def bounds(self, source: str) -> Bounds:
        """The bounds that are calibrated on these samples."""
        factors = {name: tuple(conformal_factor(rows, level) for level in LEVELS) for name, rows in self.rows.items()}
        finite = {
            name: tuple(None if value is None or not math.isfinite(value) else value for value in row)
            for name, row in factors.items()
        }
        counts = {name: len(rows) for name, rows in self.rows.items()}
        return Bounds(self.typical, finite, counts, source, self.has_spread)

    def report(self, bounds: Bounds) -> dict[str, Any]:
        """What an evaluation says of bounds: how they were calibrated, and the shares within them on these samples."""
        return {
            "levels": list(LEVELS),
            "within": self.coverage(bounds),
            "factors": {name: list(factors) for name, factors in bounds.factors.items()},
            "calibrated_on": bounds.source,
            "lacking": [text for level in LEVELS if (text := bounds.lacking(level))],
        }

    def coverage(self, bounds: Bounds) -> dict[str, list[float | None]]:
        """The share of the points within the bounds for each of :data:`LEVELS`, the mean over the samples."""
        return {
            name: [
                None if factor is None else float(np.mean([(row <= factor).mean() for row in rows]))
                for factor in bounds.factors[name]
            ]
            for name, rows in self.rows.items()
            if name in bounds.factors
        }


def store_bounds(path: Path, bounds: Bounds) -> None:
    """Write bounds into a checkpoint or an ``ensemble.json``, which is replaced whole or not at all."""
    if path.suffix.lower() == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        content[STORED] = bounds.plain()
        write_atomic(path, (json.dumps(content, indent=2) + "\n").encode())
        return
    checkpoint = read_checkpoint(path)
    checkpoint["pitgeo"][STORED] = bounds.plain()
    AtomicCheckpointIO().save_checkpoint(checkpoint, path)


def stored_bounds(plain: Mapping[str, Any] | None, path: Path) -> Bounds | None:
    """The bounds that a file holds, if any.

    Raises:
        ValueError: If they are damaged.
    """
    try:
        return None if plain is None else Bounds.parse(plain)
    except ValueError as error:
        raise ValueError(
            f"Expected the bounds in {path} as pitgeo writes them (got: {error}); calibrate them again, or train again"
        ) from error


def typical_sizes(reference: Reference) -> tuple[float, ...]:
    """The root mean square of every target channel over the training set."""
    return tuple(math.hypot(*pair) for pair in zip(reference.mean, reference.variation, strict=True))


def widths(
    table: FieldTable, prediction: Targets, spread: Targets | None, typical: Sequence[float]
) -> dict[str, Values]:
    """The widths of bounds with the factor 1, by target, and of the peaks of fields; see :class:`Bounds`."""
    found: dict[str, Values] = {}
    start = 0
    for target in table.targets:
        floor = np.array(typical[start : start + target.channels])
        start += target.channels
        if target.name not in prediction:
            continue
        values = np.asarray(prediction[target.name], np.float64)
        if spread is None:
            size = np.sqrt(np.square(values).mean(-2, keepdims=True))
            found[target.name] = np.hypot(size, FLOOR * floor) + np.zeros_like(values)
        else:
            found[target.name] = np.hypot(np.asarray(spread[target.name], np.float64), SPREAD_FLOOR * floor)
        if target.place != "mesh":
            size = np.hypot(_peak(values), FLOOR * float(np.linalg.norm(floor)))
            found[f"{PEAK}{target.name}"] = size[..., None, None]
    return found


def by_target(table: FieldTable, values: Values, known: NDArray[np.bool_] | None = None) -> dict[str, Values]:
    """Values ``[M, K]`` at the output points by target, ``[n, components]``, where they are known; numbers once."""
    found, start = {}, 0
    for target in table.targets:
        part = slice(start, start + target.channels)
        start += target.channels
        rows = np.arange(len(values)) if known is None else np.flatnonzero(known[:, part].all(1))
        found[target.name] = values[rows[:1] if target.place == "mesh" else rows, part]
    return found


def _peak(values: Values) -> Values:
    """The largest value, or length of a vector, over the points."""
    sizes = values[..., 0] if values.shape[-1] == 1 else np.linalg.norm(values, axis=-1)
    largest: Values = sizes.max(-1)
    return largest


def _ratio(errors: Values, width: Values) -> Values:
    """Errors divided by widths; an error of zero counts as 0, other errors without a width as infinite."""
    errors, width = np.broadcast_arrays(errors, np.reshape(width, np.shape(errors)))
    with np.errstate(divide="ignore"):
        return np.where(errors > 0, errors / np.where(errors > 0, width, 1.0), 0.0)
