"""The data of a run: read, checked, and transformed as its model takes them."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.samples import Samples
from pitgeo.data.transforms import Compose, UnitBox
from pitgeo.data.transforms.unit_box import extent
from pitgeo.datasets.listed_samples import ListedSamples
from pitgeo.datasets.shared_mesh import SharedMesh
from pitgeo.geometry.sets import FOR_ERRORS, in_set
from pitgeo.graphs.neighbors import spacing
from pitgeo.measures.quantities import Quantities
from pitgeo.models.registry import DataSpec
from pitgeo.workflows.before_scaling import before_scaling
from pitgeo.workflows.run_folder import read_start

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunData:
    """What a run trains on, as the model takes it.

    Args:
        table: Inputs and targets.
        box_scale: What positions are divided by; ``None`` if they are not.
        samples: Training samples.
        held_out: Samples that choose the best checkpoint.
        earlier: The checkpoint to start from, if any.
    """

    table: FieldTable
    box_scale: float | None
    samples: Samples
    held_out: Samples
    earlier: dict[str, Any] | None


def read_data(config: RunConfig, progress: bool) -> RunData:
    """Read the data of a run, generated first if they are missing; seeds do not matter to them."""
    options, earlier = config.data.options, read_start(config)  # a missing checkpoint is found out first
    if not options.is_ready():
        log.info("The raw files of %s are missing: generating them", config.data.name)
        options.prepare(progress=progress)
    raw, validation = options.training_parts(progress)
    _check_samples(config, raw)
    table = options.table(raw[0])
    before_scaling(config, table, raw.table is not None)  # mistakes are found out before graphs
    _warn_of_loss(config, raw, table)
    _check_evaluation(config, raw, table)
    box_scale = fit_box_scale(config, raw) if earlier is None else _earlier_scale(config, earlier)
    transform = config.transform(box_scale)
    samples = _transformed(raw, transform, progress)
    held_out = _transformed(validation, transform, progress) if len(validation) else validation
    return RunData(table, box_scale, samples, held_out, earlier)


def _warn_of_loss(config: RunConfig, samples: Samples, table: FieldTable) -> None:
    """Name the first mesh that must stay where it is, too far away for single precision."""
    if config.scaling.box == "none":
        number = next((number for number, sample in enumerate(samples) if "origin" in sample), None)
        mesh = None if number is None else samples.mesh(number)
        if mesh is not None:
            table.warn_of_loss(mesh)


def _check_evaluation(config: RunConfig, samples: Samples, table: FieldTable) -> None:
    """Look for quantities and sets of the evaluation in the first sample: mistakes are found out before training."""
    wanted = config.evaluation
    if not wanted.quantities and not wanted.sets:
        return
    mesh = samples.mesh(0) if samples.table is not None else None
    if mesh is None:
        raise ValueError(
            f"Expected data of mesh files for evaluation.quantities and evaluation.sets (got data.name = "
            f"{config.data.name!r}); leave them out"
        )
    Quantities(table, wanted.quantities).of(mesh, samples[0].y.double().numpy())
    for name in wanted.sets:
        for place in table.output_places:
            in_set(mesh, name, place, FOR_ERRORS)


def _earlier_scale(config: RunConfig, earlier: dict[str, Any]) -> float | None:
    """The scale of positions that the weights of an earlier run go with."""
    old, new = earlier["pitgeo"]["config"]["scaling"]["box"], config.scaling.box
    if old != new:
        raise ValueError(f"Expected scaling.box = {old!r}, as in {config.training.start_from} (got {new!r})")
    scale: float | None = earlier["pitgeo"]["box_scale"]
    return scale


def _transformed(samples: Samples, transform: Compose, progress: bool) -> Samples:
    """Samples as the model takes them, in memory, or in that of their data set."""
    ready = samples.with_transform(transform, progress)
    return ready if ready.keeps_samples else ListedSamples(list(ready))


def _check_samples(config: RunConfig, samples: Samples) -> None:
    """Raise a ``ValueError`` unless samples come as the options of their data set say."""
    options, is_shared = config.data.options, isinstance(samples, SharedMesh)
    if not isinstance(samples, Samples):
        raise ValueError(
            f"Expected {type(options).__name__} of data.name = {config.data.name!r} to give samples of a class derived "
            f"from pitgeo.datasets.Samples (got {type(samples).__name__}); derive the class from it, or wrap a list in "
            f"pitgeo.datasets.ListedSamples"
        )
    if options.is_shared != is_shared:
        raise ValueError(
            f"Expected {type(options).__name__}.is_shared of data.name = {config.data.name!r} to say whether all "
            f"samples have one mesh, held once in a SharedMesh (got {options.is_shared}, and samples that "
            f"{'have' if is_shared else 'have not'}); mend the options of the data set"
        )


def fit_box_scale(config: RunConfig, samples: Sequence[PointData]) -> float | None:
    """What positions are divided by; ``None`` if they are not."""
    return UnitBox.fit(_meshes(samples)).scale if config.scaling.box == "unit" else None


def example_samples(config: RunConfig) -> tuple[Sequence[PointData], bool]:
    """One or two samples as the model takes them, to try it on, and whether the data set gave them.

    While its files are missing there may be one sample alone, of the declared shape.
    """
    given: Sequence[PointData] = config.data.options.few_samples()
    raw = given if len(given) else [config.data.options.template()]
    transform = config.transform(fit_box_scale(config, raw))
    if isinstance(raw, SharedMesh):
        return raw.with_transform(transform), True
    return [transform(sample) for sample in raw], len(given) > 0


def data_spec(config: RunConfig, samples: Sequence[PointData], table: FieldTable) -> DataSpec:
    """What a model is built for."""
    response = before_scaling(config, table, is_of_files=True).response
    meshes = _meshes(samples)
    some = meshes[:: max(1, len(meshes) // 10)]
    sizes, size = set(), 0.0
    for sample in meshes:  # once: large sets prepare a sample anew every time
        sizes.add(int(sample.pos.shape[0]))
        size = max(size, extent([sample]))
    steps = config.data.options.rollout
    channels = int(samples[0].y.shape[1]) if response is None else response.out_channels
    return DataSpec(
        in_channels=samples[0].input_dim,
        out_channels=channels if steps == 1 else 1,
        dimension=int(samples[0].pos.shape[1]),
        spacing=statistics.median(spacing(sample.pos) for sample in some),
        extent=size,
        latent_spacing=statistics.median(spacing(sample.points("latent")[0]) for sample in some),
        steps=steps,
        points=sizes.pop() if len(sizes) == 1 else None,
        is_shared=config.data.options.is_shared,
    )


def _meshes(samples: Sequence[PointData]) -> Sequence[PointData]:
    """Samples whose points stand for those of all."""
    return samples[:1] if isinstance(samples, SharedMesh) else samples
