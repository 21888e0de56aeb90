"""The devices of this machine, and the memory that is free for this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError


@dataclass(frozen=True)
class Room:
    """The number of bytes that a run may take, and in which memory: `Room(8 << 30, "in this machine")`."""

    bytes: int
    where: str


def room_of(device: str) -> Room:
    """The memory that is free for this process: on a GPU, or in this machine and under the limit of its container."""
    if device.startswith("cuda"):
        import torch

        return Room(torch.cuda.mem_get_info(device)[0], f"on {torch.cuda.get_device_name(device)}")
    free = [(size, where) for size, where in _free() if size is not None]
    if not free:
        return Room(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "in this machine")
    size, where = min(free)
    return Room(size + _resident(), where)


def holds_twice(size: int) -> bool:
    """Whether this machine, under the limit of its container, has room for twice so many bytes. A copy of a state
    beside training takes half of them; the other half stays free for the memory that training takes meanwhile.
    """
    return 2 * size <= min((free for free, _ in _free() if free is not None), default=0)


def _free() -> Iterator[tuple[int | None, str]]:
    yield _meminfo("MemAvailable"), "in this machine"
    group = Path("/sys/fs/cgroup")
    for limit, used, inactive in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, now = _number(group / limit), _number(group / used)
        if most is not None and now is not None:
            stat = (group / limit).with_name("memory.stat")
            yield most - now + _statistic(stat, inactive), "under the limit of this container"


def _meminfo(name: str) -> int | None:
    lines = _text(Path("/proc/meminfo")).splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:")), None)


def _statistic(path: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in _text(path).splitlines() if line.split()[0] == name), 0)


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _resident() -> int:
    fields = _text(Path("/proc/self/statm")).split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def cores() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def device_of(name: str) -> str:
    """The device of this name. `auto` is the GPU if torch sees one, else the processor; unknown names are refused."""
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if gpus else "cpu"
    there = ["cpu", *(["cuda", *(f"cuda:{i}" for i in range(gpus))] if gpus else [])]
    there += ["mps"] if torch.backends.mps.is_available() else []
    if name not in there:
        raise ConfigError(
            f"machine.device is '{name}', and torch sees {', '.join(there)} here. Take one of them or 'auto'; "
            "`assay doctor` says what a GPU would need."
        )
    return name
