"""Memory of a tensor that is gone serves the next one."""

import gc
import subprocess
import sys

import pytest

from pitgeo.system.memory import importing

SCRIPT = """
import resource, torch
import pitgeo.data, pitgeo.nn  # as where something is trained
from pitgeo.system.memory import keep_memory
def faults():
    for _ in range(20):  # at first, pieces of memory that glibc keeps for small objects lie between those of tensors
        torch.ones(2**24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
without = faults()
print(keep_memory(), without, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_large_tensors_are_not_faulted_in_again():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    is_kept, without, kept = done.stdout.split()
    if is_kept != "True":
        pytest.skip("another C library than glibc")
    assert int(kept) < int(without) / 10


def test_garbage_is_collected_again_after_imports():
    with pytest.raises(ImportError), importing():
        assert not gc.isenabled()
        import pitgeo.missing  # noqa: F401
    assert gc.isenabled()
    gc.disable()
    try:
        with importing():
            pass
        assert not gc.isenabled()  # as whoever calls this wanted it
    finally:
        gc.enable()
