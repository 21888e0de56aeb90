"""`assay demo`: improves a model by reinforcement learning, prints a table, writes a report. The model is a small one
that is built here from scratch, or with `--real` a pretrained language model.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.host import terminal
from assay.known import recipe
from assay.record import RunFolder
from assay.record.folder import Numbered
from assay.run import base_training, bases, pretrained, session
from assay.source import Pool, Share
from assay.view.report import write_report
from assay.view.results import outcome, table

RECIPE = "dr-grpo"


@dataclass(frozen=True)
class Demo:
    """A demonstration: the model to train, its tasks, and its settings beside those of the profile."""

    model: str
    pool: Pool
    about: str  # what the model learns, in words
    ready: Callable[[bool], None]  # makes sure that the model is there; quietly if told so
    then: str  # a command to try with the run
    name: str = "demo"  # of the run's folder
    steps: int | None = None  # None: those of the profile
    settings: Mapping[str, str] = field(default_factory=dict)


def _built(quiet: bool) -> None:
    base = bases.base("countdown")
    if bases.folder_of(base).exists():
        session.say(f"the base '{base.name}' is in the cache: {bases.folder_of(base)}")
    else:
        session.say(f"building the base '{base.name}': a small transformer learns to imitate {base.summary}")
    base_training.build(base.name, quiet=quiet)


def _fetched(quiet: bool) -> None:
    made = pretrained.SMOLLM2
    session.say(f"{made.original}, {made.restored} ({made.licence}): {pretrained.fetched(made.name)}")


SMALL = Demo(
    model="countdown",
    pool=Pool((Share("countdown", (3, 4)),)),
    about="countdown: write an expression of the numbers that reaches the target",
    ready=_built,
    then='assay sample {path} "C 3 7 5 2=24" --n 8',
    steps=100,
    settings={"evaluation.every": "25", "evaluation.final_problems": "512", "evaluation.final_samples": "16"},
)
REAL = Demo(
    model="smollm2",
    pool=Pool((Share("words", (1, 2, 3, 4, 5)),), wording="natural"),
    about="words: short questions about capitals, plurals, opposites, past tenses and kinds of things",
    ready=_fetched,
    then="assay chat {path}",
    name="demo-real",
)


def demo(run: Path | None, *, real: bool = False, seed: int, quiet: bool, command: str) -> dict[str, Any]:
    """Takes the model, trains it, and evaluates it before and after on the same problems."""
    shown, began = REAL if real else SMALL, time.monotonic()
    shown.ready(quiet)
    based = time.monotonic()

    planned = {"model": shown.model, "pool": shown.pool, "seed": seed, "steps": shown.steps}
    experiment, rules = session.plan(recipe(RECIPE), **planned, overrides=shown.settings)
    terminal.tell(f"\nnow {RECIPE} on {shown.about}")
    for rule in rules:
        session.say(f"  {experiment.profile}: {rule}")
    path = session.start(experiment, run or Numbered(Path("runs"), shown.name), command=command, quiet=quiet)
    trained = time.monotonic()

    report = write_report(path)
    result = outcome(path) | {"report": str(report)}
    seconds = {"base": based - began, "training": trained - based, "all": time.monotonic() - began}
    terminal.tell(f"\n{table(result)}\n")
    session.say(f"model {seconds['base']:.0f} s, training with its evaluations {seconds['training']:.0f} s")
    speed = speed_of(path)
    session.say(
        f"a step takes {speed['step']:.2f} s: sampling {speed['collect']:.2f} s, learning {speed['improve']:.2f} s; "
        f"{speed['sampled_tokens_per_s']:,.0f} sampled tokens per second on {speed['place']}"
    )
    session.say(f"run     {path}")
    session.say(f"report  {report}")
    session.say(f"try     {shown.then.format(path=path)}")
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
