"""Writing of whole-mesh numbers and texts to XDMF files, which meshio lacks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from numpy.typing import NDArray

TYPES = {"f": "Float", "i": "Int", "u": "UInt"}


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
