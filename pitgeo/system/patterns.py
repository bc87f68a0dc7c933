"""Patterns of file names, in which folders may have names that look like patterns."""

from __future__ import annotations

import glob
from pathlib import Path


def matches(pattern: str) -> list[Path]:
    """The files and folders that a pattern stands for, by name: ``*``, ``?``, ``[...]`` and ``**``.

    What it begins with is taken at its word as far as it is there: in ``runs/a[1]/*.vtu`` the folder ``runs/a[1]`` is
    meant, if there is one, and else ``runs/a1``.
    """
    return [Path(name) for name in sorted(glob.glob(with_folders(pattern), recursive=True))]


def with_folders(pattern: str) -> str:
    """A pattern whose first folders, as far as they are there, match their own names alone.

    Example:
        >>> with_folders("no such folder[1]/*.vtu")
        'no such folder[1]/*.vtu'
    """
    parts, known = Path(pattern).parts, Path()
    for number, part in enumerate(parts):
        known /= part
        if not known.exists():
            return str(Path(*(glob.escape(folder) for folder in parts[:number]), *parts[number:]))
    return glob.escape(str(known))
