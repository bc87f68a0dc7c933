"""Arrays of XDMF files: as text, in HDF5 files and in binary files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import Element

import h5py
import numpy as np
from numpy.typing import NDArray

LETTERS = {"float": "f", "int": "i", "uint": "u", "char": "i", "uchar": "u", "short": "i"}
SIZES = {"char": 1, "uchar": 1, "short": 2}
ORDERS: dict[str, Literal["<", ">"]] = {"little": "<", "big": ">"}


def read_item(item: Element) -> NDArray[Any]:
    """The array of a data item, in the shape that it names.

    Raises:
        ValueError: If it cannot be read, with the reason.
    """
    kind = item.get("ItemType", "Uniform").lower()
    if kind == "uniform":
        return _uniform(item)
    parts = item.findall("DataItem")
    if kind == "hyperslab" and len(parts) == 2:
        start, stride, count = read_item(parts[0]).astype(int).reshape(3, -1)
        cut = tuple(slice(a, a + b * c, b) for a, b, c in zip(start, stride, count, strict=True))
        return _shaped(read_item(parts[1])[cut], item)
    function = item.get("Function", "").replace(" ", "").lower()
    if kind == "function" and function == f"join({','.join(f'${k}' for k in range(len(parts)))})":
        return _shaped(np.stack([read_item(part) for part in parts], -1), item)
    raise ValueError(f"data items of the type {item.get('ItemType')} {item.get('Function', '')} are not read")


def _uniform(item: Element) -> NDArray[Any]:
    text = (item.text or "").strip()
    kind = item.get("NumberType", item.get("DataType", "Float")).lower()
    if kind not in LETTERS:
        raise ValueError(f"numbers of the type {kind!r} are not read")
    form = item.get("Format", "XML").lower()
    precision = item.get("Precision") or ("8" if form == "xml" else "4")
    dtype = np.dtype(f"{LETTERS[kind]}{SIZES.get(kind) or int(precision)}")
    if form == "xml":
        return _shaped(np.array(text.split()).astype(dtype), item)
    if form == "hdf":
        return _shaped(_from_hdf(text), item)
    if form == "binary" and item.get("Compression", "Raw").lower() == "raw":
        order: Literal["<", ">", "="] = ORDERS.get(item.get("Endian", "Native").lower(), "=")
        size = int(np.prod(_shape(item)))
        return _shaped(
            np.fromfile(_existing(text), dtype.newbyteorder(order), size, offset=int(item.get("Seek", 0))), item
        )
    raise ValueError(f"numbers in the format {item.get('Format')} {item.get('Compression', '')} are not read")


def _from_hdf(text: str) -> NDArray[Any]:
    where, *selection = text.split("|")
    name, _, place = where.rpartition(":")
    cut: Any = ()
    if selection:
        start, stride, count = ([int(word) for word in part.split()] for part in selection[:3])
        cut = tuple(slice(a, a + b * c, b) for a, b, c in zip(start, stride, count, strict=True))
    try:
        with h5py.File(_existing(name), "r") as file:
            if place not in file:
                raise ValueError(f"{name} holds no {place}")
            return np.asarray(file[place][cut])
    except OSError as error:  # whose text has no name
        raise ValueError(f"{name} cannot be read: {error}") from error


def _existing(name: str) -> Path:
    if not Path(name).is_file():
        raise ValueError(f"there is no file {name}, which holds its numbers")
    return Path(name)


def _shape(item: Element) -> list[int]:
    if "Dimensions" not in item.attrib:
        raise ValueError("its data item has no Dimensions")
    return [int(word) for word in item.attrib["Dimensions"].split()]


def _shaped(values: NDArray[Any], item: Element) -> NDArray[Any]:
    shape = _shape(item)
    if values.size != int(np.prod(shape)):
        raise ValueError(f"Dimensions are {item.attrib['Dimensions']}, but there are {values.size} numbers")
    return values.reshape(shape)
