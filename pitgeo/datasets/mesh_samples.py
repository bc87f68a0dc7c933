"""Generated folders of mesh files: a file a sample, and a table of what was drawn and what came out."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pitgeo.datasets.resumable import Arrays, make_files, parts_folder
from pitgeo.mesh import Mesh, write_mesh

TABLE = "parameters.csv"
Row = Mapping[str, float | int | str]
_CHUNK = 5


def make_mesh_files(
    output: Path,
    settings: Mapping[str, Any],
    solver: Callable[[int], tuple[Mesh, Row]],
    prefix: str,
    processes: int | None = None,
    progress: bool = True,
    ending: str = ".vtu",
) -> None:
    """Make samples and write them and ``parameters.csv``; go on where it was interrupted, and never replace files.

    Args:
        output: Folder to write to.
        settings: What made the samples, their number among it under ``"samples"``.
        solver: Makes the mesh of one sample from its number, and its line of the table, with the same columns in all;
            a module's function or a partial of one, so that it can be sent to other processes.
        prefix: What the files' names begin with, see :func:`file_name`.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.
        ending: What the files' names end with, which is their format: ``".vtu"`` or ``".vtp"``.

    Raises:
        FileExistsError: If the folder holds other files of these names, or some made with other settings.
    """
    output = Path(output)
    folder = parts_folder(output, settings)
    names = [file_name(prefix, number, ending) for number in range(settings["samples"])]
    write = functools.partial(_write_sample, solver, folder, names)
    contents = functools.partial(_contents, folder, names)
    make_files(output, settings, write, contents, [*names, TABLE], _CHUNK, processes, progress)


def file_name(prefix: str, number: int, ending: str = ".vtu") -> str:
    """Name of a sample's file.

    Example:
        >>> file_name("plate", 7)
        'plate_0007.vtu'
    """
    return f"{prefix}_{number:04d}{ending}"


def _write_sample(solver: Callable[[int], tuple[Mesh, Row]], folder: Path, names: list[str], number: int) -> Arrays:
    """Write the file among the parts; what is returned goes to the table."""
    mesh, row = solver(number)
    write_mesh(folder / names[number], mesh)
    return {name: np.array(value) for name, value in row.items()}


def _contents(folder: Path, names: list[str], columns: Arrays) -> dict[str, Path | str]:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["file", *columns])
    writer.writerows(zip(names, *(values.tolist() for values in columns.values()), strict=True))
    return {**{name: folder / name for name in names}, TABLE: table.getvalue()}
