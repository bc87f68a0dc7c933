"""What every test starts from."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # the tests share the cores already; torch reads this when it is imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from tests.pictures import without_pictures


@pytest.fixture(autouse=True)
def same_start():
    """The same random numbers every run; torch warns every time, so that no test hides behind an earlier one.

    A training has its process flush denormal numbers; the next test is to have them again.
    """
    torch.manual_seed(0)
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)
    torch.set_flush_denormal(False)


@pytest.fixture(scope="module")
def no_pictures():
    """For modules none of whose tests looks at pictures of runs."""
    with without_pictures():
        yield
