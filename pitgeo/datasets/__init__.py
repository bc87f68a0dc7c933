"""Data sets, and the registry of those a configuration can name."""

from pitgeo.datasets.benchmark import BenchmarkOptions, GridOptions
from pitgeo.datasets.elasticity import Elasticity
from pitgeo.datasets.fields import Fields
from pitgeo.datasets.holed_poisson import HoledPoisson
from pitgeo.datasets.registry import DATASETS, ElasticityOptions
from pitgeo.datasets.shared_mesh import SharedMesh

__all__ = [
    "DATASETS",
    "BenchmarkOptions",
    "Elasticity",
    "ElasticityOptions",
    "Fields",
    "GridOptions",
    "HoledPoisson",
    "SharedMesh",
]
