"""Runs without pictures, which take most of the time of a small run; for runs whose pictures no test looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def without_pictures() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pitgeo.evaluation.evaluation.draw", lambda *_: None)
        patch.setattr("pitgeo.evaluation.plots.loss_curves", lambda *_: None)
        patch.setattr("pitgeo.evaluation.plots.scatter", lambda *_: None)
        yield
