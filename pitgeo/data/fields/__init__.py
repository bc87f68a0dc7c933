"""The fields of meshes as inputs and targets of a model."""

from pitgeo.data.fields.mesh_field import MeshField
from pitgeo.data.fields.reading import PLACES, cells_from_points, field_values, find_field, points_from_cells
from pitgeo.data.fields.table import FieldTable

__all__ = ["PLACES", "FieldTable", "MeshField", "cells_from_points", "field_values", "find_field", "points_from_cells"]
