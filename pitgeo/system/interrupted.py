"""The error that a signal raises, and further signals that are taken for the same one."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that end a run in good order."""
ECHO = 2.0
"""Seconds within which further signals are one with the first: ``timeout``, make and SLURM send several at a time."""


class InterruptionError(Exception):
    """A signal ended the run.

    Args:
        number: The signal.
        message: What was saved.
    """

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


def ignore_echoes() -> None:
    """Ignore signals for :data:`ECHO` seconds, so that a process that was told to end can print its message."""
    hear_again()
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, _Deaf(signal.getsignal(number)))
        atexit.unregister(_stay_deaf)
        atexit.register(_stay_deaf)  # Python gives handlers up before the process has ended


def hear_again() -> None:
    """Take :func:`ignore_echoes` back."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if isinstance(deaf := signal.getsignal(number), _Deaf):
                signal.signal(number, deaf.before)


class _Deaf:
    """A handler that does nothing for a while, then what the one before it did."""

    def __init__(self, before: Any) -> None:
        self.before = signal.SIG_DFL if before is None else before
        self.until = time.monotonic() + ECHO

    def __call__(self, number: int, frame: Any) -> None:
        if time.monotonic() < self.until:
            return
        signal.signal(number, self.before)
        os.kill(os.getpid(), number)


def _stay_deaf() -> None:
    for number in SIGNALS:
        if isinstance(deaf := signal.getsignal(number), _Deaf) and time.monotonic() < deaf.until:
            signal.signal(number, signal.SIG_IGN)
