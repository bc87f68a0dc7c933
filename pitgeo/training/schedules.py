"""The learning rates of ``training.schedule``, step by step."""

from __future__ import annotations

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LambdaLR, LRScheduler, OneCycleLR

from pitgeo.config.config import TrainingConfig


def make_schedule(training: TrainingConfig, optimizer: Optimizer, steps: int) -> LRScheduler:
    r"""The schedule of a configuration.

    With a warm-up, the learning rate of ``"cosine"`` and ``"constant"`` rises in equal parts, and the schedule has the
    steps that are left. That of ``"one_cycle"`` rises from 1/25 of it by half a cosine, and falls to 4e-6 of it at the
    last step; where the rise has no step of its own, the first step has the whole rate.

    Args:
        training: Schedule, learning rate and share of the steps for the warm-up.
        optimizer: What takes the steps.
        steps: How many there will be.

    Example:
        >>> import torch
        >>> training = TrainingConfig(schedule="constant", warmup=0.3, learning_rate=1.0)
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule, rates = make_schedule(training, optimizer, 10), []
        >>> for _ in range(5):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    share, rate = training.warmup, training.learning_rate
    if training.schedule == "one_cycle":
        has_betas = "betas" in optimizer.defaults  # not where several optimisers are one
        rise = 0.3 if share is None else share
        if steps == 1:
            return ConstantLR(optimizer, factor=1.0)
        rise = min(rise, 1 - 1 / steps)  # the last step has the lowest rate, so the whole one is before it
        if rise * steps <= 1:  # the peak of torch's is at step rise * steps - 1, and it divides by that
            rise = (1 - 1e-9) / steps
        return OneCycleLR(optimizer, rate, total_steps=steps, pct_start=rise, cycle_momentum=has_betas)
    rising = min(round((share or 0.0) * steps), steps - 1)
    if rising == 0:
        is_cosine = training.schedule == "cosine"
        return CosineAnnealingLR(optimizer, T_max=steps) if is_cosine else ConstantLR(optimizer, factor=1.0)

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / (rising + 1)
        if training.schedule == "constant":
            return 1.0
        return (1 + math.cos(math.pi * (step - rising) / (steps - rising))) / 2

    return LambdaLR(optimizer, factor)
