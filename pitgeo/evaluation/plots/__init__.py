"""Pictures: losses, fields on cells, points or lines, length scales, latent points, comparisons of methods.

Every function takes plain arrays, writes one PNG and returns its path.
"""

from pitgeo.evaluation.plots.comparisons import error_sizes, error_times
from pitgeo.evaluation.plots.fields import FieldSample, field_curves, field_triptych, latent_mesh
from pitgeo.evaluation.plots.meshes import MeshSample, mesh_fields
from pitgeo.evaluation.plots.numbers import error_growth, length_scales, loss_curves, method_errors, trends
from pitgeo.evaluation.plots.reliability import reliability
from pitgeo.evaluation.plots.scatter import scatter

__all__ = [
    "FieldSample",
    "MeshSample",
    "error_growth",
    "error_sizes",
    "error_times",
    "field_curves",
    "field_triptych",
    "latent_mesh",
    "length_scales",
    "loss_curves",
    "mesh_fields",
    "method_errors",
    "reliability",
    "scatter",
    "trends",
]
