"""Numbers in file names."""

from pathlib import Path

import pytest

from pitgeo.mesh.step_numbers import in_order, step_range


def ordered(*names):
    found = in_order([Path("runs") / f"{name}.vtu" for name in names])
    return {path.stem: number for number, path in found}


@pytest.mark.parametrize(
    "numbers",
    [
        {"case_0.05": 0.05, "case_0.1": 0.1, "case_0.15": 0.15, "case_0.2": 0.2},
        {"c_0.25": 0.25, "c_0.50": 0.5, "c_1.00": 1.0, "c_1.25": 1.25},
        {"c_0.5": 0.5, "c_1": 1.0, "c_10.0": 10.0},
        {"a_-5": -5.0, "a_-0.5": -0.5, "a_1e-3": 1e-3, "a_0.5": 0.5, "a_1.0e+02": 100.0},
        {"m_1.0D-04": 1e-4, "m_1.0D-03": 1e-3},
        {"t=0.5": 0.5, "t=1.1": 1.1, "t=1.12": 1.12, "t=1.2": 1.2},
        {"run1.0.05": 0.05, "run1.0.1": 0.1, "run1.0.15": 0.15},
        {"t0p05": 0.05, "t0p1": 0.1, "t0p15": 0.15},
        {"a_0,5": 0.5, "a_1,0": 1.0},
        {"a_.25": 0.25, "a_.5": 0.5},
        {"run-1": 1, "run-2": 2, "run-10": 10},  # a dash after a word parts
        {"x-5": -5, "x0": 0, "x5": 5},  # and is a sign where others have none
        {"run2_007": 7, "run2_9": 9, "run2_10": 10},
        {"mesh3d9": 9, "mesh3d10": 10},
        {"flow.0005": 5, "flow.0010": 10},
        {"v1.25": 1.25, "v1.5": 1.5, "v1.75": 1.75},  # equally spaced as decimal numbers alone
        {"0.5s": 0.5, "1.5s": 1.5},
    ],
)
def test_numbers_are_numbers_not_digits(numbers):
    found = ordered(*reversed(numbers))
    assert found == numbers and list(found) == list(numbers)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("v1.8", "v1.9", "v1.10"),
            r"got v1\.10\.vtu and v1\.8\.vtu: by the last number v1\.10\.vtu comes first, but with",
        ),
        (("v1.1", "v1.2", "v1.12"), r"what is behind the point as a count v1\.2\.vtu\); write times as in 't=0\.5'"),
        (("2024-01-31", "2024-02-01"), r"got 2024-02-01\.vtu and 2024-01-31\.vtu.*the numbers before it counted"),
        (("a_0.1", "a_0.10"), r"files of different numbers .*a_0\.1\.vtu and .*a_0\.10\.vtu"),
        (("a_1", "a_1.0"), "files of different numbers"),
        (("start", "a_1"), "a number in the name of every file"),
    ],
)
def test_names_that_can_be_read_in_two_ways_are_refused(names, message):
    with pytest.raises(ValueError, match=message):
        ordered(*names)


def test_lengths_of_steps():
    assert step_range([1.0, 1.009, 1.0]) is None and step_range([]) is None
    assert step_range([1.0, 1.02]) == (1.0, 1.02)
