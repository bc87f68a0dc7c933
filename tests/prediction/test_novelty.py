"""Distances from a training set: closed forms, few wrong alarms on samples like it, alarms on others."""

from __future__ import annotations

import numpy as np
import pytest

from pitgeo.prediction.novelty import LEAST, Novelty


def novelty(values: np.ndarray) -> Novelty:
    return Novelty(values, np.ones(values.shape[1]))


def mixed(random: np.random.Generator, count: int) -> np.ndarray:
    """Eight descriptors of three hidden numbers: correlated, one twice, one constant, one of heavy tails."""
    hidden = random.random((count, 3))
    products = np.stack([hidden[:, 0] * hidden[:, 1], hidden[:, 1] ** 2, hidden.sum(1)], 1)
    tail = 0.1 * random.standard_t(3, (count, 1))
    return np.concatenate([hidden, products, hidden[:, :1], np.full((count, 1), 7.0), tail], 1)


def test_distances_along_a_line_in_closed_form() -> None:
    values = np.arange(21.0)[:, None]
    found = novelty(values)
    unit = 1 / np.sqrt(1 + 1e-3) / values.std()
    assert found.distance(np.array([30.0])) == pytest.approx(10 * unit)
    assert found.distance(np.array([7.25])) == pytest.approx(0.25 * unit)
    assert len(found.distances) == 21 and found.limit(0.0) == found.distances[-1] >= found.limit(0.2) > 0.9 * unit
    assert found.compare(np.array([7.5])) == "" and "than any of these" in found.compare(np.array([30.0]))


@pytest.mark.parametrize("count", [20, 40, 200])
def test_few_wrong_alarms_and_limits_that_are_exceeded_as_often_as_they_say(count: int) -> None:
    random, alarms, beyond = np.random.default_rng(count), [], []
    for _ in range(25):
        own = novelty(mixed(random, count))
        new = mixed(random, 20)
        alarms += [own.compare(sample) != "" for sample in new]
        beyond += [[own.distance(sample) > own.limit(share) for share in (0.1, 0.2, 0.5)] for sample in new]
    assert np.mean(alarms) <= 0.05
    assert (np.mean(beyond, 0) <= (np.floor(np.array([0.1, 0.2, 0.5]) * count) + 1) / (count + 1) + 0.05).all()


@pytest.mark.parametrize("count", [40, 200])
def test_samples_outside_are_found(count: int) -> None:
    random = np.random.default_rng(count)
    own = novelty(mixed(random, count))
    new = mixed(random, 100)
    beyond = new + np.array([1.5, 0, 0, 0, 0, 0, 0, 0, 0])
    broken = np.concatenate([new[:, :6], 1 - new[:, :1], new[:, 7:]], 1)  # the copy does not agree with its original
    broken = broken[np.abs(broken[:, 0] - broken[:, 6]) > 0.2]
    other = new.copy()
    other[:, 7] = 8.0
    for samples in (beyond, broken, other):
        assert np.mean([own.compare(sample) != "" for sample in samples]) >= 0.95
    assert own.compare(other[0]) == "differs from that of all training samples in what these have in common"


def test_descriptors_that_are_missing_or_the_same_everywhere() -> None:
    random = np.random.default_rng(0)
    values = mixed(random, 30)
    without = values.copy()
    without[:, 5] = np.nan
    assert 5 not in novelty(without).varying
    sample = values[3].copy()
    sample[5] = np.nan  # as in a mesh whose cells are missing
    assert novelty(values).compare(sample) == ""
    same = np.ones((LEAST, 4))
    assert novelty(same).compare(np.ones(4)) == "" == novelty(same).compare(np.full(4, 1.005))
    assert novelty(same).compare(np.array([1, 1, 1, 1.5])) != ""


def test_one_outlier_in_training_does_not_hide_others() -> None:
    random = np.random.default_rng(1)
    values = random.standard_normal((150, 2))
    values[0] = 60.0, -60.0
    found = novelty(values)
    assert found.compare(np.array([20.0, 20.0])) and "99.3% of these" in found.compare(np.array([20.0, 20.0]))
