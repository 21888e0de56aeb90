"""What the measurements ran on, and how fast this machine multiplies matrices: seconds alone say nothing."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from assay.host.processor import cores, facts

FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_tile")


def describe() -> dict[str, Any]:
    found = facts()
    present = set(found.get("flags", "").split())
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": found.get("model name", platform.processor()),
        "cores": cores(),
        "flags": [flag for flag in FLAGS if flag in present],
        "memory_gib": round(pages / 2**30, 1),
        "python": platform.python_version(),
    }


def load() -> float:
    """Processes that want a core now, this one aside: not the load average, which remembers a minute."""
    running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    return float(max(0, running - 1))


def ceiling(dtype: str, *, size: int = 1024, seconds: float = 2.0) -> float:
    """GFLOP/s of the best of many square matrix products."""
    import torch

    a = torch.ones(size, size, dtype=getattr(torch, dtype))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(a, a)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9
