"""Training: Lightning's Trainer round one thin module, with checkpoints and resumes that can be relied on."""

from pitgeo.interrupted import InterruptionError
from pitgeo.training.checkpoint_io import FORMAT, AtomicCheckpointIO, read_checkpoint, write_atomic
from pitgeo.training.fine_tune import start_from
from pitgeo.training.fit import fit, torch_device
from pitgeo.training.loader import BatchLoader
from pitgeo.training.module import NonFiniteError, OperatorModule

__all__ = [
    "FORMAT",
    "AtomicCheckpointIO",
    "BatchLoader",
    "InterruptionError",
    "NonFiniteError",
    "OperatorModule",
    "fit",
    "read_checkpoint",
    "start_from",
    "torch_device",
    "write_atomic",
]
