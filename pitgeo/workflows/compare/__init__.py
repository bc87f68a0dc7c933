"""Models and variants compared on equal budgets: trained one process a run, written as tables."""

from pitgeo.workflows.compare.compare import run_compare
from pitgeo.workflows.compare.settings import Budget, Settings
from pitgeo.workflows.compare.variants import model_variants, read_variants

__all__ = ["Budget", "Settings", "model_variants", "read_variants", "run_compare"]
