"""Numbers and texts of a whole mesh in XDMF files, which meshio neither reads nor writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import h5py
import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.notes import Note

TYPES = {"f": "Float", "i": "Int", "u": "UInt"}
LETTERS = {"float": "f", "int": "i", "uint": "u", "char": "i", "uchar": "u", "short": "i"}
SIZES = {"char": 1, "uchar": 1, "short": 2}


def tidy_xdmf(path: Path, folder: Path) -> Path:
    """A copy without what belongs to the whole grid, on which meshio fails; the file itself where there is nothing."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return path
    found = [(grid, part) for grid in root.iter("Grid") for part in grid if is_whole(part)]
    if not found:
        return path
    for grid, part in found:
        grid.remove(part)
    tied_to(root, path)
    single = folder / path.name
    single.write_bytes(ElementTree.tostring(root))
    return single


def is_whole(part: Element) -> bool:
    """Whether something belongs to the whole grid; the names of materials, which meshio reads and writes, do not."""
    if part.tag == "Information":
        return not (part.text or "").strip().startswith("<")
    return part.tag == "Attribute" and part.get("Center") == "Grid"


def tied_to(root: Element, path: Path) -> None:
    """Name the files that hold the numbers of a file so that they are found from elsewhere."""
    for item in root.iter("DataItem"):
        if item.get("Format") in ("HDF", "Binary") and item.text:
            item.text = str(path.resolve().parent / item.text.strip())


def read_field_data(path: Path, notes: list[Note]) -> dict[str, NDArray[Any]]:
    """Attributes centred on the grid, and information as texts; a note says what cannot be read."""
    found: dict[str, NDArray[Any]] = {}
    for part in (part for grid in ElementTree.parse(path).getroot().iter("Grid") for part in grid if is_whole(part)):
        name = part.get("Name", "")
        if name in found:
            notes.append(Note("left out", f"the second {name!r} of the grid is left out"))
        elif part.tag == "Information":
            found[name] = np.array([part.get("Value", part.text or "")])
        else:
            try:
                found[name] = _values(path, part)
            except (ValueError, LookupError, OSError, TypeError) as error:
                notes.append(Note("left out", f"{name!r} of the grid is left out: {error}"))
    return found


def add_field_data(path: Path, field_data: Mapping[str, NDArray[Any]]) -> None:
    """Put numbers and texts into a file without any."""
    root = ElementTree.parse(path).getroot()
    grid = next(root.iter("Grid"))
    for name, values in field_data.items():
        if values.dtype.kind == "U":
            if values.size != 1:
                raise ValueError(f"{name!r} is {values.size} texts; an XDMF file holds single ones")
            ElementTree.SubElement(grid, "Information", Name=name, Value=str(values.item()))
            continue
        part = ElementTree.SubElement(grid, "Attribute", Name=name, AttributeType="Matrix", Center="Grid")
        item = ElementTree.SubElement(
            part,
            "DataItem",
            Dimensions=" ".join(map(str, values.shape)),
            NumberType=TYPES[values.dtype.kind],
            Precision=str(values.dtype.itemsize),
            Format="XML",
        )
        item.text = " ".join(map(repr, values.ravel().tolist()))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _values(path: Path, part: Element) -> NDArray[Any]:
    (item,) = part.findall("DataItem")
    shape = [int(word) for word in item.attrib["Dimensions"].split()]
    text = (item.text or "").strip()
    if item.get("Format") == "HDF":
        name, place = text.rsplit(":", 1)
        with h5py.File(path.resolve().parent / name, "r") as file:
            return np.asarray(file[place][()]).reshape(shape)
    if item.get("Format", "XML") != "XML":
        raise ValueError(f"its numbers are in the format {item.get('Format')}")
    kind = item.get("NumberType", item.get("DataType", "Float")).lower()
    size = SIZES.get(kind) or int(item.get("Precision", 4))
    return np.array(text.split()).astype(f"{LETTERS[kind]}{size}").reshape(shape)
