"""How long a step of training waits for verdicts with nothing else to do, where a foreign program judges the answers.

    python -m bench.waiting                    # every task with a base whose answers a foreign program judges
    python -m bench.waiting sql coq --dry      # some of them; only prints

GRPO trains the base of each task for a few steps, twice in turn: once the answers are judged while others are still
sampled, once at the end of sampling. A share is the wait of a step divided by the step; the first step, which starts
the foreign programs, is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from assay.collect import AtEnd, Verdicts
from assay.errors import unknown
from assay.known import recipe
from assay.record.folder import RunFolder
from assay.run import bases, session
from assay.run.grader import Grader
from assay.source import Pool
from assay.tasks import TASKS as TASKS_OF_ALL
from bench import kept
from bench.machine import describe, load

RESULTS = Path(__file__).resolve().parent / "results"
NAME = "waiting"
STEPS = 7
TASKS = tuple(name for name in bases.BASES if name in TASKS_OF_ALL and TASKS_OF_ALL[name].checker.externals)
SETTINGS = {
    "scale.num-prompts": "16",
    "scale.group-size": "8",
    "scale.learning-rate": "3e-4",
    "machine.threads": "2",
    "evaluation.every": "0",
    "evaluation.final-problems": "8",
    "evaluation.final-samples": "1",
}


def _at_end(self: Grader, pool: Pool) -> Verdicts:
    return AtEnd(self)


@contextmanager
def judged(ahead: bool) -> Iterator[None]:
    """Inside, runs judge while they sample, as they do anyway, or at the end of sampling."""
    before = Grader.verdicts
    if not ahead:
        Grader.verdicts = _at_end  # type: ignore[method-assign]
    try:
        yield
    finally:
        Grader.verdicts = before  # type: ignore[method-assign]


def steps(task: str, ahead: bool) -> dict[str, float]:
    """Medians over the steps of a run: seconds of a step, of sampling and judging, and of the wait."""
    pool = bases.base(task).pool
    made, _ = session.plan(recipe("grpo"), model=task, pool=pool, seed=0, steps=STEPS, overrides=SETTINGS)
    with judged(ahead), tempfile.TemporaryDirectory() as scratch:
        metrics = RunFolder.read_only(session.start(made, Path(scratch) / "run", quiet=True)).read("metrics")[1:]
    wait = [m["time/reward_wait"] if ahead else m["time/reward"] for m in metrics]
    return {
        "step": statistics.median(m["time/step"] for m in metrics),
        "collect": statistics.median(m["time/collect"] for m in metrics),
        "wait": statistics.median(wait),
        "share": statistics.median(w / m["time/step"] for w, m in zip(wait, metrics, strict=True)),
    }


def measure(task: str, rounds: int) -> dict[str, list[dict[str, float]]]:
    """`ahead` and `end` -> one measurement a round, in turn."""
    found: dict[str, list[dict[str, float]]] = {"ahead": [], "end": []}
    for number in range(rounds):
        for way in ("ahead", "end") if number % 2 == 0 else ("end", "ahead"):
            found[way].append(steps(task, way == "ahead"))
    return found


def shown(runs: Sequence[Mapping[str, float]], name: str) -> str:
    values = [run[name] for run in runs]
    return f"{statistics.median(values):.3f} [{min(values):.3f}, {max(values):.3f}]"


def section(folder: Path = RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = ["## What a step waits for verdicts", ""]
    lines += [
        "`python -m bench.waiting`: seconds of a step of 128 answers, and the share of it in which it only waits for"
    ]
    lines += ["verdicts; medians over rounds in turn, least and most in brackets. The goal is a share of 0.1."]
    for run in runs:
        busy = f", {run['others']:.0f} other processes wanted a core" if run["others"] else ""
        lines += ["", f"{kept.title(run['machine'])}, {run['measured']}, {run['rounds']} rounds{busy}:", ""]
        lines += ["| task | step, judged ahead | step, judged at the end | share ahead | share at the end |"]
        lines += ["|" + "---|" * 5]
        for task, ways in run["seconds"].items():
            cells = [shown(ways[way], name) for name in ("step", "share") for way in ("ahead", "end")]
            lines.append(f"| `{task}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help=f"default: all of {', '.join(TASKS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    given = parser.parse_args(arguments)
    for name in given.tasks:
        if name not in TASKS:
            raise unknown("task", name, TASKS, "python -m bench.waiting --help")
    others, measured = load(), {}
    for task in given.tasks or TASKS:
        measured[task] = measure(task, given.rounds)
        ways = (
            f"{way}: step {shown(runs, 'step')} share {shown(runs, 'share')}" for way, runs in measured[task].items()
        )
        print(f"{task:<16} {'; '.join(ways)}", flush=True)
    if not given.dry:
        result: dict[str, Any] = {"machine": describe(), "measured": str(date.today()), "others": others}
        kept.keep(RESULTS, NAME, result | {"rounds": given.rounds, "seconds": measured})
        from bench.rendering import render

        render()


if __name__ == "__main__":
    main()
