"""Reader of Exodus files."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cells import members_by_block, split_by_block
from pitgeo.mesh.exodus.cells import ORDER, kind_of, side_nodes
from pitgeo.mesh.names import each_once, ended
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw

Numbers = NDArray[np.int64]

FIELDS = "pitgeo_fields"
"""The attribute of a file that says, in JSON, of which variables a field of several components is made."""

STEP = 0
"""The time step that is read."""

VARIABLES = {"nod": "point field", "elem": "cell field", "glo": "field of the mesh"}
"""Kinds of variables, and what they are in notes."""


def open_exodus(path: Path, mode: str = "r", **options: Any) -> Any:
    """The file as netCDF4 gives it, values as they are stored.

    Raises:
        ValueError: If netCDF4 is not installed.
    """
    try:
        file = importlib.import_module("netCDF4").Dataset(path, mode, **options)
    except ImportError as error:
        raise ValueError("Exodus files need netCDF4: pip install 'pitgeo[vtk]'") from error
    file.set_auto_maskandscale(False)
    file.set_auto_chartostring(False)
    return file


def read_exodus(path: Path) -> Raw:
    """Points, cells, fields and sets, at the first time step; global variables are field data.

    A named block of elements is a set of cells. A set of sides is the set of their points; a set without a name is
    called by its number. Point fields ``<name>X``, ``<name>Y``, ``<name>Z`` become one, as those that
    :func:`~pitgeo.mesh.exodus.results.write_results` wrote as several variables. Where a block lacks a field, its
    values are not-a-number.

    Raises:
        ValueError: If netCDF4 is not installed, or an element is not known.
    """
    with open_exodus(path) as file:
        found = file.variables
        axes, count = len(file.dimensions["num_dim"]), len(file.dimensions["num_nodes"])
        points = np.zeros((count, 3))
        for axis in range(axes):
            points[:, axis] = found["coord"][axis] if "coord" in found else found["coord" + "xyz"[axis]][:]
        blocks = block_numbers(file)
        elements = [found[f"connect{block}"].elem_type for block in blocks]
        stored = [np.asarray(found[f"connect{block}"][:], np.int64) - 1 for block in blocks]
        kinds = [kind_of(name, part.shape[1], axes) for name, part in zip(elements, stored, strict=True)]
        nodes = [part[:, ORDER.get(kind, slice(None))] for kind, part in zip(kinds, stored, strict=True)]
        steps = len(file.dimensions.get("time_step", ()))
        notes: list[Note] = []
        raw = Raw(
            points=points,
            notes=notes,
            cells=list(zip(kinds, nodes, strict=True)),
            point_data=_fields(file, "nod", point_variables(file, STEP, notes)) if steps else {},
            field_data=_fields(file, "glo", _global_variables(file, notes)) if steps else {},
            point_sets=_sets(file, "ns", "node set", "node_ns", notes),
        )
        if steps > 1:
            notes.append(Note("one of several times", f"the first of {steps} time steps is read"))
        if steps:
            joined = _fields(file, "elem", _cell_variables(file, blocks, [len(part) for part in nodes], notes))
            raw.cell_data = {name: split_by_block(values, raw.cells) for name, values in joined.items()}
        raw.cell_sets = _block_sets(file, blocks, nodes, notes)
        for name, parts in _element_sets(file, nodes, notes).items():
            other_parts = raw.cell_sets.get(name)
            is_taken = other_parts is not None and not all(map(np.array_equal, other_parts, parts))
            raw.cell_sets[f"{name} (elements)" if is_taken else name] = parts
        for name, members in _side_sets(notes, file, axes, elements, kinds, nodes).items():
            other = raw.point_sets.get(name)
            is_taken = other is not None and not np.array_equal(np.unique(other), members)
            raw.point_sets[f"{name} (sides)" if is_taken else name] = members
    return raw


def block_numbers(file: Any) -> list[int]:
    """Numbers of the blocks that hold elements, from the names of the variables."""
    return sorted(int(key[7:]) for key in file.variables if key.startswith("connect") and key[7:].isdecimal())


def stored_names(variable: Any) -> list[bytes]:
    """The names in a variable of characters, as bytes up to the first zero."""
    if variable is None:
        return []
    return [ended(bytes(row)) for row in variable[:]]


def set_names(variable: Any, what: str, notes: list[Note]) -> list[str]:
    """The names of blocks or sets, empty if there is none; equal bytes give equal names."""
    stored = stored_names(variable)
    distinct = [name for name in dict.fromkeys(stored) if name]
    names = dict(zip(distinct, each_once(distinct, what, notes), strict=True))
    return [names.get(name, "") for name in stored]


def variable_names(file: Any, kind: str, notes: list[Note] | None = None) -> list[str]:
    """The names of the variables of a kind, ``"nod"``, ``"elem"`` or ``"glo"``, each once."""
    stored = stored_names(file.variables.get(f"name_{kind}_var"))
    return each_once(stored, VARIABLES[kind], [] if notes is None else notes)


def groups(file: Any, kind: str, names: list[str]) -> dict[str, list[int]]:
    """The fields, and the numbers of the variables that each is made of.

    Args:
        file: The file.
        kind: ``"nod"``, ``"elem"`` or ``"glo"``.
        names: Names of the variables.
    """
    own = json.loads(file.getncattr(FIELDS)) if FIELDS in file.ncattrs() else {}
    left = dict(zip(reversed(names), reversed(range(len(names))), strict=True))
    result: dict[str, list[int]] = {}
    for name, parts in own.get(kind, {}).items():
        if all(part in left for part in parts):
            result[name] = [left.pop(part) for part in parts]
    for name in names:
        if name not in left:
            continue
        start = name[:-1] if name.endswith("X") else name[:-1] if name.endswith("_R") else ""
        ends = "XYZ" if name.endswith("X") else "RZ"
        parts = [start + end for end in ends]
        if kind == "nod" and start and all(part in left for part in parts):
            field = start if ends == "XYZ" else start[:-1]
            if field and field not in names and field not in result:
                result[field] = [left.pop(part) for part in parts]
                continue
        result[name] = [left.pop(name)]
    return result


def point_variables(file: Any, step: int, notes: list[Note] | None = None) -> dict[str, NDArray[Any]]:
    """The variables of points at a time step."""
    names = variable_names(file, "nod", notes)
    if "vals_nod_var" in file.variables:  # of old files
        return dict(zip(names, file.variables["vals_nod_var"][step], strict=True))
    return {name: file.variables[f"vals_nod_var{number}"][step] for number, name in enumerate(names, start=1)}


def _fields(file: Any, kind: str, variables: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    names = list(variables)
    result = {}
    for name, numbers in groups(file, kind, names).items():
        parts = [variables[names[number]] for number in numbers]
        result[name] = parts[0] if len(parts) == 1 else np.concatenate(parts) if kind == "glo" else np.stack(parts, 1)
    return result


def _global_variables(file: Any, notes: list[Note]) -> dict[str, NDArray[Any]]:
    names = variable_names(file, "glo", notes)
    return (
        {name: value[None] for name, value in zip(names, file.variables["vals_glo_var"][STEP], strict=True)}
        if names
        else {}
    )


def _cell_variables(file: Any, blocks: list[int], sizes: list[int], notes: list[Note]) -> dict[str, NDArray[Any]]:
    result = {}
    for number, name in enumerate(variable_names(file, "elem", notes), start=1):
        keys = [f"vals_elem_var{number}eb{block}" for block in blocks]
        parts = [
            file.variables[key][STEP] if key in file.variables else np.full(size, np.nan)
            for key, size in zip(keys, sizes, strict=True)
        ]
        result[name] = np.concatenate(parts) if parts else np.zeros(0)
    return result


def _sets(file: Any, letters: str, what: str, start: str, notes: list[Note]) -> dict[str, Numbers]:
    """The members (from 0) of the sets of a kind, by name, or by number for sets without a name."""
    found = file.variables
    names, numbers = set_names(found.get(f"{letters}_names"), what, notes), found.get(f"{letters}_prop1")
    result: dict[str, Numbers] = {}
    size = {"ns": "num_node_sets", "ss": "num_side_sets", "els": "num_elem_sets"}[letters]
    for index in range(len(file.dimensions.get(size, ()))):
        number = int(numbers[index]) if numbers is not None else index + 1
        key = f"{start}{index + 1}"
        if key in found:
            name = (names[index] if index < len(names) else "") or f"{what} {number}"
            result[f"{name} ({number})" if name in result else name] = np.asarray(found[key][:], np.int64) - 1
    return result


def _block_sets(file: Any, blocks: list[int], nodes: list[Numbers], notes: list[Note]) -> dict[str, list[NDArray[Any]]]:
    names = set_names(file.variables.get("eb_names"), "block", notes)
    result: dict[str, list[NDArray[Any]]] = {}
    for place, block in enumerate(blocks):
        if block <= len(names) and names[block - 1]:
            parts = result.setdefault(names[block - 1], [np.zeros(0, np.int64) for _ in blocks])
            parts[place] = np.arange(len(nodes[place]))
    return result


def _element_sets(file: Any, nodes: list[Numbers], notes: list[Note]) -> dict[str, list[NDArray[Any]]]:
    found = _sets(file, "els", "element set", "elem_els", notes)
    return {name: members_by_block(own, list(map(len, nodes))) for name, own in found.items()}


def _side_sets(
    notes: list[Note], file: Any, axes: int, elements: list[str], kinds: list[str], nodes: list[Numbers]
) -> dict[str, Numbers]:
    sides = _sets(file, "ss", "side set", "side_ss", [])
    ends = np.cumsum([0, *(len(part) for part in nodes)])
    result = {}
    for name, owners in _sets(file, "ss", "side set", "elem_ss", notes).items():
        members = [np.zeros(0, np.int64)]
        for place, (element, kind) in enumerate(zip(elements, kinds, strict=True)):
            is_own = (owners >= ends[place]) & (owners < ends[place + 1])
            if not is_own.any():
                continue
            own = nodes[place][owners[is_own] - ends[place]]
            part = side_nodes(element, kind, axes, own, sides[name][is_own] + 1)
            if part is None:
                text = f"the set {name!r} is left out: its sides of {element} elements are not known"
                notes.append(Note("set left out", text))
                break
            members.append(part)
        else:
            result[name] = np.unique(np.concatenate(members))
    return result
