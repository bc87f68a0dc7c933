"""Training steps of configurations, on random values at points of the right number; no data files are needed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from benchmarks.speed.works import Step, Work, module_step
from pitgeo.config import RunConfig, load_config
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.models.registry import build
from pitgeo.training import OperatorModule
from pitgeo.training.loader import collate
from pitgeo.workflows.run_data import data_spec, example_samples, fit_box_scale

CONFIGS = Path(__file__).parents[2] / "configs"
PLATE = (0.5, 0.1, 0.01, 2_400)
"""Length, width and thickness of a plate of ``configs/plates.toml``, and points of its mesh, which has three layers."""


def quick(name: str) -> Work:
    """A training step of ``configs/<name>.toml``: its network, batch, loss and optimiser, with random values.

    Beside it, the same network with averages alone, without first moments.
    """
    ways = {"pitgeo": [], "averages alone": ["model.pit.body=paper"]}
    return Work(
        f"Training step of configs/{name}.toml", {way: partial(_step, name, changes) for way, changes in ways.items()}
    )


def _step(name: str, changes: list[str], seed: int, device: str) -> Step:
    config = load_config(CONFIGS / f"{name}.toml", ["training.window=0", *changes])
    if name == "plates":
        config = config.model_copy(update={"data": load_config(CONFIGS / "holed_poisson.toml").data})  # needs no files
        samples = _plates(config)
    else:
        samples = list(example_samples(config)[0])
    model = build(config.model.options, data_spec(config, samples, config.data.options.table(samples[0])))
    batch = collate(samples, [number % len(samples) for number in range(config.training.batch_size)]).to(device)
    batch.x, batch.y = torch.rand_like(batch.x), torch.rand_like(batch.y)
    module = OperatorModule(
        model, Scaling.identity(batch.x.shape[-1]), Scaling.identity(batch.y.shape[-1]), config.training
    ).to(device)
    return module_step(module, batch)


def _plates(config: RunConfig) -> list[PointData]:
    """Random points in two plates, with a channel for every input and target of the configuration."""
    *size, points = PLATE
    samples = []
    for _ in range(2):
        pos = torch.rand(points, 3)
        pos[:, 2] = pos[:, 2].mul(3).floor() / 2
        samples.append(PointData(pos=pos * torch.tensor(size), x=torch.rand(points, 4), y=torch.rand(points, 5)))
    transform = config.transform(fit_box_scale(config, samples))
    return [transform(sample) for sample in samples]
