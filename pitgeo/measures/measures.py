"""Errors of predictions: the one place that computes every error that pitgeo reports.

``docs/measures.md`` has the formulas. The names are the same in tables, JSON, CSV and pictures.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.measures.error_sums import ErrorSums, relative_errors, statistic
from pitgeo.measures.quantities import Quantities, QuantityErrors
from pitgeo.measures.reference import Reference, Values

FORMAT = 2
"""Version of errors in JSON; files without it have only relative errors, components relative to their vector."""
NAMES = ("rmse", "mean_absolute", "largest_absolute", "r2", "relative_l1", "relative_l2", "variation_l2")
"""Errors of a field, in the order of tables; ``peak`` comes after them."""
PEAK = ("truth", "prediction", "error", "distance")
ONE_A_SAMPLE = "one number a sample"
NO_REFERENCE = "no mean of the training set was given"


class Measures:
    """Errors of predictions, collected sample by sample.

    Only sums are kept, in float64. A target that a sample does not hold is left out for this sample.

    Args:
        table: The targets with their channels; vectors are measured as a whole and by component.
        reference: Mean of every channel on the training set; without it, errors relative to it are not defined.
        why: The reason if there is no reference.
        quantities: Names of quantities, whose numbers :attr:`quantities` collects.

    Example:
        >>> from pitgeo.data.fields import FieldTable, MeshField
        >>> measures = Measures(FieldTable((), (MeshField("heat"),), 1), Reference((2.0,), (1.0,)))
        >>> measures.add("bar.vtu", np.array([[1.0], [5.0]]), np.array([[1.0], [4.0]]), pos=np.array([[0.0], [2.0]]))
        >>> found = measures.result()["heat"]
        >>> [round(found[name]["pooled"], 4) for name in ("rmse", "r2", "relative_l2", "variation_l2")]
        [0.7071, 0.875, 0.1961, 0.3162]
        >>> found["peak"]["error"]["pooled"], found["peak"]["distance"]["pooled"]
        (1.0, 0.0)
    """

    def __init__(
        self,
        table: FieldTable,
        reference: Reference | None,
        why: str = NO_REFERENCE,
        quantities: Sequence[str] = (),
    ) -> None:
        self.table, self.reference, self.why = table, reference, why
        self.quantities = QuantityErrors(Quantities(table, quantities))
        self.names: list[str] = []
        self._rows: dict[tuple[int, int, int | None], list[ErrorSums]] = {}
        self._steps = 1

    def add(
        self,
        name: str,
        truth: Tensor | Values,
        prediction: Tensor | Values,
        mask: Tensor | Values | None = None,
        pos: Tensor | Values | None = None,
    ) -> None:
        """Add one sample.

        Args:
            name: Name of the sample.
            truth: True values ``[M, K]``; for a roll-out ``[M, steps * K]``, one step after the other.
            prediction: Predicted values of the same shape.
            mask: True where a value is known, of the same shape; ``None`` for all.
            pos: Positions ``[M, D]``, for the distance between peaks.

        Raises:
            ValueError: If shapes disagree, or a prediction is not finite.
        """
        true, predicted = (torch.as_tensor(values) for values in (truth, prediction))
        known = torch.ones(true.shape, dtype=torch.bool) if mask is None else torch.as_tensor(mask)
        channels = len(self.table.target_labels)
        if true.dim() != 2 or true.shape[1] % channels or true.shape != predicted.shape or true.shape != known.shape:
            raise ValueError(
                f"Expected truth, prediction and mask of {name} to have one shape [M, {channels}], or several steps of "
                f"it (got {list(true.shape)}, {list(predicted.shape)} and {list(known.shape)})"
            )
        predicted, true = (torch.where(known, values, 0.0) for values in (predicted, true))
        if not bool(torch.isfinite(predicted).all()):
            raise ValueError(f"Expected finite predictions (got NaN or infinity in {name})")
        points = None if pos is None else np.asarray(pos, np.float64)
        self.names.append(name)
        steps = true.shape[1] // channels
        self._steps = max(self._steps, steps)
        errors, arrays = relative_errors(predicted, true), [part.double().numpy() for part in (true, predicted)]
        for step in range(steps):
            start = step * channels
            for position, field in enumerate(self.table.targets):
                columns = slice(start, start + field.channels)
                rows = known[:, columns].all(1).numpy().nonzero()[0]
                if len(rows):
                    rows = rows[:1] if field.place == "mesh" else rows
                    row_pos = None if points is None else points[rows]
                    values = [array[rows, columns] for array in arrays]
                    self._add((step, position), values, errors[:, columns], row_pos)
                start += field.channels

    def _add(self, target: tuple[int, int], values: Sequence[Values], errors: Values, pos: Values | None) -> None:
        """Add one target of the last sample, ``[n, components]``, and each of its components."""
        number, count, fields = len(self.names) - 1, errors.shape[1], self.table.targets
        channel = sum(field.channels for field in fields[: target[1]])
        mean = np.full(count, np.nan)
        if self.reference is not None:
            mean = np.array(self.reference.mean[channel : channel + count])
        has_peak = fields[target[1]].place != "mesh"
        for component in (None, *range(count if count > 1 else 0)):
            part = slice(None) if component is None else slice(component, component + 1)
            known = None if component is None and count > 1 else tuple(errors[:, component or 0].tolist())
            row = ErrorSums.of(number, values[0][:, part], values[1][:, part], mean[part], known, pos, has_peak)
            self._rows.setdefault((*target, component), []).append(row)

    def result(self) -> dict[str, dict[str, Any]]:
        """All errors by target; for a roll-out by step; for a vector also those of its ``components``.

        Each has the mean over samples, quartiles and extremes, and the value ``pooled`` over all points. A number that
        is not defined is ``None``, and ``reason`` says why. A target that no sample holds is missing.
        """
        entries: dict[str, dict[str, Any]] = {}
        for step in range(self._steps):
            end = self._end(step)
            for position, field in enumerate(self.table.targets):
                if (step, position, None) not in self._rows:
                    continue
                entry = self._entry(field, self._rows[step, position, None])
                if field.channels > 1:
                    entry["components"] = {
                        f"{label}{end}": self._entry(field, self._rows[step, position, component])
                        for component, label in enumerate(field.labels)
                    }
                entries[f"{field.name}{end}"] = entry
        return entries

    def of_sample(self, number: int, channel: int) -> tuple[float | None, float]:
        """Relative l2 and root mean square error of one sample and channel.

        Raises:
            KeyError: If the sample does not hold the channel.
        """
        step, channel = divmod(channel, len(self.table.target_labels))
        owners = [(at, part) for at, field in enumerate(self.table.targets) for part in range(field.channels)]
        position, component = owners[channel]
        field = self.table.targets[position]
        rows = self._rows[step, position, None if field.channels == 1 else component]
        row = next((row for row in rows if row.sample == number), None)
        if row is None:
            raise KeyError(f"{self.names[number]} does not hold {field.labels[component]!r}")
        return row.relative_l2, row.rmse

    def cases(self) -> list[dict[str, Any]]:
        """The errors of every single sample, by target; ``None`` where not defined."""
        cases: list[dict[str, Any]] = [{"name": name, "errors": {}} for name in self.names]
        for (step, position, component), rows in self._rows.items():
            field = self.table.targets[position]
            label = field.name if component is None else field.labels[component]
            for row in rows:
                errors = {name: getattr(row, name) for name in NAMES}
                cases[row.sample]["errors"][f"{label}{self._end(step)}"] = errors
        return cases

    def peaks(self) -> dict[str, tuple[Values, Values]]:
        """The largest true and predicted values of every sample, by ``"peak:<target>"``; of a vector, of its length."""
        found = {}
        for (step, position, component), rows in self._rows.items():
            peaks = [row.peak for row in rows if row.peak is not None]
            if component is None and peaks:
                name = f"peak:{self.table.targets[position].name}{self._end(step)}"
                found[name] = np.array([peak.truth for peak in peaks]), np.array([peak.prediction for peak in peaks])
        return found

    def _end(self, step: int) -> str:
        """The ending of names for a step of a roll-out."""
        return f", step {step + 1}" if self._steps > 1 else ""

    def order(self) -> Values:
        """An error of every sample that is always defined: the mean of the relative l2 errors of its targets.

        For numbers of the whole mesh, and fields that are zero everywhere, the error is relative to the root mean
        square over all samples, if that is larger than the target itself.
        """
        total, count = np.zeros(len(self.names)), np.zeros(len(self.names))
        for (_, position, component), rows in self._rows.items():
            if component is not None:
                continue
            whole = ErrorSums.together(rows)
            typical = math.sqrt(whole.norm / whole.count) or 1.0
            for row in rows:
                error = row.relative_l2
                if error is None or self.table.targets[position].place == "mesh":
                    error = row.rmse / max(math.sqrt(row.norm / row.count), typical)
                total[row.sample] += error
                count[row.sample] += 1
        return total / np.maximum(count, 1)

    def _entry(self, field: MeshField, rows: Sequence[ErrorSums]) -> dict[str, Any]:
        """The errors of a target or component."""
        total = ErrorSums.together(rows)
        zero = self._reason("relative_l2", "the truth is zero everywhere", rows)
        about = self._reason("variation_l2", "the truth is the mean of the training set everywhere", rows)
        r2 = self._reason("r2", "the truth is the same everywhere", rows)
        is_number = field.place == "mesh"
        reasons = {
            "r2": ONE_A_SAMPLE if is_number and (total.r2 is not None or len(rows) == 1) else r2,
            "relative_l1": zero,
            "relative_l2": zero,
            "variation_l2": self.why if self.reference is None else about,
        }
        entry: dict[str, Any] = {"samples": len(rows)}
        for name in NAMES:
            entry[name] = statistic([getattr(row, name) for row in rows], getattr(total, name), reasons.get(name, ""))
        entry["peak"] = {key: statistic([None], None, ONE_A_SAMPLE) for key in PEAK} if is_number else self._peak(rows)
        return entry

    def _peak(self, rows: Sequence[ErrorSums]) -> dict[str, Any]:
        """The largest value, predicted and true: in every sample, and in all samples together."""
        peaks = [row.peak for row in rows if row.peak is not None]
        true, predicted = (max(peaks, key=operator.attrgetter(key)) for key in ("truth", "prediction"))
        distance, why = true.distance, next((peak.why for peak in peaks if peak.why), "")
        if true is not predicted:
            names = [self.names[rows[peaks.index(peak)].sample] for peak in (true, predicted)]
            distance, why = None, why or f"the largest true value is in {names[0]}, the largest predicted in {names[1]}"
        pooled_error = abs(predicted.prediction - true.truth)
        return {
            "truth": statistic([peak.truth for peak in peaks], true.truth),
            "prediction": statistic([peak.prediction for peak in peaks], predicted.prediction),
            "error": statistic([abs(peak.prediction - peak.truth) for peak in peaks], pooled_error),
            "distance": statistic([peak.distance for peak in peaks], distance, why),
        }

    def _reason(self, key: str, what: str, rows: Sequence[ErrorSums]) -> str:
        """The reason why an error is not defined, with the names of the samples."""
        names = [self.names[row.sample] for row in rows if getattr(row, key) is None]
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"{what} in {names[0]}{others}" if names else what


def measure(
    table: FieldTable,
    truths: Iterable[Tensor | Values],
    predictions: Iterable[Tensor | Values],
    reference: Reference | None = None,
    masks: Iterable[Tensor | Values | None] | None = None,
    positions: Iterable[Tensor | Values | None] | None = None,
    names: Iterable[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Errors of predictions for several samples at once; :class:`Measures` takes one after the other.

    Args:
        table: The targets with their channels.
        truths: True values ``[M, K]`` of every sample.
        predictions: Predicted values.
        reference: Mean of every channel on the training set.
        masks: True where a value is known; ``None`` for all.
        positions: Positions ``[M, D]``, for the distance between peaks.
        names: Names of the samples; ``None`` for their numbers.

    Raises:
        ValueError: If shapes disagree, a prediction is not finite, or there is no sample.

    Example:
        >>> from pitgeo.data.fields import FieldTable, MeshField
        >>> table = FieldTable((), (MeshField("heat"),), 1)
        >>> found = measure(table, [np.array([[3.0], [4.0]])], [np.array([[3.0], [4.5]])])
        >>> found["heat"]["relative_l2"]["mean"]
        0.1
    """
    measures = Measures(table, reference)
    others = (itertools.repeat(None) if part is None else part for part in (masks, positions, names))
    for number, (truth, prediction, mask, pos, name) in enumerate(zip(truths, predictions, *others)):  # noqa: B905
        measures.add(f"sample {number}" if name is None else str(name), truth, prediction, mask, pos)
    if not measures.names:
        raise ValueError("Expected at least one sample to measure errors on (got none)")
    return measures.result()
