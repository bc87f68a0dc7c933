"""Scalings and sizes of a run, found on its training samples."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_field import own_number
from pitgeo.data.samples import Samples
from pitgeo.data.scaling import CONSTANT, Scaling
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.training.fitted import Fitted
from pitgeo.workflows.before_scaling import BeforeScaling, before_scaling

FROM_ZERO = 2.0
"""The scaled mean of a number in a set is at most so far from zero, which stands for no number."""


def fit_scalings(config: RunConfig, samples: Samples, table: FieldTable) -> Fitted:
    """Scalings of inputs and targets, sizes of targets of whole meshes, of loads and of responses; without a control.

    Raises:
        ValueError: If the configuration asks for what the samples do not allow; the message names it.
    """
    kinds, logs = config.scaling, _logs(config, table)
    before = before_scaling(config, table, samples.table is not None)
    _check_numbers(samples, before)
    _check_logs(samples, "x", logs[0], table.input_labels)
    _check_logs(samples, "y", logs[1], table.target_labels)
    inputs = _scaling(samples, "x", kinds.inputs, logs[0], before)
    if kinds.inputs == "channel":
        inputs = _with_local(inputs, samples, table, before)
    targets = _scaling(samples, "y", kinds.targets, logs[1], before, table)
    if before.response is not None:
        parts = ((before.values(s, "x"), before.values(s, "y"), s.get("y_mask")) for s in samples)
        mean, std = (
            torch.where(torch.isnan(own), old, own)
            for own, old in zip(before.response.fit(parts), (targets.mean, targets.std), strict=True)
        )
        targets = Scaling(mean, std, (), logs[1])
    return Fitted(inputs, targets, _sizes(samples, table.scalars), None, before.response)


def check_held_out(config: RunConfig, table: FieldTable, held_out: Samples) -> None:
    """Refuse inputs that have no logarithm, or reference, before training, not where they are first evaluated.

    Raises:
        ValueError: If one whose logarithm is scaled, or a reference, is not positive in a validation or test sample.
    """
    before = before_scaling(config, table, held_out.table is not None)
    if before.references is not None or before.frame is not None:
        for samples in (held_out, config.data.options.test_samples()):
            _check_numbers(samples, before)
    names = [field.name for field in table.inputs for _ in range(field.stored)]
    if not {*names} & {*config.scaling.log}:
        return
    for split, samples in (("validation", held_out), ("test", config.data.options.test_samples())):
        ranges = samples.ranges() if len(samples) else None
        for name, (low, _) in zip(names, ranges, strict=True) if ranges is not None else ():
            if name in config.scaling.log and not low > 0:
                raise ValueError(
                    f"Expected positive values of {name!r}, whose logarithm is scaled (got {low:g} among the {split} "
                    f"samples); leave the name out of scaling.log"
                )


def _check_numbers(samples: Samples, before: BeforeScaling) -> None:
    """Name the sample whose reference is not positive, or that has no frame, and the field."""
    if before.references is None and before.frame is None:
        return
    for number, sample in enumerate(samples):
        name = samples.name(number)
        where = "" if name is None else f"{name}: "
        if before.references is not None:
            before.references.sizes(sample, where)
        if before.frame is not None:
            before.frame.rotations(sample, where)


def _scaling(
    samples: Sequence[PointData],
    key: Literal["x", "y"],
    kind: Literal["none", "channel", "point"],
    logs: list[int],
    before: BeforeScaling,
    table: FieldTable | None = None,
) -> Scaling:
    name = {"x": "inputs", "y": "targets"}[key]
    if kind != "point":
        if table is not None and any("y_mask" in sample for sample in samples[:1]):
            return _masked_scaling(samples, kind, logs, before, table)
        moments = functools.partial(before.moments, before.turned(key))
        return Scaling.fit((before.values(sample, key) for sample in samples), kind, logs, moments)
    if not isinstance(samples, SharedMesh):
        raise ValueError(f"Expected scaling.{name} = 'none' or 'channel' where meshes differ (got 'point')")
    if logs:
        raise ValueError(f"Expected scaling.{name} = 'none' or 'channel' with scaling.log (got 'point')")
    return Scaling.fit_points(before.values(samples.batch(range(len(samples))), key), samples.grid)


def _with_local(scaling: Scaling, samples: Sequence[PointData], table: FieldTable, before: BeforeScaling) -> Scaling:
    """The scaling, with numbers in a set by their own mean and spread; zero, where there is none, stays zero.

    They are divided by their standard deviation over the samples. A mean of more than :data:`FROM_ZERO` of these is
    moved there, so that numbers that vary little beside their size are still told apart. Of a vector that is turned,
    all components are divided by their root mean square.
    """
    owners = [field for field in table.inputs for _ in range(field.channels)]
    channels = [channel for channel, field in enumerate(owners) if field.within and field.categories is None]
    if not channels:
        return scaling
    numbers = np.stack([own_number(before.values(sample, "x")[:, channels].double().numpy()) for sample in samples])
    middle, spread = numbers.mean(0), numbers.std(0)
    size = np.where(np.any(numbers, 0), np.abs(numbers).max(0), 1.0)
    spread = np.where(spread > CONSTANT * size, spread, size)
    shift = middle - np.clip(middle / spread, -FROM_ZERO, FROM_ZERO) * spread
    for field in before.turned("x"):
        part = [
            channels.index(channel) for channel in range(*field.channels.indices(len(owners))) if channel in channels
        ]
        if part:
            shift[part], spread[part] = 0.0, np.sqrt(np.square(numbers[:, part]).mean()) or 1.0
    mean, std = scaling.mean.clone(), scaling.std.clone()
    mean[channels], std[channels] = (torch.from_numpy(part).to(std) for part in (shift, spread))
    return Scaling(mean, std, (), scaling.is_log.nonzero()[:, 0].tolist(), channels)


def _masked_scaling(
    samples: Sequence[PointData],
    kind: Literal["none", "channel"],
    logs: list[int],
    before: BeforeScaling,
    table: FieldTable,
) -> Scaling:
    """A scaling of targets that do not all belong to the same points: target by target, where it is known."""
    parts, start = [], 0
    for target in table.targets:
        own = slice(start, start + target.channels)
        start = own.stop
        turned = [replace(field, channels=slice(None)) for field in before.turned("y") if field.channels == own]
        values = (before.values(sample, "y")[sample.y_mask[:, own.start], own] for sample in samples)
        own_logs = [channel - own.start for channel in logs if own.start <= channel < own.stop]
        parts.append(Scaling.fit(values, kind, own_logs, functools.partial(before.moments, turned)))
    mean, std = (torch.cat([getattr(part, name) for part in parts]) for name in ("mean", "std"))
    return Scaling(mean, std, (), logs)


def _logs(config: RunConfig, table: FieldTable) -> tuple[list[int], list[int]]:
    """Input and target channels whose logarithm is scaled."""
    found: list[list[int]] = []
    names = {field.name for field in (*table.inputs, *table.targets) if field.categories is None}
    if wrong := [name for name in config.scaling.log if name not in names]:
        raise ValueError(f"Expected scaling.log to name inputs or targets, among {sorted(names)} (got {wrong})")
    if wrong := [field.name for field in table.inputs if field.within and field.name in config.scaling.log]:
        raise ValueError(
            f"Expected scaling.log to name inputs that are positive at all points (got {wrong}, which are zero outside "
            f"of their sets); leave them out of scaling.log"
        )
    for fields in (table.inputs, table.targets):
        owners = [field.name for field in fields for _ in range(field.channels)]
        found.append([channel for channel, name in enumerate(owners) if name in config.scaling.log])
    return found[0], found[1]


def _check_logs(samples: Samples, key: Literal["x", "y"], logs: Sequence[int], labels: Sequence[str]) -> None:
    """Name the sample and the field whose logarithm cannot be taken."""
    for number, sample in enumerate(samples if logs else ()):
        for channel in logs:
            values = sample[key][:, channel]
            if key == "y" and "y_mask" in sample:
                values = values[sample.y_mask[:, channel]]
            if not bool((values > 0).all()):
                name = samples.name(number)
                prefix = "" if name is None else f"{name}: "
                raise ValueError(
                    f"{prefix}Expected positive values of {labels[channel]!r}, whose logarithm is scaled (got "
                    f"{float(values.min()):g}); leave it out of scaling.log"
                )


def _sizes(samples: Sequence[PointData], scalars: int) -> Tensor | None:
    """Root of the mean square of every number of the whole mesh."""
    if scalars == 0:
        return None
    values = torch.stack([sample.y[0, -scalars:].double() for sample in samples])
    return values.square().mean(0).sqrt().clamp(min=torch.finfo(torch.float32).tiny).float()
