"""`assay demo`: builds a base from scratch, improves it by reinforcement learning, prints a table, writes a report."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from assay.host import terminal
from assay.known import recipe
from assay.record import RunFolder
from assay.record.folder import Numbered
from assay.run import bases, session
from assay.source import Pool, Share
from assay.view.report import write_report
from assay.view.results import outcome, table

RECIPE, BASE = "dr-grpo", "countdown"
POOL = Pool((Share("countdown", (3, 4)),))
STEPS = 100
SETTINGS = {
    "evaluation.every": "25",
    "evaluation.final_problems": "512",
    "evaluation.final_samples": "16",
}


def demo(run: Path | None, *, seed: int, quiet: bool, command: str) -> dict[str, Any]:
    """Builds the base or takes it from the cache, trains it, and evaluates it before and after on the same problems."""
    began = time.monotonic()
    base = bases.base(BASE)
    if bases.folder_of(base).exists():
        session.say(f"the base '{BASE}' is in the cache: {bases.folder_of(base)}")
    else:
        session.say(f"building the base '{BASE}': a small transformer learns to imitate {base.summary}")
    bases.build(BASE, quiet=quiet)
    based = time.monotonic()

    experiment, rules = session.plan(recipe(RECIPE), model=BASE, pool=POOL, seed=seed, steps=STEPS, overrides=SETTINGS)
    terminal.tell(f"\nnow {RECIPE} on countdown: write an expression of the numbers that reaches the target")
    for rule in rules:
        session.say(f"  laptop: {rule}")
    path = session.start(experiment, run or Numbered(Path("runs"), "demo"), command=command, quiet=quiet)
    trained = time.monotonic()

    report = write_report(path)
    result = outcome(path) | {"report": str(report)}
    seconds = {"base": based - began, "training": trained - based, "all": time.monotonic() - began}
    terminal.tell(f"\n{table(result)}\n")
    session.say(f"base {seconds['base']:.0f} s, training with its evaluations {seconds['training']:.0f} s")
    speed = speed_of(path)
    session.say(
        f"a step takes {speed['step']:.2f} s: sampling {speed['collect']:.2f} s, learning {speed['improve']:.2f} s; "
        f"{speed['sampled_tokens_per_s']:,.0f} sampled tokens per second on {speed['place']}"
    )
    session.say(f"run     {path}")
    session.say(f"report  {report}")
    session.say(f'try     assay sample {path} "C 3 7 5 2=24" --n 8')
    return result | {"seconds": seconds, "speed": speed}


def speed_of(path: Path) -> dict[str, Any]:
    """Medians over the steps of a run of its times and its speed, and the device on which it ran."""
    folder = RunFolder.read_only(path)
    metrics = folder.read("metrics")
    checkpoint = folder.load()
    names = {"step": "time/step", "collect": "time/collect", "improve": "time/improve"}
    names["sampled_tokens_per_s"] = "perf/tokens_per_s"
    speed: dict[str, Any] = {k: statistics.median(record[name] for record in metrics) for k, name in names.items()}
    speed["place"] = checkpoint.manifest["environment"]["place"] if checkpoint else "unknown"
    return speed
