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

    With several devices the states of all are kept. Those after the first begin with random numbers of their own, and
    do so again where a run is resumed on more devices.

    Args:
        rank: Number of this device.
        world: How many devices there are.
    """

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world
        self._loaded: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """The states now; all devices call this together."""
        own = self._states()
        if self.world == 1:
            return own
        states: list[Any] = [None] * self.world
        torch.distributed.all_gather_object(states, own)
        return {**states[0], "others": states[1:]}

    def _states(self) -> dict[str, Any]:
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
            "cuda": self._cuda_states() if torch.cuda.is_available() else [],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Remember the states; they are set when training begins, so that nothing on the way can use them up."""
        self._loaded = state_dict

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Set the states that were loaded."""
        states = [] if self._loaded is None else [self._loaded, *self._loaded.get("others", ())]
        self._loaded = None
        if self.rank < len(states):
            self._set(states[self.rank])
        elif self.rank > 0:
            start = np.random.SeedSequence((torch.initial_seed(), self.rank, trainer.global_step))
            first, second, third = (int(number) for number in start.generate_state(3))
            random.seed(first), np.random.seed(second), torch.manual_seed(third)

    def _cuda_states(self) -> list[torch.Tensor]:
        """Those of all GPUs, or of that which belongs to this process."""
        return torch.cuda.get_rng_state_all() if self.world == 1 else [torch.cuda.get_rng_state()]

    def _set(self, states: dict[str, Any]) -> None:
        version, numbers, gauss = states["python"]
        random.setstate((version, tuple(numbers), gauss))
        kind, keys, *rest = states["numpy"]
        np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
        torch.set_rng_state(states["torch"].cpu())
        cuda = [state.cpu() for state in states["cuda"]]
        if self.world > 1 and len(cuda) == 1:
            torch.cuda.set_rng_state(cuda[0])
        elif self.world == 1 and cuda and len(cuda) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda)
