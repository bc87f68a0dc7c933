r"""Muon, with all matrices of one shape orthogonalised in one batched product."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, cast, overload

import torch
from torch import Tensor, nn


class Muon(torch.optim.Muon):
    r"""The steps of :class:`torch.optim.Muon`, in a fraction of the time for networks of many small matrices.

    With :math:`G` the gradient of a matrix :math:`W` of :math:`m` rows and :math:`n` columns,

    .. math::
        B \leftarrow \mu B + (1 - \mu) G, \qquad
        W \leftarrow (1 - \eta \omega) W
            - 0.2 \, \eta \sqrt{\max(m, n)} \operatorname{NS}(\mu B + (1 - \mu) G),

    where NS makes all singular values about 1: five steps :math:`X \leftarrow a X + (b A + c A^2) X` of Newton and
    Schulz with :math:`A = X X^\top`, in bfloat16. They are the same as torch's, for all matrices of one shape at a
    time. So is what it keeps of a matrix, and what a checkpoint has of it.

    Args:
        weights: The matrices.
        lr: Learning rate :math:`\eta`.
        weight_decay: Decay :math:`\omega`.

    Raises:
        ValueError: If a weight is no matrix.

    Reference:
        Jordan et al., Muon: an optimizer for hidden layers in neural networks, 2024; Liu et al., Muon is scalable for
        LLM training, 2025, for the factor of the learning rate.
    """

    def __init__(self, weights: list[nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(weights, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Move all matrices that have a gradient; a closure, which computes loss and gradients, runs before."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            alike = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    alike[tuple(sorted(weight.shape)), weight.dtype, weight.device].append(weight)
            for weights in alike.values():
                self._move(weights, group)
        return loss

    def _move(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        directions = torch.stack([_wide(self._direction(weight, group["momentum"])) for weight in weights])
        moves = _orthogonalized(directions, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rate = 0.2 * math.sqrt(max(weights[0].shape)) * group["lr"]
        for weight, move in zip(weights, moves, strict=True):
            weight.mul_(1 - group["lr"] * group["weight_decay"])
            _wide(weight).add_(move, alpha=-rate)

    def _direction(self, weight: Tensor, decay: float) -> Tensor:
        """The momentum, moved on to the gradient, and once more a part of the way (Nesterov's)."""
        gradient, kept = cast(Tensor, weight.grad), self.state[weight]
        if "momentum_buffer" not in kept:
            kept["momentum_buffer"] = torch.zeros_like(gradient)
        return gradient.lerp(kept["momentum_buffer"].lerp_(gradient, 1 - decay), decay)


def _wide(matrix: Tensor) -> Tensor:
    """The matrix with no more rows than columns."""
    return matrix.T if matrix.shape[0] > matrix.shape[1] else matrix


def _orthogonalized(stack: Tensor, coefficients: tuple[float, float, float], steps: int, least: float) -> Tensor:
    """Wide matrices ``[K, m, n]`` with all their singular values made about 1, in bfloat16."""
    a, b, c = coefficients
    x = stack.bfloat16()
    x = x / x.flatten(1).norm(dim=1).clamp(min=least).view(-1, 1, 1)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x
