"""Data sets, and the registry of those a configuration can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pitgeo.system.lazy_names import lazy_names

if TYPE_CHECKING:
    from pitgeo.data.samples import Samples
    from pitgeo.datasets.benchmark import BenchmarkOptions, GridOptions
    from pitgeo.datasets.elasticity import Elasticity
    from pitgeo.datasets.fields import Fields
    from pitgeo.datasets.holed_poisson import HoledPoisson
    from pitgeo.datasets.listed_samples import ListedSamples
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
    "ListedSamples",
    "Samples",
    "SharedMesh",
]

__getattr__ = lazy_names(
    __name__,
    {
        "DATASETS": "registry",
        "BenchmarkOptions": "benchmark",
        "Elasticity": "elasticity",
        "ElasticityOptions": "registry",
        "Fields": "fields",
        "GridOptions": "benchmark",
        "HoledPoisson": "holed_poisson",
        "ListedSamples": "listed_samples",
        "Samples": "listed_samples",
        "SharedMesh": "shared_mesh",
    },
)
