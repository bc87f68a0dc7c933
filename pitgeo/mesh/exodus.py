"""Named sets of Exodus files, of which meshio's reader keeps the last of those without a name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_sets(path: Path) -> tuple[dict[str, NDArray[np.int64]], dict[str, list[NDArray[np.int64]]]]:
    """Sets of nodes, and named blocks of elements as sets of cells; a set without a name gets its number."""
    with importlib.import_module("netCDF4").Dataset(path) as file:
        file.set_auto_mask(False)
        found = file.variables
        numbers, names = found.get("ns_prop1"), _names(found.get("ns_names"))
        point_sets: dict[str, NDArray[np.int64]] = {}
        for index in range(len(file.dimensions.get("num_node_sets", ()))):
            number = int(numbers[index]) if numbers is not None else index + 1
            name = (names[index] if index < len(names) else "") or f"node set {number}"
            if f"node_ns{index + 1}" in found:
                point_sets[name] = np.asarray(found[f"node_ns{index + 1}"][:], np.int64) - 1
        blocks = [key for key in found if key.startswith("connect") and key[7:].isdecimal()]
        names = _names(found.get("eb_names"))
        cell_sets: dict[str, list[NDArray[np.int64]]] = {}
        for place, key in enumerate(blocks):
            index = int(key[7:]) - 1
            if index < len(names) and names[index]:
                parts = [np.arange(len(found[other]) if other == key else 0) for other in blocks]
                before = cell_sets.get(names[index])
                cell_sets[names[index]] = parts if before is None else [*before[:place], *parts[place:]]
    return point_sets, cell_sets


def _names(variable: Any) -> list[str]:
    if variable is None:
        return []
    return [b"".join(letters).split(b"\0")[0].decode(errors="replace").strip() for letters in variable[:]]
