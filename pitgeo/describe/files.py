"""Mesh files from patterns, folders and names; and the shortest notation for many files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from pitgeo.mesh.formats import FORMATS
from pitgeo.mesh.named_files import named_files
from pitgeo.system.patterns import matches

COMMON = frozenset({".dat", ".xml"})
"""Endings that files of all kinds have: in a folder they are taken for meshes if there are no others."""


def mesh_files(paths: Sequence[str | Path]) -> list[Path]:
    """The files of names, patterns (``*``, ``?``, ``[...]``, ``**``) and folders, each once.

    A folder stands for the mesh files right in it, but for those that others of them name. A name that is
    no file is kept: reading it says what is wrong.

    Raises:
        ValueError: If nothing is given, a pattern matches no file, or a folder holds no mesh file.
    """
    files: list[Path] = []
    for path in paths:
        if Path(path).is_dir():
            files += _in_folder(Path(path))
        elif is_pattern(path):
            found = [file for file in matches(str(path)) if file.is_file()]
            if not found:
                raise ValueError(f"Expected files that match {str(path)!r} (got none in {Path.cwd()}); check the path")
            files += found
        else:
            files.append(Path(path))
    if not files:
        raise ValueError("Expected mesh files, patterns or folders, at least one (got none)")
    return list({os.path.abspath(file): file for file in reversed(files)}.values())[::-1]


def is_pattern(path: str | Path) -> bool:
    """Whether a path is a pattern, and not an existing file whose name looks like one."""
    return glob.has_magic(str(path)) and not Path(path).exists()


def shortened(paths: Sequence[str | Path], files: Sequence[Path]) -> str | list[str]:
    """The entry for a configuration: the given pattern, a pattern that matches exactly the files, or all names."""
    given = matches(str(paths[0])) if len(paths) == 1 and is_pattern(paths[0]) else []
    if given and {path for path in given if path.is_file()} == set(files):
        return Path(paths[0]).as_posix()
    if len(files) == 1:
        return files[0].as_posix()
    folders, suffixes = {file.parent for file in files}, {file.suffix for file in files}
    if len(folders) == len(suffixes) == 1:
        folder, suffix, wanted = folders.pop(), suffixes.pop(), {file.name for file in files}
        for prefix in ("", os.path.commonprefix([file.stem for file in files])):  # noqa: RUF071 (characters, not parts)
            pattern = glob.escape(prefix) + "*" + glob.escape(suffix)
            if {file.name for file in folder.glob(pattern) if not file.name.startswith(".")} == wanted:
                return (Path(glob.escape(str(folder))) / pattern).as_posix()
    return [file.as_posix() for file in files]


def _in_folder(folder: Path) -> list[Path]:
    def is_mesh(path: Path) -> bool:
        return path.suffix.lower() in FORMATS and not path.name.startswith(".") and path.is_file()

    files = sorted(path for path in folder.iterdir() if is_mesh(path))
    files = [path for path in files if path.suffix.lower() not in COMMON] or files
    if not files:
        below = next((path for path in sorted(folder.rglob("*")) if is_mesh(path)), None)
        hint = f"; name the folder below, as in '{folder}/**/*{below.suffix}'" if below else "; give the files by name"
        raise ValueError(f"Expected mesh files in the folder {folder} (got none){hint}")
    parts: set[Path] = set()  # of a series, or of a mesh in pieces, which is read by the file that names them
    for path in files:
        if path not in parts:
            parts.update(named_files(path))
    return [path for path in files if path not in parts]
