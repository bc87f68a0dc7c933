"""The paper's experiments on equal budgets: declared in a table, trained one process a run, written as tables."""

from pitgeo.studies.runner import Settings, run_study
from pitgeo.studies.table import STUDIES, Study

__all__ = ["STUDIES", "Settings", "Study", "run_study"]
