"""Does self-play make policies that are hard to beat? Small networks learn Kuhn's poker against themselves, and what
the best reply to them would win is computed exactly, from the probabilities of their moves at the twelve states: of the
last policy, and of the average over all policies so far.

    python -m bench.self_play --seeds 5

All begin alike: they have imitated legal moves by chance. Three ways of learning: `spiral`, `self-play` (groups that
are dealt alike), and `self-play-two` (a network for each seat), each with a KL penalty to the
beginner and a falling rate.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.ask import Codec
from assay.assemble import assemble
from assay.engine.choose import engine_for, processor_of
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW
from assay.known import RECIPES
from assay.memory import Memory
from assay.models import Models
from assay.objective import KL
from assay.policy import character_tokenizer, fresh_policy
from assay.recipe import Recipe, Stage, check
from assay.rng import Key
from assay.run.bases import small_shape
from assay.scale import Model
from assay.source import Pool, Share
from assay.worlds.matches import Mixed
from assay.worlds.matches.kuhn import STATES, average_strategy, exploitability, value
from bench.machine import load

MOVES, GAME, TWO = (Pool((Share(f"game:kuhn{name}", (1,)),)) for name in ("-moves", "", "-opponent"))
ARMS = {"spiral": (GAME, 64, 1), "self-play": (GAME, 8, 8), "self-play-two": (TWO, 8, 8)}
"""Recipe -> the games, how many deals a step has, and how many games are played of each."""
IMITATED, STEPS, EVERY, LOOKED = 150, 250, 50, 10
PULL, RATE = 0.2, 1e-3
TOKENS = 4  # of a seat in a game: the first player may move twice, and each move has an end
OPTIMISER = AdamW(betas=(0.9, 0.95))
"""In the first steps all learn to bet, whatever they hold, and later gradients are small beside those. At 0.999 the
second moments remember them for the whole of such a run, and policies stay there."""


def strategy_of(engine: LocalEngine, codec: Codec) -> dict[str, Mixed]:
    """How likely each move is at each information state in compact wording, at temperature 1: the move and the end of
    the turn. What is missing to 1 is the probability of a turn that makes no move.
    """
    ends = sorted(codec.end_ids)
    wanted = [(state, move, end) for state in STATES for move in "pb" for end in ends]
    spans = [Span(codec.render(s), np.append(codec.encode(m), np.int32(end)), 1.0) for s, m, end in wanted]
    chances: dict[str, dict[str, float]] = {state: {"p": 0.0, "b": 0.0} for state in STATES}
    for (state, move, _), scores in zip(wanted, engine.score(spans), strict=True):
        chances[state][move] += math.exp(float(scores.logp.sum(dtype=np.float64)))
    return dict(chances)


Pair = tuple[Mapping[str, Mixed], Mapping[str, Mixed]]
"""The strategy of the first seat, and that of the second."""


def measured(pairs: Sequence[Pair]) -> dict[str, float]:
    """What best replies win of the last pair of strategies and of the average of all; what the first player wins
    between the last ones, and how likely a turn without a move is where it is likeliest.
    """
    first, second = pairs[-1]
    illegal = [1 - sum((first if state[0] == "1" else second)[state].values()) for state in STATES]
    last = first.__getitem__, second.__getitem__
    means = [average_strategy([pair[seat].__getitem__ for pair in pairs]) for seat in (0, 1)]
    return {
        "exploitability": exploitability(*last),
        "of the average": exploitability(*means),
        "value": value(*last),
        "illegal": max(illegal),
    }


@dataclass
class Player:
    """A network, and the codec of its words."""

    engine: LocalEngine
    codec: Codec


def beginner(seed: int, *, steps: int = IMITATED) -> Player:
    """A network of one layer that has imitated legal moves by chance."""
    tokenizer = character_tokenizer("12JQKpb")
    shape = small_shape(hidden=64, layers=1, heads=4, ffn=256, context=32, vocab=tokenizer.vocab)
    policy = fresh_policy(shape, tokenizer, key=Key("self-play", seed))
    make = engine_for("auto", "cpu", "fp32").engine
    player = Player(
        make(copy.deepcopy(policy.network), end_ids=policy.end_ids, decode=policy.codec.decode, optimiser=OPTIMISER),
        policy.codec,
    )
    scale = {"num_prompts": 64, "num_steps": steps, "learning_rate": 2e-3, "schedule": "constant"}
    learn(small("sft", **scale), MOVES, {"policy": player.engine}, player.codec, Memory(seed), until=steps)
    return player


def small(name: str, **scale: Any) -> Recipe:
    """The recipe at the scale of these games, in one stage."""
    recipe = RECIPES[name]
    values = {
        "max_new": TOKENS,
        "schedule": "linear",
        "warmup_steps": 5,
        "num_minibatches": 1,
        "oversample": 1,
        **scale,
    }
    found = dataclasses.replace(recipe, scale=dataclasses.replace(recipe.scale, **values), stages=(Stage(),))
    check(found)
    return found


def learn(
    recipe: Recipe, pool: Pool, engines: Mapping[str, LocalEngine], codec: Codec, memory: Memory, *, until: int
) -> Memory:
    """Trains the networks from the memory on until this step of the recipe."""
    models = Models(engines, recipe.roles, recipe.models)
    (stage,) = assemble(recipe, pool=pool, codec=codec, micro_tokens=4096)
    while memory.step < until:
        episodes, memory = stage.collect(models, stage.ask(models, stage.source(memory), memory), memory)
        rows, stats = stage.forwards(models, stage.curate(models, episodes, memory), memory)
        for batch in stage.credit(rows, memory):
            stats |= stage.improve(models, batch, memory)
        memory = stage.remember(memory, models, episodes, rows, stats)
    return memory


def anchored(recipe: Recipe) -> Recipe:
    """The recipe with a KL penalty to the beginner, who moves by chance. A bonus for entropy of the same weight ends
    with moves that are none: it rewards them as well.
    """
    pull = KL(weight=PULL, estimator="weighted-k3", anchor="reference")
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=(pull,))
    models = {**recipe.models, "reference": Model(trained=False)}
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=goal), models=models)


def curve(name: str, seed: int, *, steps: int = STEPS, every: int = EVERY) -> list[dict[str, float]]:
    """What `measured` says at the beginning and after every so many steps."""
    pool, prompts, group = ARMS[name]
    player, memory = beginner(seed), Memory(seed)
    scale = {"num_prompts": prompts, "group_size": group, "num_steps": steps, "learning_rate": RATE, "num_epochs": 1}
    recipe = anchored(small(name, **scale))
    engines = {model: player.engine if model == "policy" else beginner(seed).engine for model in recipe.models}
    second = engines[recipe.roles.get("opponent", "policy")]
    look = functools.partial(strategy_of, codec=player.codec)
    pairs = [(look(player.engine), look(second))]
    points = [measured(pairs)]
    with processor_of(player.engine):
        for until in range(LOOKED, steps + 1, LOOKED):
            memory = learn(recipe, pool, engines, player.codec, memory, until=until)
            pairs.append((look(player.engine), look(second)))
            if until % every == 0:
                points.append(measured(pairs))
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    given = parser.parse_args()
    print(json.dumps({"steps": STEPS, "every": EVERY, "kl": PULL, "rate": RATE, "others": round(load())}))
    for name in given.arms:
        for seed in range(given.seeds):
            points = curve(name, seed)
            told = {key: [round(point[key], 4) for point in points] for key in points[0]}
            print(json.dumps({"arm": name, "seed": seed, **told}), flush=True)


if __name__ == "__main__":
    main()
