"""Solvers that make benchmark data; each module has ``generate``, which writes files laid out like the originals."""

from pitgeo.generators import elasticity

__all__ = ["elasticity"]
