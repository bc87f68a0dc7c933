"""The sliders and selections of a page: one for every number of the whole mesh that a model takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.numbers import Number, numbers

WIDER = 0.25
"""A slider goes beyond the training range by this share of it."""
STEPS = 200
"""A slider has about so many steps in the training range."""
MOST_CHOICES = 8
SAMPLES_PER_CHOICE = 3
"""A number is chosen from at most so many successive whole values, if training has so many samples for each."""


@dataclass(frozen=True)
class Control:
    """A slider for one number, or a selection from its values.

    Args:
        name: Name of the number; a vector's components are ``"load_x"``.
        trained: Smallest and largest value in training; ``None`` where the checkpoint does not tell, or knows a
            quotient alone.
        choices: The values of a category, or of a count, as 0, 1 and 2; empty for a slider.
        limits: Ends of the slider.
        step: Distance of the slider's values; 0 before a value is included, where the range is not known.
        formula: What the number is divided by before the model takes it.
    """

    name: str
    trained: tuple[float, float] | None
    choices: tuple[float, ...] = ()
    limits: tuple[float, float] = (0.0, 0.0)
    step: float = 0.0
    formula: str = ""

    @property
    def is_fixed(self) -> bool:
        """Whether the number had one value in training: there is nothing to slide along."""
        return not self.choices and self.trained is not None and self.trained[0] == self.trained[1]

    def including(self, value: float) -> Control:
        """The same control, which reaches a value."""
        if self.choices:
            return replace(self, choices=tuple(sorted({*self.choices, value})))
        if self.is_fixed:
            return self
        if self.step == 0:  # the training range is not known
            reach = abs(value) or 1.0
            return replace(self, limits=(value - reach, value + reach), step=_step(2 * reach))
        low, high = self.limits
        down, up = math.floor(value / self.step) * self.step, math.ceil(value / self.step) * self.step
        return replace(self, limits=(low if value >= low else down, high if value <= high else up))

    def plain(self, value: float) -> dict[str, Any]:
        """Plain texts and numbers for the browser, while the number has this value."""
        low, high = self.limits
        trained, span = self.trained or (low, low), (high - low) or 1.0
        return {
            "name": self.name,
            "kind": "choice" if self.choices else "fixed" if self.is_fixed else "slider",
            "choices": [{"title": f"{choice:.4g}", "value": choice} for choice in self.choices],
            "low": low,
            "high": high,
            "step": self.step,
            "left": 100 * (trained[0] - low) / span,
            "width": 100 * (trained[1] - trained[0]) / span,
            "note": self.note(value),
            "outside": self.is_outside(value),
        }

    def note(self, value: float) -> str:
        """Where a value lies relative to the training range, in a few words; empty for a choice of the training."""
        if self.trained is None:
            return "" if self.choices else f"divided by {self.formula}" if self.formula else "training range not known"
        low, high = self.trained
        if low == high:
            return f"always {low:.4g} in training"
        if self.choices and low <= value <= high:
            return ""
        beyond = "below" if value < low else "above" if value > high else ""
        return f"{beyond} {low:.4g} to {high:.4g} of training" if beyond else f"trained on {low:.4g} to {high:.4g}"

    def is_outside(self, value: float) -> bool:
        """Whether a value leaves the training range."""
        return self.trained is not None and not self.trained[0] <= value <= self.trained[1]


def make_controls(
    table: FieldTable, facts: Mapping[str, Any], formulas: Mapping[str, str] | None = None
) -> tuple[Control, ...]:
    """A control for every number of the whole mesh that is an input.

    Args:
        table: Inputs and targets of the model.
        facts: What the checkpoint says about itself.
        formulas: What input fields are divided by, by their names.
    """
    return tuple(_control(number, table, facts, formulas or {}) for number in numbers(table).values())


def _control(number: Number, table: FieldTable, facts: Mapping[str, Any], formulas: Mapping[str, str]) -> Control:
    formula = formulas.get(number.fields[0][0].name, "")
    ranges: Sequence[tuple[float, float]] | None = None if formula else facts.get("ranges")
    trained = None if ranges is None else (float(ranges[number.columns[0]][0]), float(ranges[number.columns[0]][1]))
    kinds = number.fields[0][0].categories
    if kinds is not None:
        return Control(number.name, trained, tuple(float(kind) for kind in kinds))
    if trained is None or trained[0] == trained[1]:
        return Control(number.name, trained, formula=formula)
    if choices := _few(_values(number, table, facts)):
        return Control(number.name, trained, choices)
    step, (low, high) = _step(trained[1] - trained[0]), trained
    margin = WIDER * (high - low)
    least, most = math.floor((low - margin) / step) * step, math.ceil((high + margin) / step) * step
    limits = (low if low >= 0 >= least else least, high if high <= 0 <= most else most)
    return Control(number.name, trained, (), limits, step)  # a thickness stays positive


def _values(number: Number, table: FieldTable, facts: Mapping[str, Any]) -> NDArray[np.float64]:
    """The number in the training samples that the checkpoint describes."""
    stored = (facts.get("descriptors") or {}).get("combination")
    if stored is None:
        return np.zeros(0)
    own, column = number.fields[0][0], number.component
    for field in table.inputs:
        if field == own:
            break
        column += 0 if field.is_geometry else field.stored
    values: NDArray[np.float64] = np.asarray(stored, np.float64)[:, column]  # the means come first
    return values


def _few(values: NDArray[np.float64]) -> tuple[float, ...]:
    """The values of a number, if they are few successive whole numbers: one may want to see others in between."""
    found = np.unique(values)
    is_few = 1 < len(found) <= MOST_CHOICES and len(values) >= SAMPLES_PER_CHOICE * len(found)
    return tuple(found.tolist()) if is_few and np.array_equal(found, np.round(found[0]) + np.arange(len(found))) else ()


def _step(span: float) -> float:
    """A power of ten, or two or five of them, near a part of a range."""
    least = span / STEPS
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least * (1 - 1e-9))
