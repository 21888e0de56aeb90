"""What branching saves: sampled tokens of trees against those of independent answers, measured and by formula.

    python -m bench.trees [MODEL]        # a base or a model folder

A tree of M trunks with b branches each has M (1 + b) leaves. If leaves are T tokens long and branches leave at f,

    sampled / leaf tokens = 1 - b f / ((1 + b) T).

The formula is exact for what the tree sampled. Independent answers are as many, to the same problems; how far their
tokens differ from the leaves' is how far branches differ in length from answers begun afresh.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

from assay.assemble import assemble
from assay.augment import Trunks
from assay.collect import Fork
from assay.lab.sample import open_engine
from assay.memory import Memory
from assay.models import Models
from assay.recipe import Recipe, at_profile
from assay.recipes import RECIPES
from assay.source import Pool, Share
from assay.types import Episode

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
    mechanism = dataclasses.replace(recipe.mechanism, augment=(Trunks(share),), expand=(fork,))
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


def main() -> None:
    policy, engine = open_engine(sys.argv[1] if len(sys.argv) > 1 else "countdown")
    models = Models({"policy": engine}, {"policy": "policy"})
    print("tree                       leaves length fork at  sampled  measured   formula  independent  prompts")
    alone = 0
    for name, (share, fork) in SHAPES.items():
        phases = assemble(shaped(share, fork), pool=POOL, codec=policy.tokenizer, micro_tokens=4096)[0]
        requests = phases.augment(models, phases.source(Memory(0)), Memory(0))
        episodes, _ = phases.collect(models, requests, Memory(0))
        print(line(name, episodes, alone))
        alone = alone or sum(map(len, episodes))


if __name__ == "__main__":
    main()
