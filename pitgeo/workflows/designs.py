"""Values of the numbers that a sweep varies: lists, ranges, all combinations, Latin hypercubes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from pitgeo.system.numbers import finite

MOST = 10_000_000
"""Most predictions of one design: more would not fit in memory."""
FORMS = "'load=0:10:5' (five values from 0 to 10), 'load=0:10' (a range, with a number of samples) or 'load=1,2,5'"


@dataclass(frozen=True)
class Varied:
    """What a number takes.

    Args:
        name: The number.
        values: Its values; empty for a range.
        low: The lower end of a range.
        high: The upper end.
    """

    name: str
    values: tuple[float, ...] = ()
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def parse(cls, text: str) -> Varied:
        """A number and its values, from ``"load=0:10:5"``, ``"load=0:10"`` or ``"load=1,2,5"``.

        Raises:
            ValueError: If the text has another form, a value is not a finite number, or a range is empty.

        Example:
            >>> Varied.parse("load=0:10:5").values
            (0.0, 2.5, 5.0, 7.5, 10.0)
        """
        name, sign, rest = text.partition("=")
        if not name or not sign:
            raise ValueError(f"Expected a number to vary as in {FORMS} (got {text!r})")
        parts = rest.split(":")
        if len(parts) == 1:
            return cls(name, tuple(_number(part, text) for part in rest.split(",")))
        low, high = (_number(part, text) for part in parts[:2])
        if len(parts) > 3 or not low < high:
            raise ValueError(f"Expected a range from a lower to a higher value, as in {FORMS} (got {text!r})")
        if len(parts) == 2:
            return cls(name, (), low, high)
        if not parts[2].isdecimal() or int(parts[2]) < 2:
            raise ValueError(f"Expected at least 2 values in {text!r} (got {parts[2]!r}); as in {FORMS}")
        _check_most(int(parts[2]))
        return cls(name, tuple(np.linspace(low, high, int(parts[2])).tolist()))


def combinations(varied: Sequence[Varied]) -> dict[str, NDArray[np.float64]]:
    """All combinations of the values of some numbers, ``[S]`` for each; the last number varies fastest.

    Raises:
        ValueError: If a number is named twice, or has a range in place of values.

    Example:
        >>> found = combinations([Varied("a", (1.0, 2.0)), Varied("b", (0.0, 5.0))])
        >>> found["a"].tolist(), found["b"].tolist()
        ([1.0, 1.0, 2.0, 2.0], [0.0, 5.0, 0.0, 5.0])
    """
    _check_names(varied)
    for number in varied:
        if not number.values:
            raise ValueError(
                f"Expected values of {number.name!r} (got the range {number.low:g} to {number.high:g}); say how many, "
                f"as in {number.name}={number.low:g}:{number.high:g}:5, or give 'samples' for a Latin hypercube"
            )
    _check_most(math.prod(len(number.values) for number in varied))
    rows = np.array(list(itertools.product(*(number.values for number in varied))), np.float64)
    return {number.name: rows[:, column] for column, number in enumerate(varied)}


def latin_hypercube(varied: Sequence[Varied], samples: int, seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """Samples that fill a box evenly: every range is cut into as many parts as samples, each with one of them.

    Args:
        varied: Numbers with ranges, or with values, each of which is taken equally often.
        samples: How many.
        seed: Of the random numbers.

    Raises:
        ValueError: If a number is named twice, there is no sample, or the seed is negative.

    Source:
        ``scipy.stats.qmc.LatinHypercube``.
    """
    _check_names(varied)
    if samples < 1:
        raise ValueError(f"Expected at least 1 of 'samples' (got {samples})")
    if seed < 0:
        raise ValueError(f"Expected 'seed' to be 0 or more (got {seed})")
    _check_most(samples)
    unit = qmc.LatinHypercube(len(varied), rng=np.random.default_rng(seed)).random(samples)
    return {number.name: _scaled(number, unit[:, column]) for column, number in enumerate(varied)}


def _scaled(number: Varied, unit: NDArray[np.float64]) -> NDArray[np.float64]:
    if not number.values:
        return number.low + (number.high - number.low) * unit
    return np.array(number.values, np.float64)[(unit * len(number.values)).astype(np.int64)]


def bounds(varied: Sequence[Varied]) -> Mapping[str, tuple[float, float]]:
    """The range of every number.

    Raises:
        ValueError: If a number is named twice, or has values, between which others would be taken.

    Example:
        >>> bounds([Varied.parse("load=0:10"), Varied.parse("angle=1:5")])
        {'load': (0.0, 10.0), 'angle': (1.0, 5.0)}
    """
    _check_names(varied)
    for number in varied:
        if number.values or not number.low < number.high:
            values = ", ".join(f"{value:g}" for value in number.values[:5])
            got = f"{len(number.values)} values, {values}" if number.values else f"{number.low:g}:{number.high:g}"
            raise ValueError(f"Expected a range of {number.name!r}, as in {number.name}=0:10 (got {got}); sweep a list")
    return {number.name: (number.low, number.high) for number in varied}


def _check_names(varied: Sequence[Varied]) -> None:
    names = [number.name for number in varied]
    if not names or len({*names}) < len(names):
        raise ValueError(f"Expected numbers to vary, each once, as in {FORMS} (got {', '.join(names) or 'none'})")


def _check_most(count: int) -> None:
    if count > MOST:
        raise ValueError(f"Expected at most {MOST} predictions at once (got {count}); take fewer values or 'samples'")


def _number(part: str, text: str) -> float:
    value = finite(part)
    if value is None:
        raise ValueError(f"Expected finite numbers in {text!r} (got {part!r}); as in {FORMS}")
    return value
