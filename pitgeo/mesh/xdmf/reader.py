"""XDMF files: single meshes, and time series."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.restarts import Entry, played
from pitgeo.mesh.vtk.collection import several
from pitgeo.mesh.xdmf.document import read_document
from pitgeo.mesh.xdmf.grid import Content, digest_of, key_of, read_grid

Step = list[Element]
"""The grids of one time."""


@dataclass
class Timeline:
    """The grids of a collection over time.

    Args:
        name: Its name.
        times: Its times, in the order of the file; ``None`` if it has none.
        steps: The grids of each.
    """

    name: str
    times: list[float] | None
    steps: list[Step]


class XdmfFile:
    """An XDMF file, read step by step.

    Args:
        path: The file.

    Raises:
        ValueError: If it is no XDMF file, or its functions do not fit together.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = read_document(path)
        grids = [grid for domain in self.root.findall("Domain") for grid in domain.findall("Grid")]
        if not grids:
            raise ValueError(f"{path}: Expected at least one grid in an XDMF file (got none); write it again")
        found = [self._timeline(grid) for grid in grids]
        moving = [line for line in found if line.times is not None]
        still = [line for line in found if line.times is None]
        self.is_series = bool(moving)
        self.notes: list[Note] = []
        self._lines = moving or [Timeline("", None, [[grid for line in still for step in line.steps for grid in step]])]
        self._places, self.times = [0], [0.0]
        if not moving:
            return
        for line in moving[1:]:
            if line.times != moving[0].times:
                raise ValueError(self._differ(moving[0], line))
        entries = [Entry(time, "", f"grid {k}") for k, time in enumerate(moving[0].times or ())]
        order, self.notes = played(entries, str(path))
        self.times, self._places = list(order), [k for (k,) in order.values()]
        if len(moving) > 1:
            self._groups(0)
        unused = [line.name for line in still if any(grid.findall("Attribute") for grid in line.steps[0])]
        if unused:
            names = ", ".join(map(repr, unused))
            self.notes.append(Note("left out", f"{names} left out, which has no time beside grids that have"))

    def __len__(self) -> int:
        return len(self.times)

    def mesh(self, k: int) -> Mesh:
        """The mesh of a step.

        Raises:
            ValueError: If it cannot be read.
        """
        groups = self._groups(k)
        with self._errors(k):
            return join([(grids[0].get("Name", ""), read_grid(grids)) for grids in groups]).mesh(self.path)

    @contextlib.contextmanager
    def _errors(self, k: int) -> Iterator[None]:
        """Add the file and the step to error messages of grids."""
        try:
            yield
        except ValueError as error:
            where = f", step {k} at time {self.times[k]:g}" if self.is_series else ""
            raise ValueError(f"{self.path}{where}: Expected a grid that can be read (got: {error})") from error

    def _groups(self, k: int) -> list[Step]:
        """The grids of a step, grouped by mesh.

        Solvers write one mesh several times: where its arrays have other names, they are compared.
        """
        owned = [(line, grid) for line in self._lines for grid in line.steps[self._places[k]]]
        keys: list[Content | bytes] = [key_of(grid) for _, grid in owned]
        if len(set(keys)) > 1:
            with self._errors(k):
                known = {key: digest_of(grid) for key, (_, grid) in zip(keys, owned, strict=True)}
            keys = [known[key] for key in keys]
        groups: dict[Content | bytes, list[tuple[Timeline, Element]]] = {}
        for key, pair in zip(keys, owned, strict=True):
            groups.setdefault(key, []).append(pair)
        for pairs in groups.values():
            lacking = [line.name for line in self._lines if not any(line is other for other, _ in pairs)]
            if lacking:
                raise ValueError(
                    f"{self.path}: Expected functions on one mesh (got {pairs[0][0].name!r} and {lacking[0]!r} on "
                    f"different ones); write each mesh with its functions to a file of its own"
                )
        return [[grid for _, grid in pairs] for pairs in groups.values()]

    def _timeline(self, grid: Element) -> Timeline:
        """The steps of a grid; a grid without a mesh gets the only mesh of the file."""
        name, kind = grid.get("Name", ""), grid.get("GridType", "Uniform").lower()
        if kind == "uniform":
            return Timeline(name, None, [[self._whole(grid)]])
        if kind not in ("collection", "tree"):
            raise ValueError(f"{self.path}: Expected a uniform grid or a collection (got a grid of type {kind!r})")
        members = [self._timeline(child) for child in grid.findall("Grid")]
        if not members:
            raise ValueError(f"{self.path}: Expected grids in the collection {name!r} (got none); is the file whole?")
        moving = [member for member in members if member.times is not None]
        if kind == "collection" and grid.get("CollectionType", "Spatial").lower() == "temporal":
            if moving:
                raise ValueError(f"{self.path}: Expected steps in the collection {name!r} (got collections of steps)")
            return Timeline(name, self._times(grid), [member.steps[0] for member in members])
        for member in moving[1:]:
            if member.times != moving[0].times:
                raise ValueError(self._differ(moving[0], member))
        count = len(moving[0].steps) if moving else 1
        steps = [[part for member in members for part in member.steps[k if member.times else 0]] for k in range(count)]
        return Timeline(name, moving[0].times if moving else None, steps)

    def _whole(self, grid: Element) -> Element:
        lacking = [tag for tag in ("Topology", "Geometry") if grid.find(tag) is None]
        if not lacking:
            return grid
        whole = Element("Grid", grid.attrib)
        for tag in lacking:
            every = {key_of(_with(element)): element for element in self.root.iter(tag)}
            if len(every) != 1:
                raise ValueError(
                    f"{self.path}: Expected a {tag} in the grid {grid.get('Name', '')!r} (got none, and {len(every)} "
                    f"in the rest of the file); is the file whole?"
                )
            whole.append(next(iter(every.values())))
        whole.extend(grid)
        return whole

    def _times(self, collection: Element) -> list[float]:
        """The time of every step, or its number where none has one."""
        steps = collection.findall("Grid")
        try:
            own = [_own_times(step) for step in steps]
            values = [time for times in own for time in times[:1]]
            if any(len(set(times)) > 1 for times in own):
                raise ValueError("grids of one step with several")
            listed = collection.find("Time")
            if not values and listed is not None:
                values = _listed_times(listed, len(steps))
        except (KeyError, ValueError) as error:
            raise ValueError(f"{self.path}: Expected the time of every step as a number (got: {error})") from error
        if values and len(values) != len(steps):
            raise ValueError(f"{self.path}: Expected {len(steps)} times, one a step (got {len(values)})")
        if not np.isfinite(values).all():
            raise ValueError(f"{self.path}: Expected finite times (got {values[:10]})")
        return values or [float(k) for k in range(len(steps))]

    def _differ(self, one: Timeline, other: Timeline) -> str:
        texts = [f"{line.name!r} at {_some(line.times or [])}" for line in (one, other)]
        return (
            f"{self.path}: Expected all functions at the same times (got {texts[0]}, but {texts[1]}); write them at "
            f"the same times, or each to a file of its own"
        )


def read_single(path: Path) -> Mesh:
    """The mesh of a file that holds one, alone or at a single time.

    Raises:
        ValueError: If it has several times, or cannot be read.
    """
    file = XdmfFile(path)
    if len(file) > 1:
        raise ValueError(several(path, len(file)))
    mesh = file.mesh(0)
    return replace(mesh, notes=(*file.notes, *mesh.notes))


def _with(element: Element) -> Element:
    grid = Element("Grid")
    grid.append(element)
    return grid


def _own_times(step: Element) -> list[float]:
    """The time of a step, or those of its grids."""
    time = step.find("Time")
    if time is None:
        return [value for grid in step.findall("Grid") for value in _own_times(grid)]
    item = time.find("DataItem")
    return [float(time.attrib["Value"] if item is None else item.text or "")]


def _listed_times(time: Element, count: int) -> list[float]:
    """The times of all steps, from those of the collection."""
    kind, item = time.get("TimeType", "Single"), time.find("DataItem")
    values = [float(word) for word in ((item.text if item is not None else time.get("Value")) or "").split()]
    if kind == "HyperSlab":
        start, stride, number = values
        return [start + stride * k for k in range(int(number))]
    if kind == "Range":
        first, last = values
        return [float(value) for value in np.linspace(first, last, count)]
    return values


def _some(times: Sequence[float]) -> str:
    text = ", ".join(f"{time:g}" for time in times[:6])
    return f"{text}, ... ({len(times)} times)" if len(times) > 6 else text
