"""What the metadata of a checkpoint say of inputs and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pitgeo.config.config import TrainingConfig
from pitgeo.data.fields import FieldTable
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.data.symmetries import Symmetries


def references_of(metadata: Mapping[str, Any]) -> ReferenceQuantities | None:
    """The reference quantities that the configuration names; ``None`` without any."""
    texts = metadata.get("config", {}).get("scaling", {}).get("reference")
    return ReferenceQuantities(texts, FieldTable.parse(metadata["table"])) if texts else None


def groups_of(metadata: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Channels of every target; ``None`` where no target is a vector, or the metadata does not say."""
    if "table" not in metadata:
        return None
    channels = tuple(field.channels for field in FieldTable.parse(metadata["table"]).targets)
    return channels if max(channels) > 1 else None


def symmetries_of(training: TrainingConfig, metadata: Mapping[str, Any]) -> Symmetries | None:
    """What training samples are turned by; ``None`` for nothing.

    Raises:
        ValueError: If the metadata do not say what the inputs and targets are, or they cannot be turned.
    """
    if not training.augment:
        return None
    if "table" not in metadata:
        raise ValueError("Expected 'metadata' with a 'table' of inputs and targets for training.augment (got none)")
    return Symmetries(training.augment, FieldTable.parse(metadata["table"]), training.augment_as)
