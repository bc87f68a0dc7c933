"""Processes that train together: how they are started, wait for one another, and end when one is lost."""

from __future__ import annotations

import atexit
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from lightning.pytorch.utilities import rank_zero_only
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from pitgeo.config.config import TrainingConfig
from pitgeo.system.interrupted import InterruptionError, ignore_echoes
from pitgeo.training.distributed_context import CHILD, DistributedContext, find_context

log = logging.getLogger(__name__)

TIMEOUT = timedelta(minutes=30)
"""After this, a process that lives and does not answer counts as lost. One that ends is noticed at once."""

GRACE = 20.0
"""Seconds that a process has to end by itself after another was lost; it may hang in a call to that one."""

_FAREWELL = 5.0  # seconds that processes leave one another to end, so that one speaks for all
_POLL = 0.1


class WorkerLostError(RuntimeError):
    """A process that trained with this one has ended; the message says what is left."""


class Processes:
    """The processes of a training, seen from one of them.

    Args:
        context: Which one.
    """

    def __init__(self, context: DistributedContext) -> None:
        self.context = context
        self.children: list[subprocess.Popen[bytes]] = []
        self.is_inside = False
        self.is_broken = False
        self._store: Store | None = None
        self._turns = 0

    @contextmanager
    def by_turns(self) -> Iterator[None]:
        """Run a block in the first process, then in all the others at once: what it leaves on the disk is there."""
        self._turns += 1
        key = f"turn {self._turns}"
        if not self.context.is_first:
            self._await([key])
        yield
        if self.context.is_first and self._store is not None:
            self._store.set(key, "")

    def connect(self) -> None:
        """Make torch's process group, once; tensors on GPUs go by NCCL, others by gloo."""
        if self._store is None or dist.is_initialized():
            return
        rank, world = self.context.rank, self.context.world
        if self.context.is_first:
            self._await([f"here {other}" for other in range(1, world)])
        else:
            self._store.set(f"here {rank}", "")
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
        store = PrefixStore("group", self._store)
        dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=TIMEOUT)

    def open(self) -> None:
        """Start the other processes if that is to be done, and meet those that are there."""
        context = self.context
        if context.world == 1 or self._store is not None:
            return
        if context.launcher == "torchrun":
            self._store = next(iter(rendezvous("env://", timeout=TIMEOUT)))[0]
        else:
            host = dist.TCPStore  # type: ignore[attr-defined]
            store = host(
                context.address, context.port, context.world, context.is_first, TIMEOUT, wait_for_workers=False
            )
            if context.launcher == "pitgeo" and context.is_first:
                self.children = _start(context, store.port)
            self._store = store
        rank_zero_only.rank = context.rank  # type: ignore[attr-defined]  # as Lightning sets it

    def loss(self, ended: bool = False) -> str | None:
        """Which process was lost, as far as this one, or who started it, knows by itself.

        Args:
            ended: Whether one that ended in good order is lost too.
        """
        if self.context.parent and os.getppid() != self.context.parent:
            return f"process 0 of {self.context.world} was lost"
        for rank, child in enumerate(self.children, 1):
            code = child.poll()
            if code is None or (code == 0 and not ended):
                continue
            how = f"was lost, killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            return f"process {rank} of {self.context.world} {how}"
        return None

    def explain(self, error: Exception, checkpoint: Path) -> Exception:
        """The error, or, where it only says that another process is gone, what that means."""
        if isinstance(error, WorkerLostError) or not _is_connection(error):
            return error
        until = time.monotonic() + _FAREWELL
        while (what := self.loss()) is None and self.children and time.monotonic() < until:
            time.sleep(_POLL)
        if what is None and re.search(r"timed out|timeout", str(error), re.IGNORECASE):
            what = f"another process did not answer in time, {TIMEOUT.total_seconds():.0f} s"
        return WorkerLostError(_ending(what or "another process was lost, or has ended", checkpoint))

    def end(self, patience: float = 0.0) -> None:
        """End the processes that this one started.

        Args:
            patience: Seconds to end by themselves.
        """
        until = time.monotonic() + patience
        for child in self.children:
            try:
                child.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def await_end(self) -> None:
        """Leave the process that started this one the time to end it: its message is then the only one."""
        until = time.monotonic() + _FAREWELL
        while self.context.parent == os.getppid() and time.monotonic() < until:
            time.sleep(_POLL)

    def _await(self, keys: Sequence[str]) -> None:
        """Wait until others have set keys, however long it takes, unless one is lost.

        Raises:
            WorkerLostError: If one is.
        """
        while self._store is not None and not self._store.check(list(keys)):
            if (what := self.loss(ended=True)) is not None:
                raise WorkerLostError(f"{what} before training began; what it said is above")
            time.sleep(_POLL)


@contextmanager
def together(training: TrainingConfig, checkpoint: Path) -> Iterator[Processes]:
    """Be one of the processes that train together, as many as the configuration or the launcher says.

    Where nobody else did, this starts them: they repeat the command of this process from its beginning, meet it here,
    and stay until the script ends, so that a script may train several times. Inside, the loss of one ends all.

    Args:
        training: Numbers of devices and machines.
        checkpoint: What a lost run goes on from, for the message.

    Raises:
        WorkerLostError: If another process ended.
        ValueError: If the processes that were started are not those that the configuration asks for.
    """
    context = find_context(training)
    if context.world == 1:
        yield Processes(context)
        return
    processes = _joined(context)
    if processes.is_inside:
        yield processes
        return
    if processes.is_broken:
        raise WorkerLostError("The processes of this script have ended with its last training; start the script again")
    watch = _Watch(processes, checkpoint)
    watch.start()
    processes.is_inside = True
    try:
        processes.open()
        yield processes
    except BaseException as error:
        explained = error
        if isinstance(error, Exception) and not isinstance(error, InterruptionError):
            speak_first()  # once more: Lightning has put back the handlers it found
            processes.await_end()
            explained = processes.explain(error, checkpoint)
        elif isinstance(error, InterruptionError):
            ignore_echoes()
        processes.is_broken = True
        processes.end(_FAREWELL if isinstance(error, InterruptionError) else 0.0)  # all stop at the same step, then
        if explained is error:
            raise
        raise explained from error
    finally:
        watch.is_over.set()
        processes.is_inside = False


def speak_first() -> None:
    """Let no SIGTERM end this process, which ends by itself, before it has said why.

    A launcher sends one to all others as soon as it finds that a process was lost.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def is_first_process() -> bool:
    """Whether this process speaks for those that train together; alone, it does."""
    return all(processes.context.is_first for processes in _JOINED)


_JOINED: list[Processes] = []


def _joined(context: DistributedContext) -> Processes:
    """The one object of this process, that of the first training."""
    if not _JOINED:
        _JOINED.append(Processes(context))
        atexit.register(_leave, _JOINED[0])
    before = _JOINED[0]
    if before.context != context:
        raise ValueError(
            f"Expected every training of a script to take as many processes as its first with several, "
            f"{before.context.world} (got {context.world}); train with other numbers of devices in scripts of their own"
        )
    return before


def _leave(processes: Processes) -> None:
    """Let nothing stay behind."""
    if dist.is_initialized() and not processes.is_broken:
        dist.destroy_process_group()
    processes.end(GRACE)


def _start(context: DistributedContext, port: int) -> list[subprocess.Popen[bytes]]:
    """Repeat the command of this process for every further device."""
    if not hasattr(sys.modules["__main__"], "__file__"):
        raise ValueError(
            f"Expected a script or a command, which can be repeated for each of {context.world} devices (got an "
            f"interactive session); write the lines to a file, or train on one device"
        )
    started = []
    for rank in range(1, context.world):
        environment = {**os.environ, CHILD: f"{rank} {context.world} {port} {os.getpid()}"}
        started.append(subprocess.Popen([sys.executable, *sys.orig_argv[1:]], env=environment))
    return started


class _Watch(threading.Thread):
    """End this process when another is lost and it does not find out, because it hangs in a call to that one."""

    def __init__(self, processes: Processes, checkpoint: Path) -> None:
        super().__init__(daemon=True, name="watch")
        self.processes = processes
        self.checkpoint = checkpoint
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(5 * _POLL):
            if (what := self.processes.loss()) is None:
                continue
            if not self.is_over.wait(GRACE):
                log.critical("pitgeo: error: %s", _ending(what, self.checkpoint))
                self.processes.end()
                os._exit(1)
            return


def _ending(what: str, checkpoint: Path) -> str:
    if "exit code" in what:
        what += "; what it said is above"
    if not checkpoint.exists():
        return f"{what}, and with it the run; no checkpoint had been written yet: start it again"
    return f"{what}, and with it the run; go on from {checkpoint} with the same command and 'resume'"


def _is_connection(error: BaseException) -> bool:
    """Whether an error says no more than that another process cannot be reached."""
    if isinstance(error, dist.DistError):
        return True
    return isinstance(error, RuntimeError) and bool(
        re.search(r"gloo|nccl|connection (closed|reset|refused)|broken pipe|socket", str(error), re.IGNORECASE)
    )
