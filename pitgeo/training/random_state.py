"""Random numbers go on, after a resume, where they stood."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback


class RandomState(Callback):
    """Keep the states of Python's, numpy's and torch's generators in the checkpoint, as tensors and plain objects.

    With several devices the states are those of the first.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """The states now."""
        kind, keys, place, has_gauss, gauss = np.random.get_state(legacy=True)
        return {
            "python": random.getstate(),
            "numpy": [
                str(kind),
                torch.from_numpy(np.asarray(keys, np.int64)),
                int(place),
                int(has_gauss),
                float(gauss),
            ],
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Remember the states; they are set when training begins, so that nothing on the way can use them up."""
        self._loaded = state_dict

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Set the states that were loaded."""
        if self._loaded is None:
            return
        version, numbers, gauss = self._loaded["python"]
        random.setstate((version, tuple(numbers), gauss))
        kind, keys, *rest = self._loaded["numpy"]
        np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
        torch.set_rng_state(self._loaded["torch"].cpu())
        if self._loaded["cuda"] and len(self._loaded["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all([state.cpu() for state in self._loaded["cuda"]])
        self._loaded = None
