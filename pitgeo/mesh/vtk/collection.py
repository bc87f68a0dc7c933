"""ParaView's collections (``.pvd``): the files of every time, and of every part of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.restarts import Entry, played

Part = tuple[str, Path]
"""Name, which may be empty, and file of a part of a mesh."""


class Collection(NamedTuple):
    """The content of a collection.

    Args:
        times: The times, increasing.
        steps: The parts of the mesh at each.
        notes: What is not as the lines of the file have it.
    """

    times: list[float]
    steps: list[list[Part]]
    notes: list[Note]


def read_collection(path: Path) -> Collection:
    """The files that a collection names.

    Raises:
        ValueError: If it is no collection, or what it names is not clear.
        FileNotFoundError: If a file that it names is missing.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: Expected a collection in XML (got: {error}); write it again") from error
    sets: list[Any] = root.findall("./Collection/DataSet")
    if root.get("type") != "Collection" or not sets:
        raise ValueError(f"{path}: Expected a VTK file of type Collection with data sets (got {root.get('type')!r})")
    entries, parts = [], []
    for entry in sets:
        try:
            time, name = float(entry.get("timestep", "0")), entry.attrib["file"].strip()
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path}: Expected a time and a file for every data set (got: {error})") from error
        group = entry.get("group", "")
        entries.append(Entry(time, f"{group}/{entry.get('part', '').strip() or 0}", name))
        parts.append((entry.get("name") or group, path.parent / name))
    steps, notes = played(entries, str(path))
    found = Collection(list(steps), [[parts[k] for k in numbers] for numbers in steps.values()], notes)
    for number, (time, step) in enumerate(zip(found.times, found.steps, strict=True)):
        for _, file in step:
            if not file.is_file():
                raise FileNotFoundError(
                    f"{path}: Expected a mesh file at {file}, of step {number} at time {time:g} (got no such file); "
                    f"put it there, or delete its line"
                )
    return found


def read_parts(parts: Sequence[Part], read: Callable[[Path], Mesh], path: Path) -> Mesh:
    """The mesh of one time, its parts put together.

    Args:
        parts: Name and file of each.
        read: Reads a file.
        path: The collection.
    """
    if len(parts) == 1:
        return read(parts[0][1])
    return join([(name, _raw(read(file))) for name, file in parts]).mesh(path)


def _raw(mesh: Mesh) -> Raw:
    return Raw(
        points=mesh.points_in_space(),
        cells=list(mesh.cells),
        point_data=dict(mesh.point_data),
        cell_data={name: list(blocks) for name, blocks in mesh.cell_data.items()},
        field_data=dict(mesh.field_data),
        point_sets=dict(mesh.point_sets),
        cell_sets={name: list(blocks) for name, blocks in mesh.cell_sets.items()},
        notes=list(mesh.notes),
    )


def read_single(path: Path, read: Callable[[Path], Mesh]) -> Mesh:
    """The mesh of a collection of one time.

    Raises:
        ValueError: If it has several.
    """
    found = read_collection(path)
    if len(found.steps) > 1:
        raise ValueError(several(path, len(found.steps)))
    mesh = read_parts(found.steps[0], read, path)
    return replace(mesh, notes=(*found.notes, *mesh.notes))


def several(path: Path, steps: int) -> str:
    """The message for a file of several times where one mesh is expected."""
    return (
        f"{path}: Expected one mesh (got a time series of {steps} steps); read it by pitgeo.mesh.read_series, or train "
        f"on it with data.meshes.series = 'file'"
    )
