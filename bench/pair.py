"""Two live processes that take steps in turn, so that whatever else the machine does disturbs both."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "bench" / "logs"


class Missing(Exception):
    """A system that is not installed here; the message says how to install it."""


class Broken(Exception):
    """A measured process ended before its time; the message holds its last words."""


@dataclass(frozen=True)
class System:
    """How a system's process is started."""

    name: str
    venv: str
    module: str
    preload: str = ""  # a library of the environment, as a glob, that its authors advise to load first
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # options to choose among, one after another

    @property
    def python(self) -> Path:
        return ROOT / self.venv / "bin" / "python"

    def check(self) -> None:
        if not self.python.exists():
            name = self.venv.removeprefix(".venv-")
            raise Missing(
                f"{self.name} is not installed: {self.venv} is missing. Make it with: bash bench/setup.sh {name}"
            )


class Worker:
    """A process of a system, started with these arguments; `step` lets it take one step and gives its numbers."""

    def __init__(self, system: System, arguments: Sequence[str], *, log: str) -> None:
        system.check()
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{log}.log"
        self.system = system
        environment = dict(os.environ)
        libraries = sorted((ROOT / system.venv).glob(system.preload)) if system.preload else []
        if libraries:
            environment["LD_PRELOAD"] = ":".join(map(str, libraries))
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                [str(system.python), "-m", system.module, *arguments],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
            )
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> Worker:
        try:
            ready = self._event("ready")
        except Broken:
            self.close()
            raise
        self.facts = ready["facts"] | {"idle_mb": ready["peak_mb"]}
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self) -> dict[str, float]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("\n")
        except BrokenPipeError:
            raise Broken(self._last_words()) from None
        event = self._event("step")
        return {name: value for name, value in event.items() if name != "event"}

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _event(self, kind: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise Broken(self._last_words())
        event = json.loads(line)
        if event["event"] != kind:
            raise Broken(f"{self.system.name}: expected a {kind} event, came {line.strip()}")
        return event

    def _last_words(self) -> str:
        words = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()][-3:]
        return f"{self.system.name} ended early (whole log: {self.log.relative_to(ROOT)}): " + " | ".join(words)


Steps = list[dict[str, float]]


def paired(
    theirs: Worker, ours: Worker, *, warmup: int, pairs: int, heard: Callable[[str], None]
) -> tuple[Steps, Steps]:
    """`pairs` steps of each after `warmup`; who goes first alternates."""
    kept: tuple[Steps, Steps] = ([], [])
    for index in range(warmup + pairs):
        made: dict[int, dict[str, float]] = {}
        for side in (0, 1) if index % 2 == 0 else (1, 0):
            made[side] = (theirs, ours)[side].step()
        if index >= warmup:
            kept[0].append(made[0])
            kept[1].append(made[1])
        name = f"pair {index - warmup + 1}/{pairs}" if index >= warmup else "warm-up"
        heard(f"{name}: {theirs.system.name} {made[0]['seconds']:.2f} s, {ours.system.name} {made[1]['seconds']:.2f} s")
    return kept
