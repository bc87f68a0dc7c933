"""The texts of a page: numbers, and what a probe reads at a point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pitgeo.view.session import Answer, Session, Shown

Floats = NDArray[np.float64]

NONE = "\N{EN DASH}"


def format_number(value: float) -> str:
    """Four digits of a number.

    Example:
        >>> format_number(1234567.0), format_number(0.5), format_number(1000.0)
        ('1.235e+06', '0.5', '1000')
    """
    return f"{value:.4g}"


def entry(name: str, shown: Shown, place: int = 0) -> dict[str, str]:
    """One line of a table: prediction with its bound, truth and error, as far as they are known.

    Args:
        name: What the line begins with.
        shown: The values.
        place: Which of them.
    """

    def text(values: Floats | None) -> str:
        return NONE if values is None else format_number(values[place])

    bound = "" if shown.bound is None else f" \N{PLUS-MINUS SIGN} {text(shown.bound)}"
    return {
        "name": name,
        "prediction": f"{text(shown.prediction)}{bound}",
        "truth": text(shown.truth),
        "error": text(shown.error),
    }


def number_rows(session: Session, answer: Answer, step: int) -> list[dict[str, str]]:
    """A line for every number of the whole mesh, and for the largest value of every field."""
    return [entry(name, shown) for name, shown in session.numbers(answer, step)]


def nearest(session: Session, field: str, position: Floats) -> int:
    """The point, or the cell, whose value a probe reads at a position ``[D]``."""
    return int(np.square(session.positions(field) - position).sum(1).argmin())


def probe_rows(session: Session, answer: Answer, field: str, number: int, step: int) -> dict[str, object]:
    """What a probe reads: where, and a line for every component of a field."""
    place = session.positions(field)[number]
    names = session.components(field)
    kind = session.field(field).place
    return {
        "where": f"{kind} {number} at ({_joined(place)})",
        "rows": [entry(name, session.shown(answer, field, name, step), number) for name in names],
    }


def _joined(values: Sequence[float] | Floats) -> str:
    return ", ".join(format_number(value) for value in values)
