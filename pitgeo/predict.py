"""From a checkpoint and a mesh to predicted fields on that mesh."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch

from pitgeo.config import RunConfig, parse_config
from pitgeo.data import PointData
from pitgeo.mesh import WRITABLE, Mesh, point_fields, read_mesh, write_mesh
from pitgeo.models import Shape, build
from pitgeo.scaling import Scaling
from pitgeo.training.checkpoint_io import read_checkpoint
from pitgeo.training.module import OperatorModule

log = logging.getLogger(__name__)

__all__ = ["Predictor", "load", "predict_files"]


class Predictor:
    """A trained model that predicts from raw samples or meshes, in physical units. Made by :func:`load`.

    Args:
        module: The trained model with its scalings.
        config: The configuration of the run.
        facts: What the checkpoint says about itself.
        path: The checkpoint's file.
    """

    def __init__(self, module: OperatorModule, config: RunConfig, facts: dict[str, Any], path: Path) -> None:
        self.module = module.eval().requires_grad_(False)
        self.config = config
        self.facts = facts
        self.path = path
        self.inputs: tuple[str, ...] = tuple(facts["inputs"])
        self.targets: tuple[str, ...] = tuple(facts["targets"])
        self.transform = config.transform(facts["box_scale"])

    @property
    def model(self) -> torch.nn.Module:
        """The bare model."""
        return self.module.model

    @property
    def parameters(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def predict(self, data: PointData | Sequence[PointData]) -> Tensor:
        """Values ``[M, K]`` at the output points of one raw sample, or of several one after another.

        Raises:
            ValueError: If the sample has other channels or axes than those the model was trained on.
        """
        samples = [data] if isinstance(data, PointData) else list(data)
        wanted = self.facts["shape"]["in_channels"]
        for sample in samples:
            if sample.input_dim != wanted:
                raise ValueError(
                    f"Expected samples with {wanted} input channels, coordinates and values "
                    f"together, as {self.path} was trained on (got {sample.pos.shape[1]} coordinates and "
                    f"{sample.x.shape[-1]} values)"
                )
        return self.predict_prepared(Batch.from_data_list([self.transform(sample) for sample in samples]))

    def predict_prepared(self, batch: PointData) -> Tensor:
        """Values ``[M, K]`` (``[B, M, K]`` on a shared mesh) for a batch that :attr:`transform` has been applied to."""
        with torch.inference_mode():
            return cast(Tensor, self.module(batch.to(self.module.device)).cpu())

    def predict_mesh(self, mesh: Mesh) -> Mesh:
        """The mesh with a field ``<target>_prediction`` for every target and, where the truth is there, its error.

        Raises:
            ValueError: If the mesh lacks an input field, or the model was trained on another dimension or on a
                reference grid.
        """
        if not getattr(self.config.data.options, "is_in_space", True):
            raise ValueError(
                f"Expected a model whose positions are those of a mesh file (got {self.path}, trained on a reference "
                f"grid, whose points a file does not give); train with data.{self.config.data.name}.positions = "
                f"'physical'"
            )
        values = point_fields(mesh, self.inputs) if self.inputs else np.zeros((len(mesh.points), 0))
        data = PointData(
            pos=torch.from_numpy(np.asarray(mesh.points, np.float32)),
            x=torch.from_numpy(np.asarray(values, np.float32)),
        )
        prediction = self.predict(data).double().numpy()
        result = mesh
        for channel, name in enumerate(self.targets):
            result = result.with_point_data(f"{name}_prediction", prediction[:, channel], "replace")
            if name in mesh.point_data:
                truth = _truth(mesh, name)
                if truth is not None:
                    result = result.with_point_data(f"{name}_error", prediction[:, channel] - truth, "replace")
        return result


def _truth(mesh: Mesh, name: str) -> NDArray[np.float64] | None:
    """A target's field, if it can be compared with a prediction."""
    try:
        truth = point_fields(mesh, [name])
    except ValueError as error:
        log.warning("No error of %r is written: %s", name, error)
        return None
    if truth.shape[1] != 1:
        log.warning("No error of %r is written: it has %d components in %s, not 1", name, truth.shape[1], mesh.path)
        return None
    return truth[:, 0]


def load(path: str | Path, device: str = "cpu") -> Predictor:
    """A model that predicts, from a checkpoint alone.

    Args:
        path: ``best.ckpt`` or ``last.ckpt`` of a run.
        device: Where to predict, as torch names it.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a checkpoint of pitgeo, or one of another format.
    """
    path = Path(path)
    checkpoint = read_checkpoint(path)
    facts = checkpoint["pitgeo"]
    config = parse_config(facts.get("config", {}), source=str(path))
    try:
        model = build(config.model.options, Shape(**facts["shape"]))
        weights = checkpoint["state_dict"]
        scalings = []
        for name in ("input_scaling", "target_scaling"):
            mean, std, grid = (weights[f"{name}.{part}"] for part in ("mean", "std", "grid"))
            scalings.append(Scaling(mean, std, tuple(grid.tolist())))
        module = OperatorModule(model, scalings[0], scalings[1], config.training, facts=copy.deepcopy(facts))
        module.load_state_dict(weights)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"Expected {path} to hold the weights and facts of the model it names (got: {error}); it was written by "
            f"another version or is damaged: train again"
        ) from error
    return Predictor(module.to(device), config, facts, path)


def predict_files(
    checkpoint: str | Path,
    meshes: Sequence[str | Path],
    output: str | Path,
    device: str = "cpu",
    progress: Callable[[Sequence[Path]], Any] = iter,
) -> list[Path]:
    """Predict on mesh files; each result is written under its own name (``.vtu`` if it must) into ``output``.

    Args:
        checkpoint: The trained model.
        meshes: Files to read.
        output: Folder to write to; made if it is not there.
        device: Where to predict.
        progress: Wraps the files while they are worked through, to show a progress bar.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file cannot be read or lacks an input, two have the same name, or one would be overwritten.
    """
    predictor = load(checkpoint, device)
    files = [Path(mesh) for mesh in meshes]
    folder = Path(output)
    results = {file: file.name if file.suffix.lower() in WRITABLE else f"{file.stem}.vtu" for file in files}
    names = [results[file] for file in files]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(
            f"Expected files with different names, since results go to one folder (got {sorted(twice)} twice)"
        )
    for file in files:
        if not file.exists():
            raise FileNotFoundError(f"Expected a mesh file at {file} (got no such file)")
        if (folder / results[file]).resolve() == file.resolve():
            raise ValueError(f"Expected another 'output' than {folder}, where {file} would be overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file in progress(files):
        target = folder / results[file]
        write_mesh(target, predictor.predict_mesh(read_mesh(file)))
        written.append(target)
    return written
