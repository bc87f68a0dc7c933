"""Time and memory of one training step on a mesh with very many points.

Run as a module, it takes the steps in this process, which is of no use for anything else afterwards:
``python -m pitgeo.studies.big_step SETTINGS``, the settings in JSON; it writes what it measured to the standard output.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Batch

from pitgeo.config import TrainingConfig
from pitgeo.data import PointData
from pitgeo.models import LatentOptions, PiTOptions, Shape
from pitgeo.neighbors import spacing
from pitgeo.scaling import Scaling
from pitgeo.training import OperatorModule


@dataclass(frozen=True)
class BigStep:
    """What is measured.

    Args:
        points: Points of the mesh, at random in a unit cube; input and output points are the same.
        latent: Latent points.
        channels: Encoding dimension.
        query_points: Output points that a step takes its loss from; ``None`` for all.
        checkpoint_activations: Whether activations are computed again in the backward pass.
        threads: Of torch, in the steps.
        repeat: Steps that are timed, after one to warm up.
    """

    points: int = 100_000
    latent: int = 2_048
    channels: int = 128
    query_points: int | None = None
    checkpoint_activations: bool = False
    threads: int = 2
    repeat: int = 2


def run_big_step(
    points: int = 100_000,
    latent: int = 2_048,
    channels: int = 128,
    query_points: int | None = None,
    checkpoint_activations: bool = False,
    threads: int = 2,
    repeat: int = 2,
) -> dict[str, Any]:
    """Measure a training step, forward, backward and optimiser, with a batch of one mesh, in a fresh process.

    The model is the residual one of ``configs/meshes.toml`` but for its width and latent points. Arguments are those of
    :class:`BigStep`.

    Returns:
        The settings; ``seconds`` of a step on the wall and ``cpu_seconds`` of the processors (medians over ``repeat``);
        ``prepare_seconds``, in which latent points and graphs are found, once a mesh; megabytes of resident memory:
        ``imported_mb`` after the imports, ``prepared_mb`` with the sample, its graphs and the model, ``peak_mb`` at
        most, ``growth_mb`` from the imports to the peak; ``loss`` of the last step and the number of ``parameters``.
    """
    settings = BigStep(points, latent, channels, query_points, checkpoint_activations, threads, repeat)
    command = [sys.executable, "-m", __name__, json.dumps(asdict(settings))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(settings: BigStep) -> dict[str, Any]:
    """Take the steps in this process."""
    torch.manual_seed(0)
    torch.set_flush_denormal(True)  # as a training does, before any thread is started
    torch.set_num_threads(1)  # thousands of small operations: threads would wait for each other
    imported, start = _resident(), time.perf_counter()
    module, batch = _prepared(settings)
    prepare_seconds, prepared = time.perf_counter() - start, _resident()
    torch.set_num_threads(settings.threads)
    optimizer = module.configure_optimizers()["optimizer"]
    wall, cpu, loss = [], [], torch.zeros(())
    for _ in range(settings.repeat + 1):
        start, cpu_start = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = module.training_step(batch, 0)
        loss.backward()
        optimizer.step()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    peak = _peak()
    return {
        **asdict(settings),
        "seconds": statistics.median(wall[1:]),
        "cpu_seconds": statistics.median(cpu[1:]),
        "prepare_seconds": prepare_seconds,
        "imported_mb": imported,
        "prepared_mb": prepared,
        "peak_mb": peak,
        "growth_mb": peak - imported,
        "loss": float(loss.detach()),
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
    }


def _prepared(settings: BigStep) -> tuple[OperatorModule, PointData]:
    """A module and a batch of one mesh, whose target is a known function of the place."""
    options = PiTOptions(
        channels=settings.channels,
        encoder_quantile=0.02,
        decoder_quantile=0.03,
        latent=LatentOptions(method="farthest", number=settings.latent),
    )
    pos = torch.rand(settings.points, 3)
    sample = PointData(pos=pos, x=1 + pos.prod(1, keepdim=True), y=torch.sin(3 * pos), sample_id=0)
    sample = options.transform()(sample)
    near, latent_near = spacing(pos), spacing(sample.points("latent")[0])
    model = options.build(Shape(4, 3, 3, near, 1.0, latent_near))
    training = TrainingConfig(
        batch_size=1, query_points=settings.query_points, checkpoint_activations=settings.checkpoint_activations
    )
    targets = Scaling.fit([sample.y], "channel")
    module = OperatorModule(model, Scaling.identity(1), targets, training)
    return module, Batch.from_data_list([sample])


def _resident() -> float:
    """Resident memory of this process now, MB; where that is not to be had, at most so far."""
    status = _status("VmRSS")
    return _peak() if status is None else status


def _peak() -> float:
    """Peak resident memory of this process so far, MB.

    Linux has two: ``ru_maxrss`` counts what the process held that started this one, ``VmHWM`` does not.
    """
    status = _status("VmHWM")
    if status is not None:
        return status
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3 / 1.024)


def _status(name: str) -> float | None:
    file = Path("/proc/self/status")
    if not file.exists():
        return None
    lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    values = [float(line[1]) * 1.024 / 1e3 for line in lines if line and line[0] == f"{name}:"]
    return values[0] if values else None


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(BigStep(**json.loads(sys.argv[1])))) + "\n")
