"""How far predictions can be believed: bounds of their errors, and samples outside the training set."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from pitgeo.data.samples import Samples
from pitgeo.evaluation.measure_table import MOST
from pitgeo.evaluation.scores import predict_samples
from pitgeo.prediction.bounds import LEVELS, PEAK, Scores, by_target
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.predictor import load
from pitgeo.training.output_points import known

log = logging.getLogger(__name__)

LEVEL = MeshPredictor.level
MOST_CASES = 200
"""Test samples that are compared with the training set; of more, evenly chosen ones."""


def calibrate_checkpoint(checkpoint: Path, device: str = "cpu", progress: bool = True) -> None:
    """Calibrate the bounds of a checkpoint on its validation samples, and store them in it.

    Without validation samples, and of time series, nothing is done; the log says what is missing.

    Args:
        checkpoint: A checkpoint written by training.
        device: Device of the model, in torch's notation.
        progress: Show a progress bar (in a terminal only).

    Raises:
        ValueError: If a prediction is not finite.
    """
    predictor = load(checkpoint, device)
    options = predictor.data_options
    if not options.counts()[1]:
        log.info("No bounds of the errors: they are calibrated on validation samples, of which there are none")
        return
    try:
        scores = predictor.scores()
    except ValueError as error:
        log.info("No bounds of the errors: %s", error)
        return
    samples = options.split_samples("validation", progress)
    predictions = predict_samples(predictor, samples, predictor.config.training.batch_size, progress)
    add_samples(scores, samples, predictions)
    predictor.bounds = scores.bounds(f"{len(samples)} validation samples")
    for level in LEVELS:
        if text := predictor.bounds.lacking(level):
            log.info("There are %s", text)
    predictor.store_bounds()


def add_samples(
    scores: Scores, samples: Samples, predictions: Sequence[Tensor], spreads: Sequence[Tensor] | None = None
) -> Scores:
    """Add the errors of predictions for the samples of a data set."""
    for number, prediction in enumerate(predictions):
        sample = samples[number]
        mask = sample.get("y_mask")
        parts = [known(prediction, sample), sample.y, *([] if spreads is None else [spreads[number]])]
        values = [
            by_target(scores.table, part.double().numpy(), None if mask is None else mask.numpy()) for part in parts
        ]
        scores.add(*values)
    return scores


def trust_report(
    predictor: MeshPredictor, samples: Samples, predictions: Sequence[Tensor], spreads: Sequence[Tensor] | None = None
) -> dict[str, Any]:
    """What an evaluation says of bounds and of the training set, where these are known.

    Returns:
        ``bounds``: the shares of the points within them; ``training_set``: how many samples are inside, at the edge and
        outside, and why the first of the latter are.
    """
    report: dict[str, Any] = {}
    if predictor.bounds is not None:
        scores = predictor.bounds.scores(predictor.table)
        report["bounds"] = add_samples(scores, samples, predictions, spreads).report(predictor.bounds)
    count = min(len(samples), MOST_CASES)
    numbers = [number * len(samples) // count for number in range(count)]
    found = [(number, case) for number in numbers if (case := samples.case(number)) is not None]
    judged = [(number, predictor.doubts.trust(predictor.doubts.divided(case))) for number, case in found]
    counts = Counter(trust.status for _, trust in judged)
    if judged and not counts["unknown"]:
        report["training_set"] = {
            "samples": len(judged),
            **{status: counts[status] for status in ("inside", "edge", "outside")},
            "first_outside": [
                {"name": samples.name(number), "reasons": list(trust.reasons)}
                for number, trust in judged
                if trust.status == "outside"
            ][:10],
        }
    return report


def format_trust(result: Mapping[str, Any]) -> list[str]:
    """The same as lines to print; none where nothing is known.

    Example:
        >>> for line in format_trust({
        ...     "bounds": {"levels": [80, 90, 95], "calibrated_on": "20 validation samples", "lacking": [],
        ...                "within": {"u": [0.8, 0.913, 0.95], "peak:u": [0.7, 0.95, 1.0]}},
        ...     "training_set": {"samples": 50, "inside": 46, "edge": 3, "outside": 1}}):
        ...     print(line)
        bounds of 90%: 91.3% of points within (u), 95.0% of peaks (u); calibrated on 20 validation samples
        test samples and the training set: 46 inside, 3 at the edge, 1 outside
    """
    lines, bounds, counts = [], result.get("bounds"), result.get("training_set")
    if bounds:
        place = bounds["levels"].index(LEVEL)
        shares = {name: row[place] for name, row in bounds["within"].items() if row[place] is not None}
        fields = {name: share for name, share in shares.items() if not name.startswith(PEAK)}
        peaks = {name[len(PEAK) :]: share for name, share in shares.items() if name.startswith(PEAK)}
        parts = [
            f"{_shares(part, what)}" for part, what in ((fields, " of points within"), (peaks, " of peaks")) if part
        ]
        if parts:
            lines.append(f"bounds of {LEVEL}%: {', '.join(parts)}; calibrated on {bounds['calibrated_on']}")
        lines += [text for text in bounds["lacking"] if f" {LEVEL}%" in text]
    if counts:
        lines.append(
            f"{result.get('split', 'test')} samples and the training set: {counts['inside']} inside, "
            f"{counts['edge']} at the edge, {counts['outside']} outside"
        )
    return lines


def _shares(shares: Mapping[str, float], what: str) -> str:
    """The first few shares; of many, their mean."""
    if len(shares) > MOST:
        return f"{np.mean([*shares.values()]):.1%}{what} (mean of {len(shares)})"
    texts = [f"{share:.1%}{what if not at else ''} ({name})" for at, (name, share) in enumerate(shares.items())]
    return ", ".join(texts)
