"""Advice on inputs such as ``load@tip``: numbers of the whole mesh that act in one of its named sets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pitgeo.config.toml import toml_value
from pitgeo.geometry.sets import AT

MOST = 3
"""So many examples at most."""
SHORT = 3
"""Names of sets with fewer letters are looked for as whole words."""


def local_inputs(numbers: Sequence[str], sets: Sequence[str]) -> list[str]:
    """A line that says how a number is given in a set, with the names of these files; none without both.

    Args:
        numbers: Names of numbers of the whole mesh.
        sets: Names of sets.

    Example:
        >>> local_inputs(["load"], ["root", "tip"])
        ['A number that acts in one set alone can be an input there, zero elsewhere: "load@root", for example.']
        >>> local_inputs(["E_left", "load"], ["left", "right"])
        ['Numbers named after a set can be inputs there, and zero elsewhere: "E_left@left" in place of "E_left".']
    """
    numbers = [number for number in numbers if AT not in number]
    if not numbers or not sets:
        return []
    pairs = [(number, own) for number in numbers if (own := set_of(number, sets))]
    if not pairs:
        example = toml_value(f"{numbers[0]}{AT}{sets[0]}")
        return [f"A number that acts in one set alone can be an input there, zero elsewhere: {example}, for example."]
    names = [f"{toml_value(f'{number}{AT}{own}')} in place of {toml_value(number)}" for number, own in pairs[:MOST]]
    names += ["..."] * (len(pairs) > MOST)
    return [f"Numbers named after a set can be inputs there, and zero elsewhere: {', '.join(names)}."]


def set_of(number: str, sets: Sequence[str]) -> str | None:
    """The set whose name the name of a number has in it, the longest such; ``None`` where there is none.

    A name counts at either end, or between signs; one of few letters between signs alone.

    Example:
        >>> set_of("E_left", ["eft", "left"]), set_of("loadtip", ["tip"]), set_of("load", ["a"]), set_of("E_a", ["a"])
        ('left', 'tip', None, 'a')
    """
    found = []
    for name in sets:
        part = re.escape(name)
        word = rf"(?<![^\W_]){part}(?![^\W_])"
        ends = rf"|^{part}|{part}$" if len(name) >= SHORT else ""
        if re.search(word + ends, number, re.IGNORECASE):
            found.append(name)
    return max(found, key=len, default=None)
