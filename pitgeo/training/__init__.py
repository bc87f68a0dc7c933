"""Training: Lightning's Trainer round one thin module, with checkpoints and resumes that can be relied on."""

from pitgeo.system.interrupted import InterruptionError
from pitgeo.training.checkpoint_io import FORMAT, AtomicCheckpointIO, read_checkpoint
from pitgeo.training.distributed import WorkerLostError, together
from pitgeo.training.distributed_context import find_context, require_one_process
from pitgeo.training.fine_tune import start_from
from pitgeo.training.fit import fit, torch_device
from pitgeo.training.loader import BatchLoader
from pitgeo.training.module import OperatorModule
from pitgeo.training.nonfinite import NonFiniteError

__all__ = [
    "FORMAT",
    "AtomicCheckpointIO",
    "BatchLoader",
    "InterruptionError",
    "NonFiniteError",
    "OperatorModule",
    "WorkerLostError",
    "find_context",
    "fit",
    "read_checkpoint",
    "require_one_process",
    "start_from",
    "together",
    "torch_device",
]
