"""The trained model that a command names."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pitgeo.system.memory import importing

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor


def loaded(arguments: argparse.Namespace) -> MeshPredictor:
    """The predictor of ``CHECKPOINT``, on the device of ``--device``."""
    with importing():
        import torch

        from pitgeo.prediction.predictor import load_any
        from pitgeo.training import torch_device

    torch.set_flush_denormal(True)  # as in training
    return load_any(arguments.checkpoint, torch_device(arguments.device))
