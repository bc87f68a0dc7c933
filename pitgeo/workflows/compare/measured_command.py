"""Run a command and record its time and peak memory: ``python _measure.py RECORD COMMAND...``.

Run by its path, so that it stays a few megabytes small: on Linux a process counts the memory of the one that started
it towards its own peak. A record that is there already is added to, as when an interrupted run is resumed. When the
process that started this one is gone, the command is told to stop: two must never train in one folder.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time


def main() -> int:
    """Run the command; return its exit status."""
    record, *command = sys.argv[1:]
    signal.signal(signal.SIGINT, lambda number, frame: None)  # Ctrl-C reaches the command too: wait for it
    start, parent, orphaned = time.monotonic(), os.getppid(), False
    process = subprocess.Popen(command)
    signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        if os.getppid() != parent and not orphaned:
            orphaned = True
            process.send_signal(signal.SIGTERM)
    status = process.returncode
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    seconds = time.monotonic() - start
    if os.path.exists(record):
        with open(record, encoding="utf-8") as file:
            before = json.load(file)
        peak, seconds = max(peak, before["peak_memory_bytes"]), seconds + before["wall_seconds"]
    with open(record + ".part", "w", encoding="utf-8") as file:
        json.dump({"wall_seconds": round(seconds, 3), "peak_memory_bytes": peak}, file)
    os.replace(record + ".part", record)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
