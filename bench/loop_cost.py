"""What the loop itself costs for a row: requests, answers, verdicts, rewards, packing, advantages, metrics.

    python -m bench.loop_cost                # the recipes grpo and dapo on countdown, 1024 rows a step
    python -m bench.loop_cost ppo --profile  # one recipe, and the functions that take most of it
    python -m bench.loop_cost --demo         # its share in a step of `make demo`

The core computes on threads of its own while the thread of Python waits, so the processor time of that thread is what
everything else costs. Runs of few and of more steps are compared, so that the start and the end of a run cancel out;
the rows of a step are the same for all. Processor time hardly depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from assay.known import recipe
from assay.lab import demo
from assay.record import RunFolder
from assay.run import session
from assay.source import Pool, Share

PROMPTS, SAMPLES = 64, 16
FEW, MORE, DEMO = 2, 8, 22  # steps
RECIPES = ("grpo", "dapo")
POOL = Pool((Share("countdown", (3, 4)),))
SETTINGS = {
    "scale.num-prompts": str(PROMPTS),
    "scale.group-size": str(SAMPLES),
    "machine.threads": "1",
    "evaluation.every": "0",
    "evaluation.final-problems": "8",
    "evaluation.final-samples": "1",
}


def seconds(name: str, steps: int) -> float:
    """Processor seconds of this thread for a run of the recipe."""
    made, _ = session.plan(recipe(name), model="countdown", pool=POOL, seed=0, steps=steps, overrides=dict(SETTINGS))
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.thread_time()
        session.start(made, Path(scratch) / "run", quiet=True)
        return time.thread_time() - begun


def cost(name: str) -> float:
    """Milliseconds of a row."""
    return 1000 * (seconds(name, MORE) - seconds(name, FEW)) / ((MORE - FEW) * PROMPTS * SAMPLES)


def step_of_demo() -> tuple[float, float]:
    """Processor seconds of this thread in a step of the demo, and the seconds that the step takes. Evaluations are left
    out.
    """
    overrides = {name: value for name, value in SETTINGS.items() if name.startswith("evaluation.")}
    spent, taken = [], []
    for steps in (FEW, DEMO):
        made, _ = session.plan(
            recipe(demo.RECIPE), model=demo.SMALL.model, pool=demo.SMALL.pool, seed=0, steps=steps, overrides=overrides
        )
        with tempfile.TemporaryDirectory() as scratch:
            begun = time.thread_time()
            path = session.start(made, Path(scratch) / "run", quiet=True)
            spent.append(time.thread_time() - begun)
            taken = [record["time/step"] for record in RunFolder.read_only(path).read("metrics")]
    return (spent[1] - spent[0]) / (DEMO - FEW), statistics.median(taken)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="show the dearest functions of a run")
    parser.add_argument("--demo", action="store_true", help="measure a step of `make demo` instead")
    given = parser.parse_args(arguments)
    if given.demo:
        step_of_demo()  # what is imported and compiled at first
        for _ in range(given.rounds):
            own, whole = step_of_demo()
            print(f"demo  {own:.3f} s of {whole:.3f} s a step: {own / whole:.1%}", flush=True)
        return
    for name in given.recipes:
        seconds(name, 1)  # what is imported and compiled at first
        found = [cost(name) for _ in range(given.rounds)]
        print(f"{name:<12} {statistics.median(found):.3f} ms a row [{min(found):.3f}, {max(found):.3f}]", flush=True)
        if given.profile:
            profile = cProfile.Profile(time.thread_time)
            profile.runcall(seconds, name, MORE)
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
