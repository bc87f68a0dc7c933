"""Errors of a trained model on a split of its data set, and pictures of them."""

from __future__ import annotations

import json
import logging
import math
import platform
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.config.config import parse_config
from pitgeo.data.samples import Samples
from pitgeo.evaluation import plots
from pitgeo.evaluation.appraisal import Appraised, appraise
from pitgeo.evaluation.html_report import write_report
from pitgeo.evaluation.illustrate import draw, export, head_lengths
from pitgeo.evaluation.measure_table import format_errors, format_quantities, format_sets
from pitgeo.evaluation.scores import (
    SPLITS,
    Split,
    measure_on_meshes,
    measure_samples,
    predict_samples,
    read_split,
    resting,
)
from pitgeo.evaluation.trust import format_trust, trust_report
from pitgeo.measures.measures import FORMAT
from pitgeo.prediction.predictor import load
from pitgeo.system.atomic_files import write_atomic
from pitgeo.training.output_points import known

log = logging.getLogger(__name__)


def evaluate(
    checkpoint: Path | str,
    output: Path | str | None = None,
    split: Split = "test",
    device: str = "cpu",
    progress: bool = True,
    overrides: Sequence[str] = (),
) -> dict[str, Any]:
    """Predict every sample of a split, and write errors, a report, pictures and meshes.

    The files are ``evaluation.json``, ``report.html``, ``pictures/*.png`` and ``meshes/*.vtu``. The data set is named
    in the checkpoint, and so are the files of the split. ``docs/measures.md`` defines the errors, which
    :class:`pitgeo.measures.Measures` computes; benchmarks use the mean over samples of the relative l2 error. Best,
    median and worst sample are chosen by the relative l2 error, averaged over targets.

    Args:
        checkpoint: A checkpoint written by training.
        output: Folder for the files; ``None`` for the folder of the checkpoint.
        split: The split of the data.
        device: Device of the model, in torch's notation.
        progress: Show a progress bar (in a terminal only).
        overrides: Changes to the options of the data, ``"data.darcy2d.resolution=85"``, or to what is reported,
            ``'evaluation.quantities=["peak:von_mises"]'``.

    Returns:
        The content of ``evaluation.json``.

    Raises:
        ValueError: If the split is unknown or empty, or a prediction is not finite.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo import train_surrogate
        >>> clouds = [np.random.default_rng(seed).random((40, 2)) for seed in range(5)]
        >>> cases = [{"points": points, "load": 1.0, "height": points[:, 0]} for points in clouds]
        >>> settings = ["training.epochs=1", "model.pit.channels=8"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = train_surrogate(cases, ["height"], folder + "/run", settings=settings, progress=False)
        ...     found = evaluate(folder + "/run/best.ckpt", folder + "/again", progress=False)
        >>> found["samples"], sorted(found["errors"])
        (1, ['height'])
    """
    checkpoint = Path(checkpoint)
    folder = checkpoint.parent if output is None else Path(output)
    predictor = load(checkpoint, device)
    config, options = predictor.config, predictor.data_options
    if overrides:
        wrong = [override for override in overrides if not override.startswith(("data.", "evaluation."))]
        if wrong:
            raise ValueError(
                f"Expected changes to the data, as in data.{config.data.name}.test=50, or to the evaluation alone (got "
                f"{wrong})"
            )
        config = parse_config(config.plain(), overrides, source=str(checkpoint))
    if any(override.startswith("data.") for override in overrides):
        options = config.data.options
        _check_leaks(predictor.facts.get("split"), options.split_files(), split, checkpoint)
    samples = read_split(options, config.data.name, split, progress)

    start = time.perf_counter()
    predictions = predict_samples(predictor, samples, config.training.batch_size, progress)
    seconds = time.perf_counter() - start
    ids = [int(samples[number].get("sample_id", number)) for number in range(len(samples))]
    predictions = [known(prediction, samples[number]) for number, prediction in enumerate(predictions)]
    measures = measure_samples(predictor, samples, predictions)
    on_meshes = measure_on_meshes(predictor, config.evaluation, samples, predictions, progress)
    errors = measures.order()
    order = np.argsort(errors, kind="stable")
    rest = resting(predictor, samples)
    for target, numbers in rest.items():
        log.info("%r is at rest in %d samples, where errors relative to its own size say little", target, len(numbers))
    chosen = {"best": int(order[0]), "median": int(order[(len(order) - 1) // 2]), "worst": int(order[-1])}

    result = {
        "format": FORMAT,
        "checkpoint": checkpoint.name,
        "dataset": config.data.name,
        "protocol": getattr(config.data.options, "protocol", None),
        "data": config.data.options.model_dump(mode="json"),
        "split_sizes": dict(zip(SPLITS, options.counts(), strict=True)),
        "split": split,
        "samples": len(samples),
        "model": config.model.name,
        "parameters": predictor.parameters,
        "seed": config.training.seed,
        "epochs": config.training.epochs,
        "errors": measures.result(),
        **on_meshes.result(),
        "at_rest": rest,
        **{which: _case(samples, ids, errors, number) for which, number in chosen.items()},
        "worst_samples": [_case(samples, ids, errors, int(n)) for n in order[::-1][:10]],
        "length_scales": {
            name: [float(length) if np.isfinite(length) else None for length in lengths]  # lambda may be 0
            for name, _, lengths in head_lengths(predictor)
        },
        "prediction_seconds": round(seconds, 3),
        "device": device,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
        "trained_with": predictor.facts["versions"],
    }
    result |= trust_report(predictor, samples, predictions)
    if split != "train":
        tested = Appraised(predictor, options, samples, predictions)
        result |= appraise(predictor, tested, checkpoint.parent / "metrics.csv", seconds)
    draw(predictor, samples, predictions, chosen, result, folder / "pictures", measures)
    if pairs := {**measures.peaks(), **on_meshes.quantities.pairs()}:
        plots.scatter(pairs, folder / "pictures" / "scatter.png")
    export(samples, chosen, result, folder / "meshes")
    if config.data.options.rollout > 1 or samples.steps > 1:
        plots.error_growth(
            _growth(result["errors"], [field.name for field in predictor.table.targets] if samples.steps else [""]),
            folder / "pictures" / "growth.png",
        )
    metrics = checkpoint.parent / "metrics.csv"
    if metrics.exists():
        plots.loss_curves(metrics, folder / "pictures" / "loss.png", config.training.window)
    write_json(folder / "evaluation.json", result)
    write_report(folder)
    return result


def format_table(result: dict[str, Any]) -> str:
    """An evaluation as a table to print.

    Example:
        >>> statistics = dict(mean=0.0123, pooled=0.0125)
        >>> worst = {"sample_id": 7, "relative_l2": 0.05}
        >>> print(format_table({
        ...     "checkpoint": "last.ckpt", "model": "pit", "parameters": 1000, "seed": 0,
        ...     "dataset": "elasticity", "protocol": "radii", "split": "test", "samples": 200,
        ...     "errors": {"von_mises": {"rmse": dict(mean=2.5, pooled=2.75), "relative_l2": statistics}},
        ...     "best": worst, "median": worst, "worst": worst, "length_scales": {"encoder": [0.02, 0.1]}}))
        last.ckpt: pit, 1,000 parameters, seed 0
        elasticity (radii), 200 test samples
        <BLANKLINE>
        target          rmse  largest absolute         r2  relative l2  variation l2
        von_mises       2.75                 -          -       0.0123             -
        relative l2: mean over samples; the others: all points of all samples. See docs/measures.md
        <BLANKLINE>
        best sample 7 (0.05), median sample 7 (0.05), worst sample 7 (0.05)
        <BLANKLINE>
        length scale of every head, in the positions' unit
        encoder      0.02       0.1
    """
    protocol = f" ({result['protocol']})" if result["protocol"] else ""
    width = max((len(name) for name in result["length_scales"]), default=0)
    lines = [
        f"{result['checkpoint']}: {result['model']}, {result['parameters']:,} parameters, seed {result['seed']}",
        f"{result['dataset']}{protocol}, {result['samples']} {result['split']} samples",
        "",
        *format_errors(result["errors"]),
        *format_sets(result),
        *format_quantities(result),
    ]
    chosen = (f"{which} sample {result[which]['sample_id']} ({result[which]['relative_l2']:.4g})" for which in _CHOSEN)
    scales = [
        f"{name:{width}}  {'  '.join('     inf' if length is None else f'{length:8.4g}' for length in lengths)}"
        for name, lengths in result["length_scales"].items()
    ]
    if scales:
        scales = ["", "length scale of every head, in the positions' unit", *scales]
    trust = ["", *found] if (found := format_trust(result)) else []
    return "\n".join([*lines, *trust, "", ", ".join(chosen), *scales])


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    result = {"python": platform.python_version()}
    for package in ("pitgeo", "torch", "torch-geometric", "lightning", "numpy"):
        try:
            result[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # run from a source tree that is not installed
            result[package] = "unknown"
    return result


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file whole or not at all; NaN is refused."""
    write_atomic(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


_CHOSEN = ("best", "median", "worst")


def _check_leaks(
    before: dict[str, list[str]] | None, now: dict[str, list[str]] | None, split: str, checkpoint: Path
) -> None:
    """Refuse a test on files that were trained on."""
    if before is None or now is None or split != "test":
        return
    known = {*before["train"], *before["validation"]}
    if leaked := [name for name in now["test"] if name in known]:
        raise ValueError(
            f"Expected test files that {checkpoint} was not trained on (got {leaked[0]}, the first of {len(leaked)}); "
            f"name others by 'overrides', data.meshes.test=[...]"
        )


def _growth(errors: dict[str, Any], targets: Sequence[str]) -> dict[str, list[float]]:
    """Mean errors at every step, for each target; NaN where not defined."""
    entries = list(errors.values())
    means = [{name: entry[name]["mean"] for name in ("relative_l1", "relative_l2")} for entry in entries]
    return {
        f"{target} {name}" if len(targets) > 1 else name: [
            math.nan if row[name] is None else row[name] for row in means[number :: len(targets)]
        ]
        for number, target in enumerate(targets)
        for name in ("relative_l1", "relative_l2")
    }


def _case(samples: Samples, ids: Sequence[int], errors: NDArray[np.float64], number: int) -> dict[str, Any]:
    """What a report says of one sample."""
    name = samples.name(number)
    named = {} if name is None else {"name": name}
    return {"sample_id": ids[number], **named, "relative_l2": float(errors[number])}
