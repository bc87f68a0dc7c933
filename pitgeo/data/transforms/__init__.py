"""Steps from a raw sample to what a model takes: unit box, latent mesh, attention graphs, a grid to interpolate to."""

from pitgeo.data.transforms.attention_graphs import AttentionGraphs
from pitgeo.data.transforms.compose import Compose
from pitgeo.data.transforms.grid_interpolation import GridInterpolation
from pitgeo.data.transforms.latent_mesh import LatentMesh
from pitgeo.data.transforms.unit_box import UnitBox

__all__ = ["AttentionGraphs", "Compose", "GridInterpolation", "LatentMesh", "UnitBox"]
