"""Numbers in text files, as all readers of such files parse and check them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_REAL = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)([EeDd]?[-+]\d+|[EeDd]\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII
)
_EXPONENT = re.compile(r"[Dd]|(?<=[\d.])(?=[-+])")
_WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)


def real(word: str) -> float:
    """A number, also as Fortran writes it.

    Example:
        >>> real("1.5"), real("-2.5D-01"), real("0.1-100")
        (1.5, -0.25, 1e-101)

    Raises:
        ValueError: If it is none.
    """
    if not _REAL.fullmatch(word):
        raise ValueError(word)
    return float(_EXPONENT.sub("e", word, count=1) if word[-1].isdigit() else word)


def is_real(word: str) -> bool:
    """Whether a word is a number."""
    try:
        real(word)
    except ValueError:
        return False
    return True


def whole(word: str) -> int:
    """A whole number of 32 bits.

    Raises:
        ValueError: If it is none.
    """
    if not _WHOLE.fullmatch(word) or not abs(int(word)) < 2**31:
        raise ValueError(word)
    return int(word)


def reals(text: bytes) -> NDArray[np.float64]:
    """All numbers of a text, separated by blanks and line ends; Fortran's exponents are not known here.

    Raises:
        ValueError: If something is no number.
    """
    return np.fromstring(text.decode("ascii"), np.float64, sep=" ") if text.strip() else np.zeros(0)


def wholes(values: NDArray[np.float64], what: str = "numbers") -> NDArray[np.int64]:
    """The same numbers as integers.

    Args:
        values: The numbers.
        what: Their name in the message.

    Raises:
        ValueError: If one is not whole.
    """
    is_odd = ~(np.abs(values) < 2.0**63) | (values != np.rint(values))
    if is_odd.any():
        raise ValueError(f"Expected whole {what} (got {values[is_odd][0]})")
    return values.astype(np.int64)


def table(rows: Sequence[tuple[int, str]], width: int) -> NDArray[np.float64]:
    """The numbers of lines of ``width`` numbers, ``[lines, width]``, also as Fortran writes them.

    Args:
        rows: Number and text of every line.
        width: Numbers in a line.

    Raises:
        ValueError: If a line has more or fewer, or something is no number; the message names the line.
    """
    words = [line.split() for _, line in rows]
    for (number, line), row in zip(rows, words, strict=True):
        if len(row) != width:
            raise ValueError(f"Expected {width} numbers (got {line.strip()[:60]!r} in line {number})")
    try:
        if any("_" in line for _, line in rows):  # which numpy takes in numbers
            raise ValueError
        return np.array(words, np.str_).reshape(-1, width).astype(np.float64)
    except ValueError:
        return _fortran_table(rows, width)


def _fortran_table(rows: Sequence[tuple[int, str]], width: int) -> NDArray[np.float64]:
    result = np.zeros((len(rows), width))
    for place, (number, line) in enumerate(rows):
        try:
            result[place] = list(map(real, line.split()))
        except ValueError as error:
            raise ValueError(f"Expected numbers in line {number} (got {str(error)[:40]!r})") from None
    return result


def is_complete(text: str) -> bool:
    r"""Whether the end of a text shows that it is not cut within a number.

    The last line is ended, or ends with what no shorter number does: an exponent of two digits, or columns of ten
    characters.

    Example:
        >>> is_complete("1.5\n"), is_complete("1.50000e+00"), is_complete("1.5"), is_complete("         7")
        (True, True, False, True)
    """
    last = text.rpartition("\n")[2].rstrip("\r")
    columns = [last[place : place + 10] for place in range(0, len(last), 10)]
    return (
        not last.strip()
        or bool(re.search(r"[eE][-+]\d\d$", last.rstrip()))
        or last.replace(" ", "").isalpha()
        or all(re.fullmatch(r" *\d+", column) and len(column) == 10 for column in columns)
    )
