"""The processor of this machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

INFO = Path("/proc/cpuinfo")


def facts() -> dict[str, str]:
    """The kernel's description of the first processor; empty where there is none."""
    lines = INFO.read_text(encoding="utf-8").splitlines() if INFO.exists() else []
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in reversed(lines))}


def processor() -> str:
    """The name of the processor, and how many of its cores this process may use."""
    return f"{facts().get('model name') or platform.processor() or platform.machine()}, {cores()} cores"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
