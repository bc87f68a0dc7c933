"""Import of PyVista, an optional dependency, only where it is needed."""

from __future__ import annotations

import importlib
from typing import Any


def pyvista() -> Any:
    """The module PyVista.

    Raises:
        ImportError: If it is missing.
    """
    try:
        return importlib.import_module("pyvista")
    except ImportError as error:
        raise ImportError(
            f"Expected PyVista, which reads, measures and draws meshes by VTK (got: {error}); pip install 'pitgeo[vtk]'"
        ) from error
