"""A model with what was fitted before its first step, new or from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pitgeo.config.config import RunConfig, TrainingConfig, parse_config
from pitgeo.data.response import Response
from pitgeo.data.scaling import Scaling
from pitgeo.models.registry import DataSpec, build
from pitgeo.training.checkpoint_io import read_checkpoint
from pitgeo.training.module import OperatorModule


@dataclass(frozen=True)
class Fitted:
    """What is found on training samples before the first step.

    Args:
        inputs: Scaling of the input values.
        targets: Scaling of the targets, or of what the control leaves of them.
        sizes: Sizes of targets of whole meshes; ``None`` without any.
        control: The control that the model corrects, if any.
        response: Sizes of loads and responses, where targets are linear; ``None`` for those of a new module.
    """

    inputs: Scaling
    targets: Scaling
    sizes: Tensor | None
    control: nn.Module | None
    response: Response | None = None

    def module(self, model: nn.Module, training: TrainingConfig, metadata: dict[str, Any]) -> OperatorModule:
        """A module of a model with all of this.

        Args:
            model: The model.
            training: Loss, optimiser and schedule.
            metadata: What a checkpoint says about itself.

        Raises:
            ValueError: If the model cannot be trained in this way.
        """
        module = OperatorModule(
            model, self.inputs, self.targets, training, metadata=metadata, scalars=self.sizes, control=self.control
        )
        if module.response is not None and self.response is not None:
            module.response.load_state_dict(self.response.state_dict())
        return module


def load_module(path: Path) -> tuple[OperatorModule, RunConfig]:
    """The module of a checkpoint, on the CPU, and the configuration that it was trained with.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a checkpoint of pitgeo, is one of another format, or is damaged.
    """
    checkpoint = read_checkpoint(path)
    metadata = checkpoint["pitgeo"]
    config = parse_config(metadata.get("config", {}), source=str(path))
    try:
        spec, weights = DataSpec(**metadata["shape"]), checkpoint["state_dict"]
        model, control = build(config.model.options, spec), config.model.options.control(spec)
        inputs, targets = (_stored_scaling(weights, name) for name in ("input_scaling", "target_scaling"))
        fitted = Fitted(inputs, targets, weights["sizes"], control)
        module = fitted.module(model, config.training, metadata)
        module.load_state_dict(weights)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"Expected {path} to hold the weights and metadata of the model it names (got: {error}); it was written by "
            f"another version or is damaged: train again"
        ) from error
    return module, config


def _stored_scaling(weights: Mapping[str, Tensor], name: str) -> Scaling:
    mean, std, grid, logs = (weights[f"{name}.{part}"] for part in ("mean", "std", "grid", "is_log"))
    zeros = weights.get(f"{name}.keeps_zero", torch.zeros_like(logs))  # earlier checkpoints have none
    channels = (part.nonzero()[:, 0].tolist() for part in (logs, zeros))
    return Scaling(mean, std, tuple(grid.tolist()), *channels)
