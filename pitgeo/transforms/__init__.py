"""Steps from a raw sample to what a model takes: unit box, latent mesh, attention graphs, a grid to interpolate to."""

from pitgeo.transforms.attention_graphs import AttentionGraphs
from pitgeo.transforms.compose import Compose
from pitgeo.transforms.grid_interpolation import GridInterpolation
from pitgeo.transforms.latent_mesh import LatentMesh
from pitgeo.transforms.unit_box import UnitBox

__all__ = ["AttentionGraphs", "Compose", "GridInterpolation", "LatentMesh", "UnitBox"]
