"""Series of numbered files."""

from pathlib import Path

import pytest

from pitgeo.datasets.folder.numbered import numbered_series
from pitgeo.datasets.folder.series import group_series


def series(pattern, *names):
    files = [Path("runs") / f"{name}.vtu" for name in names]
    return [[(step.number, step.path.stem) for step in steps] for steps in numbered_series(files, pattern)]


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        ("{case}_{step}.vtu", [{"case_0.05": 0.05, "case_0.1": 0.1, "case_0.15": 0.15, "case_0.2": 0.2}]),
        ("{case}_{step}.vtu", [{"c_-1": -1, "c_0.5": 0.5, "c_1.0": 1, "c_10": 10}, {"d_1e-3": 1e-3, "d_1.0e+02": 100}]),
        ("{case}_t={step}.vtu", [{"a_t=0.5": 0.5, "a_t=1.25": 1.25}]),
        ("{case}_{step}.vtu", [{"a_1_0.10": 0.1, "a_1_0.5": 0.5}, {"a_2_0": 0, "a_2_1": 1}]),
        ("{step}_{case}.vtu", [{"-1_a": -1, "0.5_a": 0.5, "10_a": 10}]),
        ("{case}-{step}.vtu", [{"run-1": 1, "run-2": 2, "run-10": 10}]),
        ("{case}.{step}.vtu", [{"flow.0.25": 0.25, "flow.0.5": 0.5, "flow.1": 1}]),
        ("{case}{step}.vtu", [{"c_0.25": 0.25, "c_0.5": 0.5, "c_1": 1, "c_1.25": 1.25}]),
        # counts behind a case that ends in a number
        ("{case}.{step}.vtu", [{f"case_{c}.{k:04d}": k for k in (0, 5, 10)} for c in (1, 2)]),
        ("{case}.{step}.vtu", [{"case_1.9": 9, "case_1.10": 10, "case_1.11": 11}]),
        ("{case}.{step}.vtu", [{"case_1.0005": 5, "case_1.0010": 10}]),
    ],
)
def test_steps_are_numbers(pattern, groups):
    names = [name for group in groups for name in reversed(group)]
    assert series(pattern, *names) == [[(number, name) for name, number in group.items()] for group in groups]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("{case}.{step}.vtu", ("case_0.05", "case_0.1", "case_0.15", "case_0.2")),  # another order
        ("case_0.{step}.vtu", ("case_0.05", "case_0.1", "case_0.15", "case_0.2")),
        ("{case}.{step}.vtu", ("c_0.25", "c_0.50", "c_1.00", "c_1.25")),  # another grouping
        ("{case}{step}.vtu", ("c_0.25", "c_0.50", "c_1.00", "c_1.25")),
        ("{case}.{step}.vtu", ("case_1.1", "case_1.2", "case_1.12")),
        ("{case}.{step}.vtu", ("run1.2.5", "run1.2.10")),
        ("{case}-{step}.vtu", ("run_-1", "run_-2", "run_-3")),
    ],
)
def test_names_that_can_be_read_in_two_ways_are_refused(pattern, names):
    with pytest.raises(ValueError, match=r"a name that is read in one way, .*\(got step .* of '.*', or step .* of '"):
        series(pattern, *names)


def test_equal_numbers_are_refused():
    with pytest.raises(ValueError, match=r"one file a step of a series \(got runs/a_0\.1\.vtu and runs/a_0\.10\.vtu\)"):
        series("{case}_{step}.vtu", "a_0.1", "a_0.10")


def test_grouped_paths_are_in_order():
    names = [Path(f"c_{text}.vtu") for text in ("1.5", "-2", "0.5")]
    assert group_series(names, "{case}_{step}.vtu") == {names[1]: (names[1], names[2], names[0])}
