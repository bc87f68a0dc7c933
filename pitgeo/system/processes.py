"""Work that is shared by several processes, which end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_CRASHES = tuple(-number for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT))
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

    Raises:
        ChildProcessError: If a process ends before its work does.
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
    except BrokenProcessPool as error:
        raise ChildProcessError(
            f"Expected {processes} processes to end with their work (got one that ended before it, as where memory "
            f"runs out or a library crashes); start the same again, with fewer processes if memory ran out. A program "
            f"of your own that starts processes needs 'if __name__ == \"__main__\":' round what it does"
        ) from error
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


class OwnProcess:
    """A process of its own for calls of a library that may crash.

    It is started by the first call and serves all others, one at a time. After a crash a fresh one takes its place. It
    ends with this process.

    Args:
        calls: After so many, a fresh process takes its place too.
    """

    def __init__(self, calls: int = 50) -> None:
        self.calls = calls
        self._made = 0
        self._running: tuple[SpawnProcess, Connection] | None = None

    def call(self, function: Callable[..., R], *arguments: Any) -> R:
        """What a function returns, or raises, in the other process. After a crash it is called once more.

        Args:
            function: A module's function; it gives the same when it is called again.
            arguments: What it is called with.

        Raises:
            CrashError: If the process crashes at both calls.
            ChildProcessError: If it is ended from outside, as by a system whose memory runs out.
        """
        for _ in range(2):
            try:
                succeeded, result = self._answer(function, arguments)
            except (EOFError, ConnectionError):
                code = self.close()
                if code not in _CRASHES:
                    raise ChildProcessError(
                        f"Expected the process that calls {function.__name__} to end with its work (got {_end(code)}); "
                        f"if memory ran out, use fewer processes"
                    ) from None
                continue
            except BaseException:  # an answer that comes later is none to the next call
                self.close(at_once=True)
                raise
            if succeeded:
                return result  # type: ignore[no-any-return]
            raise result
        raise CrashError(f"{function.__name__} crashed twice ({_end(code)})")

    def close(self, at_once: bool = False) -> int | None:
        """End the process, after its work or at once, and give its exit code; ``None`` without a process."""
        if self._running is None:
            return None
        process, pipe = self._running
        self._running = None
        pipe.close()
        if at_once:
            process.kill()
        process.join()
        code = process.exitcode
        process.close()
        return code

    def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether a call succeeds, and its result or exception."""
        if self._made >= self.calls:
            self.close()
        if self._running is None:
            context = multiprocessing.get_context("spawn")
            pipe, other = context.Pipe()
            process = context.Process(target=_serve, args=(other,), daemon=True)
            with _single_threaded():
                process.start()
            other.close()  # so that its end is noticed
            self._running, self._made = (process, pipe), 0
        self._made += 1
        pipe = self._running[1]
        pipe.send((function, arguments))
        succeeded, result = pipe.recv()
        return succeeded, result


class CrashError(RuntimeError):
    """A function ended its process, more than once."""


def _serve(pipe: Connection) -> None:
    """Answer calls until the other end is closed."""
    _end_with_parent()
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, function(*arguments)
        except Exception as error:
            answer = False, error
        pipe.send(answer)


def _end(code: int | None) -> str:
    """How a process ended."""
    return f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"


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
