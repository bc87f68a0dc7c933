"""One-step operators applied to their own predictions."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from pitgeo.data import PointData


def check_window(steps: int, size: int) -> None:
    """Raise a ``ValueError`` unless windows of ``size`` steps divide a series of ``steps`` steps."""
    if steps % size:
        raise ValueError(f"Expected training.window to divide the {steps} steps of a series (got {size})")


class Rollout(nn.Module):
    r"""Predict a series step by step, each step from the last ones, predictions included.

    .. math::
        u_{t + 1} = \mathcal{G}(u_{t - T + 1}, \dots, u_t), \qquad t = T, \dots, T + K - 1

    Gradients go through all steps.

    Args:
        model: Takes samples with ``T`` input values, the last steps, oldest first; gives the next step.
        steps: Number of steps to predict, ``K``.

    Shapes:
        - **data.x** ``[N, T]``, or ``[B, N, T]`` on a shared mesh.
        - **output** ``[N, K]``, or ``[B, N, K]``.

    Raises:
        ValueError: If ``steps`` is not positive, the model gives more than one value a point, or output points are not
            the input points.

    Reference:
        Chen and Wu, ICML 2024, section 4.1, Vorticity.

    Example:
        >>> import torch
        >>> from pitgeo.data import PointData
        >>> class Sum(torch.nn.Module):
        ...     def forward(self, data):
        ...         return data.x.sum(-1, keepdim=True)
        >>> Rollout(Sum(), steps=4)(PointData(pos=torch.zeros(1, 2), x=torch.tensor([[1.0, 1.0]])))  # Fibonacci
        tensor([[2., 3., 5., 8.]])
    """

    def __init__(self, model: nn.Module, steps: int) -> None:
        super().__init__()
        if steps < 1:
            raise ValueError(f"Expected 'steps' to be at least 1 (got {steps})")
        self.model = model
        self.steps = steps

    def forward(self, data: PointData) -> Tensor:
        """All steps; for a window of a series (:mod:`pitgeo.training.loader`) only ``data.window`` steps."""
        if not data.coincide("input", "output"):
            raise ValueError(
                "Expected output points that are the input points where predictions become inputs (got others)"
            )
        data = copy.copy(data)
        steps = []
        for _ in range(data.get("window") or self.steps):
            step = self.model(data)
            if step.shape[-1] != 1:
                raise ValueError(f"Expected one value a point from a step of the model (got {step.shape[-1]})")
            steps.append(step)
            data.x = torch.cat([data.x[..., 1:], step], -1)
        return torch.cat(steps, -1)
