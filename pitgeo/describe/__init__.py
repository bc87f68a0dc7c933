"""What is in a set of mesh files, and what could go wrong when training on them."""

from pitgeo.describe.description import Description, FieldSummary, Finding, describe
from pitgeo.describe.text import format_description

__all__ = ["Description", "FieldSummary", "Finding", "describe", "format_description"]
