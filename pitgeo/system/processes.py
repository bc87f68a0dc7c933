"""Work that is shared by several processes, which end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from statistics import median
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


START = 10.0
"""Seconds that processes must save to be worth their start, which takes 5 to 10 of each."""


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_finished(function: Callable[[T], R], items: Sequence[T], processes: int) -> Iterator[R]:
    """Results of a function for every item, as they come.

    Args:
        function: A module's function, or a partial of one, so that it can be sent to other processes.
        items: What it is called with.
        processes: How many processes; with 1, this one.
    """
    processes = min(processes, len(items))
    if processes <= 1:
        for item in items:
            yield function(item)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent)
    try:
        with _single_threaded():  # the processes start with the first task
            futures = [pool.submit(function, item) for item in items]
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def as_needed(function: Callable[[T], R], items: Sequence[T], processes: int) -> Iterator[R]:
    """The same, with other processes only if what is left takes much longer than their start.

    Args:
        function: A module's function, or a partial of one.
        items: What it is called with.
        processes: How many processes at most.
    """
    took: list[float] = []
    for number, item in enumerate(items):
        begin = time.perf_counter()
        result = function(item)
        took.append(time.perf_counter() - begin)
        yield result
        left = len(items) - number - 1
        gain = median(took[1:] or took) * left * (1 - 1 / max(1, min(processes, left)))
        if gain > START and (number or took[0] > START):  # the first one may load a library
            yield from as_finished(function, items[number + 1 :], processes)
            return


def _end_with_parent() -> None:
    """End this process when its parent is killed, instead of waiting for work for ever; Ctrl-C is the parent's."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """One BLAS thread for processes that start meanwhile: the variables are read when numpy is imported."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
