"""What the loop itself costs for a row: requests, answers, verdicts, rewards, packing, advantages, metrics.

    python -m bench.loop_cost                # the recipes grpo and dapo on countdown, 1024 rows a step
    python -m bench.loop_cost ppo --profile  # one recipe, and the functions that take most of it

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
from assay.run import session
from assay.source import Pool, Share

PROMPTS, SAMPLES = 64, 16
FEW, MORE = 2, 8  # steps
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="show the dearest functions of a run")
    given = parser.parse_args(arguments)
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
