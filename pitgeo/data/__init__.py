"""Samples: points with values and graphs; fields as inputs and targets; scalings; transforms."""

from pitgeo.data.point_data import PointData

__all__ = ["PointData"]
