"""What branching saves: sampled tokens of trees against those of independent answers, measured and by formula; and
what is saved by running no token of a parent again, in tokens of prompts and in time, on both engines.

    python -m bench.trees [MODEL] [--pairs 5]        # a base or a model folder

A tree of M trunks with b branches each has M (1 + b) leaves. If leaves are T tokens long and branches leave at f,

    sampled / leaf tokens = 1 - b f / ((1 + b) T).

The formula is exact for what the tree sampled. Independent answers are as many, to the same problems; how far their
tokens differ from the leaves' is how far branches differ in length from answers begun afresh.

The second table has the same work done with `keeping` and without, by turns, in one process: medians of the seconds,
quartiles of the ratios of neighbours, and the ratio of the processor's time, which other work disturbs less. Searches
and turns are of a random model of shape S1 (`workload.py`).
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from assay.ask import Trunks
from assay.assemble import assemble
from assay.collect import Fork
from assay.engine.choose import engine_for, processor_of
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.lab.sample import open_engine
from assay.memory import Memory
from assay.models import Models
from assay.policy import load_policy
from assay.policy.config import PolicyConfig
from assay.policy.transformer import Transformer
from assay.recipe import Recipe, at_profile
from assay.rng import Key
from assay.run.base_training import ready
from assay.source import Pool, Share
from assay.types import Episode, Origin, Problem, Request, Segment
from bench.machine import load
from bench.summary import quartiles
from bench.workload import SHAPES as MODELS
from bench.workload import VOCAB

POOL = Pool((Share("countdown", (3, 4)),))
MAX_NEW = 32
SHAPES = {
    "independent": (1.0, Fork(branches=0)),
    "4 trunks x 3, entropy": (0.25, Fork(places=1, branches=3, among=20)),
    "4 trunks x 3, random": (0.25, Fork(places=1, branches=3, by="random")),
    "2 trunks x 7, surprisal": (0.125, Fork(places=1, branches=7, by="surprisal", among=1)),
}


def shaped(share: float, fork: Fork) -> Recipe:
    recipe, _ = at_profile(RECIPES["cure"], "laptop", max_new=MAX_NEW)
    mechanism = dataclasses.replace(recipe.mechanism, ask=(Trunks(share),), expand=(fork,))
    scale = dataclasses.replace(recipe.scale, num_prompts=32, group_size=16)
    return dataclasses.replace(recipe, mechanism=mechanism, scale=scale)


def line(name: str, episodes: Sequence[Episode], alone: int) -> str:
    """Measured and by formula, as a row of the table; `alone` is what independent answers sampled."""
    leaves = sum(map(len, episodes))
    sampled = sum(len(s) for e in episodes for s in e.segments[len(e.request.prefix) :])
    starts = [sum(map(len, e.request.prefix)) for e in episodes if e.request.parent]
    trunks = len(episodes) - len(starts)
    branches, length = len(starts) / trunks, leaves / len(episodes)
    at = sum(starts) / max(1, len(starts))
    formula = 1 - branches * at / ((1 + branches) * length)
    prompts = len({(e.request.group, e.request.parent, e.request.fork) for e in episodes})
    return (
        f"{name:<26} {len(episodes):>6} {length:>6.2f} {at:>6.2f} {sampled:>8} {sampled / leaves:>9.4f} "
        f"{formula:>9.4f} {sampled / (alone or sampled):>12.4f} {prompts:>8}"
    )


@dataclass(frozen=True)
class Growth:
    """Answers to each of `prompts` that grow by `step` tokens a round; random ones, `reply` of them not sampled."""

    name: str
    prompts: int
    samples: int
    prompt: int
    step: int
    rounds: int
    reply: int = 0
    alone: bool = False  # every answer goes on by itself; else all of a group go on from one of them


GROWTHS = (
    Growth("search, 8 from a node", prompts=8, samples=8, prompt=16, step=8, rounds=6),
    Growth("search, long prompts", prompts=8, samples=8, prompt=128, step=8, rounds=6),
    Growth("turns with replies", prompts=8, samples=8, prompt=32, step=8, rounds=6, reply=4, alone=True),
)


def grow(engine: LocalEngine, growth: Growth, number: int) -> None:
    random = np.random.default_rng(number)
    words = [random.integers(2, VOCAB, growth.prompt).astype(np.int32) for _ in range(growth.prompts)]
    asked = [
        Request(Problem("none", str(g), {}, str(g)), context, str(g), growth.step, sample=i)
        for g, context in enumerate(words)
        for i in range(growth.samples)
    ]
    for place in range(growth.rounds):
        made = engine.generate(asked, Key(number, place))
        ids = [np.concatenate([g.segment.ids, random.integers(2, VOCAB, growth.reply)]).astype(np.int32) for g in made]
        first = [i if growth.alone else i - i % growth.samples + place % growth.samples for i in range(len(asked))]
        pieces = [Segment(some, np.full(len(some), Origin.POLICY, np.int8)) for some in ids]
        asked = [dataclasses.replace(r, prefix=(*asked[i].prefix, pieces[i])) for r, i in zip(asked, first)]


class Forgetful:
    """An engine that keeps nothing from one call to the next."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine
        self.keeping = nullcontext

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def compare(name: str, engine: LocalEngine, work: Callable[[Any], None], pairs: int) -> str:
    """With and without, by turns; the first pair is not counted."""
    wall, work_s, tokens = np.zeros((pairs + 1, 2)), np.zeros((pairs + 1, 2)), np.zeros(2, int)
    for pair in range(pairs + 1):
        for side, player in enumerate((engine, Forgetful(engine))):
            before, began, worked = engine.prefilled, time.perf_counter(), time.process_time()
            work(player)
            wall[pair, side], work_s[pair, side] = time.perf_counter() - began, time.process_time() - worked
            tokens[side] = engine.prefilled - before
    low, middle, high = quartiles(list(wall[1:, 1] / wall[1:, 0]))
    kept, plain = np.median(wall[1:], 0)
    return (
        f"{engine.name:<7} {name:<26} {tokens[1]:>8} {tokens[0]:>8} {plain:>9.2f} {kept:>7.2f} "
        f"{middle:>7.2f} [{low:.2f}, {high:.2f}] {np.median(work_s[1:, 1] / work_s[1:, 0]):>9.2f}"
    )


def kept_and_not(model: str, pairs: int) -> None:
    print(f"\n{load():.0f} others want a core")
    print(
        "engine  work                       prompts: whole  kept  seconds: whole  kept  whole / kept  processor",
        flush=True,
    )
    policy, s1 = load_policy(ready(model)), MODELS["S1"]
    sizes = {"hidden": s1.hidden, "layers": s1.layers, "heads": s1.heads, "kv_heads": s1.heads, "ffn": s1.ffn}
    shape: dict[str, Any] = {**sizes, "head_dim": s1.hidden // s1.heads, "context": 1024, "attention_bias": True}
    config = PolicyConfig("qwen2", VOCAB, **shape)
    made = Transformer(config).initialise(torch.Generator().manual_seed(0))
    for kind in ("native", "torch"):
        make = engine_for(kind, "cpu", "fp32").engine  # type: ignore[arg-type]
        engine = make(policy.network, end_ids=policy.end_ids, decode=policy.codec.decode, optimiser=None)
        with processor_of(engine):
            for name, (share, fork) in list(SHAPES.items())[1:]:
                phases = assemble(shaped(share, fork), pool=POOL, codec=policy.codec, micro_tokens=4096)[0]

                def collect(player: Any, phases: Any = phases) -> None:
                    models = Models({"policy": player}, {"policy": "policy"})
                    phases.collect(models, phases.ask(models, phases.source(Memory(0)), Memory(0)), Memory(0))

                print(compare(name, engine, collect, pairs), flush=True)
        engine = make(made, end_ids=frozenset(), optimiser=None)
        with processor_of(engine):
            for growth in GROWTHS:

                def search(player: Any, growth: Growth = growth) -> None:
                    with player.keeping():
                        grow(player, growth, 0)

                print(compare(growth.name, engine, search, pairs), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("model", nargs="?", default="countdown")
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    policy, engine = open_engine(given.model)
    models = Models({"policy": engine}, {"policy": "policy"})
    print("tree                       leaves length fork at  sampled  measured   formula  independent  prompts")
    alone = 0
    for name, (share, fork) in SHAPES.items():
        phases = assemble(shaped(share, fork), pool=POOL, codec=policy.codec, micro_tokens=4096)[0]
        requests = phases.ask(models, phases.source(Memory(0)), Memory(0))
        episodes, _ = phases.collect(models, requests, Memory(0))
        print(line(name, episodes, alone))
        alone = alone or sum(map(len, episodes))
    kept_and_not(given.model, given.pairs)


if __name__ == "__main__":
    main()
