"""Names and groups in MED files, of which meshio reads names in ASCII alone, and misreads their ends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import each_once, ended
from pitgeo.mesh.notes import Note

Blocks = list[NDArray[Any]]

KINDS = {"NOEUD": "point set", "ELEME": "cell set"}
"""Families of points and of cells, and what their groups are in notes."""


def tidy_med(path: Path, folder: Path) -> Path:
    """A copy with names in ASCII; the file itself where there are no others."""
    with h5py.File(path, "r") as file:
        if not any(_is_odd(stored) for stored in (*_names(file), *_components(file))):
            return path
    copy = folder / path.name
    shutil.copyfile(path, copy)
    with h5py.File(copy, "r+") as file:
        for names in list(_names(file)):
            letters, parent = _letters(names[()]), names.parent
            del parent["NOM"]
            parent["NOM"] = np.where(letters < 128, letters, ord("?")).astype(np.int8)
        for field in file.get("CHA", {}).values():
            if "NOM" in field.attrs and _is_odd(field.attrs["NOM"]):
                field.attrs["NOM"] = np.bytes_(bytes(field.attrs["NOM"]).decode("ascii", "ignore"))
    return copy


def read_groups(
    path: Path, point_tags: Blocks, cell_tags: Blocks, notes: list[Note]
) -> tuple[dict[str, Blocks], dict[str, Blocks]]:
    """The members of the groups of points, and of cells, one array a block.

    Args:
        path: The file.
        point_tags: The tag of every point, in one block.
        cell_tags: The tag of every cell, one array a block.
        notes: Gets a note of every name that is changed.
    """
    with h5py.File(path, "r") as file:
        families = [_families(file, kind, notes) for kind in KINDS]
    return _groups(families[0], point_tags), _groups(families[1], cell_tags)


def _groups(families: dict[int, list[str]], tags: Blocks) -> dict[str, Blocks]:
    numbers: dict[str, list[int]] = {}
    for tag, names in families.items():
        for name in names:
            numbers.setdefault(name, []).append(tag)
    return {name: [np.flatnonzero(np.isin(values, own)) for values in tags] for name, own in numbers.items()}


def _families(file: h5py.File, kind: str, notes: list[Note]) -> dict[int, list[str]]:
    """The names of the groups that the points or cells of every tag belong to."""
    stored = {
        int(family.attrs["NUM"]): [ended(bytes(row)) for row in _letters(family["GRO"]["NOM"][()])]
        for families in _parents(file)
        for family in families.get(kind, {}).values()
        if "GRO" in family
    }
    distinct = list(dict.fromkeys(name for names in stored.values() for name in names))
    called = dict(zip(distinct, each_once(distinct, KINDS[kind], notes), strict=True))
    return {tag: [called[name] for name in names] for tag, names in stored.items()}


def _parents(file: h5py.File) -> Iterator[Any]:
    """Where the families of the mesh are."""
    for name, mesh in file["ENS_MAA"].items():
        steps = [mesh, *(mesh.values() if "NOE" not in mesh else ())]
        own = next((step["FAS"] for step in reversed(steps) if "FAS" in step), None)
        yield file["FAS"][name] if own is None else own


def _names(file: h5py.File) -> Iterator[Any]:
    """The names of groups, as sets of data."""
    for families in _parents(file):
        for kind in KINDS:
            yield from (family["GRO"]["NOM"] for family in families.get(kind, {}).values() if "GRO" in family)


def _components(file: h5py.File) -> Iterator[Any]:
    """The names of the components of fields."""
    yield from (field.attrs["NOM"] for field in file.get("CHA", {}).values() if "NOM" in field.attrs)


def _letters(names: Any) -> Any:
    """The bytes of names, one row each."""
    return np.ascontiguousarray(names).view(np.uint8).reshape(len(names), -1)


def _is_odd(names: Any) -> bool:
    content = bytes(names) if isinstance(names, bytes) else bytes(np.ascontiguousarray(names[()]))
    return not content.isascii()
