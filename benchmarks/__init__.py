"""Measurements of pitgeo: speed and memory, and the studies of the paper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def environment() -> dict[str, str]:
    """The environment of processes that import this package, which is not installed with pitgeo."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def machine_line(result: dict[str, Any]) -> str:
    """The line of a Markdown report about the machine of a result."""
    computer = result["machine"]
    return f"- Machine: {computer['processor']}, {computer['cores']} cores, {result['threads']} threads"
