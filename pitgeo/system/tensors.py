"""Records of tensors that move to a device as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T", bound="TensorRecord")


class TensorRecord:
    """Base of dataclasses with tensors among their fields, which a batch carries from device to device."""

    def to(self: T, device: torch.device | str, non_blocking: bool = False) -> T:
        """The record on a device; ``non_blocking`` does not wait for a copy from pinned memory."""
        return self._with(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self: T) -> T:
        """The record in memory that GPUs copy from by themselves."""
        return self._with(Tensor.pin_memory)

    def _with(self: T, change: Callable[[Tensor], Tensor]) -> T:
        record: Any = self
        values = {field.name: getattr(self, field.name) for field in fields(record)}
        changed: T = replace(
            record, **{name: change(value) for name, value in values.items() if isinstance(value, Tensor)}
        )
        return changed
