"""A whole run, from its configuration to the evaluated checkpoint."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from pitgeo.config.config import RunConfig, to_toml
from pitgeo.data import PointData
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.evaluation.evaluation import evaluate, versions, write_json
from pitgeo.evaluation.trust import calibrate_checkpoint
from pitgeo.measures.reference import Reference
from pitgeo.models.registry import build, parameter_count
from pitgeo.prediction.mesh_doubts import training_descriptors, training_ranges
from pitgeo.system.atomic_files import write_atomic
from pitgeo.training import FORMAT, OperatorModule, find_context, fit, start_from, together, torch_device
from pitgeo.training.loader import collate
from pitgeo.training.options import prepare_model
from pitgeo.workflows.before_scaling import before_scaling
from pitgeo.workflows.fit_control import fit_before, with_control
from pitgeo.workflows.run_data import RunData, data_spec, example_samples, read_data
from pitgeo.workflows.run_folder import Trained, as_begun, check_places, claim, finished

log = logging.getLogger(__name__)

TRIED_POINTS = 30_000
"""Input and output points together that a dry run applies a model to at most."""


def train(
    config: RunConfig,
    output: Path,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    read: Callable[[RunConfig, bool], RunData] | None = None,
) -> Trained:
    """Prepare the data, train, and evaluate once on the test set.

    Seeds the generators of Python, numpy and torch. Has torch flush denormal numbers to zero: CPUs are very slow on
    these, and weights that decay quickly have many.

    Args:
        config: The run.
        output: Folder of the run.
        resume: Go on from the folder's ``last.ckpt``.
        overwrite: Delete an earlier run's files in the folder.
        progress: Show bars on the standard error stream.
        read: Another way to come by the data than :func:`read_data`, say for runs that share them.

    Raises:
        ValueError: If the folder holds another run, or its checkpoint does not fit the configuration.
        FileNotFoundError: If there is nothing to resume.
        InterruptionError: If SIGINT or SIGTERM arrived; ``last.ckpt`` has been written.
        NonFiniteError: If the loss or a weight became NaN or infinite.
        WorkerLostError: If another process ended, of those that train together on several devices.
    """
    torch.set_flush_denormal(True)  # before any thread is started: threads inherit it
    device = torch_device(config.training.device)
    first = find_context(config.training).is_first
    if first:
        claim(config, output, resume, overwrite)
    if resume:
        config = as_begun(config, output / "last.ckpt")
    with _log_file(output / "log.txt" if first else None):
        if resume and (done := finished(config, output)) is not None:
            log.info("The run in %s has finished already; nothing is left to do", output)
            return done
        with together(config.training, output / "last.ckpt") as processes:
            with processes.by_turns():  # data are generated, and caches written, by the first
                config = config.with_data(config.data.options.resolved(progress and first))
                data = (read or read_data)(config, progress and first)
            module, held_out = new_module(config, data), data.held_out
            samples = with_control(module, data.samples)
            if resume:
                check_places(module.metadata, output / "last.ckpt")
            if first:
                write_atomic(output / "config.toml", to_toml(config).encode())
                if (split := module.metadata["split"]) is not None:
                    write_json(output / "split.json", split)
            log.info(
                "Training %s parameters on %d samples, %d held out for validation; results go to %s",
                f"{parameter_count(module.model):,}",
                len(samples),
                len(held_out),
                output,
            )
            if config.training.window:
                log.info("A training step predicts %d of their %d steps", config.training.window, module.model.steps)
            checkpoint = fit(module, samples, held_out, output, resume, progress)
        if not first:
            return Trained(checkpoint, {})
        calibrate_checkpoint(checkpoint, device, progress)
        log.info("Evaluating %s on the test set", checkpoint)
        return Trained(checkpoint, evaluate(checkpoint, output, "test", device, progress))


def dry_run(config: RunConfig) -> list[str]:
    """Build everything and train nothing; say what the run would work on.

    The model is tried on one or two samples: zeros of a benchmark on grids, else training samples where their files
    are there; without those it is built for declared shapes alone.

    Raises:
        ValueError: If the model cannot take these samples, or not be trained in this way.
    """
    options = config.data.options
    train, validation, test = options.counts()
    samples, are_given = example_samples(config)
    sample = samples[0]
    table = options.table(sample)
    labels = table.target_labels
    before_scaling(config, table)
    model = build(config.model.options, data_spec(config, samples, table))
    prepare_model(model, config.training)
    tried = _try(model, samples) if are_given else "no sample: there are no files"
    latent, output = (sample.points(kind)[0] for kind in ("latent", "output"))
    return [
        f"data: {config.data.name} ({train} train, {validation} validation, {test} test), {options.origin}",
        f"input points: {sample.pos.shape[0]} in {sample.pos.shape[1]}D",
        f"input channels: {sample.input_dim} ({sample.pos.shape[1]} coordinates, {sample.x.shape[1]} values)",
        f"latent points: {latent.shape[0]}",
        f"output points: {output.shape[0]}",
        f"output channels: {sample.y.shape[1]} ({', '.join(labels)})",
        *([f"training: on windows of {steps} of {options.rollout} steps"] if (steps := config.training.window) else []),
        f"model: {config.model.name}, tried on {tried}",
        f"parameters: {parameter_count(model):,}",
    ]


def _try(model: nn.Module, samples: Sequence[PointData]) -> str:
    """Apply a model to samples, of large ones to one alone, and to none that would take long; say to what."""
    if hasattr(model, "fit_closed"):
        return "no sample: training fits it"
    points = [len(sample.pos) + len(sample.points("output")[0]) for sample in samples]
    if points[0] > TRIED_POINTS:
        return f"no sample: this takes long with {len(samples[0].pos)} points"
    batch = collate(samples, range(len(samples) if sum(points) <= TRIED_POINTS else 1))
    batch["window"] = 1  # of a roll-out one step: the others are alike
    with torch.inference_mode():
        model.eval()(batch)
    return "1 sample" if batch.samples == 1 else f"{batch.samples} samples"


def new_module(config: RunConfig, data: RunData) -> OperatorModule:
    """What a run trains: a new model with scalings and metadata, perhaps with the weights of an earlier run.

    Raises:
        ValueError: If the model cannot take these data, or not be trained in this way.
    """
    table, samples, options = data.table, data.samples, config.data.options
    _seed(config.training.seed)
    spec, sizes = data_spec(config, samples, table), samples.mesh_sizes()
    model = build(config.model.options, spec)
    references = ReferenceQuantities.of(config.scaling.reference, table)
    metadata: dict[str, Any] = {
        "format": FORMAT,
        "config": config.plain(),
        "shape": asdict(spec),
        "table": table.plain(),
        "box_scale": data.box_scale,
        "versions": versions(),
        "split": options.split_files(),
        "reference": Reference.fit(samples, table.scalars).plain(),
        "ranges": training_ranges(samples, references),
        "typical": samples.typical(),
        "descriptors": training_descriptors(samples, table, references, config.scaling.linear_in),
        "meshes": None if sizes is None else sizes.plain(),
    }
    fitted = fit_before(config, spec, samples, data.held_out, table)
    module = fitted.module(model, config.training, metadata)
    if data.earlier is not None:
        start_from(module, data.earlier, Path(config.training.start_from))
    return module


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@contextmanager
def _log_file(path: Path | None) -> Iterator[None]:
    """Also write pitgeo's log to a file, down to the details and the traceback of what went wrong.

    Without a file, as on all devices but the first, only warnings are logged.
    """
    logger = logging.getLogger("pitgeo")
    if path is None:
        handler: logging.Handler = logging.NullHandler()
    else:
        handler = logging.FileHandler(path, encoding="utf-8", delay=True, errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING if path is None else logging.DEBUG)
    try:
        yield
    except BaseException as error:
        logger.debug("Stopped by %s", type(error).__name__, exc_info=True)
        raise
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        handler.close()
