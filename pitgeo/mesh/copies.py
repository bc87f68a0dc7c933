"""Results written into a copy of the mesh's own file, for formats that no writer keeps complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.exodus import results as exodus
from pitgeo.mesh.formats import endings_of
from pitgeo.mesh.gmsh import results as gmsh
from pitgeo.mesh.mesh import Mesh

FORMATS = {**dict.fromkeys(endings_of("Exodus"), exodus), ".msh": gmsh}
"""What adds fields to a copy of a file, by the ending of its name."""

Fields = Mapping[str, NDArray[Any]]


def refusal(path: Path) -> str:
    """The reason why results cannot be put into a copy of a file; empty if they can."""
    made = FORMATS.get(path.suffix.lower())
    if made is None:
        return f"{path.suffix or 'such'} files do not keep every field"
    return made.refusal(path) if path.is_file() else "there is no such file to put them into"


def write_copy(
    path: Path, known: Mesh, mesh: Mesh, stored: Sequence[Fields], kept: Sequence[Mapping[str, Any]]
) -> None:
    """Write a copy of the mesh's own file with the fields that are new or changed.

    Args:
        path: The file to write.
        known: The mesh as it is in the file that it came from.
        mesh: The mesh.
        stored: Its fields of points, of cells, their blocks one after another, and of the whole, as files hold them.
        kept: What :func:`kept_fields` gave.

    Raises:
        ValueError: If the mesh is not that of the file, with fields added or replaced.
    """
    source = known.path
    assert source is not None
    same = {
        "points": np.array_equal(mesh.points_in_space(), known.points_in_space()),
        "cells": [kind for kind, _ in mesh.cells] == [kind for kind, _ in known.cells]
        and all(np.array_equal(a, b) for (_, a), (_, b) in zip(mesh.cells, known.cells, strict=True)),
        "point sets": _alike(mesh.point_sets, known.point_sets),
        "cell sets": mesh.cell_sets.keys() == known.cell_sets.keys()
        and all(_equal(tuple(blocks), tuple(known.cell_sets[name])) for name, blocks in mesh.cell_sets.items()),
    }
    other = [name for name, is_same in same.items() if not is_same]
    if other:
        raise ValueError(f"the {', '.join(other)} are not those of {source}, of which this would be a copy")
    added = []
    now = (mesh.point_data, mesh.cell_data, mesh.field_data)
    before = (known.point_data, known.cell_data, known.field_data)
    for mine, theirs, values, same_still in zip(now, before, stored, kept, strict=True):
        missing = [name for name in theirs if name not in mine]
        if missing:
            raise ValueError(f"{', '.join(missing)} of {source} is no longer there")
        added.append({name: values[name] for name in mine if name not in same_still})
    FORMATS[source.suffix.lower()].add_fields(source, path, *added)


def kept_fields(known: Mesh, mesh: Mesh) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The point, cell and field data that are the same in a mesh and in its file."""

    def kept(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values for name, values in theirs.items() if name in mine and _equal(values, mine[name])}

    return (
        kept(known.point_data, mesh.point_data),
        kept(known.cell_data, mesh.cell_data),
        kept(known.field_data, mesh.field_data),
    )


def _alike(mine: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> bool:
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def _equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, tuple):
        return len(mine) == len(theirs) and all(_equal(a, b) for a, b in zip(mine, theirs, strict=True))
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    return mine.dtype.kind == theirs.dtype.kind and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
