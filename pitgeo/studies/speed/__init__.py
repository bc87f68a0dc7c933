"""Speed and memory of layers and models, beside what a user would take otherwise, in one run."""

from pitgeo.studies.speed.measure import Settings, format_speed, run_speed
from pitgeo.studies.speed.table import WORKS

__all__ = ["WORKS", "Settings", "format_speed", "run_speed"]
