"""VTK by way of PyVista, an extra that is imported where it is needed alone."""

from __future__ import annotations

import importlib
from typing import Any


def pyvista() -> Any:
    """The module.

    Raises:
        ImportError: If it is missing.
    """
    try:
        return importlib.import_module("pyvista")
    except ImportError as error:
        raise ImportError(
            f"Expected PyVista, which reads, measures and draws meshes by VTK (got: {error}); pip install 'pitgeo[vtk]'"
        ) from error
