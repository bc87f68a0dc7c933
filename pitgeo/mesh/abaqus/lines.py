"""Lines of Abaqus input files: keywords with their parameters, and the data under them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

ADVICE = "write one flat mesh of nodes, elements and sets, or save it as .vtu"
LARGEST = 10**12
"""Numbers of nodes and elements are smaller."""

_WHOLE = re.compile(r"[0-9,\s]*")
_NUMBERS = re.compile(r"[-+.0-9eEdD,\s]*")
_EXPONENT = str.maketrans("dD", "ee")


def refusal(line: int, expected: str, got: str, advice: str = ADVICE) -> ValueError:
    """The error for a line of the file."""
    return ValueError(f"Expected {expected} (got {got[:80]!r} in line {line}); {advice}")


@dataclass
class Block:
    """A keyword line and the data lines under it.

    Args:
        keyword: The keyword in upper case, its words parted by one blank.
        head: The whole keyword line, as it is in the file.
        line: Its number.
        rows: The data lines with their numbers.
    """

    keyword: str
    head: str
    line: int
    rows: list[tuple[int, str]] = field(default_factory=list)

    def options(self, known: Collection[str]) -> dict[str, str]:
        """The parameters by their names in upper case.

        Raises:
            ValueError: If one is not known, or is there twice.
        """
        found: dict[str, str] = {}
        for word in fields(self.head)[1:]:
            name, _, value = word.partition("=")
            name = " ".join(name.upper().split())
            if not name:
                continue
            if name not in known or name in found:
                what = f"each parameter of *{self.keyword} once, of {', '.join(known) or 'none'}"
                raise refusal(self.line, what, self.head, f"mend the line, or {ADVICE}")
            found[name] = value.strip()
        return found

    def need(self, options: dict[str, str], name: str) -> str:
        """The value of a parameter that must be there.

        Raises:
            ValueError: If it is not.
        """
        if not options.get(name):
            raise refusal(self.line, f"a parameter {name}= of *{self.keyword}", self.head, "add it")
        return options[name]


def fields(line: str) -> list[str]:
    """The fields of a line between its commas, stripped; commas in quotes do not separate fields."""
    if '"' not in line:
        return [word.strip() for word in line.split(",")]
    words = [""]
    for place, part in enumerate(line.split('"')):
        if place % 2:
            words[-1] += f'"{part}"'
        else:
            first, *rest = part.split(",")
            words[-1] += first
            words += rest
    return [word.strip() for word in words]


def label(text: str) -> str:
    """A name as Abaqus compares it: upper case without blanks; unchanged if it is in quotes."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return "".join(text.split()).upper()


def blocks(text: str) -> Iterator[Block]:
    """The keywords of a file, in their order.

    Raises:
        ValueError: If there is data before the first keyword.
    """
    block: Block | None = None
    continued = False
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if line.startswith("*"):
            if block:
                yield block
            keyword = " ".join(line[1:].partition(",")[0].upper().split())
            block, continued = Block(keyword, line, number), line.endswith(",")
        elif block is None:
            raise refusal(number, "a keyword of Abaqus, as *NODE", line, "is this a mesh? Else save it as .vtu")
        elif continued:
            block.head += line
            continued = line.endswith(",")
        else:
            block.rows.append((number, line))
    if block:
        yield block


def reals(row: tuple[int, str]) -> list[float]:
    """The numbers of a data line; a field left empty is 0.

    Raises:
        ValueError: If there is something else than numbers.
    """
    number, line = row
    try:
        if not _NUMBERS.fullmatch(line):
            raise ValueError
        return [float(word.translate(_EXPONENT)) if word.strip() else 0.0 for word in line.split(",")]
    except ValueError:
        raise refusal(number, "numbers, parted by commas", line, "mend the line") from None


def whole(word: str, number: int, line: str, smallest: int = 1) -> int:
    """A whole number.

    Raises:
        ValueError: If it is none, or is too small or too large.
    """
    if re.fullmatch(r"[-+]?[0-9]{1,12}", word) and smallest <= int(word) < LARGEST:
        return int(word)
    what = f"a whole number, {smallest} or more," if smallest > -LARGEST else "a whole number"
    raise refusal(number, f"{what} where {word[:20]!r} stands", line, "mend the line")


def wholes(row: tuple[int, str], smallest: int = 1) -> list[int]:
    """The whole numbers of a data line; a comma at its end is no field."""
    number, line = row
    words = line.split(",")
    if len(words) > 1 and not words[-1].strip():
        words.pop()
    if all(words) and _WHOLE.fullmatch(line):
        try:
            values = [int(word) for word in words]
        except ValueError:  # blanks alone, or between digits
            values = []
        if values and min(values) >= smallest and max(values) < LARGEST:
            return values
    return [whole(word.strip(), number, line, smallest) for word in words]
