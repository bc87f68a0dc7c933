"""Numbers in files of text that programs write row by row."""

from __future__ import annotations

import re

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


def is_whole(text: str) -> bool:
    r"""Whether the end of a text shows that it is not cut within a number.

    The last line is ended, or ends with what no shorter number does: an exponent of two digits, or columns of ten
    characters.

    Example:
        >>> is_whole("1.5\n"), is_whole("1.50000e+00"), is_whole("1.5"), is_whole("         7")
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
