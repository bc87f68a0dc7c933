"""Numbers in file names: the times of the steps of a series, or their counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

EVEN = 0.01
"""Steps are of one length if they differ by no more than this part of it."""

SIGN = r"(?:(?<![^\W_])[-+])?"  # after a letter or a digit, a dash parts
POINT = r"[.,p]"  # 0.5, 0,5 and 0p5
NUMBER = re.compile(rf"(?<!\d){SIGN}(?:\d+{POINT}\d+(?:[eEdD][-+]?\d+)?|(?<=[=_])\.\d+|\d+(?:[eE][-+]?\d+)?)")
"""A number in a name: with a sign, a decimal point and an exponent, where it has them."""


def value(text: str) -> float:
    """The number in a part of a file name.

    Example:
        >>> value("0.05"), value("1.0e+02"), value("-0p5"), value("007")
        (0.05, 100.0, -0.5, 7.0)
    """
    return float(re.sub("[dD]", "e", re.sub("[,p]", ".", text)))


def start_of(text: str, stop: int) -> int:
    """Where the longest number that ends at ``stop`` begins.

    Example:
        >>> start_of("case_1.0.05", 11), start_of("run-12", 6), start_of("x_-1e-3", 7)
        (7, 4, 2)
    """
    return next(start for start in range(stop) if NUMBER.fullmatch(text, start, stop))


def in_order(paths: Sequence[Path]) -> list[tuple[float, Path]]:
    """The files in order of the last number in their names, with these numbers.

    Raises:
        ValueError: If a name has no number, two have the same, or they may be read in two ways, of other orders.
    """
    stops = []
    for path in paths:
        digits = list(re.finditer(r"\d+", path.stem))
        if not digits:
            raise ValueError(f"{path}: Expected a number in the name of every file of a series (got none); rename it")
        stops.append(digits[-1].end())
    starts = [start_of(path.stem, stop) for path, stop in zip(paths, stops, strict=True)]
    befores = {path.stem[:start] for path, start in zip(paths, starts, strict=True)}
    for number, (path, start) in enumerate(zip(paths, starts, strict=True)):
        before = path.stem[:start]
        if before.endswith("-") and before[:-1] in befores:  # x-5 beside x5: a sign
            starts[number] -= 1
    texts = [path.stem[start:stop] for path, start, stop in zip(paths, starts, stops, strict=True)]
    found: dict[float, Path] = {}
    for path, text in zip(paths, texts, strict=True):
        if (time := value(text)) in found:
            raise ValueError(f"Expected files of different numbers in a series (got {found[time]} and {path})")
        found[time] = path
    ordered = [found[time] for time in sorted(found)]
    ahead = {
        path: [*map(int, re.findall(r"\d+", path.stem[:start]))] for path, start in zip(paths, starts, strict=True)
    }
    others = {
        "with the numbers before it counted, too,": sorted(ordered, key=lambda path: ahead[path]),
        "with what is behind the point as a count": _by_count(paths, texts, stops) or ordered,
    }
    for how, other in others.items():
        if other != ordered:
            one, two = next(pair for pair in zip(ordered, other, strict=True) if pair[0] != pair[1])
            raise ValueError(
                f"Expected file names whose last number tells their order (got {one.name} and {two.name}: by the last "
                f"number {one.name} comes first, but {how} {two.name}); write times as in 't=0.5', and counts as in "
                f"'case_12', the same text before all of them"
            )
    return [(time, found[time]) for time in sorted(found)]


def _by_count(paths: Sequence[Path], texts: Sequence[str], stops: Sequence[int]) -> list[Path] | None:
    """The files in order of the digits behind the point, if these may count steps; else ``None``."""
    counts = [re.search(r"\d+$", text) for text in texts]
    heads = {
        path.stem[: stop - len(count.group())] for path, stop, count in zip(paths, stops, counts, strict=True) if count
    }
    is_fraction = all(re.fullmatch(rf"\d+{POINT}\d+", text) for text in texts)
    if len(paths) < 2 or len(heads) != 1 or not is_fraction or re.search(rf"=\d+{POINT}$", next(iter(heads))):
        return None
    digits = [count.group() for count in counts if count]
    if not may_be_counts(digits) or len(set(map(int, digits))) < len(digits):
        return None
    if may_be_fractions(digits) and are_even(map(value, texts)) and not are_even(map(int, digits)):
        return None
    return [path for _, path in sorted(zip(map(int, digits), paths, strict=True))]


def may_be_counts(digits: Sequence[str]) -> bool:
    """Whether digits may be counts: all of one width, or without leading zeros."""
    return len(set(map(len, digits))) == 1 or not any(len(part) > 1 and part[0] == "0" for part in digits)


def may_be_fractions(digits: Sequence[str]) -> bool:
    """Whether digits may be decimals: all of one width, or without trailing zeros."""
    return len(set(map(len, digits))) == 1 or not any(len(part) > 1 and part[-1] == "0" for part in digits)


def are_even(numbers: Iterable[float]) -> bool:
    """Whether at least three numbers, in their order, are equally far apart."""
    return len(steps := np.diff(np.sort(list(numbers)))) > 1 and step_range(steps) is None


def step_range(steps: Iterable[float]) -> tuple[float, float] | None:
    """The shortest and the longest of steps in time, if they differ by more than a hundredth.

    Example:
        >>> step_range([0.1, 0.1004]), step_range([0.1, 0.2])
        (None, (0.1, 0.2))
    """
    lengths = np.fromiter(steps, np.float64)
    if not len(lengths) or lengths.max() - lengths.min() <= EVEN * lengths.max():
        return None
    return float(lengths.min()), float(lengths.max())
