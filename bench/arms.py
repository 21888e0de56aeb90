"""Arms that are measured in turn, a process each for every round: what such a bench is asked, keeps and says."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bench import kept
from bench.machine import describe, load

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median, and the least and the greatest."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def busy(run: Mapping[str, Any]) -> str:
    return f", {run['others']:.0f} other processes wanted a core" if run["others"] else ""


def heading(run: Mapping[str, Any]) -> str:
    """On which machine, when and how a kept run was measured."""
    about = f"{run['measured']}, {run['rounds']} rounds, chunks of {run['micro_tokens']} tokens{busy(run)}"
    return f"{kept.title(run['machine'])}, {about}:"


def parser(doc: str | None, arms: Iterable[str]) -> argparse.ArgumentParser:
    """What all such benches are asked; `--inside` is what their processes are told."""
    names = list(arms)
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--arms", nargs="+", default=names, choices=names)
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--micro-tokens", type=int, default=1024)
    made.add_argument("--dry", action="store_true", help="keep nothing")
    made.add_argument("--inside", choices=names, help=argparse.SUPPRESS)
    return made


def process(module: str, arm: str, micro_tokens: int, *more: str) -> dict[str, float]:
    """What a process of its own finds of an arm."""
    line = [sys.executable, "-m", module, "--inside", arm, "--micro-tokens", str(micro_tokens), *more]
    done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def run(
    name: str, given: argparse.Namespace, measure: Callable[[Sequence[str], int, int], Mapping[str, Mapping[str, Any]]]
) -> None:
    """Measures, and keeps the result and writes RESULTS.md unless it is a dry run."""
    others = load()
    found = measure(given.arms, given.rounds, given.micro_tokens)
    if not given.dry:
        about = {"machine": describe(), "measured": str(date.today()), "others": others}
        kept.keep(RESULTS, name, about | {"rounds": given.rounds, "micro_tokens": given.micro_tokens, "arms": found})
        from bench.rendering import render

        render()
