"""The optimisers of ``training.optimizer``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import torch
from torch import nn
from torch.optim import Optimizer

from pitgeo.config.config import TrainingConfig
from pitgeo.training.muon import Muon

_SMALLEST = 16  # rows and columns of a matrix that is a map between hidden layers, rather than from or to channels


def make_optimizer(model: nn.Module, training: TrainingConfig) -> Optimizer:
    """The optimiser of a configuration: Adam, AdamW, or Muon for matrices between hidden layers and AdamW for the rest.

    Muon (:class:`~pitgeo.training.muon.Muon`) takes learning rates of AdamW's size. It has the real matrices of at
    least 16 rows and 16 columns; vectors, kernels of convolutions, and matrices from or to a few channels are AdamW's.

    AdamW and Muon have weights decay that values are multiplied by, not length scales, biases and the scales of norms:
    decay would draw length scales to infinity. Adam's is the gradient of a penalty on all weights, as in the papers.

    Args:
        model: The model whose weights it moves.
        training: Optimiser, learning rate and weight decay.

    Reference:
        Loshchilov and Hutter, ICLR 2019, for AdamW; :class:`~pitgeo.training.muon.Muon` names its own.
    """
    weights = list(model.parameters())
    options: dict[str, Any] = {"lr": training.learning_rate, "weight_decay": training.weight_decay}
    if training.optimizer == "adam":
        return torch.optim.Adam(weights, fused=_can_fuse(weights, training), **options)
    if training.optimizer == "adamw":
        return _adamw(weights, undecayed(model), training)
    spared = undecayed(model)
    hidden = [weight for weight in weights if _is_hidden(weight) and weight not in spared]
    others = [weight for weight in weights if not _is_hidden(weight) or weight in spared]
    parts: list[Optimizer] = []
    if others:
        parts.append(_adamw(others, spared, training))
    if hidden:
        parts.append(Muon(hidden, **options))
    return Optimizers(parts)


def undecayed(model: nn.Module) -> set[nn.Parameter]:
    """Weights that do not decay: vectors and numbers, as length scales are, biases, and what norms have."""
    return {
        weight
        for module in model.modules()
        for name, weight in module.named_parameters(recurse=False)
        if weight.dim() < 2 or name.endswith("bias") or type(module).__name__.endswith("Norm")
    }


def _adamw(weights: list[nn.Parameter], spared: set[nn.Parameter], training: TrainingConfig) -> Optimizer:
    groups: list[dict[str, Any]] = [{"params": weights}]
    if training.weight_decay:
        parts = (
            [weight for weight in weights if weight not in spared],
            [weight for weight in weights if weight in spared],
        )
        groups = [{"params": parts[0]}, {"params": parts[1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=training.learning_rate,
        weight_decay=training.weight_decay,
        fused=_can_fuse(weights, training),
    )
    optimizer.register_load_state_dict_pre_hook(_check_groups)
    return optimizer


def _check_groups(optimizer: Optimizer, state: dict[str, Any]) -> None:
    """Say why AdamW cannot go on from a checkpoint of before some weights were spared."""
    if len(state["param_groups"]) != len(optimizer.param_groups):
        raise ValueError(
            f"Expected a checkpoint of a run in which length scales, biases and norms do not decay (got one of an "
            f"earlier version, with training.weight_decay = {optimizer.defaults['weight_decay']:g} on all weights); it "
            f"predicts as before: start from it by training.start_from, or resume it with that version"
        )


class Optimizers(Optimizer):
    """Several optimisers, each of some of the weights, as one.

    Args:
        parts: The optimisers; their groups of weights become those of this one.
    """

    def __init__(self, parts: list[Optimizer]) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})

    @property
    def state(self) -> Any:
        """What the parts keep of every weight, to look at; they own it."""
        return {weight: kept for part in self.parts for weight, kept in part.state.items()}

    @state.setter
    def state(self, value: Any) -> None:
        """Nothing: torch sets an empty one at the start."""

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """A step of each; a closure, which computes loss and gradients, runs once."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Those of the parts, in their order."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Give each part its own back."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = [group for part in self.parts for group in part.param_groups]  # they are new


def _is_hidden(weight: nn.Parameter) -> bool:
    return weight.dim() == 2 and min(weight.shape) >= _SMALLEST and weight.is_floating_point()


def _can_fuse(weights: list[nn.Parameter], training: TrainingConfig) -> bool:
    """Whether all weights may move in one pass, faster on CPUs: not complex ones, nor mixed precision with a clip."""
    return training.precision == "32" and all(weight.is_floating_point() for weight in weights)
