"""Training steps of the quick configurations, on random samples of the right shape; no data files are needed."""

from __future__ import annotations

from pathlib import Path

import torch

from benchmarks.speed.works import Step, Work, module_step
from pitgeo.config import load_config
from pitgeo.data.scaling import Scaling
from pitgeo.models.registry import build
from pitgeo.training import OperatorModule
from pitgeo.training.loader import collate
from pitgeo.workflows.run_data import data_spec, example_samples

CONFIGS = Path(__file__).parents[2] / "configs"


def quick(name: str) -> Work:
    """A training step of ``configs/<name>_quick.toml``: its network, batch, loss and optimiser, with random values."""
    return Work(f"Training step of configs/{name}_quick.toml", {"pitgeo": lambda seed, device: _step(name, device)})


def _step(name: str, device: str) -> Step:
    config = load_config(CONFIGS / f"{name}_quick.toml", ["training.window=0"])
    samples, _ = example_samples(config)
    model = build(config.model.options, data_spec(config, samples))
    batch = collate(samples, [number % len(samples) for number in range(config.training.batch_size)]).to(device)
    batch.x, batch.y = torch.rand_like(batch.x), torch.rand_like(batch.y)
    module = OperatorModule(
        model, Scaling.identity(batch.x.shape[-1]), Scaling.identity(batch.y.shape[-1]), config.training
    ).to(device)
    return module_step(module, batch)
