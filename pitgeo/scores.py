"""Predictions for the samples of a data set, and how far they are off."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from pitgeo.datasets.data_options import DataOptions, Samples
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.metrics import at_rest, relative_error
from pitgeo.predict import Predictor
from pitgeo.training.module import OperatorModule

Split = Literal["train", "validation", "test"]
SPLITS = ("train", "validation", "test")
NORMS: tuple[tuple[str, Literal[1, 2]], ...] = (("relative_l1", 1), ("relative_l2", 2))


def read_split(options: DataOptions, name: str, split: str, progress: bool) -> Samples:
    """The samples of a split.

    Raises:
        ValueError: If the split is unknown or empty.
    """
    if split not in SPLITS:
        raise ValueError(f"Expected 'split' to be one of {SPLITS} (got {split!r})")
    samples = options.split_samples(split, progress)
    if len(samples) == 0:
        raise ValueError(f"Expected the {split} split of {name!r} to hold samples (got none)")
    return samples


def predict_samples(predictor: Predictor, samples: Any, size: int, progress: bool) -> list[Tensor]:
    """Values at the output points of every sample, ``size`` samples at a time.

    Raises:
        ValueError: If a prediction is not finite.
    """
    predictions: list[Tensor] = []
    if isinstance(samples, SharedMesh):
        samples = samples.with_transform(predictor.transform)
    with tqdm(
        total=len(samples), desc="predict", unit="sample", disable=not progress or not sys.stderr.isatty()
    ) as bar:
        for start in range(0, len(samples), size):
            numbers = range(start, min(start + size, len(samples)))
            batch = [samples[number] for number in numbers]
            if isinstance(samples, SharedMesh):
                parts = predictor.predict_prepared(samples.batch(numbers)).unbind()
            else:
                points = [sample.y.shape[0] for sample in batch]
                parts = predictor.predict(batch, getattr(samples, "steps", 0)).split_with_sizes(points)
            for sample, prediction in zip(batch, parts, strict=True):
                if not bool(torch.isfinite(prediction).all()):
                    raise ValueError(
                        f"Expected finite predictions (got NaN or infinity in sample {sample.get('sample_id')}); the "
                        f"model has diverged: evaluate an earlier checkpoint, or train with a lower learning rate"
                    )
                predictions.append(prediction)
            bar.update(len(batch))
    return predictions


def sample_errors(
    module: OperatorModule, predictions: Sequence[Tensor], truths: Sequence[Tensor], norm: Literal[1, 2]
) -> NDArray[np.float64]:
    """Relative errors ``[samples, channels]``; of vectors and of numbers of whole meshes, as in training."""
    floor = None if module.floor is None else module.floor.cpu()
    groups, errors = module.groups, []
    typical = None if module.typical is None else module.typical.cpu()
    for prediction, truth in zip(predictions, truths, strict=True):
        steps = 1 if groups is None else truth.shape[1] // sum(groups)  # of a roll-out, one after the other
        together = None if groups is None else [*groups] * steps
        usual = None if typical is None else typical.repeat(truth.shape[1] // len(typical))
        errors.append(relative_error(prediction, truth, norm=norm, floor=floor, groups=together, typical=usual))
    return torch.cat(errors).double().numpy()


def resting(
    module: OperatorModule, truths: Sequence[Tensor], labels: Sequence[str], ids: Sequence[int]
) -> dict[str, list[int]]:
    """The samples in which a target is zero, or next to it, by the target: its typical size is what errors refer to."""
    found: dict[str, list[int]] = {}
    if module.typical is None:
        return found
    for number, truth in zip(ids, truths, strict=True):
        steps = truth.shape[1] // len(module.typical)
        groups = None if module.groups is None else [*module.groups] * steps
        rests = at_rest(truth, module.typical.cpu().repeat(steps), groups)
        for label, is_at_rest in zip(labels, rests.tolist(), strict=True):
            if is_at_rest:
                found.setdefault(label, []).append(number)
    return found


def summary(values: NDArray[np.float64]) -> dict[str, float]:
    """Mean, quartiles and extremes of errors."""
    low, middle, high = (float(value) for value in np.quantile(values, (0.25, 0.5, 0.75)))
    return {
        "mean": float(values.mean()),
        "median": middle,
        "lower_quartile": low,
        "upper_quartile": high,
        "smallest": float(values.min()),
        "largest": float(values.max()),
    }
