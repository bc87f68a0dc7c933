"""What numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch

from pitgeo.system.processes import cores


def machine() -> dict[str, Any]:
    """Processor, cores, threads, memory, accelerator and system of this machine."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    return {
        "processor": processor,
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "accelerator": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "system": platform.platform(terse=True),
    }
