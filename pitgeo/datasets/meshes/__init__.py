"""A folder of mesh files as a data set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitgeo.datasets.meshes.options import MeshOptions
    from pitgeo.datasets.meshes.samples import MeshSamples

__all__ = ["MeshOptions", "MeshSamples"]

_MODULES = {"MeshOptions": "options", "MeshSamples": "samples"}


def __getattr__(name: str) -> Any:
    """Each with the first use of its name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"pitgeo.datasets.meshes.{_MODULES[name]}"), name)
