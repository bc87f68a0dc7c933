"""Experiments on equal budgets: declared in a table, trained one process a run, written as tables."""

from pitgeo.studies.compare import run_compare
from pitgeo.studies.runner import run_study
from pitgeo.studies.settings import Budget, Settings
from pitgeo.studies.table import STUDIES, Study
from pitgeo.studies.variants import model_variants, read_variants

__all__ = ["STUDIES", "Budget", "Settings", "Study", "model_variants", "read_variants", "run_compare", "run_study"]
