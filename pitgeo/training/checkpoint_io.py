"""Checkpoint files that are either complete or not there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import CheckpointIO

from pitgeo.system.atomic_files import write_atomic


class AtomicCheckpointIO(CheckpointIO):
    """Write beside the target, flush to the disk, then rename; read without unpickling anything.

    Lightning's own goes through the temporary directory, which is not atomic across file systems. If writing fails,
    the file that was there before stays as it is.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        """Write a checkpoint.

        Raises:
            OSError: If it cannot be written, say because the disk is full; the message names the file.
        """
        if storage_options is not None:
            raise TypeError(f"Expected no 'storage_options' (got {storage_options!r})")
        buffer = io.BytesIO()  # torch.save hides the disk's own error when it writes the file itself
        torch.save(checkpoint, buffer)
        write_atomic(Path(path), buffer.getbuffer())

    def load_checkpoint(
        self, path: str | Path, map_location: Any = lambda storage, location: storage, weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Read a checkpoint; only tensors and plain Python objects are accepted."""
        return read_checkpoint(Path(path), map_location)

    def remove_checkpoint(self, path: str | Path) -> None:
        """Delete a checkpoint, if it is there."""
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path, map_location: Any = "cpu") -> dict[str, Any]:
    """Read a checkpoint of pitgeo.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If the file is not a checkpoint of pitgeo, is broken, or has another format number.
    """
    if not path.is_file():
        others = sorted(other.name for other in path.parent.glob("*.ckpt")) if path.parent.is_dir() else []
        advice = f"; there are {', '.join(others)} beside it" if others else ""
        raise FileNotFoundError(f"Expected a checkpoint at {path} (got no such file){advice}")
    try:
        checkpoint: dict[str, Any] = torch.load(path, map_location=map_location, weights_only=True)
    except Exception as error:  # torch.load raises what it likes on a broken file
        raise ValueError(
            f"Expected {path} to be a checkpoint of pitgeo (got a file that cannot be read: it is broken, or something "
            f"else); take the best.ckpt or last.ckpt of a run"
        ) from error
    metadata = checkpoint.get("pitgeo") if isinstance(checkpoint, dict) else None
    if not isinstance(metadata, dict):
        raise ValueError(f"Expected {path} to be a checkpoint of pitgeo (got a file without the key 'pitgeo')")
    if metadata.get("format") != FORMAT:
        raise ValueError(
            f"Expected {path} to be a checkpoint of format {FORMAT} (got {metadata.get('format')!r}, written by pitgeo "
            f"{metadata.get('versions', {}).get('pitgeo', 'of unknown version')}); use that version, or train again"
        )
    return checkpoint


FORMAT = 6
"""Number of the checkpoint format; one that differs is refused."""
