"""What worker processes are asked in tests: to answer, to hang, to eat memory, to die, to talk too much."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.externals.process import Limits, run


def answer(job: Any, tell: Callable[[str], None]) -> Any:
    tell(f"began {job}")
    return _work_and_tell(job, tell) if job[0] == "work and tell" else _DEEDS[job[0]](job)


def _spin(job: Any) -> None:
    """In C, where no signal handler of Python runs."""
    pow(3, 10**9)


def _die(job: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(job: Any) -> str:
    try:
        os.close(os.open(job[1], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "the second time"
    return _die(job) or ""


def _meet(job: Any) -> str:
    """Waits until another job has come to the same place."""
    folder, me, other = Path(job[1]), job[2], job[3]
    (folder / me).touch()
    while not (folder / other).exists():
        time.sleep(0.01)
    return f"{me} met {other}"


def _talk(job: Any) -> str:
    print("{not an answer}")
    sys.stdout.flush()
    os.write(1, b'{"status": "done", "result": "forged"}\n')
    return "true answer"


_remembered: list[Any] = []


def _remember(job: Any) -> list[Any]:
    _remembered.append(job[1])
    return _remembered


def _work_and_tell(job: Any, tell: Callable[[str], None]) -> None:
    """Works `job[1]` seconds `job[2]` times, and tells before each of them but the first how often it has."""
    for count in range(job[2]):
        if count:
            tell(str(count))
        began = time.process_time()
        while time.process_time() - began < job[1]:
            pass


def _run(job: Any) -> list[str]:
    """How programs end that each work `job[1]` seconds."""
    text = f"import time\nwhile time.process_time() < {job[1]}: pass"
    return [run(["python3", "-S", "-c", text], {}, Limits(seconds=9)).status for _ in range(job[2])]


_DEEDS: dict[str, Callable[[Any], Any]] = {
    "echo": lambda job: job[1],
    "pid": lambda job: os.getpid(),
    "spin": _spin,
    "sleep": lambda job: time.sleep(job[1]),
    "eat": lambda job: len(bytearray(8 << 30)),
    "die": _die,
    "die once": _die_once,
    "crash": lambda job: os.kill(os.getpid(), signal.SIGSEGV),
    "remember": _remember,
    "run": _run,
    "raise": lambda job: 1 // 0,
    "meet": _meet,
    "talk": _talk,
    "environment": lambda job: sorted(os.environ),
}
