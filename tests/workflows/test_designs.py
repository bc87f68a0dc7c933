"""The values that a sweep takes: every part of a range once, all combinations, and what is no value."""

from dataclasses import replace

import numpy as np
import pytest

from pitgeo.workflows.designs import Varied, bounds, combinations, latin_hypercube


def test_a_latin_hypercube_has_one_sample_in_every_part():
    varied = [Varied.parse("a=0:10"), Varied.parse("b=-1:1"), Varied.parse("kind=3,7")]
    found = latin_hypercube(varied, 50, seed=3)
    for name, low, high in (("a", 0, 10), ("b", -1, 1)):
        parts = np.floor((found[name] - low) / (high - low) * 50).astype(int)
        assert sorted(parts) == list(range(50))
    assert np.unique(found["kind"], return_counts=True)[1].tolist() == [25, 25]
    again, other = latin_hypercube(varied, 50, seed=3), latin_hypercube(varied, 50, seed=4)
    assert np.array_equal(found["a"], again["a"]) and not np.array_equal(found["a"], other["a"])


def test_combinations_of_ranges_and_lists():
    found = combinations([Varied.parse("a=1e-3,2e-3"), Varied.parse("b=-2:2:3"), Varied.parse("c=5")])
    assert found["b"].tolist() == [-2.0, 0.0, 2.0, -2.0, 0.0, 2.0] and found["a"].tolist() == [1e-3] * 3 + [2e-3] * 3
    assert found["c"].tolist() == [5.0] * 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("load", "as in 'load=0:10:5'"),
        ("=3", "as in 'load=0:10:5'"),
        ("load=", "finite numbers in 'load=' .got ''"),
        ("load=1,x", "finite numbers in 'load=1,x' .got 'x'"),
        ("load=0:inf:3", "finite numbers"),
        ("load=3:1:4", "from a lower to a higher value"),
        ("load=1:3:4:5", "from a lower to a higher value"),
        ("load=1:3:1", "at least 2 values"),
        ("load=1:3:2.5", "at least 2 values"),
    ],
)
def test_what_are_no_values(text, message):
    with pytest.raises(ValueError, match=message):
        Varied.parse(text)


def test_what_cannot_be_combined():
    with pytest.raises(ValueError, match=r"Expected values of 'a' \(got the range 0 to 1\); say how many"):
        combinations([Varied.parse("a=0:1")])
    for make in (combinations, lambda varied: latin_hypercube(varied, 3)):
        with pytest.raises(ValueError, match="each once"):
            make([Varied.parse("a=1"), Varied.parse("a=2")])
        with pytest.raises(ValueError, match="got none"):
            make([])
    for text in ("a=1,2,5", "a=0:10:5", "a=2"):
        with pytest.raises(ValueError, match="Expected a range of 'a'"):
            bounds([Varied.parse(text)])
    with pytest.raises(ValueError, match="'seed' to be 0 or more"):
        latin_hypercube([Varied.parse("a=0:1")], 3, -1)
    many = Varied.parse("a=0:1:5000")
    for make in (
        lambda: Varied.parse("a=0:1:1000000000"),
        lambda: combinations([many, replace(many, name="b")]),
        lambda: latin_hypercube([Varied.parse("a=0:1")], 10**9),
    ):
        with pytest.raises(ValueError, match="at most 10000000 predictions"):
            make()
    with pytest.raises(ValueError, match="at least 1 of 'samples'"):
        latin_hypercube([Varied.parse("a=0:1")], 0)
