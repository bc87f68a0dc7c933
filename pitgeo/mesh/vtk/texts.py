"""Texts in VTK's arrays."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.names import decode
from pitgeo.mesh.notes import Note


def texts_from_vtk(held: Any, notes: list[Note]) -> NDArray[np.str_]:
    """The texts ``[n]`` or ``[n, components]`` of VTK's array; those that are no UTF-8 are decoded, and noted."""
    values = [held.GetValue(k) for k in range(held.GetNumberOfValues())]
    texts = [decode(value) if isinstance(value, bytes) else value for value in values]
    odd = next(((value, text) for value, text in zip(values, texts, strict=True) if isinstance(value, bytes)), None)
    if odd:
        notes.append(Note("decoded", f"the text {odd[0]!r} is no UTF-8 and read as {odd[1]!r}"))
    width = held.GetNumberOfComponents()
    return np.array(texts, np.str_).reshape((-1, width) if width > 1 else (-1,))


def texts_to_vtk(values: NDArray[np.str_], name: str) -> Any:
    """VTK's array of texts ``[n]`` or ``[n, components]``."""
    made = importlib.import_module("vtkmodules.vtkCommonCore").vtkStringArray()
    made.SetName(name)
    made.SetNumberOfComponents(values.shape[1] if values.ndim == 2 else 1)
    for text in values.ravel().tolist():
        made.InsertNextValue(text)
    return made
