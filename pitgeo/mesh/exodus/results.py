"""Fields added to a copy of an Exodus file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.exodus.cells import kind_of
from pitgeo.mesh.exodus.files import FIELDS, STEP, block_numbers, groups, open_exodus, stored_names, variable_names

Fields = Mapping[str, NDArray[Any]]

KINDS = ("nod", "elem", "glo")
REMADE = ("name_nod_var", "name_elem_var", "name_glo_var", "elem_var_tab")


def refusal(path: Path) -> str:
    """The reason why fields cannot be added to a copy of a file; empty if they can."""
    try:
        with open_exodus(path) as file:
            if file.groups:
                return "it holds groups"
            axes = len(file.dimensions["num_dim"])
            for block in block_numbers(file):
                cells = file.variables[f"connect{block}"]
                kind_of(cells.elem_type, cells.shape[1], axes)
    except (ValueError, OSError, LookupError, AttributeError) as error:
        return str(error) or "it cannot be read"
    return ""


def add_fields(source: Path, target: Path, point_data: Fields, cell_data: Fields, field_data: Fields) -> None:
    """Write a file again with more variables at the time step that is read; those of the same name are replaced.

    At other time steps the new variables are not-a-number. A field of several components is as many variables, whose
    names end in X, Y and Z, or in numbers; an attribute of the file says which they are.

    Raises:
        ValueError: If a field is no number, or of another width than the one that it replaces.
    """
    with open_exodus(source) as old:
        names = {kind: variable_names(old, kind) for kind in KINDS}
        stored = {kind: stored_names(old.variables.get(f"name_{kind}_var")) for kind in KINDS}
        known = {kind: groups(old, kind, names[kind]) for kind in KINDS}
        before = {kind: len(names[kind]) for kind in KINDS}
        described: dict[str, dict[str, list[str]]] = (
            json.loads(old.getncattr(FIELDS)) if FIELDS in old.ncattrs() else {}
        )
        values: dict[str, dict[int, NDArray[Any]]] = {kind: {} for kind in KINDS}
        for kind, fields in zip(KINDS, (point_data, cell_data, field_data), strict=True):
            for name, field in fields.items():
                if field.dtype.kind not in "fiu":
                    raise ValueError(f"{name!r} is no number ({field.dtype})")
                columns = field.reshape(1 if kind == "glo" else len(field), -1).T
                if name not in known[kind]:
                    parts = _part_names(name, len(columns))
                    known[kind][name] = list(range(len(names[kind]), len(names[kind]) + len(parts)))
                    taken = {*parts} & {*names[kind]}
                    if taken:
                        raise ValueError(f"the variable {min(taken)!r} is there already")
                    names[kind] += parts
                    stored[kind] += [part.encode() for part in parts]
                    described.setdefault(kind, {})[name] = parts
                if len(known[kind][name]) != len(columns):
                    raise ValueError(f"{name!r} has {len(columns)} components in place of {len(known[kind][name])}")
                values[kind].update(zip(known[kind][name], columns, strict=True))
        with open_exodus(target, "w", format=old.data_model) as new:
            _copy(old, new, stored, described, _wide(old, values))
            _put(old, new, before, values)


def _part_names(name: str, count: int) -> list[str]:
    if count == 1:
        return [name]
    return [name + end for end in ("XYZ"[:count] if count < 4 else [f"_{k + 1}" for k in range(count)])]


def _wide(old: Any, values: dict[str, dict[int, NDArray[Any]]]) -> set[str]:
    """Names of the variables that are stored in double precision in the copy."""
    found = {kind: [number + 1 for number, own in part.items() if own.dtype != "f4"] for kind, part in values.items()}
    names = {"vals_nod_var" if "vals_nod_var" in old.variables else f"vals_nod_var{n}" for n in found["nod"]}
    names |= {f"vals_elem_var{n}eb{block}" for n in found["elem"] for block in block_numbers(old)}
    return names | ({"vals_glo_var"} if found["glo"] else set())


def _copy(
    old: Any, new: Any, names: dict[str, list[bytes]], described: dict[str, dict[str, list[str]]], wide: set[str]
) -> None:
    """Copy a file with more names of variables; existing names keep their bytes."""
    new.setncatts(_attributes(old) | {FIELDS: json.dumps(described)})
    longest = max(len(name) for own in names.values() for name in (*own, b""))
    sizes: dict[str, int | None] = {
        name: None if size.isunlimited() else len(size) for name, size in old.dimensions.items()
    }
    sizes.setdefault("time_step", None)
    sizes.update({f"num_{kind}_var": len(own) for kind, own in names.items() if own})
    letters = "len_name" if "len_name" in sizes or longest >= (sizes.get("len_string") or 33) else "len_string"
    width = max(sizes.get(letters) or 33, longest + 1)
    sizes[letters] = width
    if letters == "len_name" and longest > 32:
        new.setncattr("maximum_name_length", np.int32(longest))
    for name, size in sizes.items():
        new.createDimension(name, size)
    for name, variable in old.variables.items():
        if name not in REMADE:
            _copy_variable(variable, _like(new, variable, letters, "f8" if name in wide else variable.dtype))
    if not len(new.dimensions["time_step"]):
        if "time_whole" not in new.variables:
            new.createVariable("time_whole", "f8", ("time_step",))
        new.variables["time_whole"][0] = 0.0
        for name, variable in new.variables.items():  # what had no step has no value at this one
            if name.startswith("vals_") and variable.dtype.kind == "f":
                variable[0] = np.nan
    for kind, own in names.items():
        if own:
            table = np.zeros((len(own), width), "S1")
            for row, stored in zip(table, own, strict=True):
                row[: len(stored)] = np.frombuffer(stored, "S1")
            made = new.createVariable(f"name_{kind}_var", "S1", (f"num_{kind}_var", letters))
            made.set_auto_maskandscale(False)
            made[:] = table


def _attributes(owner: Any) -> dict[str, Any]:
    """The attributes of a file or a variable, texts by the bytes that they have."""
    found = {key: owner.getncattr(key, encoding="latin-1") for key in owner.ncattrs()}
    is_odd = {key: isinstance(value, str) and not value.isascii() for key, value in found.items()}
    return {key: value.encode("latin-1") if is_odd[key] else value for key, value in found.items()}


def _like(new: Any, variable: Any, letters: str, dtype: Any) -> Any:
    """Create a variable like one of another file, without values."""
    dimensions = list(variable.dimensions)
    if dimensions[-1:] == ["len_string"] and variable.name != "qa_records":
        dimensions[-1] = letters
    attributes = _attributes(variable)
    options: dict[str, Any] = {"fill_value": attributes.pop("_FillValue", None)}
    filters = variable.filters()
    if filters is not None:  # of a file in HDF5
        chunks = variable.chunking()
        options["chunksizes"] = None if chunks == "contiguous" else chunks
        options |= {key: filters[key] for key in ("zlib", "shuffle", "fletcher32", "complevel") if filters.get(key)}
        options["endian"] = variable.endian()
    made = new.createVariable(variable.name, dtype, dimensions, **options)
    made.setncatts(attributes)
    made.set_auto_maskandscale(False)
    return made


def _copy_variable(variable: Any, made: Any) -> None:
    """The values, step by step where there are many; dimensions may have grown."""
    if variable.dimensions[:1] == ("time_step",):
        for step in range(len(variable)):
            made[(step, *(slice(size) for size in variable.shape[1:]))] = variable[step]
    elif variable.ndim == 0:
        made.assignValue(variable.getValue())
    elif variable.size:
        if variable.dtype.kind == "S":  # also beyond the old length
            made[:] = np.zeros(made.shape, "S1")
        made[tuple(slice(size) for size in variable.shape)] = variable[:]


def _put(old: Any, new: Any, before: dict[str, int], values: dict[str, dict[int, NDArray[Any]]]) -> None:
    """The values of new variables, and new values of others."""
    blocks = block_numbers(old)
    ends = np.cumsum([len(old.variables[f"connect{block}"]) for block in blocks])[:-1]
    for number, column in values["nod"].items():
        if "vals_nod_var" in old.variables:  # one variable of all, of old files
            _fill(new.variables["vals_nod_var"], number, column, number >= before["nod"])
        else:
            _fill(
                _variable(new, f"vals_nod_var{number + 1}", "num_nodes", column), None, column, number >= before["nod"]
            )
    for number, column in values["elem"].items():
        for block, part in zip(blocks, np.split(column, ends), strict=True):
            key = f"vals_elem_var{number + 1}eb{block}"
            is_new = key not in new.variables
            if len(part) and not (is_new and number < before["elem"] and np.isnan(part).all()):
                _fill(_variable(new, key, f"num_el_in_blk{block}", part), None, part, is_new)
    if "num_elem_var" in new.dimensions and "num_el_blk" in new.dimensions:
        shape = len(new.dimensions["num_el_blk"]), len(new.dimensions["num_elem_var"])
        table = [[f"vals_elem_var{k + 1}eb{b + 1}" in new.variables for k in range(shape[1])] for b in range(shape[0])]
        new.createVariable("elem_var_tab", "i4", ("num_el_blk", "num_elem_var"))[:] = np.array(table, np.int32)
    for number, column in values["glo"].items():
        if "vals_glo_var" not in new.variables:
            new.createVariable("vals_glo_var", "f8", ("time_step", "num_glo_var"))
        _fill(new.variables["vals_glo_var"], number, column[0], number >= before["glo"])


def _variable(new: Any, name: str, size: str, values: NDArray[Any]) -> Any:
    if name in new.variables:
        return new.variables[name]
    return new.createVariable(name, "f4" if values.dtype == np.float32 else "f8", ("time_step", size))


def _fill(variable: Any, column: int | None, values: Any, is_new: bool) -> None:
    """Values at the time step that is read; of a new variable, not-a-number at the others."""
    variable.set_auto_maskandscale(False)
    for step in range(len(variable)) if is_new else ():
        variable[step if column is None else (step, column)] = np.nan
    variable[STEP if column is None else (STEP, column)] = values
