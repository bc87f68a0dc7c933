"""How threads of numerical libraries wait for each other, and how many there may be."""

from __future__ import annotations

import os

from pitgeo.system.processes import group_cores

SPINS = "1000"
"""How often a thread of GNU's OpenMP looks whether the others have come before it sleeps: some microseconds."""


def share_processors() -> None:
    """Set OpenMP's variables, unless they are set, so that training does not stall where other programs run.

    Threads of GNU's OpenMP, which torch's packages for Linux have, wait for each other at the end of every operation
    by looking again and again, for some milliseconds. Where another program has one of the processors, the thread that
    looks keeps the one that works from it. Threads that sleep soon leave it free.

    Call this before torch is loaded. Commands do; importing pitgeo sets nothing.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    cores = group_cores()
    if cores is not None:
        os.environ.setdefault("OMP_THREAD_LIMIT", str(cores))
