"""Starting from the weights of another run, whose inputs and targets may be others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pitgeo.data.fields import FieldTable
from pitgeo.data.scaling import Scaling
from pitgeo.nn import PiT, PointwiseMLP, Rollout
from pitgeo.training.module import OperatorModule

log = logging.getLogger(__name__)


def start_from(module: OperatorModule, checkpoint: dict[str, Any], path: Path) -> None:
    """Take over the weights and scalings of a checkpoint.

    A weight of the same name and shape is copied. Where the first layer has other inputs, or the last one other
    outputs, the columns and rows of those that bear the same name are copied, and the others start anew: zero for new
    inputs, so that with all targets kept, the model starts as the function that the checkpoint holds. Where predictions
    become inputs, the model of a step is what is taken over: the numbers of steps may differ, and inputs are the same
    where they are equally many steps back.

    Args:
        module: The new model, changed in place.
        checkpoint: What :func:`pitgeo.training.read_checkpoint` gave.
        path: Its file, for messages.

    Raises:
        ValueError: If the models differ in anything else, or have no input and no target in common.
    """
    metadata, weights = checkpoint["pitgeo"], checkpoint["state_dict"]
    old, new = FieldTable.parse(metadata["table"]), FieldTable.parse(module.metadata["table"])
    if old.dimension != new.dimension:
        raise ValueError(f"Expected {path} to be trained on meshes in {new.dimension}D (got {old.dimension}D)")
    was_rolled, is_rolled = int(metadata.get("shape", {}).get("steps", 1)) > 1, isinstance(module.model, Rollout)
    if is_rolled and not _is_identity(weights):
        raise ValueError(
            f"Expected {path} to be trained with scaling.inputs and scaling.targets = 'none', as predictions become "
            f"inputs (got others); train such a run first"
        )
    references = [one.get("config", {}).get("scaling", {}).get("reference", {}) for one in (metadata, module.metadata)]
    names = ({field.name for field in (*table.inputs, *table.targets)} for table in (old, new))
    for name in sorted(set.intersection(*names)):
        was, now = (texts.get(name) for texts in references)
        if was != now:
            raise ValueError(
                f"Expected scaling.reference.{name} = {was!r}, as in {path} (got {now!r}); change it, or leave out "
                f"training.start_from"
            )
    axes = [f"position {axis}" for axis in range(new.dimension)]
    labels = [*old.input_labels], [*new.input_labels]
    targets = _pairs(old.target_labels, new.target_labels)
    if was_rolled or is_rolled:
        outputs = 1 if was_rolled else len(old.target_labels), 1 if is_rolled else len(new.target_labels)
        labels, targets = (_lags(old), _lags(new)), [(0, 0)] if outputs == (1, 1) else []
    inputs = _pairs([*axes, *labels[0]], [*axes, *labels[1]])
    computed = {label for field in new.geometry for label in field.labels}  # from any mesh, so that they tell nothing
    fields = [b for _, b in inputs if b >= len(axes) and labels[1][b - len(axes)] not in computed]
    if not fields and (not targets or was_rolled or is_rolled):
        raise ValueError(
            f"Expected inputs or targets of {path}, {', '.join([*old.input_labels, *old.target_labels])} (got none of "
            f"them, but {', '.join([*new.input_labels, *new.target_labels])}); leave out training.start_from"
        )
    model = module.model.model if isinstance(module.model, Rollout) else module.model
    prefix = "model.model." if was_rolled else "model."
    stored_weights = {name.removeprefix(prefix): weight for name, weight in weights.items() if name.startswith(prefix)}
    first, last = _edge_layers(model)
    if more := sorted(stored_weights.keys() - model.state_dict().keys()):
        raise ValueError(
            f"Expected {path} to hold the same model but for its inputs and targets (got {more[0]!r} too, which the "
            f"new one has not); set the options of [model] as in its configuration"
        )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            stored = stored_weights.get(name)
            if stored is not None and weight is first.weight and stored.shape[0] == weight.shape[0]:
                weight.zero_()
                weight[:, [b for _, b in inputs]] = stored[:, [a for a, _ in inputs]]
            elif stored is not None and _is_of(last, weight) and stored.shape[1:] == weight.shape[1:]:
                weight[[b for _, b in targets]] = stored[[a for a, _ in targets]]
            elif stored is not None and stored.shape == weight.shape:
                weight.copy_(stored)
            else:
                raise ValueError(
                    f"Expected {path} to hold the same model but for its inputs and targets (got {name!r} of shape "
                    f"{None if stored is None else list(stored.shape)}, not {list(weight.shape)}); set the options of "
                    f"[model] as in its configuration"
                )
    axes_count = len(axes)
    values = [(a - axes_count, b - axes_count) for a, b in inputs if b >= axes_count]
    _copy_scaling(module.input_scaling, weights, "input_scaling", values)
    _copy_scaling(module.target_scaling, weights, "target_scaling", targets)
    fresh = [label for label, name in zip(new.input_labels, labels[1], strict=True) if name not in labels[0]]
    fresh += [] if is_rolled else [label for label in new.target_labels if label not in old.target_labels]
    log.info("Starting from %s; new channels: %s", path, ", ".join(fresh) or "none")


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Numbers of the channels that bear the same name, in the old and in the new model."""
    return [(old.index(label), number) for number, label in enumerate(new) if label in old]


def _lags(table: FieldTable) -> list[str]:
    """Names of the channels of a series that say how many steps they are back, where every input is one of a series."""
    return [f"{field.name}, {back} back" for field in table.inputs for back in range(field.channels, 0, -1)]


def _is_of(layer: nn.Linear, weight: Tensor) -> bool:
    return weight is layer.weight or weight is layer.bias


def _is_identity(weights: dict[str, Tensor]) -> bool:
    """Whether the scalings of a checkpoint change nothing."""
    parts = [
        [weights[f"{name}.{part}"] for part in ("mean", "std", "is_log")]
        for name in ("input_scaling", "target_scaling")
    ]
    return all(bool((mean == 0).all() and (std == 1).all() and not logs.any()) for mean, std, logs in parts)


def _edge_layers(model: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    """The layers that inputs come to and outputs come from."""
    ends = (model.lift, model.head) if isinstance(model, PiT) else (model, model)
    if not isinstance(model, (PiT, PointwiseMLP)):
        raise ValueError(f"Expected a PiT or a pointwise MLP to start from a checkpoint (got {type(model).__name__})")
    layers = [[part for part in end.modules() if isinstance(part, nn.Linear)] for end in ends]
    return layers[0][0], layers[1][-1]


def _copy_scaling(scaling: Scaling, weights: dict[str, Tensor], name: str, pairs: list[tuple[int, int]]) -> None:
    mean, std, logs = (weights[f"{name}.{part}"] for part in ("mean", "std", "is_log"))
    zeros = weights.get(f"{name}.keeps_zero", torch.zeros_like(logs))
    if mean.dim() != 1 or scaling.mean.dim() != 1:
        return
    for a, b in pairs:
        if bool(logs[a]) == bool(scaling.is_log[b]) and bool(zeros[a]) == bool(scaling.keeps_zero[b]):
            scaling.mean[b], scaling.std[b] = mean[a], std[a]
