"""Named sets of CGNS files: boundary conditions, their families, and sections of elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pitgeo.mesh.cgns.grids import LOCATIONS, NONE, Grid, index_rows, points_of_faces
from pitgeo.mesh.cgns.nodes import Node, Numbers
from pitgeo.mesh.notes import Note

FAMILIES = ("FamilyName_t", "AdditionalFamilyName_t")


@dataclass
class Sets:
    """The sets of a zone.

    Args:
        points: Numbers of the points of every set of points.
        cells: Numbers of the cells of every set of cells, one array a block.
    """

    points: dict[str, Numbers] = field(default_factory=dict)
    cells: dict[str, list[Numbers]] = field(default_factory=dict)

    def add(self, name: str, members: Numbers | list[Numbers]) -> None:
        """Put points, or the cells of every block, into a set."""
        if isinstance(members, list):
            before = self.cells.get(name, [NONE] * len(members))
            self.cells[name] = [
                np.union1d(one, other) if len(one) and len(other) else other if len(other) else one
                for one, other in zip(before, members, strict=True)
            ]
        else:
            self.points[name] = np.union1d(self.points.get(name, members), members)


def conditions(zone: Node) -> list[Node]:
    """The boundary conditions of a zone."""
    return [condition for holder in zone.all("ZoneBC_t") for condition in holder.all("BC_t")]


def family_names(base: Node, zones: list[Node]) -> dict[str, dict[str, str]]:
    """For every family, the families that it belongs to, with the names of their sets.

    A family that has the name of a boundary condition outside of it is called ``<name> (family)``.
    """
    tree = {node.name: [other.text() for other in node.all(*FAMILIES)] for node in base.all("Family_t")}
    found: dict[str, list[str]] = {}
    taken = set[str]()
    for zone in zones:
        for node in (zone, *conditions(zone)):
            own = [child.text() for child in node.all(*FAMILIES)]
            found.update((name, _closure(name, tree)) for name in own if name not in found)
            if node is not zone and not any(node.name in found[name] for name in own):
                taken.add(node.name)
    return {
        name: {member: f"{member} (family)" if member in taken else member for member in members}
        for name, members in found.items()
    }


def _closure(name: str, tree: Mapping[str, list[str]]) -> list[str]:
    """A family, and those that it belongs to, directly or not."""
    found, queue = [], [name]
    while queue:
        own = queue.pop()
        if own and own not in found:
            found.append(own)
            queue += tree.get(own, [])
    return found


def read_sets(grid: Grid, families: Mapping[str, Mapping[str, str]], is_alone: bool) -> Sets:
    """The sets of a zone.

    - A boundary condition is a set of cells if it names elements or cells, else of points: those of its faces in a
      structured zone.
    - A family is a set of all that belongs to it: boundary conditions, and cells of zones if there are several zones.
    - A section of elements is a set, unless it alone has the cells of the highest dimension.

    Args:
        grid: The zone; gets notes of what is left out.
        families: From :func:`family_names`.
        is_alone: Whether it is the only zone.

    Raises:
        ValueError: If a boundary condition names what is not there.
    """
    sets = Sets()
    for node in conditions(grid.node):
        members = picked(grid, node)
        if members is None:
            text = f"the boundary condition {node.name!r} is left out: which faces it names cannot be told"
            grid.notes.append(Note("set left out", text))
            continue
        sets.add(node.name, members)
        for name in _all_families(node, families):
            sets.add(name, members)
    if not is_alone:
        members = [
            np.flatnonzero(np.full(len(b.nodes), own is not None))
            for b, own in zip(grid.blocks, grid.rows(), strict=True)
        ]
        for name in _all_families(grid.node, families):
            sets.add(name, members)
    tops = [section for section in grid.sections if section.dimension == grid.dimension]
    for section in grid.sections:
        if len(tops) > 1 or section not in tops:
            members = grid.members_between(section.first, section.last)
            other = sets.cells.get(section.name)
            is_other = other is not None and not all(map(np.array_equal, other, members))
            sets.add(f"{section.name} (section)" if is_other else section.name, members)
    return sets


def _all_families(node: Node, families: Mapping[str, Mapping[str, str]]) -> list[str]:
    own = [families[child.text()] for child in node.all(*FAMILIES)]
    return list(dict.fromkeys(name for members in own for name in members.values()))


def location_of(node: Node) -> str:
    """The grid location of a solution or a boundary condition.

    Raises:
        ValueError: If the place is not known.
    """
    held = node.named("GridLocation")
    location = held.text() if held is not None else "Vertex"
    if held is not None and location not in LOCATIONS:
        raise held.refusal(f"one of {', '.join(LOCATIONS)}", repr(location))
    return location


def picked(grid: Grid, node: Node, *names: str) -> Numbers | list[Numbers] | None:
    """The points, or the cells of every block, that a node names; ``None`` if that is ambiguous.

    Args:
        grid: The zone.
        node: A boundary condition or a connectivity.
        names: Names of ranges and lists; by default those of a boundary condition.

    Raises:
        ValueError: If it names what is not there.
    """
    elements = None if names else node.named("ElementRange", "ElementList")
    points = node.named(*(names or ("PointRange", "PointList")))
    location = location_of(node)
    if grid.is_structured:
        return None if points is None else _picked_structured(grid, node, points, location)
    if elements is not None or (points is not None and location != "Vertex"):
        return _elements(grid, elements or points)
    return None if points is None else index_rows(points, 1, [len(grid.points)]).ravel() - 1


def _elements(grid: Grid, node: Node | None) -> list[Numbers]:
    """The cells of every block that a range or a list of element numbers names."""
    assert node is not None
    numbers = node.numbers(2 if node.name.endswith("Range") else None)
    if node.name.endswith("Range"):
        low, high = int(numbers.min()), int(numbers.max())
        members = grid.members_between(low, high)
        missing = high - low + 1 - sum(map(len, members))
    else:
        numbers = np.unique(numbers)
        members = grid.members(numbers)
        missing = len(numbers) - sum(map(len, members))
    if missing:
        got = f"{missing:,} that are in none"
        raise node.refusal("numbers of elements that are in a section", got, "write the faces as elements, too")
    return members


def _picked_structured(grid: Grid, node: Node, points: Node, location: str) -> Numbers | list[Numbers] | None:
    axes = len(grid.shape)
    limit = grid.cells if location == "CellCenter" else grid.shape
    rows = index_rows(points, axes, limit)
    strides = np.cumprod([1, *limit[:-1]])
    if location == "Vertex":
        return np.unique((rows - 1) @ strides)
    if location == "CellCenter":
        return [np.unique((rows - 1) @ strides)]
    if not len(rows):
        return NONE
    axis = _axis_of_faces(grid, node, rows, location)
    return None if axis is None else points_of_faces(rows, axis, grid.shape)


def _axis_of_faces(grid: Grid, node: Node, rows: Numbers, location: str) -> int | None:
    """The axis normal to structured faces; ``None`` if several are possible."""
    axes = len(grid.shape)
    low, high = rows.min(0), rows.max(0)
    possible = [
        axis
        for axis in range(axes)
        if grid.shape[axis] > 1 and all(high[other] <= grid.cells[other] for other in range(axes) if other != axis)
    ]
    if location[0] in "IJK":
        return "IJK".index(location[0]) if "IJK".index(location[0]) in possible else None
    if location == "EdgeCenter" and axes != 2:
        return None
    level = [axis for axis in possible if low[axis] == high[axis]]
    inward = node.named("InwardNormalIndex")
    normal = np.flatnonzero(inward.numbers(axes)).tolist() if inward is not None else []
    outer = [axis for axis in level if low[axis] in (1, grid.shape[axis])]
    for some in (normal, outer, level):
        chosen = [axis for axis in some if axis in level]
        if len(chosen) == 1:
            return int(chosen[0])
    return None
