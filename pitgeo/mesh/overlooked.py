"""Content that meshio skips silently, so that values would be wrong or missing."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Collection, Iterator
from pathlib import Path

import meshio

from pitgeo.mesh.cell_types import VTK_TYPES
from pitgeo.mesh.med import tidy_med
from pitgeo.mesh.names import XML, decode, read_text, tidy_xml
from pitgeo.mesh.notes import Note
from pitgeo.mesh.vtk.cut_off import doubt_ply, doubt_stl

# Statements that move or add points.
NASTRAN = (
    r"^GRDSET.*|^INCLUDE\b.*|^GRID[^,\n]*\t.*|^GRID\* *,.*|^C(?!ORD)[A-Z]+\d?(\*|\t).*"
    r"|^(CTRIAX6?|CTRAX[36]|CQUADX?[48]?(?<!CQUAD4)(?<!CQUAD8)|CPLST[NS][3468]|CONROD)\b.*"
)
READ = "CELAS1 CBEAM CBUSH CBUSH1D CROD CGAP CBAR CTRIAR CTRIA3 CTRIA6 CQUADR CSHEAR CQUAD4 CQUAD8 CQUAD9 CTETRA CPYRAM"
KNOWN = f"{READ} CPYRA CPENTA CHEXA".split()
"""Elements of Nastran that meshio reads."""

STATEMENTS = {".bdf": NASTRAN, ".fem": NASTRAN, ".nas": NASTRAN}

LEGACY = re.compile(
    rb"^(?:SCALARS|VECTORS|NORMALS|TENSORS6?|TEXTURE_COORDINATES|GLOBAL_IDS|PEDIGREE_IDS)[^\S\n]+(\S+)"
    rb"|^(\S+)[^\S\n]+\d+[^\S\n]+\d+[^\S\n]+(?:unsigned_)?(?:bit|char|short|int|long|float|double|string|vtk\w+)\s*$",
    re.MULTILINE | re.IGNORECASE,
)
"""How a field begins in a legacy VTK file: an attribute, or an array of a FIELD."""

# What VTK reads rightly, and why meshio must not.
DOUBTS = {
    ".vtk": (rb"^(COLOR_SCALARS)\b", "it leaves colours out"),
    ".obj": (rb"^(f.*\s-\d|[lp]\s|.*\\\r?$)", "it does not know negative numbers, lines or broken lines"),
}


REORDERED = ("VTK_LAGRANGE_HEXAHEDRON", "VTK_BEZIER_HEXAHEDRON")
"""Cells of which VTK numbered two edges otherwise in older files."""


def refuse(path: Path) -> None:
    """Refuse a file with statements that no reader here follows, or two fields of one name.

    Raises:
        ValueError: Naming the statement or the field.
    """
    for place, names in _field_names(path):
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            raise ValueError(
                f"{path}: Expected {place} fields of different names (got {names.count(name)} called "
                f"{decode(name)!r}, of which readers keep one); rename them in the program that wrote the file"
            )
    pattern = STATEMENTS.get(path.suffix.lower())
    found = re.search(pattern, read_text(path), re.MULTILINE | re.IGNORECASE) if pattern else None
    if found:
        raise ValueError(
            f"{path}: Expected points in plain coordinates, and cells that meshio reads (got "
            f"{found.group().splitlines()[0].strip()!r}, which it passes over or misreads, so that points or cells "
            f"would be wrong or missing); export one flat mesh, or save it as .vtu"
        )


def _field_names(path: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Names of the point, cell and whole-mesh fields of every piece of a VTK file."""
    suffix = path.suffix.lower()
    if suffix in XML:
        head = path.read_bytes().partition(b"<AppendedData")[0]
        place, names = "", list[bytes]()
        for tag in re.finditer(rb"<(/?)(?:(Point|Cell|Field)Data|(?:Data)?Array)\b[^>]*", head):
            ends, kind = tag.groups()
            if kind:
                if place:
                    yield place, names
                is_empty = ends or tag.group().endswith(b"/")  # the end of a list, or one without fields
                place, names = "" if is_empty else kind.decode().lower(), []
            elif place and (name := re.search(rb"""\sName\s*=\s*("[^"]*"|'[^']*')""", tag.group())):
                names.append(name.group(1)[1:-1])
    elif suffix == ".vtk":
        parts = re.split(rb"^(POINT|CELL)_DATA\b", path.read_bytes(), flags=re.MULTILINE | re.IGNORECASE)
        for own, part in zip(parts[1::2], parts[2::2], strict=True):
            yield own.decode().lower(), [word for found in LEGACY.findall(part) for word in found if word]


def doubt(path: Path) -> str:
    """The reason why meshio would misread a file that VTK reads correctly; empty if there is none."""
    if path.suffix.lower() == ".stl":
        return doubt_stl(path)
    if path.suffix.lower() == ".vtu":
        several = len(re.findall(rb"<Piece\b", path.read_bytes())) > 1
        return "of several pieces, it keeps the cells of one" if several else ""
    pattern, reason = DOUBTS.get(path.suffix.lower(), (b"", ""))
    return reason if pattern and re.search(pattern, path.read_bytes(), re.MULTILINE) else ""


def doubt_result(path: Path, raw: meshio.Mesh) -> str:
    """The reason why meshio's result cannot be trusted; empty if there is none."""
    kinds = {block.type for block in raw.cells}
    if path.suffix.lower() in (".vtu", ".vtk") and any(
        block.type in REORDERED and block.data.shape[1] > 8 for block in raw.cells
    ):
        return "it does not know the order of nodes that files of VTK before version 2.1 have"
    if path.suffix.lower() in (".vtu", ".vtk") and kinds - set(VTK_TYPES.values()):
        return f"it does not cut {', '.join(sorted(kinds - set(VTK_TYPES.values())))} cells into plain ones"
    if path.suffix.lower() == ".vtk" and "polygon" in kinds and b"CELL_DATA" in path.read_bytes():
        return "it leaves out the cell data of polygons"
    if path.suffix.lower() == ".ply":
        return doubt_ply(path, len(raw.points), sum(len(block.data) for block in raw.cells if block.type != "vertex"))
    return ""


def missing_field(path: Path, read: Collection[str]) -> str:
    """The message on a field that a legacy VTK file announces and that was not read, as in a truncated file."""
    names = {urllib.parse.unquote(decode(name)) for _, own in _field_names(path) for name in own}
    missing = sorted(names - {*read})
    return f"the values of {missing[0]!r} are not there" if missing else ""


def left_out(path: Path) -> list[Note]:
    """Notes on elements of a Nastran file that meshio skips: springs, masses, links."""
    names = re.findall(r"^(C(?!ORD|END)[A-Z]+\d*[A-Z]?|RBE\d|RBAR|PLOTEL)\b", read_text(path).upper(), re.MULTILINE)
    rest = sorted(set(names) - set(KNOWN))
    return [Note("left out", f"{', '.join(rest)} elements are left out")] * bool(rest)


def own_corners(path: Path) -> bool:
    """Whether faces of an OBJ file number normals or texture unlike points, which meshio ignores."""
    for line in read_text(path).splitlines():
        if line.startswith("f"):
            for word in line.split()[1:]:
                if len({number for number in word.split("/") if number}) > 1:
                    return True
    return False


def tidy_nastran(path: Path, folder: Path) -> Path:
    """A copy whose shells have only nodes; meshio takes their angle and offset for nodes, and fails."""
    lines: list[str] = []
    dropping = False
    for line in read_text(path).splitlines():
        if dropping and (line.startswith(("+", "*", " " * 8)) or not line.strip()):
            continue  # thicknesses, on continued lines
        found = re.match(r"(CTRIA3|CTRIAR|CQUAD4|CQUADR|CSHEAR)\b(?!\*)", line)
        dropping = found is not None
        if found:
            fields = 3 + (3 if found.group(1).startswith("CTRIA") else 4)
            line = ",".join(line.split(",")[:fields]) if "," in line else line[: 8 * fields]
        lines.append(line)
    copy = folder / path.name
    copy.write_bytes(("\n".join(lines) + "\n").encode("ascii", "replace"))
    return copy


TIDY = {".bdf": tidy_nastran, ".fem": tidy_nastran, ".nas": tidy_nastran, ".med": tidy_med, ".vtu": tidy_xml}
"""What makes a copy that meshio reads rightly, by the ending of the file."""
