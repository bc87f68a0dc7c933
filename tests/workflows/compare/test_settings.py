"""Budgets and settings of runs that are compared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitgeo.workflows.compare import Budget, Settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3min", Budget(minutes=3)),
        (" 1.5 min", Budget(minutes=1.5)),
        (".5h", Budget(minutes=30)),
        ("90s", Budget(minutes=1.5)),
        ("50epochs", Budget(epochs=50)),
        ("1epoch", Budget(epochs=1)),
    ],
)
def test_budgets(text: str, expected: Budget) -> None:
    assert Budget.parse(text) == expected == Budget.parse(str(expected))


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_any_minutes_are_written_as_they_are_read(minutes: float) -> None:
    assert Budget.parse(str(Budget(minutes))) == Budget(minutes)


@pytest.mark.parametrize("text", ["3min", "1.5min", "0.005s", "100s", "120min", "9epochs"])
def test_how_budgets_are_written(text: str) -> None:
    assert str(Budget.parse(text)) == text


@pytest.mark.parametrize("text", ["", "3", "min", "0min", "0epochs", "1.5epochs", "-1min", "3 days", "1e3min"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(ValueError, match="Expected a budget as in 3min"):
        Budget.parse(text)


@pytest.mark.parametrize("options", [{}, {"minutes": 1.0, "epochs": 2}, {"minutes": 0.0}, {"epochs": 0}])
def test_a_budget_is_one_positive_number(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected a budget of minutes or of epochs"):
        Budget(**options)


@pytest.mark.parametrize("options", [{"jobs": 0}, {"seeds": 0}])
def test_bad_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Settings(**options)


def test_jobs_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pitgeo.workflows.compare.settings.cores", lambda: 8)
    assert [Settings(jobs=jobs).threads for jobs in (1, 3, 8, 20)] == [8, 2, 1, 1]
