"""Tables of numbers beside mesh files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

ENDINGS = (".csv", ".json")
LARGEST = 10_000_000
"""Bytes; a larger file is not looked at."""


@dataclass(frozen=True)
class Table:
    """A table with numbers of all files.

    Args:
        path: Where it is.
        columns: Those of its columns that hold a number for every file, not the same in all.
    """

    path: Path
    columns: tuple[str, ...]


def find_table(files: Sequence[Path], taken: Collection[str] = ()) -> Table | None:
    """The first table in the folder of the files that has a row for each of them, if there is one.

    Args:
        files: The mesh files.
        taken: Names that are not looked for, since files have them as fields.
    """
    folders = {file.parent for file in files}
    if len(folders) > 1:
        return None
    for path in sorted(folders.pop().iterdir()):
        if path.suffix.lower() not in ENDINGS or not path.is_file() or path.stat().st_size > LARGEST:
            continue
        from pitgeo.datasets.folder.parameters import read_parameters  # training comes with it

        try:
            rows = list(read_parameters(files, str(path)).values())
        except (ValueError, OSError):  # another kind of table
            continue
        names = [name for name in rows[0] if all(name in row for row in rows) and name not in taken]
        names = [name for name in names if len(rows) == 1 or len({row[name] for row in rows}) > 1]
        if names:
            return Table(path, tuple(names))
    return None
