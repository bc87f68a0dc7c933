"""A command that is measured: its time, its memory, its end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from pitgeo.workflows.compare import measured_command as _measure


def test_measure_adds_up(tmp_path: Path) -> None:
    record = tmp_path / "record.json"

    def measure(code: str) -> tuple[int, dict[str, float]]:
        command = [sys.executable, "-I", "-S", str(_measure.__file__), str(record), sys.executable, "-S", "-c", code]
        status = subprocess.run(command, check=False).returncode
        return status, json.loads(record.read_text())

    status, first = measure("import sys; block = bytearray(10**8); sys.exit(3)")
    assert status == 3
    assert 1e8 < first["peak_memory_bytes"] < 1.5e8
    status, second = measure("pass")
    assert status == 0
    assert second["peak_memory_bytes"] == first["peak_memory_bytes"]
    assert second["wall_seconds"] > first["wall_seconds"]
    assert measure("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")[0] == 137


def test_measure_stops_the_command_when_its_starter_is_gone(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    child = (
        "import pathlib, signal, sys, time\n"
        f"note = pathlib.Path({str(note)!r})\n"
        "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(note.write_text('stopped') and 0))\n"
        "note.write_text('started')\n"
        "time.sleep(60)\n"
    )
    measure = [sys.executable, "-I", "-S", str(_measure.__file__), str(tmp_path / "record.json")]
    command = [*measure, sys.executable, "-S", "-c", child]
    starter = f"import subprocess, time; subprocess.Popen({command!r}); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-S", "-c", starter]) as process:
        wait_for(note, "started")
        process.kill()
    wait_for(note, "stopped")
    wait_for(tmp_path / "record.json")


def wait_for(path: Path, content: str = "") -> None:
    for _ in range(200):
        if path.exists() and content in path.read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written in time")
