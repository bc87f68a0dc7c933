"""The verdict on a trained model: plain sentences that follow from its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Rows = Sequence[Mapping[str, float | None]]

LEAST_SAMPLES = 5
"""Smallest number of test samples for a confidence interval."""
LEAST_EPOCHS = 10
"""Smallest number of epochs for a statement about their course."""
LEVEL = 0.9
ROUNDING = 1e-6
"""Error of single precision, which more files do not lower."""
SLIGHT = 0.1
"""Share of the mean error by which an input without influence changes it at most."""
_DRAWS = 4000
_TINY = 1e-12


@dataclass(frozen=True)
class Rival:
    """A control and its errors on the test samples.

    Args:
        name: Name of the control.
        errors: Errors ``[n]`` of the test samples.
        seconds: Time of the fit.
        model: Its name in the registry of models, if it is a model.
        halved: Errors ``[n]`` after a fit to half of the training samples, if there was one.
    """

    name: str
    errors: Values
    seconds: float = 0.0
    model: str | None = None
    halved: Values | None = None


@dataclass(frozen=True)
class Influence:
    """Changes of the errors of test samples when an input is permuted among them.

    Args:
        changes: Error with the permuted input less the error with its own, ``[n]``.
    """

    changes: Values

    def is_missing(self, errors: Values) -> bool:
        """Whether the mean error surely changes by less than a tenth: two standard errors are added."""
        mean, noise = self.changes.mean(), self.changes.std(ddof=1) / math.sqrt(len(self.changes))
        return bool(abs(mean) + 2 * noise < max(SLIGHT * errors.mean(), ROUNDING))


def verdict(
    model: str,
    errors: Values,
    rivals: Sequence[Rival],
    history: Rows = (),
    schedule: str = "constant",
    influences: Mapping[str, Influence] | None = None,
    calibration: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Whether a model is better than the controls, and what would improve it.

    Args:
        model: Its name in the registry of models.
        errors: Its errors ``[n]``, on the same test samples as those of the controls.
        rivals: The controls; a control with the name of the model is left out.
        history: Rows of ``metrics.csv``: ``train_loss`` and ``val_error`` of every epoch.
        schedule: Schedule of the learning rate; the effect of more epochs is estimated only for ``"constant"``.
        influences: Changes of the errors when an input is permuted, by its name.
        calibration: ``error_over_spread`` of every target of an ensemble; the course of training is then left out.

    Returns:
        Numbers by their names, and three to eight ``sentences``.

    Raises:
        ValueError: If there is no test sample, or a control has errors of other samples.
    """
    if len(errors) == 0 or any(len(rival.errors) != len(errors) for rival in rivals):
        raise ValueError(
            f"Expected errors of the same test samples, at least one (got {len(errors)} of the model, "
            f"{[len(rival.errors) for rival in rivals]} of the controls)"
        )
    others = [rival for rival in rivals if rival.model is None or rival.model != model]
    best = min(others, key=lambda rival: float(rival.errors.mean()), default=None)
    numbers: dict[str, Any] = {"error": float(errors.mean()), "samples": len(errors)}
    sentences = []
    if best is not None:
        numbers.update(_against(errors, best))
        sentences.append(_compared(numbers, best))
    sentences.append(_absolute(numbers, others))
    course, said = ({}, []) if calibration is not None else _course(history, schedule)
    numbers.update(course)
    sentences += said
    if best is not None and (ratio := files_ratio(best)) is not None:
        numbers["twice_the_files"] = ratio
        sentences.append(
            f"With twice as many files, {best.name} may have {ratio:.2g} times its error: a guess, from what half of "
            f"the files cost it."
        )
    if influences:
        numbers["without_influence"] = [name for name, part in influences.items() if part.is_missing(errors)]
        sentences += _uninfluential(numbers["without_influence"], len(influences))
    if calibration:
        numbers["error_over_spread"] = dict(calibration)
        sentences.append(_calibrated(calibration))
    return {**numbers, "sentences": sentences[:8]}


def ratio_interval(errors: Values, others: Values) -> tuple[float, float]:
    """A 90% confidence interval of the mean of ``others`` divided by the mean of ``errors``.

    It is a percentile bootstrap: the same test samples are resampled for both, with a fixed seed.

    Reference:
        Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    draws = np.random.default_rng(0).integers(len(errors), size=(_DRAWS, len(errors)))
    ratios = np.maximum(others[draws].mean(1), _TINY) / np.maximum(errors[draws].mean(1), _TINY)
    low, high = np.quantile(ratios, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def files_ratio(rival: Rival) -> float | None:
    """The error of a control, divided by that after a fit to half of the samples; ``None`` if not clearly below 1."""
    if rival.halved is None or len(rival.errors) < LEAST_SAMPLES or rival.errors.mean() < ROUNDING:
        return None
    low, _ = ratio_interval(rival.errors, rival.halved)
    if low <= 1.03:
        return None
    return float(max(rival.errors.mean(), _TINY) / max(rival.halved.mean(), _TINY))


def _against(errors: Values, best: Rival) -> dict[str, Any]:
    times = max(float(best.errors.mean()), _TINY) / max(float(errors.mean()), _TINY)
    interval = list(ratio_interval(errors, best.errors)) if len(errors) >= LEAST_SAMPLES else None
    is_better = None if interval is None or interval[0] <= 1 <= interval[1] else interval[0] > 1
    return {"best_control": best.name, "times_better": times, "interval": interval, "is_better": is_better}


def _compared(numbers: Mapping[str, Any], best: Rival) -> str:
    times, interval, count = numbers["times_better"], numbers["interval"], numbers["samples"]
    name, capital = best.name, best.name[0].upper() + best.name[1:]
    if interval is None:
        samples = f"{count} test sample{'s are' if count > 1 else ' is'}"
        how = f"{_times(times)} times better" if times >= 1 else f"{_times(1 / times)} times worse"
        return f"The model is {how} than {name}; {samples} too few to rely on that."
    low, high = interval
    if numbers["is_better"] is None:
        return (
            f"The model is no better and no worse than {name}, as far as {count} test samples tell ({low:.3g} to "
            f"{high:.3g} times better)."
        )
    if numbers["is_better"]:
        return (
            f"The model is {_times(times)} times better than the best control, {name} (90% interval {_times(low)} to "
            f"{_times(high)}, {count} test samples)."
        )
    advice = f": use model.name = '{best.model}'" if best.model else ": do not use the model"
    return (
        f"{capital} is {_times(1 / times)} times better than the model (90% interval {_times(1 / high)} to "
        f"{_times(1 / low)}), in {best.seconds:.2g} s{advice}."
    )


def _absolute(numbers: Mapping[str, Any], rivals: Sequence[Rival]) -> str:
    others = ", ".join(f"{rival.name} {rival.errors.mean():.2g}" for rival in rivals)
    return f"Mean relative error: {numbers['error']:.2g}" + (f"; of {others}." if others else ".")


def _course(history: Rows, schedule: str) -> tuple[dict[str, Any], list[str]]:
    """Whether more epochs would help, and whether the model overfits, from the course of training."""
    errors = np.array([row.get("val_error") or np.nan for row in history], float)
    losses = np.array([row.get("train_loss") or np.nan for row in history], float)
    if len(errors) < LEAST_EPOCHS or not np.isfinite(errors).all():
        if len(history) == 1 and history[0].get("lr") == 0:
            return {}, ["It was fitted in closed form: there is no training to go on with."]
        return {}, ["Whether more epochs would help cannot be told (too few of them, or no validation samples)."]
    best = int(errors.argmin())
    lowest, last = float(errors[best]), float(errors[-1])
    fifth = max(2, len(errors) // 5)
    fall = 1 - float(errors[-fifth:].min()) / float(errors[:-fifth].min())
    near = losses[max(0, best - 2) : best + 1]
    gap = lowest / float(near.mean()) if np.isfinite(near).all() and near.mean() > 0 else None
    numbers: dict[str, Any] = {"best_epoch": best + 1, "fall_in_last_fifth": fall, "validation_over_training": gap}
    sentences = []
    if best < len(errors) - fifth and last > 1.1 * lowest:
        numbers["course"] = "rising"
        sentences.append(
            f"The validation error was lowest at epoch {best + 1} of {len(errors)} and has risen by "
            f"{last / lowest - 1:.0%} since: fewer epochs, or more files."
        )
    elif fall > 0.03:
        numbers["course"] = "falling"
        text = f"The validation error still fell by {fall:.0%} in the last fifth of the epochs: more may help"
        half = float(errors[: len(errors) // 2].min())
        if schedule == "constant" and lowest < half:
            numbers["twice_the_epochs"] = lowest / half
            text += f"; twice as many may give {lowest / half:.2g} times the error (a guess, from the last half)"
        sentences.append(f"{text}.")
    else:
        numbers["course"] = "converged"
        sentences.append(
            f"The validation error has converged: it fell by {max(fall, 0):.1%} in the last fifth of the epochs."
        )
    if gap is not None and gap > 2:
        sentences.append(
            f"The model overfits: the validation error is {_times(gap)} times the training loss; more files would help "
            f"more than more epochs."
        )
    return numbers, sentences


def _uninfluential(names: Sequence[str], tried: int) -> list[str]:
    if not names:
        return []
    listed = ", ".join(repr(name) for name in names)
    if len(names) == tried:
        return [
            f"None of the inputs that were tried has an influence: permuted among the test samples, {listed} change "
            f"the error by less than a tenth."
        ]
    return [
        f"Without influence on the error: {listed} (permuted among the test samples, it changes by less than a tenth)."
    ]


def _calibrated(ratios: Mapping[str, float]) -> str:
    name, worst = max(ratios.items(), key=lambda pair: abs(math.log(max(pair[1], _TINY))))
    if 0.8 <= worst <= 1.25:
        return "The ensemble's spread is about as large as its error."
    size = f"{_times(worst)} times too small" if worst > 1 else f"{_times(1 / max(worst, _TINY))} times too large"
    return f"The ensemble's spread of {name} is {size}, compared with its error."


def _times(ratio: float) -> str:
    """A ratio with two significant digits, without an exponent."""
    if ratio >= 100:
        digits = math.floor(math.log10(ratio)) - 1
        return f"{round(ratio, -digits):,.0f}"
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2g}"
