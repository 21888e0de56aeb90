"""What an optimiser step costs by each recipe's objective, in units of the bare weighted likelihood on the same rows.

    python -m bench.update_cost                                   # both engines, every recipe
    python -m bench.update_cost --recipes simko gspo --pairs 15 --again
    python -m bench.update_cost --shape S2 --engines torch
    python -m bench.update_cost --render                          # the table again from what was measured

The bare update is `improve` with the likelihood weighed by the advantages: no ratio, gate, correction or further term.
Each objective's update and the bare one take turns on one engine and one batch of 128 answers, at one thread; who goes
first alternates. Ratios are of the processor's time, which other work disturbs less; the wall clock's are kept beside.
Passes over all rows that come before are counted and timed by themselves: the survey of a step (`objective.survey`),
and what `forwards` does at the laptop profile. What was measured on a shape is not measured again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.engine.choose import critic_of, processor_of
from assay.engine.interface import Chunk, Outputs, Scores, Span, Want
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW
from assay.forwards import run_forwards
from assay.known import RECIPES
from assay.memory import Memory
from assay.models import Models
from assay.objective import NoRatio, Objective, Open
from assay.objective.improve import improve
from assay.objective.survey import survey
from assay.part import bind
from assay.policy.adapted import twin
from assay.recipe import Recipe, at_profile
from assay.rng import Key
from assay.scale import Scale
from assay.types import Batch
from bench import kept
from bench.machine import describe, load
from bench.micro_engine import SHAPES, Shape, engine_of, train
from bench.rendering import RESULTS, render
from bench.update_batch import Case, batch_of, cases, rows_of
from bench.update_table import pages

BARE = Objective(ratio=NoRatio(), gate=Open())
TOKENS = 2048  # inputs in a chunk, as `machine.micro_tokens`
MODELS = {  # 128 answers each; S0 only shows that everything runs
    "S0": Shape(32, 1, 2, 64, 2, 8, 4, 6),
    "S2": dataclasses.replace(SHAPES["S2"], prompts=16),
    "S2-wide": dataclasses.replace(SHAPES["S2"], prompts=16, vocab=512),
    "demo": Shape(128, 4, 4, 384, 16, 8, 24, 12, vocab=98),  # the base of `make demo`: short answers, few parameters
}

Costs = dict[str, list[float]]
COMMAND = "python -m bench.update_cost --shape {}"


class Counted:
    """An engine that counts the tokens of answers which pass through it, without a graph and with one."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine, self.scored, self.trained = engine, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        self.scored += sum(len(span.ids) for span in spans)
        return self.engine.score(spans, entropy=entropy)

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        if torch.is_grad_enabled():
            self.trained += len(chunk.batch.ids)
        else:
            self.scored += len(chunk.batch.ids)
        return self.engine.forward(chunk, want)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Of the processor, and of the clock."""
    began, worked = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - worked, time.perf_counter() - began


def scale_of(shape: Shape) -> Scale:
    """One optimiser step for the whole batch, so small that the ratios stay what they are."""
    return Scale(shape.prompts, shape.samples, shape.answer, learning_rate=1e-7, num_steps=10**9)


def update(engine: LocalEngine, batch: Batch, goal: Objective, scale: Scale) -> float:
    """Tokens that the step's survey scored."""
    stats = improve(engine, batch, objective=goal, scale=scale, key=Key(0), micro_tokens=TOKENS)
    return stats.get("update/surveyed", 0.0)


def cost_of_update(engine: LocalEngine, batch: Batch, goal: Objective, scale: Scale, pairs: int) -> Costs:
    """In units of the bare update beside it: the whole step, its survey, the step without that."""
    weight = bind(goal.aggregate)(batch, max_new=scale.max_new)
    work = {
        "bare": lambda: update(engine, batch, BARE, scale),
        "own": lambda: update(engine, batch, goal, scale),
        "survey": lambda: survey(engine, batch, weight, goal, Key(0)("update", 0), TOKENS),
    }
    passes = update(engine, batch, goal, scale) / len(batch.ids)
    found: Costs = {name: [] for name in ("update", "survey", "whole", "clock", "seconds")}
    for pair in range(pairs):
        order = ["bare", "own"] if pair % 2 == 0 else ["own", "bare"]
        took = {name: seconds(work[name]) for name in [*order, *(["survey"] if passes else [])]}
        bare, own, before = took["bare"][0], took["own"][0], took.get("survey", (0.0, 0.0))[0]
        found["update"].append((own - before) / bare)
        found["survey"].append(before / bare)
        found["whole"].append(own / bare)
        found["clock"].append(took["own"][1] / took["bare"][1])
        found["seconds"].append(bare)
    return found | {"surveyed": [passes]}


def models_of(engine: LocalEngine, recipe: Recipe) -> tuple[Models, dict[str, Counted]]:
    """The sets of a recipe as a run has them, counted."""
    wanted = {name: spec.trained for name, spec in recipe.models.items() if name != "policy"}
    engines: dict[str, Counted] = {"policy": Counted(engine)}
    for name, trained in ({"reference": False} | wanted).items():
        values = name in recipe.models and recipe.models[name].output == "value"
        kind = critic_of(type(engine)) if values else type(engine)
        optimiser = AdamW() if trained else None
        engines[name] = Counted(
            kind(twin(engine.model), end_ids=frozenset(), precision=engine.precision, optimiser=optimiser)
        )
    return Models(engines, recipe.roles, recipe.models), engines  # type: ignore[arg-type]


def cost_before(engine: LocalEngine, batch: Batch, case: Case, shape: Shape, repeats: int) -> Costs:
    """Of `forwards`, in units of the bare update; passes over all answers without a gradient, and those that train."""
    recipe, _ = at_profile(case.recipe, "laptop", max_new=shape.answer)
    models, engines = models_of(engine, recipe)
    known = {"scale": recipe.scale, "micro_tokens": TOKENS}
    parts = [bind(part, **known) for part in case.mechanism.forwards]
    settings = {"batch_of": lambda role: role, "parts": parts, "num_updates": recipe.scale.num_updates}
    settings["objective"] = lambda role: case.mechanism.rule(role).objective

    def once() -> float:
        rows = rows_of(engine, shape, case)  # of the weights of now, which the bare update moves
        return seconds(lambda: run_forwards(models, rows, Memory(0), **settings))[0]

    once()
    answers = shape.prompts * shape.samples * shape.answer
    passes = {name: sum(getattr(one, name) for one in engines.values()) / answers for name in ("scored", "trained")}
    pairs = range(repeats if any(passes.values()) else 0)
    costs = [once() / seconds(lambda: update(engine, batch, BARE, scale_of(shape)))[0] for _ in pairs]
    return {name: [value] for name, value in passes.items()} | {"before": costs}


def loop_alone(engine: LocalEngine, batch: Batch, shape: Shape, pairs: int) -> Costs:
    """The bare update beside nothing but the calls of the engine: what the objective's machinery costs by itself."""
    scale, found = scale_of(shape), []
    for _ in range(pairs):
        bare = seconds(lambda: update(engine, batch, BARE, scale))
        found.append(bare[0] / seconds(lambda: train(engine, batch, TOKENS))[0])
    return {"update": found}


def measure(
    shape: Shape, kind: str, chosen: Sequence[Case], run: dict[str, Any], pairs: int, repeats: int
) -> Iterator[Case]:
    """Puts into the run what it lacks. An objective that several recipes have is measured once."""
    engine, done = engine_of(shape, kind, "fp32"), run["cases"]
    with processor_of(engine):
        for case in chosen:
            goal = repr(case.objective)
            batch = batch_of(engine, rows_of(engine, shape, case), case, vocab=shape.vocab)
            if "loop" not in run:
                loop_alone(engine, batch, shape, 2)
                run["loop"] = loop_alone(engine, batch, shape, pairs)
            if goal not in run["objectives"]:
                costs = cost_of_update(engine, batch, case.objective, scale_of(shape), pairs)
                run["objectives"][goal] = {
                    "scope": scope(case.objective),
                    "wants": sorted(case.objective.wants),
                } | costs
            if case.name not in done:
                before = cost_before(engine, batch, case, shape, repeats)
                done[case.name] = {"recipe": case.recipe.name, "objective": goal} | before
            yield case


def scope(goal: Objective) -> str:
    """Of what an optimiser step has to know before its first chunk: nothing beyond whole rows, or all rows."""
    return "step" if goal.surveys else "row"


def lacking(run: Mapping[str, Any], chosen: Sequence[Case]) -> list[Case]:
    return [c for c in chosen if c.name not in run["cases"] or repr(c.objective) not in run["objectives"]]


def save(path: Path, runs: Mapping[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(runs, indent=1) + "\n")
    partial.replace(path)


def place_of(folder: Path, about: Mapping[str, Any], *, again: bool) -> Path:
    """The newest file of this machine, which goes on; with `again`, or where there is none, a new one."""
    mine = [path for path in kept.paths(folder, "update_cost") if f"--{kept.machine_key(about)}--" in path.name]
    return kept.place(folder, "update_cost", about, str(date.today())) if again or not mine else mine[-1]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), metavar="RECIPE")
    parser.add_argument("--engines", nargs="+", default=["native", "torch"], choices=["native", "torch"])
    parser.add_argument("--shape", default="demo", choices=list(MODELS))
    parser.add_argument("--pairs", type=int, default=7, help="of updates, the objective's and the bare one")
    parser.add_argument("--repeats", type=int, default=3, help="of what comes before an update")
    parser.add_argument("--again", action="store_true", help="measure all anew, beside what was measured before")
    parser.add_argument("--render", action="store_true", help="write the table alone")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results and of update_cost.md")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    given = parsed(arguments)
    about = describe()
    path = place_of(given.out, about, again=given.again)
    runs: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    chosen = [case for case in cases() if not given.recipes or case.recipe.name in given.recipes]
    torch.set_num_threads(1)
    for kind in () if given.render else given.engines:
        run = runs.setdefault(f"{given.shape} {kind}", {"objectives": {}, "cases": {}})
        lacks = lacking(run, chosen)
        if lacks:
            run |= {"command": COMMAND.format(given.shape), "measured": str(date.today()), "machine": about}
            run |= {"torch": version("torch"), "pairs": given.pairs, "others": load()}
        for case in measure(MODELS[given.shape], kind, lacks, run, given.pairs, given.repeats):
            update = np.median(run["objectives"][repr(case.objective)]["update"])
            print(f"{given.shape} {kind:<7} {case.name:<24} {update:.3f}", flush=True)
            save(path, runs)
    (given.out / "update_cost.md").write_text(pages(given.out))
    if given.out == RESULTS:
        render()


if __name__ == "__main__":
    main()
