"""A training step on one large mesh, with the options for large meshes."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch_geometric.data import Batch

from benchmarks.speed.works import Step, Way, Work, module_step
from pitgeo.config.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.scaling import Scaling
from pitgeo.graphs.neighbors import spacing
from pitgeo.models.registry import DataSpec, LatentOptions, PiTOptions
from pitgeo.training import OperatorModule

QUERY_POINTS = 8192


def big_mesh(points: int = 100_000, latent: int = 2_048, channels: int = 128) -> Work:
    """The network of ``configs/meshes.toml`` with another width and number of latent points, on points in a cube."""

    def way(**options: Any) -> Way:
        return partial(_step, points, latent, channels, options)

    ways = {
        "all points": way(),
        "activations recomputed": way(checkpoint_activations=True),
        f"{QUERY_POINTS:,} query points": way(query_points=QUERY_POINTS),
        "both": way(checkpoint_activations=True, query_points=QUERY_POINTS),
    }
    return Work(f"Training step. {points:,} points, {latent:,} latent, d = {channels}, 4 heads, batch 1", ways)


def _step(points: int, latent: int, channels: int, options: dict[str, Any], seed: int, device: str) -> Step:
    module, batch = prepared(points, latent, channels, options)
    return module_step(module.to(device), batch.to(device))


def prepared(points: int, latent: int, channels: int, options: dict[str, Any]) -> tuple[OperatorModule, PointData]:
    """A module with options of ``[training]``, and a batch of one mesh; targets are functions of the position."""
    pit = PiTOptions(
        channels=channels, encoder_quantile=0.02, decoder_quantile=0.03,
        latent=LatentOptions(method="farthest", number=latent),
    )  # fmt: skip
    pos = torch.rand(points, 3)
    sample = PointData(pos=pos, x=1 + pos.prod(1, keepdim=True), y=torch.sin(3 * pos), sample_id=0)
    sample = pit.transform()(sample)
    model = pit.build(DataSpec(4, 3, 3, spacing(pos), 1.0, spacing(sample.points("latent")[0])))
    targets = Scaling.fit([sample.y], "channel")
    module = OperatorModule(model, Scaling.identity(1), targets, TrainingConfig(batch_size=1, **options))
    return module, Batch.from_data_list([sample])
