"""Calibration of the spread of an ensemble: its factor is fitted on one split and tested on another."""

from __future__ import annotations

import logging
import math
import os
import statistics
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from pitgeo.data.samples import Samples
from pitgeo.evaluation import plots
from pitgeo.evaluation.appraisal import Appraised, compare
from pitgeo.evaluation.evaluation import versions, write_json
from pitgeo.evaluation.measure_table import format_errors, format_quantities, format_sets, heading
from pitgeo.evaluation.scores import Split, measure_on_meshes, measure_samples, predict_samples, read_split
from pitgeo.evaluation.trust import add_samples, format_trust, trust_report
from pitgeo.evaluation.verdict import verdict
from pitgeo.measures.measures import FORMAT, Measures
from pitgeo.prediction.bounds import STORED
from pitgeo.prediction.ensemble import Calibration, Ensemble, Moments
from pitgeo.prediction.predictor import Predictor
from pitgeo.training.output_points import known

log = logging.getLogger(__name__)

Values = NDArray[np.float64]
LEVELS = tuple(step / 10 for step in range(1, 31))
"""Multiples of the spread for which the share of smaller errors is computed; 1 and 2 are among them."""


def calibrate(ensemble: Ensemble, progress: bool = True) -> Calibration:
    r"""The factors of the spread that make it as large as the error on the validation samples.

    .. math::
        s_k = \sqrt{\frac{\sum_i (\bar{y}_{ik} - y_{ik})^2}{\sum_i \sigma_{ik}^2}}

    The sums run over all points of all validation samples, so single points at which members agree by chance have no
    influence. The factor is 1 for a channel in which members agree everywhere, and for all channels without validation
    samples. The best checkpoints were chosen on the same samples, so the factor is rather too small. The bounds of the
    ensemble are calibrated on the same predictions, and replace those that it has.

    Args:
        ensemble: Members to predict with; its own calibration is ignored.
        progress: Show progress bars (in a terminal only).

    Raises:
        ValueError: If a prediction is not finite.
    """
    options = ensemble.data_options
    ensemble.bounds = None
    samples = options.split_samples("validation", progress) if options.counts()[1] else None
    if samples is None or len(samples) == 0:
        return Calibration((1.0,) * len(ensemble.targets))
    assessed = _assess(ensemble, samples, Calibration(), progress)
    factors = tuple(ratio if ratio else 1.0 for ratio in map(_ratio, assessed.columns()))
    calibration = Calibration(factors, len(samples))
    try:
        scores = ensemble.scores()
    except ValueError as error:
        log.info("No bounds of the errors: %s", error)
        return calibration
    spreads = [calibration.scale(spread, len(ensemble.targets)) for spread in assessed.spreads]
    ensemble.bounds = add_samples(scores, samples, assessed.means, spreads).bounds(f"{len(samples)} validation samples")
    return calibration


def evaluate_ensemble(ensemble: Ensemble, output: Path, split: Split = "test", progress: bool = True) -> dict[str, Any]:
    """Predict every sample of a split, and write the errors and the comparison of spread and error.

    The files are ``ensemble.json``, from which :func:`pitgeo.prediction.predictor.load_ensemble` loads the ensemble,
    and ``pictures/calibration.png``.

    Args:
        ensemble: Members and calibration.
        output: Folder for the files.
        split: The split of the data.
        progress: Show progress bars (in a terminal only).

    Returns:
        The content of ``ensemble.json``.

    Raises:
        ValueError: If the split is unknown or empty, or a prediction is not finite.
    """
    config, calibration = ensemble.config, ensemble.calibration
    samples = read_split(ensemble.data_options, config.data.name, split, progress)
    labels = samples.targets or tuple(ensemble.targets)
    start = time.perf_counter()
    assessed = _assess(ensemble, samples, calibration, progress)
    seconds = time.perf_counter() - start
    columns = dict(zip(labels, assessed.columns(), strict=True))
    shares = {label: [column.share(level) for level in LEVELS] for label, column in columns.items()}
    expected = [math.erf(level / math.sqrt(2)) for level in LEVELS]
    result = {
        "format": FORMAT,
        "members": [Path(os.path.relpath(member.path, output)).as_posix() for member in ensemble.members],
        "dataset": config.data.name,
        "protocol": getattr(config.data.options, "protocol", None),
        "split": split,
        "samples": len(samples),
        "model": config.model.name,
        "seeds": [member.config.training.seed for member in ensemble.members],
        "calibration": {
            "samples": calibration.samples,
            "method": "root mean square of the error over that of the spread, all points of the validation samples",
            "factors": dict(zip(ensemble.targets, calibration.factors or (1.0,) * len(ensemble.targets), strict=True)),
        },
        "errors": _with_members(assessed.measures.result(), [member.result() for member in assessed.member_measures]),
        **measure_on_meshes(ensemble, config.evaluation, samples, assessed.means, progress).result(),
        "spread": {
            label: {
                "within_1": column.share(1.0),
                "within_2": column.share(2.0),
                "error_over_spread": _ratio(column),
                "rank_correlation": column.rank_correlation(),
            }
            for label, column in columns.items()
        },
        **trust_report(ensemble, samples, assessed.means, assessed.spreads),
        **({} if ensemble.bounds is None else {STORED: ensemble.bounds.plain()}),
        "reliability": {"spreads": list(LEVELS), "expected": expected, "observed": shares},
        **_verdict(ensemble, samples, assessed, {label: _ratio(column) for label, column in columns.items()}),
        "prediction_seconds": round(seconds, 3),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    plots.reliability(shares, expected, output / "pictures" / "calibration.png")
    write_json(output / "ensemble.json", result)
    return result


def format_ensemble(result: dict[str, Any]) -> str:
    """An ensemble's evaluation as a table to print.

    Example:
        >>> print(format_ensemble({
        ...     "members": ["member_0/best.ckpt", "member_1/best.ckpt"], "model": "pit", "seeds": [0, 1],
        ...     "dataset": "elasticity", "protocol": "radii", "split": "test", "samples": 200,
        ...     "calibration": {"samples": 50, "factors": {"von_mises": 1.5}},
        ...     "errors": {"von_mises": {"relative_l2": {"mean": 0.01, "members": [0.012, 0.014]}}},
        ...     "spread": {"von_mises": {"within_1": 0.7, "within_2": 0.95, "error_over_spread": 1.02,
        ...                              "rank_correlation": None}}}))
        ensemble of 2: pit, seeds 0, 1
        elasticity (radii), 200 test samples
        <BLANKLINE>
        target          rmse  largest absolute         r2  relative l2  variation l2
        von_mises          -                 -          -         0.01             -
        relative l2: mean over samples; the others: all points of all samples. See docs/measures.md
        <BLANKLINE>
        target     error        mean of members   their mean
        von_mises  relative l2          0.01300      0.01000
        <BLANKLINE>
        spread calibrated on 50 validation samples; a normal distribution has 0.683 and 0.954 within 1 and 2
        target       factor  within 1  within 2  error/spread  rank correlation
        von_mises     1.500     0.700     0.950         1.020                 -
    """
    protocol = f" ({result['protocol']})" if result["protocol"] else ""
    width = max(6, *(len(name) for name in (*result["spread"], *result["errors"])))
    lines = [
        f"ensemble of {len(result['members'])}: {result['model']}, seeds {', '.join(map(str, result['seeds']))}",
        f"{result['dataset']}{protocol}, {result['samples']} {result['split']} samples",
        "",
        *format_errors(result["errors"]),
        *format_sets(result),
        *format_quantities(result),
        "",
        f"{'target':{width}}  {'error':11}  {'mean of members':>15}  {'their mean':>11}",
    ]
    for target, numbers in result["errors"].items():
        error = numbers["relative_l2"]
        alone = None if None in error["members"] else statistics.fmean(error["members"])
        first, second = ("-" if value is None else f"{value:.5f}" for value in (alone, error["mean"]))
        lines.append(f"{target:{width}}  {heading('relative_l2'):11}  {first:>15}  {second:>11}")
    known_on = result["calibration"]["samples"]
    how = f"calibrated on {known_on} validation samples" if known_on else "not calibrated, without validation samples"
    lines += ["", f"spread {how}; a normal distribution has 0.683 and 0.954 within 1 and 2"]
    columns = ("within_1", "within_2", "error_over_spread", "rank_correlation")
    lines += [f"{'target':{width}}  {'factor':>8}  within 1  within 2  error/spread  rank correlation"]
    factors = list(result["calibration"]["factors"].values())
    for number, (target, numbers) in enumerate(result["spread"].items()):
        cells = [factors[number % len(factors)], *(numbers[name] for name in columns)]
        sizes = (8, 8, 8, 12, 16)
        row = ("-".rjust(n) if cell is None else f"{cell:{n}.3f}" for cell, n in zip(cells, sizes, strict=True))
        lines.append(f"{target:{width}}  {'  '.join(row)}")
    return "\n".join([*lines, *(["", *found] if (found := format_trust(result)) else [])])


@dataclass(frozen=True)
class _Column:
    """Errors and calibrated spreads of one target channel, a pair of arrays ``[m]`` a sample."""

    errors: list[Values]
    spreads: list[Values]

    def share(self, level: float) -> float:
        """Share of the points whose error is at most ``level`` spreads."""
        pairs = zip(self.errors, self.spreads, strict=True)
        within = sum(int((error <= level * spread).sum()) for error, spread in pairs)
        return within / sum(error.size for error in self.errors)

    def rank_correlation(self) -> float | None:
        """Spearman's correlation of mean errors and mean spreads of the samples; ``None`` if one is constant."""
        errors, spreads = (
            [float(values.mean()) for values in part if values.size] for part in (self.errors, self.spreads)
        )
        if len(set(errors)) < 2 or len(set(spreads)) < 2:
            return None
        return float(spearmanr(errors, spreads).statistic)


@dataclass(frozen=True)
class _Assessed:
    """The predictions of the members for the samples of a split."""

    means: list[Tensor]
    spreads: list[Tensor]
    truths: list[Tensor]
    masks: list[Tensor | None]
    measures: Measures
    member_measures: list[Measures]

    def columns(self) -> list[_Column]:
        """Errors and spreads of every target channel."""
        return [self._column(channel) for channel in range(self.truths[0].shape[1])]

    def _column(self, channel: int) -> _Column:
        errors, spreads = [], []
        for mean, spread, truth, mask in zip(self.means, self.spreads, self.truths, self.masks, strict=True):
            rows = slice(None) if mask is None else mask[:, channel]
            errors.append((mean[rows, channel] - truth[rows, channel].double()).abs().numpy())
            spreads.append(spread[rows, channel].numpy())
        return _Column(errors, spreads)


def _assess(ensemble: Ensemble, samples: Samples, calibration: Calibration, progress: bool) -> _Assessed:
    """Predictions by one member after the other; only sums over the members are kept."""
    size = ensemble.config.training.batch_size
    moments = [Moments() for _ in range(len(samples))]
    truths = [samples[number].y for number in range(len(samples))]
    member_measures = []
    for member in ensemble.members:
        predictions = predict_samples(cast(Predictor, member), samples, size, progress)
        predictions = [known(prediction, samples[number]) for number, prediction in enumerate(predictions)]
        for moment, prediction in zip(moments, predictions, strict=True):
            moment.add(prediction)
        member_measures.append(measure_samples(ensemble, samples, predictions))
    means = [moment.mean for moment in moments]
    return _Assessed(
        means,
        [calibration.scale(moment.spread, len(ensemble.targets)) for moment in moments],
        truths,
        [samples[number].get("y_mask") for number in range(len(samples))],
        measure_samples(ensemble, samples, means),
        member_measures,
    )


def _with_members(errors: dict[str, Any], members: list[dict[str, Any]]) -> dict[str, Any]:
    """The errors of the mean, with the relative errors of every member added."""
    for target, entry in errors.items():
        for name in ("relative_l1", "relative_l2"):
            entry[name]["members"] = [member[target][name]["mean"] for member in members]
    return errors


def _verdict(
    ensemble: Ensemble, samples: Samples, assessed: _Assessed, ratios: dict[str, float | None]
) -> dict[str, Any]:
    """The comparison of the ensemble mean with controls, and the verdict on it and on the spread."""
    appraised = Appraised(ensemble, ensemble.data_options, samples, assessed.means)
    rivals, numbers, controls = compare(appraised)
    spread = {label: ratio for label, ratio in ratios.items() if ratio}
    own = verdict(ensemble.config.model.name, appraised.errors(numbers), rivals, calibration=spread)
    return {"controls": controls, "verdict": own}


def _ratio(column: _Column) -> float | None:
    """Root mean square of the error, divided by that of the spread; ``None`` without any spread."""
    squares = [sum(float(np.square(values).sum()) for values in part) for part in (column.errors, column.spreads)]
    return math.sqrt(squares[0] / squares[1]) if squares[1] > 0 else None
