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
from pathlib import Path
from statistics import median
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


START = 10.0
"""Seconds that processes must save to be worth their start, which takes 5 to 10 of each."""


def cores() -> int:
    """Processors that this process may use: those it is bound to, or fewer where its group has a share of time."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(bound, group_cores() or bound)


def group_cores(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The processor time of this process's control group, in processors, rounded up; ``None`` without a limit.

    Containers are limited in this way. They still see all processors of the machine.

    Args:
        own: The groups of this process, as Linux lists them.
        root: Where the groups are.
    """
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found: list[int] = []
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        group = top / name.lstrip("/")
        while True:
            found += _limits(group)
            if group in (top, root):
                break
            group = group.parent
    return min(found, default=None)


def _limits(group: Path) -> Iterator[int]:
    """The limit of one control group, of version 2 or 1, if it has one."""
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text(encoding="utf-8") for name in ("quota", "period"))
        if quota.strip() != "max" and int(quota) > 0:
            yield max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        return


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
