"""Fields of CGNS files: the solutions of the first time, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cgns.grids import CONVERTED, Grid, core
from pitgeo.mesh.cgns.nodes import Node
from pitgeo.mesh.cgns.sets import location_of
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw

SOLUTIONS = ("FlowSolution_t", "DiscreteData_t")
REGIONS = ("PointRange", "PointList")

Values = TypeVar("Values", NDArray[Any], list[NDArray[Any]])


class Times:
    """Selects the zones, coordinates and solutions of the first time of a base.

    Args:
        base: The base.
    """

    def __init__(self, base: Node) -> None:
        self._iterations = next(iter(base.all("BaseIterativeData_t")), None)
        self.count = int(self._iterations.numbers(1)[0]) if self._iterations and self._iterations.size else 1

    def zones(self, zones: Sequence[Node]) -> list[Node]:
        """The zones of the first time; all of them if the base does not say."""
        pointers = self._iterations.named("ZonePointers") if self._iterations else None
        if pointers is None or self.count < 2:
            return list(zones)
        names = pointers.texts()[0]
        found = [zone for zone in zones if zone.name in [name.split("/")[-1] for name in names]]
        return found or list(zones)

    def coordinates(self, zone: Node) -> str:
        """The name of the coordinates of the first time; empty if the zone does not say."""
        return next(iter(_pointers(zone, r"GridCoordinatesPointers")), [""])[0]

    def solutions(self, zone: Node) -> list[Node]:
        """The solutions of the first time, and those of no time."""
        found = zone.all(*SOLUTIONS)
        pointers = _pointers(zone, r"(FlowSolution|DiscreteData).*Pointers")
        later = {name for names in pointers for name in names[1:]} - {names[0] for names in pointers}
        found = [node for node in found if node.name not in later]
        if pointers or self.count < 2:
            return found
        seen = set[tuple[str, str]]()
        kept = []
        for node in found:  # without pointers, several solutions of the same fields are times, in the order of names
            fields = {(location_of(node), name) for name in _arrays(node)}
            if not fields & seen:
                kept.append(node)
            seen |= fields
        return kept


def _pointers(zone: Node, pattern: str) -> list[list[str]]:
    """Names of the nodes at every time, from the pointer arrays of a zone that match a pattern."""
    return [
        [name.split("/")[-1] for row in node.texts() for name in row]
        for holder in zone.all("ZoneIterativeData_t")
        for node in holder.children
        if node.kind == "c" and node.label == "DataArray_t" and re.fullmatch(pattern, node.name)
    ]


def _arrays(solution: Node) -> dict[str, Node]:
    return {node.name: node for node in solution.all("DataArray_t") if node.kind in ("i", "f")}


def repeated(solutions: Iterable[Sequence[Node]]) -> set[tuple[str, str]]:
    """Location and name of every field that several solutions of one zone hold.

    Args:
        solutions: Those of every zone.
    """
    found = set[tuple[str, str]]()
    for own in solutions:
        seen = set[tuple[str, str]]()
        for node in own:
            fields = {(location_of(node), name) for name in _arrays(node)}
            found |= fields & seen
            seen |= fields
    return found


def add_fields(raw: Raw, grid: Grid, solutions: Sequence[Node], twice: set[tuple[str, str]]) -> None:
    """Add the fields of solutions to a mesh: vertex values as point data, cell values as cell data.

    Values of cells are of those of the highest dimension; those of others are not-a-number.

    Args:
        raw: The mesh.
        grid: The zone that it was made of.
        solutions: Those to read.
        twice: Places and names that several solutions have: there the solution's name follows that of the field.

    Raises:
        ValueError: If there are more or fewer values than points or cells.
    """
    rows = grid.rows()
    for solution in solutions:
        location = location_of(solution)
        if location not in ("Vertex", "CellCenter") or solution.named(*REGIONS) is not None:
            where = "parts of zones" if solution.named(*REGIONS) is not None else location
            raw.notes.append(Note("left out", f"fields of {solution.name!r} at {where} are left out"))
            continue
        for stored, node in _arrays(solution).items():
            name = f"{stored} ({solution.name})" if (location, stored) in twice else stored
            if name != stored:
                raw.notes.append(Note("renamed", f"the field {stored!r} of {solution.name!r} is called {name!r}"))
            if node.named("DataConversion") is not None:
                raw.notes.append(CONVERTED)
            values = core(node, solution, grid.shape if location == "Vertex" else grid.cells)
            if location == "Vertex":
                raw.point_data[name] = values
            elif all(own is not None for own in rows):
                raw.cell_data[name] = [values[own] for own in rows]
            else:
                gaps = [np.full(len(block.nodes), np.nan) for block in grid.blocks]
                raw.cell_data[name] = [
                    gap if own is None else values[own].astype(np.float64) for gap, own in zip(gaps, rows, strict=True)
                ]
        others = [node.name for node in solution.all("DataArray_t") if node.kind == ""]
        if others:
            raw.notes.append(Note("left out", f"{', '.join(others)[:200]} left out, which hold no real numbers"))


def with_vectors(fields: Mapping[str, Values]) -> dict[str, Values]:
    """Fields ``<name>X``, ``<name>Y`` and perhaps ``<name>Z`` as one, ``<name>``; those of tensors stay.

    Example:
        >>> sorted(with_vectors({"VelocityX": np.ones(2), "VelocityY": np.zeros(2), "StressXX": np.ones(2)}))
        ['StressXX', 'Velocity']
    """
    result: dict[str, Values] = {}
    used = set[str]()
    for name, values in fields.items():
        if name in used:
            continue
        base, mark, end = re.fullmatch(r"(.*?)([XYZ]?)((?: \(.*\))?)", name, re.DOTALL).groups()  # type: ignore[union-attr]
        parts = [f"{base}{axis}{end}" for axis in "XYZ"]
        parts = [part for part in parts if part in fields]
        is_vector = mark and base and base[-1] not in "XYZ" and f"{base}{end}" not in fields
        if not is_vector or [part[len(base)] for part in parts][:2] != ["X", "Y"]:
            result[name] = values
            continue
        used.update(parts)
        result[f"{base}{end}"] = _stacked([fields[part] for part in parts])
    return result


def _stacked(parts: Sequence[Values]) -> Values:
    first = parts[0]
    if isinstance(first, list):
        return [np.stack(blocks, 1) for blocks in zip(*parts, strict=True)]
    return np.stack(parts, 1)
