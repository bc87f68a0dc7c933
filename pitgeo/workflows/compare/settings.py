"""How runs that are compared are trained: budget, seeds, runs side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from pitgeo.system.processes import cores

_UNITS = {"s": 1 / 60, "min": 1.0, "h": 60.0}


@dataclass(frozen=True)
class Budget:
    """What every run may use: either minutes of training, or epochs.

    Args:
        minutes: Training time by a calibration, validation included, start-up and test not.
        epochs: Epochs of training.

    Raises:
        ValueError: If not just one is given, or it is not positive.

    Example:
        >>> Budget.parse("3min"), str(Budget.parse("90s")), str(Budget.parse("50epochs"))
        (Budget(minutes=3.0, epochs=None), '1.5min', '50epochs')
    """

    minutes: float | None = None
    epochs: int | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.minutes, self.epochs) if value is not None]
        if len(given) != 1 or not given[0] > 0:
            raise ValueError(
                f"Expected a budget of minutes or of epochs, a positive number (got {self.minutes} and {self.epochs})"
            )

    @classmethod
    def parse(cls, text: str) -> Budget:
        """From ``"3min"``, ``"90s"``, ``"2h"`` or ``"50epochs"``.

        Raises:
            ValueError: If the text is none of these, or the number is not positive.
        """
        found = re.fullmatch(r"\s*(\d+|\d*\.\d+|\d+\.)\s*([a-z]+)\s*", text)
        number, unit = found.groups() if found else ("", "")
        if unit in ("epoch", "epochs") and number.isdigit() and int(number):
            return cls(epochs=int(number))
        if unit in _UNITS and float(number) > 0:
            return cls(minutes=float(number) * _UNITS[unit])
        raise ValueError(f"Expected a budget as in 3min, 90s, 2h or 50epochs (got {text!r})")

    def __str__(self) -> str:
        """What :meth:`parse` makes the same budget of."""
        if self.minutes is None:
            return f"{self.epochs}epochs"
        for unit in ("min", "s", "h"):
            number = f"{self.minutes / _UNITS[unit]:g}"
            if "e" not in number and float(number) * _UNITS[unit] == self.minutes:
                return f"{number}{unit}"
        return f"{Decimal(repr(self.minutes)):f}min"

    @property
    def words(self) -> str:
        """For a caption."""
        if self.minutes is None:
            return f"{self.epochs} epochs of training a run"
        return f"{self.minutes:g} minutes of training a run, turned into epochs by timing two epochs first"


@dataclass(frozen=True)
class Settings:
    """How runs that are compared are trained.

    Args:
        budget: The same for all.
        seeds: How many seeds of everything: 0, 1, ...
        jobs: Runs side by side, which share the cores.
        overrides: Changes to every configuration, ``"key=value"``.
        progress: Show a bar over all runs.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> Settings(seeds=3, overrides=("training.batch_size=4",)).seeds
        3
    """

    budget: Budget = Budget(minutes=3.0)
    seeds: int = 1
    jobs: int = 1
    overrides: tuple[str, ...] = ()
    progress: bool = True

    def __post_init__(self) -> None:
        for name in ("seeds", "jobs"):
            if getattr(self, name) < 1:
                raise ValueError(f"Expected '{name}' to be at least 1 (got {getattr(self, name)})")

    @property
    def threads(self) -> int:
        """Threads of every run."""
        return max(1, cores() // self.jobs)
