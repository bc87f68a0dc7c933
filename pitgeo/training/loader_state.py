"""Batches go on, after a resume, where they stood."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.callbacks import Callback

from pitgeo.training.loader import BatchLoader


class LoaderState(Callback):
    """Keep the loader's epoch and position in the checkpoint.

    Lightning does so by itself, but loads them only when it resumes in the middle of an epoch.

    Args:
        loader: The loader of the training samples.
    """

    def __init__(self, loader: BatchLoader) -> None:
        self.loader = loader

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        self.loader.load_state_dict(state_dict)
