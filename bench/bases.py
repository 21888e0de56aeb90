"""Every base: how long it takes to make, and what it solves at the level of a run that names none.

    python -m bench.bases                  # every base; RESULTS.md has the table afterwards
    python -m bench.bases path stack       # some, beside what was measured of the others
    python -m bench.bases --curve path     # what it solves while it is made, to choose its number of steps

A base is made anew for its time, and asked 256 problems of the split `test`, 64 times each.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from assay.lab.sample import examine
from assay.run import session
from assay.run.base_training import build, making
from assay.run.bases import BASES, base
from assay.run.experiment import Evaluation
from assay.source import Pool, Share
from assay.tasks import TASKS
from bench import kept
from bench.machine import describe, load

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results"
KIND = "base"
GOAL = """Goal: pass@1 from 0.1 to 0.4, so that there is something to learn, pass@64 of 0.7 or more, so that there is
a reward to learn from, and five minutes on two cores."""
PROBLEMS, SAMPLES = 256, 64
POINTS = 20  # of a curve


def measure(name: str) -> dict[str, Any]:
    """Makes the base anew, and examines it at the first level of the task that it is named after; or else on the first
    task of what it has read, at all levels of that.
    """
    others, (clock, processor) = load(), (time.perf_counter(), time.process_time())
    folder = build(name, quiet=True, force=True)
    took = {"seconds": time.perf_counter() - clock, "processor_seconds": time.process_time() - processor}
    share = Share.parse(name) if name in TASKS else base(name).pool.shares[0]
    asking = {"problems": PROBLEMS, "samples": SAMPLES, "ks": (1, SAMPLES), "temperature": None, "max_new": None}
    found = examine(str(folder), Pool((share,)), **asking, seed=0)
    return {
        "base": name,
        "level": share.levels[0] if name in TASKS else f"{share.task}:{','.join(map(str, share.levels))}",
        "steps": base(name).scale.num_steps,
        **{kind: round(value, 1) for kind, value in took.items()},
        "others": others,
        "problems": found["problems"],
        "pass": found["pass"],
        "hash": base(name).hash,
        "machine": describe(),
        "measured": str(date.today()),
    }


def curve(name: str) -> Iterator[tuple[int, float, float]]:
    """(step, pass@1, pass@64) on the split `valid`, at the levels that the base reads."""
    made = base(name)
    every = max(1, made.scale.num_steps // POINTS)
    with tempfile.TemporaryDirectory() as scratch:
        experiment = dataclasses.replace(
            making(made, Path(scratch)),
            evaluation=Evaluation(every=every, num_problems=64, num_samples=64, final_problems=8, final_samples=1),
        )
        run = session.start(experiment, Path(scratch) / "run", command="curve", quiet=True)
        for line in (run / "evals.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["set"] == "valid":
                yield entry["step"], entry["pass"]["1"]["mean"], entry["pass"]["64"]["mean"]


def section(folder: Path = RESULTS) -> str:
    """Of RESULTS.md: the newest measurement of each base that is as it was then."""
    newest = {run["base"]: run for run in kept.stored(folder, KIND) if run["base"] in BASES}
    rows = [run for name in BASES if (run := newest.get(name)) and run["hash"] == BASES[name].hash]
    if not rows:
        return ""
    lines = ["## Bases", "", "`python -m bench.bases`: 64 answers to each of 256 held-out problems, at the level that"]
    lines += ["`assay show TASK` names. " + GOAL, ""]
    lines += ["| base | level | steps | pass@1 | pass@64 | seconds | of the processor | measured |", "|" + "---|" * 8]
    lines += map(_row, rows)
    missing = [name for name in BASES if name not in {run["base"] for run in rows}]
    return "\n".join([*lines, *(["", f"Not measured: {', '.join(missing)}."] if missing else [])])


def _row(run: dict[str, Any]) -> str:
    one, many = (f"{found['mean']:.3f} [{found['low']:.3f}, {found['high']:.3f}]" for found in run["pass"].values())
    busy = f" beside {run['others']:.0f} others" if run["others"] >= 1 else ""
    return (
        f"| `{run['base']}` | {run['level']} | {run['steps']} | {one} | {many} | {run['seconds']:.0f}{busy} | "
        f"{run['processor_seconds']:.0f} | {kept.machine_key(run['machine'])}, {run['measured']} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="BASE", help="none: all")
    parser.add_argument("--curve", action="store_true", help="print what it solves while it is made, and keep nothing")
    given = parser.parse_args(arguments)
    for name in [base(name).name for name in given.names] or list(BASES):
        if given.curve:
            for step, one, many in curve(name):
                print(f"{name} {step:5} pass@1 {one:.3f} pass@64 {many:.3f}", flush=True)
            continue
        found = measure(name)
        kept.keep(RESULTS, f"{KIND}-{name}", found)
        print(_row(found), flush=True)


if __name__ == "__main__":
    main()
