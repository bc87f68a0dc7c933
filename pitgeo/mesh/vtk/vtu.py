"""Writing of VTU files: compressed binary numbers in XML, by all cores."""

from __future__ import annotations

import base64
import sys
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import VTK_NUMBERS
from pitgeo.mesh.vtk.grids import ORDER
from pitgeo.system.processes import cores

TYPES = {
    f"{letter}{size}": f"{word}{size * 8}"
    for letter, word, sizes in (("f", "Float", (4, 8)), ("i", "Int", (1, 2, 4, 8)), ("u", "UInt", (1, 2, 4, 8)))
    for size in sizes
}
"""VTK's names of types of numbers, by their letter and size in bytes."""

_BLOCK = 2**15  # bytes compressed at a time, as VTK's own writer does: larger blocks are not smaller in all
_WORTH = 0.9  # digits that hardly repeat are stored as they are: compressing them takes 30 times as long


def write_vtu(
    path: Path,
    points: NDArray[np.float64],
    cells: list[tuple[str, NDArray[np.int64]]],
    point_data: Mapping[str, NDArray[Any]],
    cell_data: Mapping[str, NDArray[Any]],
    field_data: Mapping[str, NDArray[Any]],
) -> None:
    """Write a mesh of numbers, whose names are escaped for XML.

    Raises:
        ValueError: If the format has no such cells or numbers.
    """
    unknown = [kind for kind, _ in cells if kind not in VTK_NUMBERS]
    if unknown:
        raise ValueError(f".vtu does not hold {', '.join(unknown)} cells")
    ordered = [nodes[:, ORDER[13]] if kind == "wedge" else nodes for kind, nodes in cells]
    widths = np.concatenate([np.full(len(nodes), nodes.shape[1]) for nodes in ordered])
    topology: dict[str, NDArray[Any]] = {
        "connectivity": np.concatenate([nodes.ravel() for nodes in ordered]),
        "offsets": np.cumsum(widths),
        "types": np.concatenate([np.full(len(nodes), VTK_NUMBERS[kind], np.uint8) for kind, nodes in cells]),
    }
    order = "LittleEndian" if sys.byteorder == "little" else "BigEndian"
    with path.open("wb") as file, ThreadPoolExecutor(cores()) as pool:

        def write(text: str) -> None:
            file.write(text.encode("ascii"))

        def write_arrays(place: str, arrays: Mapping[str, NDArray[Any]]) -> None:
            write(f"<{place}>\n")
            for name, values in arrays.items():
                width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
                length = f' NumberOfTuples="{len(values)}"' if place == "FieldData" else ""
                write(f'<DataArray type="{_type(values)}" Name="{name}"{length}{width} ')
                if values.size:
                    write('format="binary">')
                    file.writelines(_encoded(values, pool))
                else:
                    write('format="ascii">')
                write("</DataArray>\n")
            write(f"</{place}>\n")

        write(
            f'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="0.1" byte_order="{order}" '
            f'header_type="UInt32" compressor="vtkZLibDataCompressor">\n<UnstructuredGrid>\n'
        )
        if field_data:
            write_arrays("FieldData", field_data)
        write(f'<Piece NumberOfPoints="{len(points)}" NumberOfCells="{len(widths)}">\n')
        write_arrays("Points", {"Points": points})
        write_arrays("Cells", topology)
        write_arrays("PointData", point_data)
        write_arrays("CellData", cell_data)
        write("</Piece>\n</UnstructuredGrid>\n</VTKFile>\n")


def _type(values: NDArray[Any]) -> str:
    name = TYPES.get(values.dtype.str[1:])
    if name is None:
        raise ValueError(f".vtu does not hold numbers of type {values.dtype}")
    return name


def _encoded(values: NDArray[Any], pool: ThreadPoolExecutor) -> Iterator[bytes]:
    """The text of an array: the number and sizes of its compressed blocks, and the blocks."""
    content = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
    starts = range(0, len(content), _BLOCK)
    middle = content[starts[len(starts) // 2] :][:_BLOCK]
    level = 1 if len(zlib.compress(middle, 1)) < _WORTH * len(middle) else 0
    runs = max(1, len(starts) // (8 * cores()))  # blocks that a thread compresses in a row

    def compressed(first: int) -> list[bytes]:
        return [zlib.compress(content[start : start + _BLOCK], level) for start in starts[first : first + runs]]

    blocks = [block for part in pool.map(compressed, range(0, len(starts), runs)) for block in part]
    sizes = [len(blocks), _BLOCK, len(content) % _BLOCK, *map(len, blocks)]  # the third is 0 if the last one is full
    yield base64.b64encode(np.array(sizes, np.uint32).tobytes())
    yield base64.b64encode(b"".join(blocks))
