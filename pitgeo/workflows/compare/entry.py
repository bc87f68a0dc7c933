"""What is trained with every seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """What is trained with every seed: a configuration with some changes.

    Args:
        label: Its name in tables.
        config: The configuration file.
        changes: Changes to it, ``"key=value"``.
        benchmark: What it is trained on, where one folder holds several; its folder's name.
        resolutions: Resolutions to test at, on top of that of training.
    """

    label: str
    config: Path
    changes: tuple[str, ...] = ()
    benchmark: str = ""
    resolutions: tuple[int, ...] = ()

    @property
    def group(self) -> str:
        """Folder of its runs among all runs."""
        safe = "".join(letter if letter.isalnum() else "_" for letter in self.label)
        return f"{self.benchmark}/{safe}" if self.benchmark else safe
