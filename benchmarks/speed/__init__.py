"""Speed and memory of layers and models, compared with their alternatives."""

from benchmarks.speed.measure import Settings, format_speed, run_speed
from benchmarks.speed.table import WORKS

__all__ = ["WORKS", "Settings", "format_speed", "run_speed"]
