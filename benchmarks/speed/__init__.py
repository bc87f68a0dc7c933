"""Speed and memory of layers and models, beside what a user would take otherwise, in one run."""

from benchmarks.speed.measure import Settings, format_speed, run_speed
from benchmarks.speed.table import WORKS

__all__ = ["WORKS", "Settings", "format_speed", "run_speed"]
