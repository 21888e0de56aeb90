"""A copy of the repository in which files are added, what that touched, and programs that run in it."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from small_runs import ROOT

Contents = dict[Path, list[str]]


def copy_of_the_repository(folder: Path) -> Path:
    """The package, its tests, benches and pages, and its settings; without the runs of studies, which may be large.
    Bytecode comes along: half of the time would go to compiling.
    """
    for name in ("assay", "tests", "bench", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("built", "runs"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def contents(folder: Path) -> Contents:
    """The lines of every file."""
    return {
        path.relative_to(folder): path.read_text(errors="replace").splitlines()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def touched(before: Contents, after: Contents) -> dict[Path, list[str]]:
    """Of each file that was there before and has changed, the lines that came (`+ `) and went (`- `)."""
    return {
        path: [line for line in difflib.ndiff(lines, after.get(path, [])) if line[:1] in "+-"]
        for path, lines in before.items()
        if lines != after.get(path)
    }


def python(*arguments: str, place: Path, path: Path = ROOT, must: bool = True, **environment: str) -> str:
    """What a fresh interpreter printed in this folder, with `path` to import from; it `must` succeed."""
    env = os.environ | {"PYTHONPATH": str(path), "OMP_NUM_THREADS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    line = [sys.executable, *arguments]
    done = subprocess.run(line, cwd=place, env=env | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not must, done.stdout + done.stderr
    return done.stdout


def lint(place: Path, *files: str) -> None:
    """These files, or all of the folder, are as the linter and the formatter want them."""
    python("-m", "ruff", "check", "--no-cache", *(files or ["."]), place=place)
    python("-m", "ruff", "format", "--no-cache", "--check", *(files or ["."]), place=place)
