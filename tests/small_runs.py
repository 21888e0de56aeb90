"""Runs of a second through the command line: a model that knows nothing, a few rows a step, and what a run came to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from crashes import digest_of, small_policy

from assay.cli.main import main
from assay.record.folder import RunFolder
from assay.run import bases
from assay.run.recorder import timeless

ROOT = Path(__file__).parents[1]
SIZES = {
    "scale.num-prompts": 2,
    "scale.group-size": 2,
    "scale.max-new": 6,
    "evaluation.every": 2,
    "evaluation.num-problems": 2,
    "evaluation.num-samples": 2,
    "evaluation.final-problems": 2,
    "evaluation.final-samples": 2,
    "saving.every": 1,
    "machine.threads": 1,
}
STEPS = 4
GRADED = """
def graded(completions, **columns):
    return [sum(map(ord, text)) % 7 / 6 for text in completions]
"""
"""The source of a reward function that sees differences in answers which are never right."""


@dataclass(frozen=True)
class Reply:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as one JSON document; nothing may stand before or behind it."""
        return json.loads(self.out)


class Shell:
    """`assay ARGUMENTS` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> Reply:
        self.capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = self.capsys.readouterr()
        return Reply(code, out, err)


def calm_and_killed(line_of: Callable[[Path], list[str]], folder: Path, shell: Shell) -> tuple[str, str]:
    """The digests of a run, and of the same run killed before its third update and resumed."""
    calm, killed = folder / "calm", folder / "killed"
    assert shell(*line_of(calm)).code == 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ASSAY_FAILPOINT": "loop.update:kill:3"}
    line = [sys.executable, "-m", "assay", *line_of(killed)]
    died = subprocess.run(line, env=environment, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert shell("resume", killed).code == 0
    return digest_of(calm), digest_of(killed)


def sizes(**changes: object) -> list[str]:
    """The settings of a small run as arguments; `saving_every=2` changes one."""
    chosen = SIZES | {name.replace("_", ".", 1).replace("_", "-"): value for name, value in changes.items()}
    return [part for name, value in chosen.items() for part in (f"--{name}", str(value))]


def train_line(model: Path, run: Path, *more: str, recipe: str = "grpo", **changes: object) -> list[str]:
    line = ["train", recipe, "--model", str(model), "--task", "countdown:3", "--steps", str(STEPS), "--run", str(run)]
    return [*line, *sizes(**changes), *more]


def make_model(folder: Path) -> Path:
    small_policy(folder)
    return folder


def make_bases(folder: Path) -> Path:
    """A cache in which every base is there already: a small model that knows nothing."""
    with mock.patch.object(bases, "cache_folder", lambda: folder):
        for base in bases.BASES.values():
            make_model(bases.folder_of(base))
    return folder


def came_to(run: Path) -> tuple[int, dict[str, bytes], list[dict[str, Any]], list[dict[str, Any]]]:
    """Everything that a run computed: last step, bytes of its checkpoint, metrics without times, held-out scores."""
    folder = RunFolder.read_only(run)
    checkpoint = folder.load()
    assert checkpoint is not None
    files = {name: checkpoint.file(name).read_bytes() for name in checkpoint.names}
    return checkpoint.step, files, [timeless(record) for record in folder.read("metrics")], folder.read("evals")


def steps_of(run: Path) -> list[int]:
    return [record["step"] for record in RunFolder.read_only(run).read("metrics")]


def copy_of(run: Path, target: Path) -> Path:
    shutil.copytree(run, target)
    return target


def program(
    arguments: Sequence[str], *, given: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter of the same version, with the repository on its path, and `given` on its standard input."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment
    line = [sys.executable, *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=env, check=False, input=given)
