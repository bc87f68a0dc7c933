"""Solvers that lie outside the package: where they are looked for, and what is said where there are none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pitgeo.datasets import generators
from pitgeo.datasets.generators import run_generator

SOLVER = """
def generate(raw, progress, samples):
    raw.mkdir(parents=True)
    (raw / "made.txt").write_text(f"{samples} {progress}")
"""


def test_the_generator_of_the_folder_that_a_user_is_in_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets" / "made_up").mkdir(parents=True)
    (tmp_path / "datasets" / "made_up" / "made_up_samples.py").write_text(SOLVER)
    paths = list(sys.path)
    run_generator("made_up", tmp_path / "raw", False, samples=3)
    assert (tmp_path / "raw" / "made.txt").read_text() == "3 False" and sys.path == paths


def test_without_the_repository_a_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where pitgeo alone is installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(generators, "__file__", str(tmp_path / "site" / "pitgeo" / "datasets" / "generators.py"))
    with pytest.raises(FileNotFoundError, match=r"original files there, or .*datasets/naca/generate\.py --output raw'"):
        run_generator("naca", Path("raw"), False, samples=2)
    assert not (tmp_path / "raw").exists()
