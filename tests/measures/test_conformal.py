"""Conformal factors: coverage on exchangeable samples, split conformal as a special case, heavy tails, few samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pitgeo.measures.conformal import MOST, condensed, conformal_factor, least_samples

LEVELS = (80, 90, 95)


def drawn(random: np.random.Generator, samples: int, tail: float | None) -> list[np.ndarray]:
    """Errors of samples of different sizes, alike within a sample, whose scales differ from sample to sample."""
    sizes = random.integers(1, 40, samples)
    scales = random.lognormal(0.0, 1.0, samples)
    noise = [random.standard_normal(n) if tail is None else random.standard_t(tail, n) for n in sizes]
    return [scale * np.abs(own) for scale, own in zip(scales, noise, strict=True)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("tail", [None, 1.0])  # normal; Cauchy, without a mean
@pytest.mark.parametrize("samples", [20, 60])
def test_coverage_of_new_samples(level: int, tail: float | None, samples: int) -> None:
    random, shares = np.random.default_rng(level + samples), []
    for _ in range(300):
        *held_out, new = drawn(random, samples + 1, tail)
        factor = conformal_factor(held_out, level)
        assert factor is not None
        shares.append((new <= factor).mean())
    error = np.std(shares) / math.sqrt(len(shares))
    assert level / 100 - 3 * error <= np.mean(shares) <= level / 100 + 1 / (samples + 1) + 3 * error


def plain(scores: list[np.ndarray], level: int) -> float | None:
    """The definition, by trying all scores."""
    count, alpha = len(scores), (100 - level) / 100
    for factor in np.sort(np.concatenate(scores)):
        risk = np.mean([(own > factor).mean() for own in scores])
        if (count * risk + 1) / (count + 1) <= alpha + 1e-12:
            return float(factor)
    return None


@pytest.mark.parametrize("samples", [3, 4, 5, 9, 10, 19, 40])
def test_it_is_the_smallest_factor_with_little_risk(samples: int) -> None:
    random = np.random.default_rng(samples)
    for _ in range(20):
        scores = [np.round(own, 1) for own in drawn(random, samples, None)]  # with ties
        factors = [conformal_factor(scores, level) for level in LEVELS]
        assert factors == [plain(scores, level) for level in LEVELS]
        found = [factor for factor in factors if factor is not None]
        assert found == sorted(found) and len(found) == sum(samples >= least_samples(level) for level in LEVELS)


@pytest.mark.parametrize("level", LEVELS)
def test_numbers_have_the_order_statistic_of_split_conformal(level: int) -> None:
    random = np.random.default_rng(0)
    for samples in range(1, 60):
        values = random.standard_cauchy(samples)
        place = math.ceil((samples + 1) * level / 100 - 1e-9)
        expected = float(np.sort(values)[place - 1]) if place <= samples else None
        assert conformal_factor(list(values[:, None]), level) == expected


def test_larger_errors_never_give_smaller_bounds() -> None:
    scores = drawn(np.random.default_rng(1), 30, 2.0)
    factor = conformal_factor(scores, 90)
    assert factor is not None
    for number in range(30):
        larger = [own * (1.5 if other == number else 1) for other, own in enumerate(scores)]
        assert (conformal_factor(larger, 90) or 0) >= factor
    scaled = conformal_factor([10 * own for own in scores], 90)
    assert scaled == pytest.approx(10 * factor)


def test_an_infinite_score_counts_as_outside() -> None:
    scores = [np.array([1.0])] * 19 + [np.array([np.inf])]
    assert conformal_factor(scores, 80) == 1.0 and conformal_factor(scores, 95) == np.inf


def test_many_points_are_condensed_on_the_safe_side() -> None:
    random = np.random.default_rng(0)
    values = np.abs(random.standard_cauchy(50 * MOST + 7))
    kept = condensed(values)
    assert len(kept) == MOST and kept[-1] == values.max()
    for limit in np.quantile(values, [0.0, 0.3, 0.9, 0.999, 1.0]):
        gap = (kept > limit).mean() - (values > limit).mean()
        assert 0 <= gap <= 1 / MOST
    assert condensed(values[:9]).tolist() == np.sort(values[:9]).tolist()


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="Expected a level from 1 to 99 percent"):
        conformal_factor([np.ones(3)], 100)
    with pytest.raises(ValueError, match="Expected at least one score of every sample"):
        conformal_factor([np.ones(3), np.ones(0)], 90)
    assert conformal_factor([], 90) is None
