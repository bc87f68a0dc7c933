"""Ensembles: several trainings of one model, which predict their mean and their spread."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from pitgeo.config.config import MACHINE, difference
from pitgeo.data import PointData
from pitgeo.prediction.bounds import STORED, Bounds, Scores, stored_bounds
from pitgeo.prediction.mesh_predictor import MeshPredictor


class Moments:
    """Running mean and spread of tensors of one shape, by Welford's algorithm, in float64.

    Example:
        >>> moments = Moments()
        >>> for value in (1.0, 2.0, 6.0):
        ...     moments.add(torch.tensor([value, 5.0]))
        >>> moments.mean.tolist(), moments.spread.square().round(decimals=6).tolist()
        ([3.0, 5.0], [7.0, 0.0])
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = torch.zeros(0)
        self._squares = torch.zeros(0)

    def add(self, value: Tensor) -> None:
        """Add a tensor."""
        value = value.double()
        if self.count == 0:
            self.mean, self._squares = value.clone(), torch.zeros_like(value)
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self._squares += step * (value - self.mean)

    @property
    def spread(self) -> Tensor:
        """Standard deviation, from the unbiased estimate of the variance (``n - 1``)."""
        return (self._squares / (self.count - 1)).sqrt()


@dataclass(frozen=True)
class Calibration:
    """Factors of the spread of an ensemble, which make it as large as the error of the mean.

    Args:
        factors: A factor for every target channel, the first step first; empty if all are 1.
        samples: Number of validation samples that the factors were fitted to.
    """

    factors: tuple[float, ...] = ()
    samples: int = 0

    def scale(self, spread: Tensor, channels: int) -> Tensor:
        """The calibrated spread ``[M, K]``, or ``[M, steps * K]``; steps without factors have the last ones.

        Args:
            spread: The spread of the members.
            channels: Target channels ``K`` of one step.
        """
        factors = list(self.factors) or [1.0] * channels
        while len(factors) < spread.shape[-1]:
            factors += factors[-channels:]
        return spread * spread.new_tensor(factors[: spread.shape[-1]])


class Ensemble(MeshPredictor):
    """Several trainings of one model that differ in their seeds. Their mean is the prediction.

    Args:
        members: At least two trained models.
        calibration: Factors of the spread.
        path: The file that names the members; ``None`` for the file of the first member.
        bounds: Bounds of the errors of the mean, if they were calibrated.

    Raises:
        ValueError: If there are fewer than two members, their configurations or fields differ, or factors are missing.
    """

    def __init__(
        self,
        members: Sequence[MeshPredictor],
        calibration: Calibration | None = None,
        path: Path | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        if len(members) < 2:
            raise ValueError(f"Expected at least 2 members of an ensemble (got {len(members)})")
        first = members[0]
        super().__init__(first.config, first.facts, first.path if path is None else path)
        self.members, self.bounds = tuple(members), bounds  # those of a single member are others
        self.calibration = calibration or Calibration()
        if len(self.calibration.factors) % len(self.targets):
            raise ValueError(
                f"Expected {self.path} to hold a factor for every one of {len(self.targets)} target channels "
                f"(got {len(self.calibration.factors)}); it is damaged"
            )
        for other in members[1:]:
            if keys := difference(first.config.plain(), other.config.plain(), (*MACHINE, "training.seed")):
                raise ValueError(
                    f"Expected members that differ in training.seed alone (got {other.path}, which differs from "
                    f"{first.path} in {', '.join(keys)}); train them together, as an ensemble"
                )
            if other.table != first.table:
                raise ValueError(
                    f"Expected members with the same inputs and targets (got {other.path}, whose fields differ from "
                    f"those of {first.path}); train them together, as an ensemble"
                )

    def predict(self, data: PointData | Sequence[PointData], steps: int = 0) -> tuple[Tensor, Tensor]:
        """Mean over the members, and calibrated spread, ``[M, K]`` each, at the output points.

        Args:
            data: One raw sample, or several one after another.
            steps: Number of states to predict one after the other, ``[M, steps * K]``; every member continues from its
                own states. 0 for a single prediction.
        """
        fields = self._joined(member.fields(data, steps) for member in self.members)
        return fields["_prediction"], fields["_spread"]

    def fields(self, data: PointData | Sequence[PointData], steps: int = 0) -> dict[str, Tensor]:
        """Mean and spread, by the endings of the field names."""
        return self._joined(member.fields(data, steps) for member in self.members)

    def many(self, sample: PointData, inputs: Iterable[Tensor]) -> Iterator[dict[str, Tensor]]:
        """Mean and spread for one mesh and other input values, ``[B, M, K]`` for every ``[B, N, C]``."""
        copies = itertools.tee(inputs, len(self.members))
        predicted = (member.many(sample, own) for member, own in zip(self.members, copies, strict=True))
        for parts in zip(*predicted, strict=True):
            yield self._joined(parts)

    def scores(self) -> Scores:
        """An empty collection of errors relative to the calibrated spread."""
        return replace(super().scores(), has_spread=True)

    def _joined(self, predicted: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Mean and spread of the members' predictions."""
        moments = Moments()
        for fields in predicted:
            moments.add(fields["_prediction"])
        spread = self.calibration.scale(moments.spread, len(self.targets)).float()
        return {"_prediction": moments.mean.float(), "_spread": spread}


def read_ensemble(path: Path) -> tuple[list[Path], Calibration, Bounds | None]:
    """The checkpoints of the members, the calibration and the bounds if there are any, from an ``ensemble.json``.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file was not written by pitgeo, or is damaged.
    """
    if not path.is_file():
        raise FileNotFoundError(f"Expected an ensemble at {path} (got no such file)")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names, stored = content["members"], content["calibration"]
        factors = tuple(float(factor) for factor in stored["factors"].values())
        calibration = Calibration(factors, int(stored["samples"]))
        bounds = stored_bounds(content.get(STORED), path)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError("'members' is not a list of file names")
        if not factors or not all(math.isfinite(factor) and factor > 0 for factor in factors):
            raise ValueError("a factor is missing or not positive")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"Expected {path} to be an ensemble.json as training with 'members' writes it (got: {what}); the "
            f"same training with 'resume' writes it again"
        ) from error
    return [path.parent / name for name in names], calibration, bounds
