"""How the C library handles memory that large tensors have used."""

from __future__ import annotations

import ctypes
import sys

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
