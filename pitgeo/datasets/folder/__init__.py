"""A folder of mesh files as a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pitgeo.system.lazy_names import lazy_names

if TYPE_CHECKING:
    from pitgeo.datasets.folder.options import MeshOptions
    from pitgeo.datasets.folder.samples import MeshSamples

__all__ = ["MeshOptions", "MeshSamples"]

__getattr__ = lazy_names(__name__, {"MeshOptions": "options", "MeshSamples": "samples"})
