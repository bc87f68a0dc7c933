"""Readers in a separate process: on damaged files some readers of VTK and meshio crash or hang.

The process starts with the first file, serves all that follow, and ends with the program. What it reads comes back by
pickle, between two halves of one program.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from pitgeo.mesh.errors import InputError, UnreadableError
from pitgeo.mesh.formats import Reader
from pitgeo.mesh.mesh import Mesh

SECONDS = 10.0
"""Processor time that a small file may take."""

PER_MEGABYTE = 2.0
"""Seconds more for each megabyte of the file."""

_process: subprocess.Popen[bytes] | None = None
_owner = 0  # of the process: a program that was forked needs one of its own


def read_apart(read: Callable[[Reader, Path], Mesh], reader: Reader, path: Path) -> Mesh:
    """Call ``read(reader, path)`` in a separate process, so that the reader may crash or hang.

    Args:
        read: A function of a module.
        reader: The reader to read with.
        path: The file.

    Raises:
        UnreadableError: If the reader does not read the file, crashes, or does not come to an end.
        ValueError: If the file is refused.
    """
    global _process, _owner
    if _process is None or _owner != os.getpid() or _process.poll() is not None:
        _process, _owner = _started(), os.getpid()
    sent, received = cast(BinaryIO, _process.stdin), cast(BinaryIO, _process.stdout)
    limit = SECONDS + PER_MEGABYTE * path.stat().st_size / 1e6
    try:
        pickle.dump((read, reader, str(path), os.getcwd(), limit), sent)
        sent.flush()
        content = pickle.load(received)
    except (EOFError, OSError, pickle.UnpicklingError):
        code = _process.wait()
        _stop()
        ended = f"does not come to an end within {limit:.0f} s of processor time"
        what = ended if -code == getattr(signal, "SIGXCPU", None) else "crashes"
        raise UnreadableError(f"the reader {what}, as it may on damaged files") from None
    except BaseException:  # half an answer may be under way
        _stop()
        raise
    if isinstance(content, Exception):
        raise content
    return cast(Mesh, content)


def serve() -> None:
    """Read one file after the other on request of :func:`read_apart`; the main loop of the process."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where readers may print
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that asks stops it
    while True:
        try:
            read, reader, path, folder, limit = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        os.chdir(folder)  # the path may be relative, and messages hold it as it is
        _limit(limit)
        answer: Mesh | Exception
        try:
            answer = read(reader, Path(path))
        except (UnreadableError, InputError, FileNotFoundError, PermissionError) as error:
            answer = error
        except MemoryError:
            answer = UnreadableError("it asks for more memory than there is")
        except Exception as error:  # those of other libraries may not come through
            answer = UnreadableError(f"{type(error).__name__} {error}")
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _started() -> subprocess.Popen[bytes]:
    atexit.register(_stop)
    command = [sys.executable, "-W", "ignore", "-c", "from pitgeo.mesh.apart import serve; serve()"]
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    )


def _stop() -> None:
    global _process
    if _process is not None:
        _process.kill()
        _process.wait()
        for end in (_process.stdin, _process.stdout):
            with contextlib.suppress(OSError):
                cast(BinaryIO, end).close()
        _process = None


def _limit(seconds: float) -> None:
    """Limit the processor time from now on, and the memory to that of the machine."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = sum(os.times()[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, hard))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory if hard < 0 else min(memory, hard), hard))
