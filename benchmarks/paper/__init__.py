"""The experiments of the paper on equal budgets: declared in one table, reported as tables and pictures."""

from benchmarks.paper.runner import run_study
from benchmarks.paper.table import STUDIES, Study

__all__ = ["STUDIES", "Study", "run_study"]
