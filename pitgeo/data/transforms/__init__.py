"""From a raw sample to the input of a model: latent mesh, attention graphs, interpolation grid, then the unit box."""

from pitgeo.data.transforms.attention_graphs import AttentionGraphs
from pitgeo.data.transforms.compose import Compose
from pitgeo.data.transforms.grid_interpolation import GridInterpolation
from pitgeo.data.transforms.latent_mesh import LatentMesh
from pitgeo.data.transforms.unit_box import UnitBox

__all__ = ["AttentionGraphs", "Compose", "GridInterpolation", "LatentMesh", "UnitBox"]
