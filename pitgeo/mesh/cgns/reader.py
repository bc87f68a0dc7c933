"""Reader of CGNS files in HDF5."""

from __future__ import annotations

from pathlib import Path

import h5py

from pitgeo.mesh.cgns.fields import SOLUTIONS, Times, add_fields, repeated, with_vectors
from pitgeo.mesh.cgns.grids import read_grid
from pitgeo.mesh.cgns.nodes import SIGNATURE, Node
from pitgeo.mesh.cgns.seams import weld_seams
from pitgeo.mesh.cgns.sets import family_names, read_sets
from pitgeo.mesh.notes import Note
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw

ADF = b"ADF Database Version"
"""What files in ADF begin with. VTK reads such, but no boundary conditions, and some damaged ones end the process."""


def read_cgns(path: Path) -> Raw:
    """Points, cells, fields and sets of a CGNS file, at the first of its times.

    - Zones are pieces of one mesh, see :func:`~pitgeo.mesh.pieces.join`; their names are sets of cells.
    - Fields of vertices are point data, those of cell centers cell data, which are not-a-number on cells of lower
      dimension. ``<name>X``, ``<name>Y`` and ``<name>Z`` become the vector ``<name>``. Rind values are left out.
    - Of sets, see :func:`~pitgeo.mesh.cgns.sets.read_sets`.
    - Of several bases the one with cells of the highest dimension is read.

    Raises:
        ValueError: If the file is in ADF, is damaged, or holds what is not followed, such as polyhedra.
    """
    with path.open("rb") as start:
        head = start.read(64)
    if not head.startswith(SIGNATURE):
        is_old = ADF in head
        raise ValueError(
            f"Expected a CGNS file in HDF5 (got {'one in ADF, the older format' if is_old else 'another file'}); "
            f"{'convert it by adf2hdf of the CGNS tools' if is_old else 'is it CGNS, and whole?'}"
        )
    notes: list[Note] = []
    try:
        with h5py.File(path, "r") as file:
            raw = _read_base(_base(Node(file, ""), notes), notes)
    except (OSError, RuntimeError, LookupError, UnicodeError) as error:  # of HDF5
        words = " ".join(str(error).split())[:150]
        raise ValueError(
            f"Expected a whole file in HDF5 (got {words}); write the file again, or copy it again"
        ) from error
    raw.notes = list(dict.fromkeys([*notes, *raw.notes]))
    raw.point_data = with_vectors(raw.point_data)
    raw.cell_data = with_vectors(raw.cell_data)
    return raw


def _base(root: Node, notes: list[Note]) -> Node:
    """The base to read, with a note if there are others that have zones."""
    bases = [base for base in root.all("CGNSBase_t") if base.all("Zone_t")]
    if not bases:
        raise ValueError("Expected a CGNS base with zones (got none); is it a CGNS file, and whole?")
    axes = {base.name: int(base.numbers(2)[0]) for base in bases}
    found = [base for base in bases if axes[base.name] == max(axes.values())]
    if len(found) > 1:
        names = ", ".join(repr(base.name) for base in found)[:200]
        advice = "write every base into a file of its own"
        raise ValueError(f"Expected one base with cells of {max(axes.values())} dimensions (got {names}); {advice}")
    others = ", ".join(repr(base.name) for base in bases if base is not found[0])
    if others:
        notes.append(Note("one of several bases", f"the base {found[0].name!r} is read, not {others[:200]}"))
    return found[0]


def _read_base(base: Node, notes: list[Note]) -> Raw:
    axes, space = (int(number) for number in base.numbers(2))
    if not 1 <= axes <= space <= 3:
        raise base.refusal("cells of 1 to 3 dimensions in as many or more", f"{axes} in {space}")
    times = Times(base)
    zones = times.zones(base.all("Zone_t"))
    solutions = [times.solutions(zone) for zone in zones]
    twice = repeated(solutions)
    families = family_names(base, zones)
    pieces = []
    for zone, own in zip(zones, solutions, strict=True):
        grid = read_grid(zone, axes, space, times.coordinates(zone))
        sets = read_sets(grid, families, len(zones) == 1)
        raw = Raw(
            points=grid.points,
            cells=[(block.kind, block.nodes) for block in grid.blocks],
            point_sets=dict(sets.points),
            cell_sets=dict(sets.cells),
            notes=grid.notes,
        )
        add_fields(raw, grid, own, twice)
        pieces.append((zone.name, weld_seams(raw, grid)))
    left = sum(len(zone.all(*SOLUTIONS)) for zone in zones) > sum(map(len, solutions)) or len(zones) < len(
        base.all("Zone_t")
    )
    if left:
        notes.append(Note("one of several times", f"the first of {max(times.count, 2)} times is read"))
    if any("Overset" in child.text() for zone in zones for child in _kinds(zone)):
        notes.append(Note("overset", "zones that overlap (overset grids) are all kept, with their boundaries"))
    if any(zone.all("ZoneSubRegion_t") for zone in zones):
        notes.append(Note("left out", "fields of parts of zones (ZoneSubRegion_t) are left out"))
    return join(pieces)


def _kinds(zone: Node) -> list[Node]:
    """The nodes that hold the types of the general connectivities of a zone."""
    return [
        kind
        for holder in zone.all("ZoneGridConnectivity_t")
        for node in holder.all("GridConnectivity_t")
        for kind in node.all("GridConnectivityType_t")
    ]
