"""What a run takes in two trees: the same command of each in turn, as ratios of new to old.

    python -m bench.beside OLD              # a commit against the working tree, grpo and ppo on countdown, both engines
    python -m bench.beside OLD NEW --rounds 9
    python -m bench.beside OLD --runs grpo:native --steps 40

A round runs the old tree, the new and the old again or the other way round, so that neither always comes first, and
a ratio takes the mean of the two that stand around. Steps are seconds of the clock, the median of a run; processor
seconds are of the whole command, and other work on the machine disturbs them less. Each tree has a core of its own.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.record import RunFolder
from assay.run.bases import base, folder_of
from bench.equal_bits import KEEP, Tree, tree
from bench.machine import describe, load

TASK, MODEL = "countdown:3", "countdown"
RUNS = ("grpo:native", "grpo:torch", "ppo:native")
SETTINGS = ("--scale.num_prompts", "16", "--machine.threads", "1", "--quiet")
SETTINGS += ("--evaluation.every", "0", "--evaluation.final_problems", "8", "--evaluation.final_samples", "1")
MOST = 1.02  # the goal: at most two parts in a hundred


class Cost(NamedTuple):
    """Of a run."""

    step: float  # seconds of the clock, the median
    busy: float  # processor seconds of the command


def cost(side: Tree, run: str, model: Path, steps: int) -> Cost:
    recipe, engine = run.split(":")
    with tempfile.TemporaryDirectory() as scratch:
        asked = [
            "train",
            recipe,
            "--model",
            str(model),
            "--task",
            TASK,
            "--steps",
            str(steps),
            "--run",
            scratch + "/run",
        ]
        command = [sys.executable, "-P", "-m", "assay", *asked, "--machine.engine", engine, *SETTINGS]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=side.environment, cwd=scratch, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{side.said}: {done.stderr.strip()[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = RunFolder.read_only(Path(scratch, "run")).read("metrics")
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(statistics.median(row["time/step"] for row in rows), busy)


def ratios(old: Tree, new: Tree, run: str, model: Path, *, rounds: int, steps: int) -> list[Cost]:
    """New to old, for each round."""
    result = []
    for number in range(rounds):
        outer, inner = (old, new) if number % 2 else (new, old)
        first, middle, last = (cost(side, run, model, steps) for side in (outer, inner, outer))
        around = Cost(*(statistics.mean(pair) for pair in zip(first, last, strict=True)))
        above, below = (middle, around) if inner is new else (around, middle)
        result.append(Cost(above.step / below.step, above.busy / below.busy))
        print(
            f"{run}: round {number + 1} of {rounds}: step {result[-1].step:.3f}, processor {result[-1].busy:.3f}",
            flush=True,
        )
    return result


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="a commit, or a folder that holds `assay`")
    parser.add_argument("new", metavar="NEW", nargs="?", help="likewise; default: the working tree")
    parser.add_argument("--runs", default=",".join(RUNS), help=f"recipe:engine, ...; default {','.join(RUNS)}")
    parser.add_argument("--rounds", type=int, default=5, help="of each run; default 5")
    parser.add_argument("--steps", type=int, default=25, help="of a run; default 25")
    asked = parser.parse_args(arguments)
    KEEP.mkdir(parents=True, exist_ok=True)
    model = folder_of(base(MODEL))
    with tree("old", asked.old, KEEP) as old, tree("new", asked.new, KEEP) as new:
        for side in (old, new):  # compiles its core and its bytecode
            cost(side, asked.runs.split(",")[0], model, 1)
        found = {
            run: ratios(old, new, run, model, rounds=asked.rounds, steps=asked.steps) for run in asked.runs.split(",")
        }
    print(f"{describe()}, others {load()}; new / old, median (least to most) of {asked.rounds} rounds; goal {MOST}")
    for run, values in found.items():
        print(f"{run:<14} step {spread([v.step for v in values])}   processor {spread([v.busy for v in values])}")


if __name__ == "__main__":
    main()
