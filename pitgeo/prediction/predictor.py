"""Predictions of a trained model, for samples, meshes and mesh files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch

from pitgeo.config.config import RunConfig
from pitgeo.data import PointData
from pitgeo.data.transforms import AttentionGraphs
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.mesh.in_memory import as_mesh
from pitgeo.models.registry import parameter_count
from pitgeo.nn import LocalDecoder, PiT
from pitgeo.prediction.derivatives import Quantity, Sensitivity, sensitivity
from pitgeo.prediction.ensemble import Ensemble, read_ensemble
from pitgeo.prediction.many import CHUNK, with_inputs
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.training.fitted import load_module
from pitgeo.training.module import OperatorModule

__all__ = ["Predictor", "load", "load_any", "load_ensemble"]


class Predictor(MeshPredictor):
    """A trained model that predicts from raw samples or meshes, in physical units. Made by :func:`load`.

    Args:
        module: The trained model with its scalings.
        config: The configuration of the run.
        facts: What the checkpoint says about itself.
        path: The checkpoint's file.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo import train_surrogate
        >>> clouds = [np.random.default_rng(seed).random((40, 2)) for seed in range(5)]
        >>> cases = [{"points": points, "load": 1.0, "height": points[:, 0]} for points in clouds]
        >>> settings = ["training.epochs=1", "model.pit.channels=8"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = train_surrogate(cases, ["height"], folder + "/run", settings=settings, progress=False)
        >>> predicted = model.predict_mesh({"points": clouds[0]})  # with "height", also its error
        >>> predicted.point_data["height_prediction"].shape
        (40,)
    """

    def __init__(self, module: OperatorModule, config: RunConfig, facts: dict[str, Any], path: Path) -> None:
        super().__init__(config, facts, path)
        self.module = module.eval().requires_grad_(False)
        self.chunk = CHUNK
        self.transform = config.transform(facts["box_scale"])

    @property
    def model(self) -> torch.nn.Module:
        """The bare model."""
        return self.module.model

    @property
    def parameters(self) -> int:
        """Number of trained parameters."""
        return parameter_count(self.model)

    def predict(self, data: PointData | Sequence[PointData], steps: int = 0) -> Tensor:
        """Values ``[M, K]`` at the output points of one raw sample, or of several one after another.

        Args:
            data: The samples.
            steps: Number of states to predict one after the other, ``[M, steps * K]``, see :meth:`roll_out`; 0 for a
                single prediction.

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
            self.check_logs(sample)
        if not steps and len(samples) == 1 and self._is_large(samples[0]):
            return self._in_chunks(samples[0])
        batch = Batch.from_data_list([self.transform(sample) for sample in samples])
        return self.roll_out(batch, steps) if steps else self.predict_prepared(batch)

    def fields(self, data: PointData | Sequence[PointData], steps: int = 0) -> dict[str, Tensor]:
        """The prediction, by the ending of the field name."""
        return {"_prediction": self.predict(data, steps)}

    def many(self, sample: PointData, inputs: Iterable[Tensor]) -> Iterator[dict[str, Tensor]]:
        """The prediction for one mesh and other input values, ``[B, M, K]`` for every ``[B, N, C]``."""
        large = self._is_large(sample)
        prepared = None if large else self.transform(sample)
        for x in inputs:
            self.check_logs(with_inputs(sample, x))
            if prepared is None:
                values = torch.stack([self._in_chunks(with_inputs(sample, one)) for one in x])
            else:
                values = self.predict_prepared(with_inputs(prepared, x))
            yield {"_prediction": values}

    def sensitivity(
        self,
        mesh: Any,
        quantity: str | Quantity,
        to: Sequence[str],
        parameters: Mapping[str, float] | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Sensitivity:
        """The derivatives of a quantity of the prediction, see :func:`~pitgeo.prediction.derivatives.sensitivity`."""
        return sensitivity(self, as_mesh(mesh), quantity, to, parameters, dtype)

    def predict_prepared(self, batch: PointData) -> Tensor:
        """Values ``[M, K]`` (``[B, M, K]`` on a shared mesh) for a batch of transformed samples."""
        with torch.inference_mode():
            return cast(Tensor, self.module(self._moved(batch)).cpu())

    def roll_out(self, batch: PointData, steps: int) -> Tensor:
        """The next states ``[M, steps * K]``, each predicted from the one before.

        Args:
            batch: A batch of transformed samples, whose last ``K`` input values are the state.
            steps: Number of states.
        """
        batch, states = copy.copy(batch), []
        for _ in range(steps):
            states.append(self.predict_prepared(batch))
            state = states[-1].to(batch.x)
            batch.x = torch.cat([batch.x[..., : -state.shape[-1]], state], -1)
        return torch.cat(states, -1)

    def _moved(self, data: PointData) -> PointData:
        """A copy on the device of the model; PyG would move the object of the caller."""
        return cast(PointData, copy.copy(data).to(self.module.device))

    def check_logs(self, sample: PointData) -> None:
        """Refuse input values without a logarithm, where the model takes it."""
        scaling = self.module.input_scaling
        if not scaling.has_logs:
            return
        for channel in scaling.is_log.nonzero()[:, 0].tolist():
            low = float(sample.x[..., channel].min())
            if not low > 0:
                raise ValueError(
                    f"Expected positive values of {self.table.input_labels[channel]!r}, whose logarithm {self.path} "
                    f"was trained on (got {low:g}); mend the file, or leave it out"
                )

    def _is_large(self, sample: PointData) -> bool:
        """Whether the output points are predicted in parts."""
        many = sample.points("output")[0].shape[0] > self.chunk
        return many and isinstance(self.model, LocalDecoder) and self.model.has_local_decoder

    def _in_chunks(self, sample: PointData) -> Tensor:
        """Values at the output points of one raw sample, some points after others.

        The graph of a decoder is found for every part, in the same positions as for a whole sample.
        """
        model, graph = cast(LocalDecoder, self.model), None
        sample = self.transform.placed(sample)
        for step in self.transform.transforms:
            if isinstance(step, AttentionGraphs) and isinstance(model, PiT):
                sample = replace(step, decoder=None, output=None)(sample)
                graph = self._graph_of_parts(sample, step)
            else:
                sample = step(sample)

        def apply(data: PointData) -> Tensor:
            if isinstance(model, PiT):
                return model.in_chunks(data, self.chunk, graph)
            return model.in_chunks(data, self.chunk)

        with torch.inference_mode():
            return cast(Tensor, self.module(self._moved(sample), apply).cpu())

    def _graph_of_parts(self, sample: PointData, graphs: AttentionGraphs) -> Callable[[slice], Neighborhood]:
        """The decoder's graph for some of the output points of a sample."""
        return lambda rows: graphs.find("decoder", sample, rows).to(self.module.device)


def load(path: str | Path, device: str = "cpu") -> Predictor:
    """The trained model of a checkpoint, ready to predict.

    Args:
        path: ``best.ckpt`` or ``last.ckpt`` of a run.
        device: Device of the model, in torch's notation.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not a checkpoint of pitgeo, or has another format.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo import load, train_surrogate
        >>> clouds = [np.random.default_rng(seed).random((40, 2)) for seed in range(5)]
        >>> cases = [{"points": points, "load": 1.0, "height": points[:, 0]} for points in clouds]
        >>> settings = ["training.epochs=1", "model.pit.channels=8"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = train_surrogate(cases, ["height"], folder + "/run", settings=settings, progress=False)
        ...     model = load(folder + "/run/best.ckpt")
        >>> model.targets
        ('height',)
    """
    path = Path(path)
    if path.is_dir():
        raise FileNotFoundError(
            f"Expected a checkpoint (got the folder {path}); take "
            f"{path / ('best.ckpt' if (path / 'best.ckpt').exists() else 'last.ckpt')}, if it is there"
        )
    module, config = load_module(path)
    return Predictor(module.to(device), config, copy.deepcopy(module.metadata), path)


def load_ensemble(path: str | Path, device: str = "cpu") -> Ensemble:
    """The ensemble of an ``ensemble.json``, which its training wrote.

    Args:
        path: The file; it names the checkpoints of the members relative to its folder.
        device: Device of the models, in torch's notation.

    Raises:
        FileNotFoundError: If the file or a checkpoint is missing.
        ValueError: If the file is damaged, or the members do not belong together.
    """
    checkpoints, calibration, bounds = read_ensemble(Path(path))
    return Ensemble([load(checkpoint, device) for checkpoint in checkpoints], calibration, Path(path), bounds)


def load_any(path: str | Path, device: str = "cpu") -> MeshPredictor:
    """The predictor of a file: a trained model from its checkpoint, or an ensemble from its ``ensemble.json``."""
    return load_ensemble(path, device) if Path(path).suffix.lower() == ".json" else load(path, device)
