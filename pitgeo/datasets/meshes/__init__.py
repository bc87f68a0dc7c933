"""A folder of mesh files as a data set."""

from pitgeo.datasets.meshes.options import MeshOptions
from pitgeo.datasets.meshes.samples import MeshSamples

__all__ = ["MeshOptions", "MeshSamples"]
