"""Which points and cells lie in a named set of a mesh."""

from __future__ import annotations

import difflib

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.boundary import with_marked
from pitgeo.mesh import Mesh
from pitgeo.mesh.cells import split_by_block
from pitgeo.mesh.sets import marked

AT = "@"
"""Between the name of a number of the whole mesh and that of the set it is given in."""
FOR_ERRORS = ", of evaluation.sets"
GIVEN = f", where the number before the {AT!r} is given"


def in_set(mesh: Mesh, within: str, place: str, purpose: str = GIVEN) -> NDArray[np.bool_]:
    """Which points (or cells, if ``place`` is ``"cell"``) lie in a named set.

    A point lies in a set of cells if it is a node of one of them; a cell lies in a set of points if one of its nodes
    does. A field of zeros and ones stands for the set of its ones. Where two sets have one name, ``"point:name"`` and
    ``"cell:name"`` say which.

    Args:
        mesh: The mesh.
        within: The set.
        place: ``"point"`` or ``"cell"``.
        purpose: What the set is for, in the message.

    Raises:
        ValueError: If there is no such set, it is empty, or there are two different ones; the message names the file.
    """
    found = [moved(mesh, kind, marks, place) for kind, marks in marks_of(mesh, within, purpose).items()]
    if any((found[0] != other).any() for other in found[1:]):
        raise ValueError(
            f"{mesh.where}Expected one set {within!r} (got one of points and another of cells, with {found[0].sum()} "
            f"and {found[1].sum()} {place}s); say which: '{AT}point:{within}' or '{AT}cell:{within}'"
        )
    if not found[0].any():
        raise ValueError(
            f"{mesh.where}Expected at least one {place} in the set {within!r} (got none); mend the set, leave the file "
            f"out, or name another set"
        )
    return found[0]


def one_kind(mesh: Mesh, within: str, marks: dict[str, NDArray[np.bool_]]) -> str:
    """Which of the sets of a name is meant, ``"cell"`` if that of points has just the nodes of that of cells.

    Args:
        mesh: The mesh.
        within: The name.
        marks: The result of :func:`marks_of`.

    Raises:
        ValueError: If there are two different ones.
    """
    if len(marks) == 1:
        return next(iter(marks))
    if np.array_equal(marks["point"], moved(mesh, "cell", marks["cell"], "point")):
        return "cell"
    raise ValueError(
        f"{mesh.where}Expected one set {within!r} (got one of {marks['point'].sum()} points and another of "
        f"{marks['cell'].sum()} cells); say which: '{AT}point:{within}' or '{AT}cell:{within}'"
    )


def check_set(mesh: Mesh, within: str) -> None:
    """Refuse a set that a mesh does not have.

    Raises:
        ValueError: If there is none; the message names the file and the sets that there are.
    """
    marks_of(mesh, within, GIVEN)


def marks_of(mesh: Mesh, within: str, purpose: str = "") -> dict[str, NDArray[np.bool_]]:
    """Which points, and which cells, the sets of a name have: of points, of cells, or both.

    Args:
        mesh: The mesh.
        within: The name, perhaps with ``"point:"`` or ``"cell:"`` before it.
        purpose: What the set is for, in the message.

    Raises:
        ValueError: If there is no such set; the message names the file and the sets that there are.
    """
    kind, _, rest = within.partition(":")
    known = {*mesh.point_sets, *mesh.cell_sets}
    kinds, name = ((kind,), rest) if kind in ("point", "cell") and rest and within not in known else (None, within)
    mesh = with_marked(mesh, name)
    found = {}
    if name in mesh.point_sets and (kinds is None or "point" in kinds):
        found["point"] = marked(mesh.point_sets[name], len(mesh.points))
    if name in mesh.cell_sets and (kinds is None or "cell" in kinds):
        members = zip(mesh.cell_sets[name], mesh.cells, strict=True)
        found["cell"] = np.concatenate([np.zeros(0, bool), *(marked(part, len(nodes)) for part, (_, nodes) in members)])
    if not found:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else "name one of these, or leave the file out"
        if not names:
            hint = "take a file that names its sets, or name it without the set"
        raise ValueError(
            f"{mesh.where}Expected a set of {f'{kind}s' if kinds else 'points or cells'} named {name!r}{purpose} (got "
            f"{', '.join(map(repr, names)) or 'no sets'}); {hint}"
        )
    return found


def moved(mesh: Mesh, kind: str, marks: NDArray[np.bool_], place: str) -> NDArray[np.bool_]:
    """Marks of points or cells as marks of the other kind, where that is wanted."""
    if kind == place:
        return marks
    if kind == "point":
        return np.concatenate([marks[nodes].any(1) for _, nodes in mesh.cells] or [np.zeros(0, bool)])
    members = zip(mesh.cells, split_by_block(marks, mesh.cells), strict=True)
    nodes = [nodes[part].ravel() for (_, nodes), part in members]
    return marked(np.concatenate([np.zeros(0, np.int64), *nodes]), len(mesh.points))
