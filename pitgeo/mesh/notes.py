"""Notes of readers: where a mesh differs from the literal content of its file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Note(NamedTuple):
    """One thing that a reader did: dropped, welded, reordered, renamed, or chose among several.

    Args:
        kind: What was done, one name for all files, as in ``"ghost cells"``.
        text: What it was in this file, as in ``"16 ghost cells left out"``.

    Example:
        >>> Note("ghosts", "4 ghost cells were left out").text
        '4 ghost cells were left out'
    """

    kind: str
    text: str


def summary(found: Iterable[tuple[str, Iterable[Note]]], total: int) -> list[str]:
    """One line for each kind of note: the first file with it, what was done there, and in how many files.

    Args:
        found: Names of files, and the notes of each.
        total: How many files there are.

    Example:
        >>> summary([("a.e", [Note("step", "first of 3 steps")]), ("b.e", [Note("step", "first of 9 steps")])], 5)
        ['a.e: first of 3 steps (and others of this kind, in 2 of 5 files)']
    """
    first: dict[str, tuple[str, Note]] = {}
    files: dict[str, set[str]] = {}
    texts: dict[str, set[str]] = {}
    for name, notes in found:
        for note in notes:
            first.setdefault(note.kind, (name, note))
            files.setdefault(note.kind, set()).add(name)
            texts.setdefault(note.kind, set()).add(note.text)
    lines = []
    for kind, (name, note) in first.items():
        others = "and others of this kind, " if len(texts[kind]) > 1 else ""
        count = f"in {len(files[kind]):,} of {total:,} files" if total > 1 else ""
        more = f" ({others}{count})".replace(", )", ")") if others or count else ""
        lines.append(f"{name}: {note.text}{more}")
    return lines
