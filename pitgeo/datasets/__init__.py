"""Data sets, and the registry of those a configuration can name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "DATASETS": "registry",
    "BenchmarkOptions": "benchmark",
    "Elasticity": "elasticity",
    "ElasticityOptions": "registry",
    "Fields": "fields",
    "GridOptions": "benchmark",
    "HoledPoisson": "holed_poisson",
    "SharedMesh": "shared_mesh",
}


def __getattr__(name: str) -> Any:
    """Each with the first use of its name: a table of parameters needs no torch."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"pitgeo.datasets.{_MODULES[name]}"), name)
