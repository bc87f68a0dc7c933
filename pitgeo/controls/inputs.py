"""What tells samples on one mesh apart, as a few numbers a sample."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pitgeo.controls.grams import gram, principal


class FittedModule(nn.Module):
    """A module whose buffers take, when they are loaded, the sizes of those that were saved."""

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        for name, buffer in self.named_buffers(recurse=False):
            stored = state_dict.get(f"{prefix}{name}")
            if stored is not None and stored.shape != buffer.shape:
                setattr(self, name, buffer.new_empty(stored.shape))
        super()._load_from_state_dict(state_dict, prefix, *others)


FIELD_SHARE = 1e-4
"""Share of the variance of input fields that may be lost."""


def number_channels(x: Tensor) -> tuple[Tensor, Tensor]:
    """Which channels of samples ``[S, N, C]`` on one mesh hold a number a sample, ``[C]``, and where, ``[N, C]``.

    A number is the same at these points, and zero at the others, if there are others.
    """
    place = (x != 0).any(0)
    place |= ~place.any(0)
    numbers = x.gather(1, place.byte().argmax(0).expand(len(x), 1, -1))
    return (x == torch.where(place, numbers, 0.0)).all(1).all(0), place


class SampleInputs(FittedModule):
    """Numbers ``[S, P]`` from input values ``[S, N, C]`` of samples on one mesh.

    A channel that holds one number a sample (:func:`number_channels`) is a number of the mesh, the others are fields.
    Numbers are standardised; fields become the coefficients of their principal components, divided by one scale for
    all. A channel that is the same in all samples tells nothing; values that differ from it later are refused.

    Args:
        channels: Input channels ``C``.
    """

    is_number: Tensor
    place: Tensor
    is_field: Tensor
    is_log: Tensor
    shift: Tensor
    scale: Tensor
    fixed: Tensor
    field_mean: Tensor
    field_basis: Tensor
    field_scale: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        for name in ("is_number", "is_field"):
            self.register_buffer(name, torch.zeros(channels, dtype=torch.bool))
        self.register_buffer("is_log", torch.zeros(0, dtype=torch.bool))
        for name in ("shift", "scale", "field_mean"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.float64))
        self.register_buffer("fixed", torch.zeros(0, 0))
        self.register_buffer("place", torch.ones(1, 0, dtype=torch.bool))
        self.register_buffer("field_basis", torch.zeros(0, 0, dtype=torch.float64))
        self.register_buffer("field_scale", torch.ones((), dtype=torch.float64))

    @property
    def has_fields(self) -> bool:
        """Whether an input is a field."""
        return bool(self.is_field.any())

    def find(self, x: Tensor) -> None:
        """Find out what the channels of training samples ``[S, N, C]`` are."""
        spread = x.amax(0) - x.amin(0)
        size = x.abs().amax((0, 1))
        varies = spread.amax(0) > 1e-6 * size
        is_number, place = number_channels(x)
        self.is_number, self.is_field = varies & is_number, varies & ~is_number
        place = place[:, self.is_number]
        self.place = place[:1] if bool(place.all()) else place
        self.fixed = x[0][:, ~varies].clone()

    def fit(self, x: Tensor, logs: bool = False) -> None:
        """Find shifts and scales; with ``logs``, numbers are replaced by their logarithms where all are positive."""
        numbers = self._numbers(x).double()
        self.is_log = (numbers > 0).all(0) & logs
        numbers = self._logarithms(numbers)
        self.shift = numbers.mean(0)
        self.scale = (numbers - self.shift).square().mean(0).sqrt()
        if not self.has_fields:
            return
        fields = x[:, :, self.is_field].flatten(1)
        self.field_mean = fields.double().mean(0)
        products = gram(fields, self.field_mean)
        coefficients, vectors = principal(products, FIELD_SHARE)
        self.field_scale = coefficients.square().sum(1).mean().sqrt() / max(1.0, len(self.shift)) ** 0.5
        self.field_basis = ((fields.double() - self.field_mean).t() @ vectors).contiguous()

    def can_have_logs(self, x: Tensor) -> bool:
        """Whether a number of training samples has a logarithm."""
        return bool((self._numbers(x) > 0).all(0).any())

    def forward(self, x: Tensor) -> Tensor:
        """The numbers ``[S, P]`` of input values ``[S, N, C]``.

        Raises:
            ValueError: If the values are of another kind than those of the training samples.
        """
        self._check(x)
        parts = [(self._logarithms(self._numbers(x).double()) - self.shift) / self.scale]
        if self.has_fields:
            fields = x[:, :, self.is_field].flatten(1).double() - self.field_mean
            parts.append(fields @ self.field_basis / self.field_scale)
        return torch.cat(parts, 1)

    def _numbers(self, x: Tensor) -> Tensor:
        """The numbers ``[S, P]``, each at the first of its points."""
        rows = self.place.byte().argmax(0)
        return x[:, rows, self.is_number.nonzero()[:, 0]]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        count = int(state_dict.get(f"{prefix}is_number", self.is_number).sum())
        state_dict.setdefault(f"{prefix}place", self.place.new_ones(1, count))  # not in earlier checkpoints
        super()._load_from_state_dict(state_dict, prefix, *others)

    def _logarithms(self, numbers: Tensor) -> Tensor:
        safe = torch.where(self.is_log, numbers, 1.0)
        if not bool((safe > 0).all()):
            raise ValueError(
                f"Expected positive values of the inputs whose logarithms were trained on (got {float(safe.min()):g}); "
                f"mend them, or train with model.pod.log = 'none'"
            )
        return torch.where(self.is_log, safe.log(), numbers)

    def _check(self, x: Tensor) -> None:
        if len(self.place) not in (1, x.shape[1]):
            raise ValueError(
                f"Expected the {len(self.place)} points of the training samples, of which some hold a number (got "
                f"{x.shape[1]}); a POD predicts on the mesh of its training alone"
            )
        expected = torch.where(self.place, self._numbers(x)[:, None], 0.0)
        if bool((x[:, :, self.is_number] != expected).any()):
            raise ValueError(
                "Expected the same number at all points of a mesh, or of a set of it, and zeros elsewhere, as in the "
                "training samples (got one that differs from point to point); give it as a number of the mesh"
            )
        fixed = x[:, :, ~(self.is_number | self.is_field)]
        tolerance = 1e-5 * self.fixed.abs().amax(0) if self.fixed.numel() else 0.0
        if bool(((fixed - self.fixed).abs() > tolerance).any()):
            raise ValueError(
                "Expected those inputs to stay as they are that are the same in all training samples (got others); "
                "what they do is not known: train on samples in which they differ"
            )
