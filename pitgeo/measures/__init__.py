"""Errors of predictions: every measure that pitgeo reports or trains with."""

from pitgeo.measures.measures import Measures, measure
from pitgeo.measures.reference import Reference
from pitgeo.measures.relative_error import relative_error

__all__ = ["Measures", "Reference", "measure", "relative_error"]
