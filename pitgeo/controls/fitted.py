"""Modules whose buffers get their sizes when they are fitted."""

from __future__ import annotations

from typing import Any

from torch import nn


class Fitted(nn.Module):
    """A module whose buffers take, when they are loaded, the sizes of those that were saved."""

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        for name, buffer in self.named_buffers(recurse=False):
            stored = state_dict.get(f"{prefix}{name}")
            if stored is not None and stored.shape != buffer.shape:
                setattr(self, name, buffer.new_empty(stored.shape))
        super()._load_from_state_dict(state_dict, prefix, *others)
