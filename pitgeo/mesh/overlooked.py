"""What meshio passes over without a word, so that numbers would be wrong or missing."""

from __future__ import annotations

import re
from pathlib import Path

import meshio

from pitgeo.mesh.gmsh import tidy_gmsh
from pitgeo.mesh.grid_attributes import tidy_xdmf
from pitgeo.mesh.med import tidy_med
from pitgeo.mesh.names import read_text

# Statements that move or add points.
NASTRAN = r"^GRDSET.*|^INCLUDE\b.*|^GRID[^,\n]*\t.*|^GRID\* *,.*"
STATEMENTS = {".bdf": NASTRAN, ".fem": NASTRAN, ".nas": NASTRAN}

# What VTK reads rightly, and why meshio must not.
DOUBTS = {
    ".vtu": (rb"<Piece\b(?s:.*)<Piece\b", "of several pieces, it keeps the cells of one"),
    ".vtk": (rb"^(COLOR_SCALARS)\b", "it leaves colours out"),
    ".obj": (rb"^(f.*\s-\d|[lp]\s|.*\\\r?$)", "it does not know negative numbers, lines or broken lines"),
}


def refuse(path: Path) -> None:
    """Refuse a file with statements that no reader here follows.

    Raises:
        ValueError: Naming the statement.
    """
    if path.suffix.lower() == ".msh" and _first(path) == b"(":
        raise ValueError(
            f"{path}: Expected a mesh of Gmsh (got one of Fluent, which gives cells by their faces: meshio takes the "
            f"faces for cells); export it from Fluent as CGNS or EnSight, or save it as .vtu"
        )
    pattern = STATEMENTS.get(path.suffix.lower())
    found = re.search(pattern, read_text(path), re.MULTILINE | re.IGNORECASE) if pattern else None
    if found:
        raise ValueError(
            f"{path}: Expected points in plain coordinates (got {found.group().splitlines()[0].strip()!r}, which "
            f"meshio passes over, so that points would be wrong or missing); export one flat mesh, or save it as .vtu"
        )


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1024).lstrip()[:1]


def doubt(path: Path) -> str:
    """Why meshio would read a file wrongly that VTK reads rightly; empty if it would not."""
    pattern, reason = DOUBTS.get(path.suffix.lower(), (b"", ""))
    return reason if pattern and re.search(pattern, path.read_bytes(), re.MULTILINE) else ""


def doubt_result(path: Path, raw: meshio.Mesh) -> str:
    """Why what meshio read is not to be trusted; empty if it is."""
    kinds = {block.type for block in raw.cells}
    if path.suffix.lower() in (".xdmf", ".xmf") and "vertex" in kinds and len(kinds) > 1:
        return "it takes the number of points of a vertex in mixed cells for a point"
    if path.suffix.lower() == ".vtk" and "polygon" in kinds and b"CELL_DATA" in path.read_bytes():
        return "it leaves out the cell data of polygons"
    return ""


def own_corners(path: Path) -> bool:
    """Whether the faces of an OBJ file number normals and texture otherwise than points; meshio takes them as one."""
    for line in read_text(path).splitlines():
        if line.startswith("f"):
            for word in line.split()[1:]:
                if len({number for number in word.split("/") if number}) > 1:
                    return True
    return False


def tidy_nastran(path: Path, folder: Path) -> Path:
    """A copy whose shells have nodes alone: meshio takes their angle and offset for nodes, and fails."""
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


TIDY = {
    ".msh": tidy_gmsh,
    ".xdmf": tidy_xdmf,
    ".xmf": tidy_xdmf,
    ".bdf": tidy_nastran,
    ".fem": tidy_nastran,
    ".nas": tidy_nastran,
    ".med": tidy_med,
}
"""What makes a copy that meshio reads rightly, by the ending of the file."""
