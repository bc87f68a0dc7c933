"""Numbers of the whole mesh that are given in one of its named sets: ``"load@tip"``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.sets import AT


def number_and_set(name: str) -> tuple[str, str] | None:
    """The number and the set in ``"number@set"``; the set is what follows the last ``@``; ``None`` without both.

    Example:
        >>> number_and_set("load@tip"), number_and_set("a@b@tip"), number_and_set("load"), number_and_set("load@")
        (('load', 'tip'), ('a@b', 'tip'), None, None)
    """
    number, _, within = name.rpartition(AT)
    return (number, within) if number and within else None


def with_numbers(names: Iterable[str]) -> set[str]:
    """These names, and those of the numbers in them."""
    names = set(names)
    return names | {pair[0] for name in names if (pair := number_and_set(name))}


def own_number(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number ``[K]`` that ``[n, K]`` holds in a set, with zeros elsewhere.

    Example:
        >>> own_number(np.array([[0.0], [-2.0], [0.0]]))
        array([-2.])
    """
    found: NDArray[np.float64] = np.take_along_axis(values, np.abs(values).argmax(0)[None], 0)[0]
    return found
