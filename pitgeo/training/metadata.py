"""What the metadata of a checkpoint say of inputs and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pitgeo.config.config import TrainingConfig
from pitgeo.config.losses import LOSSES
from pitgeo.data.fields import FieldTable
from pitgeo.data.frame import Frame
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.data.response import Response
from pitgeo.data.symmetries import Symmetries
from pitgeo.measures.reference import Reference


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


def frame_of(training: TrainingConfig, metadata: Mapping[str, Any]) -> Frame | None:
    """The frame that samples are turned into; ``None`` for none."""
    name = metadata.get("config", {}).get("scaling", {}).get("frame")
    return Frame(name, FieldTable.parse(metadata["table"]), training.augment_as) if name else None


def linear_in(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the inputs that the targets are linear in."""
    return tuple(metadata.get("config", {}).get("scaling", {}).get("linear_in", ()))


def response_of(metadata: Mapping[str, Any]) -> Response | None:
    """What targets are linear in, or follow from; ``None`` where the model predicts them as they are."""
    scaling = metadata.get("config", {}).get("scaling", {})
    loads, derived = linear_in(metadata), scaling.get("derived", {})
    return Response(loads, derived, FieldTable.parse(metadata["table"])) if loads or derived else None


def variation_of(
    training: TrainingConfig, metadata: Mapping[str, Any], symmetries: Symmetries | None = None
) -> Tensor | None:
    """What the loss divides the error of every channel by; ``None`` where that is not the variation.

    Raises:
        ValueError: If the metadata have no mean and variation of the training set.
    """
    if not LOSSES[training.loss].by_variation:
        return None
    if metadata.get("reference") is None:
        raise ValueError(
            f"Expected 'metadata' with a 'reference', mean and variation of the training set, for training.loss = "
            f"{training.loss!r} (got none); find it by pitgeo.measures.reference.Reference.fit"
        )
    reference = Reference.parse(metadata["reference"])
    reference = reference if symmetries is None else reference.turned(symmetries)
    channels = groups_of(metadata) or (1,) * len(reference.mean)
    return torch.tensor(reference.scales(channels), dtype=torch.float64).float()


def weights_of(training: TrainingConfig, metadata: Mapping[str, Any]) -> Tensor | None:
    r"""Weights of the channels, whose mean over all channels is 1; ``None`` where all count alike.

    .. math::
        \frac{1}{K} \sum_k w_k e_k = \sum_f \frac{W_f}{\sum_g W_g} \frac{1}{K_f} \sum_{k \in f} e_k

    with the weights :math:`W_f` of targets of :math:`K_f` components; 1 for those that are not named.

    Raises:
        ValueError: If a name is no target, or the metadata do not say what the targets are.
    """
    weights = training.field_weights
    if not weights:
        return None
    if "table" not in metadata:
        raise ValueError("Expected 'metadata' with a 'table' of targets for training.field_weights (got none)")
    targets = FieldTable.parse(metadata["table"]).targets
    names = [target.name for target in targets]
    if wrong := sorted(weights.keys() - {*names}):
        raise ValueError(f"Expected training.field_weights to name targets, among {names} (got {wrong[0]!r})")
    own = torch.tensor([weights.get(name, 1.0) for name in names], dtype=torch.float64)
    counts = torch.tensor([target.channels for target in targets])
    if not own.sum() > 0:
        raise ValueError(f"Expected a positive weight of some target in training.field_weights (got {weights})")
    return (own / own.sum() / counts * counts.sum()).repeat_interleave(counts)
