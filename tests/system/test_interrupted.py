"""Signals that come twice."""

import os
import signal
import subprocess
import sys

import pytest

from pitgeo.system import interrupted
from pitgeo.system.interrupted import hear_again, ignore_echoes


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in interrupted.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_do_nothing_for_a_while_then_what_they_did(monkeypatch):
    seen = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    now = 100.0
    monkeypatch.setattr(interrupted.time, "monotonic", lambda: now)
    ignore_echoes()
    now = 101.9
    os.kill(os.getpid(), signal.SIGTERM)
    assert seen == []
    now = 102.0
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    assert seen == [signal.SIGTERM] * 2


def test_it_is_taken_back_however_often_it_was_done():
    before = [signal.getsignal(number) for number in interrupted.SIGNALS]
    ignore_echoes()
    ignore_echoes()
    assert [signal.getsignal(number) for number in interrupted.SIGNALS] != before
    hear_again()
    assert [signal.getsignal(number) for number in interrupted.SIGNALS] == before


@pytest.mark.parametrize(("before", "code"), [("", 3), ("interrupted.ECHO = 0.0", -signal.SIGTERM)])
def test_a_process_that_ends_keeps_its_exit_code(before, code):
    script = f"""
import atexit, os, signal, sys
from pitgeo.system import interrupted
{before}
signal.signal(signal.SIGTERM, signal.SIG_DFL)
atexit.register(os.kill, os.getpid(), signal.SIGTERM)
interrupted.ignore_echoes()
sys.exit(3)
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == code
