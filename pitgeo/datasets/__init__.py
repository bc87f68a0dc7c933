"""Data sets, and the registry of those a configuration can name."""

from pitgeo.datasets.elasticity import Elasticity
from pitgeo.datasets.registry import DATASETS, ElasticityOptions

__all__ = ["DATASETS", "Elasticity", "ElasticityOptions"]
