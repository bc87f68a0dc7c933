"""Measurements of pitgeo: speed and memory, and the studies of the paper."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any


def environment() -> dict[str, str]:
    """The environment of processes that import this package, which is not installed with pitgeo."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run_python(
    arguments: Sequence[str], what: str, variables: Mapping[str, str] | None = None, folder: str | None = None
) -> str:
    """What Python prints in a process of its own.

    Args:
        arguments: What follows ``python``.
        what: What the process is to do, for the message.
        variables: Its environment; by default :func:`environment`.
        folder: Where it runs; by default here.

    Raises:
        RuntimeError: If it fails; the message ends with its last lines.
    """
    command, variables = [sys.executable, *arguments], variables or environment()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, cwd=folder)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise RuntimeError(f"Expected {what} (got exit status {done.returncode}: {last})")
    return done.stdout


def origin() -> dict[str, Any]:
    """Machine, date and versions of a result."""
    from pitgeo.evaluation.evaluation import versions  # these load torch, which takes time that some processes measure
    from pitgeo.system.machine import machine

    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"machine": machine(), "date": date, "versions": versions()}


def machine_line(result: dict[str, Any]) -> str:
    """The line of a Markdown report about the machine of a result."""
    computer = result["machine"]
    return f"- Machine: {computer['processor']}, {computer['cores']} cores, {result['threads']} threads"
