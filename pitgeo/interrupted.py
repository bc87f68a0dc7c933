"""What a signal ends a run with."""

from __future__ import annotations


class InterruptionError(Exception):
    """A signal ended the run.

    Args:
        number: The signal.
        message: What was saved.
    """

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
