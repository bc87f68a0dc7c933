"""Files that a file names, and that belong to its content."""

from __future__ import annotations

import contextlib
import functools
import glob
import html
import os
import re
from pathlib import Path

from pitgeo.mesh.ensight.case import read_case
from pitgeo.mesh.formats import endings_of

NAMING = (*endings_of("XDMF"), ".pvd", ".case", ".vtm", ".vtmb", ".pvtu", ".pvtp", ".pvts", ".pvtr", ".pvti")
"""Endings of files that name others."""


def named_files(path: Path) -> list[Path]:
    """Files that a file names: steps of a collection, their parts, arrays of an XDMF file, variables of a case."""
    found: dict[Path, None] = {}
    _add_named(path, found)
    found.pop(path, None)
    return list(found)


def _add_named(path: Path, found: dict[Path, None]) -> None:
    suffix = path.suffix.lower()
    if suffix in (".node", ".ele"):  # TetGen's two
        found.update(dict.fromkeys(file for end in (".node", ".ele") if (file := path.with_suffix(end)).is_file()))
    if suffix not in NAMING:
        return
    try:
        stat = path.stat()
        names = _names(path.absolute(), stat.st_size, stat.st_mtime_ns)
    except OSError:  # whoever reads it says so
        return
    for name in names:
        if suffix == ".case" and "*" in name:  # numbered files of EnSight
            numbers = re.sub(r"(\[\*\])+", lambda stars: "[0-9]" * (len(stars.group()) // 3), glob.escape(name))
            files = sorted(path.parent.glob(numbers))
        else:
            files = [path.parent / html.unescape(name)]
        for file in files:
            if file not in found and file != path and os.path.isfile(file):  # which takes too long a name for no file
                found[file] = None
                _add_named(file, found)


@functools.lru_cache(4096)
def _names(path: Path, _size: int, _time: int) -> tuple[str, ...]:
    """Possible file names in a text; the result is cached until the file changes."""
    text = path.read_text(encoding="utf-8", errors="replace")
    names = [part.strip() for part in re.split("""["'<>]""", text)]  # with blanks, as attributes have them
    plain = r"""[^\s"'<>:]+""" if path.suffix.lower() == ".case" else r"""[^\s"'<>:]+\.[A-Za-z]\w*"""
    names += re.findall(plain, text)
    if path.suffix.lower() == ".case":  # names of several words
        with contextlib.suppress(ValueError):
            case = read_case(path)
            names += [entry.file for entry in (case.geometry, *case.variables)]
    names = [name.partition(":")[0] for name in names if "\n" not in name and len(name) < 1000]
    return tuple(dict.fromkeys(name for name in names if name))
