"""Commands in processes of their own, forked from one that has done the imports, which take most of the time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import json, os, runpy, sys
import pitgeo.prediction.predictor, pitgeo.workflows.run
for line in sys.stdin:
    folder, arguments = json.loads(line)
    if (child := os.fork()) == 0:
        for number, name in enumerate(("out", "err"), 1):
            os.dup2(os.open(os.path.join(folder, name + ".txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(folder)
        sys.argv[1:] = arguments
        runpy.run_module("pitgeo", run_name="__main__", alter_sys=True)  # ends in SystemExit, as it does without a fork
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Commands:
    """Runs ``python -m pitgeo``, one command after the other; of no use to one that looks at what is imported."""

    def __init__(self, **environment: str) -> None:
        given = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._server = subprocess.Popen(command, env={**given, **environment}, **pipes)  # type: ignore[call-overload]
        self._running: int | None = None

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *error: object) -> None:
        if self._running is not None:
            os.kill(self._running, signal.SIGKILL)
        self._server.communicate()  # the end of its input ends it

    def start(self, folder: Path, *arguments: object) -> int:
        """Start a command in a folder; gives the number of its process."""
        print(json.dumps([str(folder), [str(part) for part in arguments]]), file=self._server.stdin, flush=True)
        self._running = int(self._server.stdout.readline())
        return self._running

    def wait(self) -> int:
        """The exit code of the command that was started last; ``out.txt`` and ``err.txt`` hold what it said."""
        code = int(self._server.stdout.readline())
        self._running = None
        return code

    def run(self, folder: Path, *arguments: object) -> tuple[int, bytes, bytes]:
        """A command's exit code, and what it said."""
        self.start(folder, *arguments)
        return self.wait(), (folder / "out.txt").read_bytes(), (folder / "err.txt").read_bytes()
