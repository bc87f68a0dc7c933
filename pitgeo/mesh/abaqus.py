"""Named sets of Abaqus files, of which meshio's reader gives some to the wrong cells and leaves others out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.notes import Note

Parameters = dict[str, str]


def read_sets(
    path: Path, widths: Sequence[int], notes: list[Note]
) -> tuple[dict[str, NDArray[np.int64]], dict[str, list[NDArray[np.int64]]]]:
    """Sets of points and of cells, as :class:`~pitgeo.mesh.raw.Raw` holds them.

    Args:
        path: The file.
        widths: Nodes of the cells of every ``*ELEMENT`` block, in their order.
        notes: Gets a note of what a set refers to and is not there.
    """
    points: list[int] = []
    blocks: list[list[int]] = []
    point_sets: dict[str, list[int]] = {}
    cell_sets: dict[str, list[int]] = {}
    for keyword, options, words in _keywords(path.read_text(errors="replace")):
        if keyword == "NODE":
            points += [int(line[0]) for line in words]
            if "NSET" in options:
                point_sets.setdefault(options["NSET"], []).extend(int(line[0]) for line in words)
        elif keyword == "ELEMENT":
            numbers = [int(word) for line in words for word in line]
            blocks.append(numbers[:: widths[len(blocks)] + 1])
            if "ELSET" in options:
                cell_sets.setdefault(options["ELSET"], []).extend(blocks[-1])
        elif keyword == "NSET" and "NSET" in options:
            point_sets.setdefault(options["NSET"], []).extend(_numbers(notes, options, words, point_sets))
        elif keyword == "ELSET" and "ELSET" in options:
            cell_sets.setdefault(options["ELSET"], []).extend(_numbers(notes, options, words, cell_sets))
    return (
        {name: _positions(points, members) for name, members in point_sets.items()},
        {name: [_positions(block, members) for block in blocks] for name, members in cell_sets.items()},
    )


def _keywords(text: str) -> Iterator[tuple[str, Parameters, list[list[str]]]]:
    """Every keyword with its parameters and the words of its lines."""
    keyword = ""
    options: Parameters = {}
    words: list[list[str]] = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if line.startswith("*"):
            yield keyword, options, words
            keyword, *rest = (word.strip() for word in line[1:].split(","))
            keyword, words = keyword.upper(), []
            pairs = [word.partition("=") for word in rest if word]
            options = {name.strip().upper(): value.strip().strip('"') for name, _, value in pairs}
        else:
            words.append([word.strip() for word in line.split(",") if word.strip()])
    yield keyword, options, words


def _numbers(notes: list[Note], options: Parameters, words: list[list[str]], sets: dict[str, list[int]]) -> list[int]:
    if "GENERATE" in options:
        bounds = [[int(word) for word in line] for line in words]
        return [n for first, last, *step in bounds for n in range(first, last + 1, step[0] if step else 1)]
    found: list[int] = []
    known = {name.upper(): members for name, members in sets.items()}
    for word in (word.strip('"') for line in words for word in line):
        if word.isdecimal():
            found.append(int(word))
        elif word.upper() in known:
            found += known[word.upper()]
        else:
            notes.append(Note("set left out", f"a set refers to {word!r}, which is not there and left out"))
    return found


def _positions(numbers: list[int], members: list[int]) -> NDArray[np.int64]:
    """Where the members are among the numbers; those that are elsewhere are left out."""
    return np.flatnonzero(np.isin(np.array(numbers, np.int64), np.array(members, np.int64)))
