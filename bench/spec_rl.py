"""What drafts of the epoch before save: decoded tokens by epoch, and the time of rollouts on both engines.

    python -m bench.spec_rl [--epochs 4] [--lenience 1.0]

Each engine trains twice on one fixed set of problems from equal weights, with drafts and without. The time of rollouts
is that of everything before learning: asking (where drafts are verified), generating, verifying, and passes that keep
distributions. Were verification free, times would be as decoded tokens: that ratio is printed as the bound.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import time

import numpy as np

from assay.assemble import assemble
from assay.engine.choose import engine_for, processor_of
from assay.engine.optimiser import AdamW
from assay.known import recipe
from assay.memory import Memory
from assay.methods.exploration.spec_rl.speculate import Speculate
from assay.models import Models
from assay.policy import load_policy
from assay.recipe import Recipe
from assay.run.base_training import ready
from assay.run.context_fit import longest_solution
from assay.source import Epochs, Pool, Share
from bench.machine import load

PROMPTS, STEPS = 32, 2  # of a step, of an epoch
POOL = Pool((Share("countdown", (3, 4)),))


def small(epochs: int, lenience: float, *, drafts: bool) -> Recipe:
    made = recipe("spec-rl")
    changes = {"num_prompts": PROMPTS, "num_minibatches": 1, "learning_rate": 2e-4, "num_steps": epochs * STEPS}
    scale = dataclasses.replace(made.scale, max_new=longest_solution(POOL), **changes)
    parts = {"ask": (Speculate(lenience=lenience),)} if drafts else {"ask": (), "forwards": (), "remember": ()}
    mechanism = dataclasses.replace(made.mechanism, source=Epochs(PROMPTS * STEPS), **parts)
    return dataclasses.replace(made, scale=scale, mechanism=mechanism)


def measure(kind: str, recipe: Recipe) -> np.ndarray:
    """[steps, 3]: seconds of rollouts, tokens of answers, tokens that were decoded."""
    policy = load_policy(ready("countdown"))
    make = engine_for(kind, "cpu", "fp32").engine  # type: ignore[arg-type]
    settings = {"end_ids": policy.end_ids, "decode": policy.codec.decode, "optimiser": AdamW()}
    engine = make(copy.deepcopy(policy.network), **settings)
    models = Models({"policy": engine, "reference": engine.copy()}, recipe.roles)
    (stage,) = assemble(recipe, pool=POOL, codec=policy.codec, micro_tokens=2048)
    memory, result = Memory(0), []
    with processor_of(engine):
        while memory.step < stage.end:
            spent, began = memory.budget.generated_tokens, time.perf_counter()
            episodes, memory = stage.collect(models, stage.ask(models, stage.source(memory), memory), memory)
            rows, stats = stage.forwards(models, stage.curate(models, episodes, memory), memory)
            seconds = time.perf_counter() - began
            for batch in stage.credit(rows, memory):
                stats |= stage.improve(models, batch, memory)
            memory = stage.remember(memory, models, episodes, rows, stats)
            result.append((seconds, sum(len(e) for e in episodes), memory.budget.generated_tokens - spent))
    return np.array(result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lenience", type=float, default=1.0)
    given = parser.parse_args()
    print(f"lenience {given.lenience:g}, {PROMPTS * STEPS} problems, groups of 8; {load():.0f} others want a core")
    print("engine   epoch  tokens  decoded  of drafts kept  seconds without / with  ratio  bound")
    for kind in ("native", "torch"):
        plain, saving = (
            measure(kind, small(given.epochs, given.lenience, drafts=drafts)).reshape(given.epochs, STEPS, 3).sum(1)
            for drafts in (False, True)
        )
        for epoch, ((before, asked, _), (after, written, decoded)) in enumerate(zip(plain, saving, strict=True)):
            ratio, bound = before / after * written / asked, written / max(decoded, 1)
            print(
                f"{kind:<8} {epoch:>5}  {written:>6.0f}  {decoded:>7.0f}  {1 - decoded / written:>14.0%}  "
                f"{before:>10.2f} / {after:<9.2f}  {ratio:>5.2f}  {bound:>5.2f}"
            )


if __name__ == "__main__":
    main()
