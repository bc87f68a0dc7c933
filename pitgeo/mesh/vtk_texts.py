"""Texts in VTK's arrays."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def texts_from_vtk(held: Any) -> NDArray[np.str_]:
    """The texts ``[n]`` or ``[n, components]`` of VTK's array; bytes that are no UTF-8 are kept as surrogates."""
    values = [held.GetValue(k) for k in range(held.GetNumberOfValues())]
    texts = [value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value for value in values]
    width = held.GetNumberOfComponents()
    return np.array(texts, np.str_).reshape((-1, width) if width > 1 else (-1,))


def texts_to_vtk(values: NDArray[np.str_], name: str) -> Any:
    """VTK's array of texts ``[n]`` or ``[n, components]``."""
    made = importlib.import_module("vtkmodules.vtkCommonCore").vtkStringArray()
    made.SetName(name)
    made.SetNumberOfComponents(values.shape[1] if values.ndim == 2 else 1)
    for text in values.ravel().tolist():
        made.InsertNextValue(text.encode("utf-8", "surrogateescape"))
    return made
