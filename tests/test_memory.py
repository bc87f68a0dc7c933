"""Memory of a tensor that is gone serves the next one."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, torch
from pitgeo.memory import keep_memory
kept = {keep} and keep_memory()
torch.ones(2**25)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(2**25)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_large_tensors_are_not_faulted_in_again():
    faults = {}
    for keep in (False, True):
        done = subprocess.run([sys.executable, "-c", SCRIPT.format(keep=keep)], capture_output=True, text=True)
        kept, count = done.stdout.split()
        if keep and kept == "False":
            pytest.skip("another C library than glibc")
        faults[keep] = int(count)
    assert faults[True] < faults[False] / 10
