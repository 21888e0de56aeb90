"""What attacks are made of, and the place where they are run: a child with limits of addresses and of seconds each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from small_runs import ROOT

SOON = 20.0  # seconds, on a machine that does other work; alone an attack takes one
LITTLE = 400  # MiB that may be touched: torch's own beginnings are a hundred
NESTED = "[" * 1_000_000 + "]" * 1_000_000
DEEP = "[" * 500 + "]" * 500  # deep enough to break whoever walks through it, not the reader of JSON
Harm = Callable[[Path], Any]


@dataclass(frozen=True)
class Told:
    """What became of an attack."""

    code: int
    told: str
    seconds: float
    grew_mb: int


class Arena:
    """Where attacks are run; its process imports what they need once."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"}
        program = [sys.executable, str(Path(__file__).with_name("attack_child.py"))]
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __call__(self, *line: object) -> Told:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"line": [str(word) for word in line]}) + "\n")
        self.process.stdin.flush()
        return Told(**json.loads(self.process.stdout.readline()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait()

    def refused(self, *line: object, words: str, code: int | tuple[int, ...] = (64, 74, 78)) -> Told:
        found = self(*line)
        assert found.code in (code if isinstance(code, tuple) else (code,)), found
        assert words in found.told, found
        assert found.seconds < SOON and found.grew_mb < LITTLE, found
        return found


def edited(name: str, **changes: Any) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        found = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**found, **changes}))

    return harm


def written(name: str, content: str | bytes) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return harm


def pipe(name: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return harm


def endless(name: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("/dev/zero")

    return harm


def hole(name: str, size: int) -> Callable[[Path], None]:
    """A file of this size that takes no room on the disk."""

    def harm(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).touch()
        os.truncate(folder / name, size)

    return harm
