"""Integrals, means, fluxes, forces, moments, peaks and percentiles of fields on meshes: ``docs/measures.md``."""

from pitgeo.geometry.integrals import Integrals, compute, measure, weights
from pitgeo.geometry.quantities import Quantity
from pitgeo.geometry.weights import Weights

__all__ = ["Integrals", "Quantity", "Weights", "compute", "measure", "weights"]
