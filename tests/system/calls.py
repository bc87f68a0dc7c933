"""Functions that other processes call, in a module that loads no library."""

import os
import signal
import time
from pathlib import Path


def process():
    return os.getpid()


def crash_until(folder, times):
    """Crash so many times, then give how often it was called; every call leaves a file."""
    calls = len(list(Path(folder).iterdir()))
    (Path(folder) / str(calls)).touch()
    if calls < times:
        signal.raise_signal(signal.SIGSEGV)
    return calls + 1


def refuse(text):
    raise ValueError(text)


def ended_from_outside(item=None):
    signal.raise_signal(signal.SIGKILL)


def wait():
    time.sleep(60)
