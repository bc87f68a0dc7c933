"""How the C library handles memory that large tensors have used, and when Python looks for garbage."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of glibc's mallopt
_LARGEST, _ONCE_LARGEST = 2**30, 2**25  # the second is what older versions take


def keep_memory() -> bool:
    """Have this process keep the memory of tensors that are gone for the next ones, up to a gigabyte at the end.

    glibc gives tensors of more than 32 MB back to the system at once, and gets them anew page by page, which can take
    longer than what is done with them. Other C libraries, and other systems, are left as they are.

    Returns:
        Whether the C library took it.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None or not any(mallopt(_MMAP_THRESHOLD, size) == 1 for size in (_LARGEST, _ONCE_LARGEST)):
        return False  # the other alone would stop glibc from finding a good value itself
    return bool(mallopt(_TRIM_THRESHOLD, _LARGEST) == 1)


@contextmanager
def importing() -> Iterator[None]:
    """Import large libraries in this block without looking for garbage, of which imports make next to none.

    Otherwise Python looks through all that they have made again and again, a fifth of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
