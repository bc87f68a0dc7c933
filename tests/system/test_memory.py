"""Memory of a tensor that is gone serves the next one."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, torch
import pitgeo.data, pitgeo.nn  # as where something is trained
from pitgeo.system.memory import keep_memory
kept = {keep} and keep_memory()
for _ in range(20):  # at first, pieces of memory that glibc keeps for small objects lie between those of tensors
    torch.ones(2**25)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(2**25)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_large_tensors_are_not_faulted_in_again():
    def faults(keep):
        script = SCRIPT.format(keep=keep)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        kept, count = done.stdout.split()
        return int(count) if not keep or kept == "True" else None

    without = faults(False)
    kept = faults(True)
    if kept is None:
        pytest.skip("another C library than glibc")
    assert kept < without / 10
