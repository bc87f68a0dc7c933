"""Whether a sample belongs to what a model was trained on, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

SENTENCES = {
    "inside": "inside the training set",
    "edge": "at the edge of the training set",
    "outside": "outside the training set",
    "unknown": "not known whether it is inside the training set",
}


@dataclass(frozen=True)
class Trust:
    """Whether a mesh and its inputs are inside the training set.

    Args:
        status: ``"inside"``, at the ``"edge"`` or ``"outside"``; ``"unknown"`` if the checkpoint does not describe its
            training set.
        reasons: Why, a part of a sentence each; none are needed inside.

    Example:
        >>> print(Trust("outside", ("'load' is 14, outside of the 1 to 10 of the training set",)).sentence)
        outside the training set: 'load' is 14, outside of the 1 to 10 of the training set
    """

    status: Literal["inside", "edge", "outside", "unknown"]
    reasons: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{SENTENCES[self.status]}{reasons}"

    def plain(self) -> dict[str, Any]:
        """Status, sentence and reasons, for a JSON file."""
        return {"status": self.status, "sentence": self.sentence, "reasons": list(self.reasons)}
