"""A batch of awkward rows for every recipe.

Ragged rows, shared contexts, several temperatures, tokens of an environment, rows with no token to train, rows out of
the loss or of the denominator, an empty answer, and ratios on both sides of every clip, none near it.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
from of_methods import make
from tiny import batch_of, episode, policy, recipe_of, segment

from assay.curate.pairs import pairs
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.memory import Memory
from assay.objective.preference import Preference
from assay.part import bind, parts_of
from assay.recipe import Recipe
from assay.types import Batch, Episode, Origin, Row

MAX_NEW = 8
GAMMA = 0.7
GRID = (0.5, 0.79, 0.81, 1.0, 1.19, 1.21, 1.27, 1.29, 3.1, 11.0)
ASIDE = {"archer": {0.5: 0.45}, "rlpr": {1.27: 1.25}}  # ratios at which these clip, and what stands for them


@functools.cache
def engine(precision: str) -> LocalEngine:
    return policy(precision)


@functools.cache
def recipe(name: str) -> Recipe:
    return recipe_of(name, max_new=MAX_NEW)


TOKENS_EARN = ("rlmec",)  # their advantages are what a model says of each token, and nothing else


@functools.cache
def rows(name: str) -> tuple[Row, ...]:
    """Awkward rows of weights that are no more, each with old and reference log-probs."""
    written = Origin.INJECTED if name in ("sft", "dft", "ift", "cft-1") else Origin.POLICY
    random = np.random.default_rng(11)

    def row(group: str, sample: int, reward: float, parts: str, prompt: str, temperature: float, **marks: Any) -> Row:
        """`parts` spells who wrote the answer, a letter a token: policy, environment or somebody injected."""
        origins = {"p": written, "e": Origin.ENV, "i": Origin.INJECTED}
        runs = [(origins[who], len(list(run))) for who, run in itertools.groupby(parts)]
        segments = [segment(random.integers(0, 5, count), origin=who, version=-1) for who, count in runs]
        asked = {"group": group, "sample": sample, "reward": reward, "prompt": prompt, "temperature": temperature}
        return Row(episode(segments, **asked), **marks)

    made = [
        *(row("a", i, r, "p" * n, "a", 1.0) for i, (r, n) in enumerate([(1.0, 3), (0.0, 1), (0.25, 5), (1.0, 2)])),
        *(row("b", i, r, "p" * n, "bad", 0.5) for i, (r, n) in enumerate([(0.0, 4), (1.0, 8)])),
        *(row("uniform", i, 1.0, "p" * n, "cc", 1.5) for i, n in enumerate([2, 3, 1])),
        row("mixed", 0, 1.0, "ppeeep", "a", 1.0),
        row("mixed", 1, 0.0, "eee", "a", 1.0),
        row("mixed", 2, 0.0, "epp", "a", 1.0),
        row("marked", 0, 1.0, "ppp", "d", 1.0, in_loss=False),
        row("marked", 1, 0.0, "pp", "d", 1.0, in_denominator=False),
        row("marked", 2, 0.5, "p", "d", 1.0, in_loss=False, in_denominator=False),
        row("marked", 3, 0.0, "", "d", 1.0),
        *(row("hint", i, r, "p" * n, "ab", 1.0, tag="hint") for i, (r, n) in enumerate([(1.0, 4), (0.0, 3)])),
        *(row("begun", i, r, parts, "dd", 1.25) for i, (r, parts) in enumerate([(1.0, "iipp"), (0.0, "ipep")])),
        row("begun", 2, 1.0, "iii", "dd", 1.25),
    ]
    if name == "remax":  # what the others are compared with
        left = {"tag": "greedy", "in_loss": False, "in_denominator": False}
        worth = {"a": 1.0, "b": 0.0, "uniform": 1.0}
        made += [row(g, 9, worth.get(g, 0.5), "pp", "a", 1.0, **left) for g in dict.fromkeys(one.group for one in made)]
    spans = [Span(r.episode.request.context, r.episode.stream("ids").astype(np.int32), tau(r)) for r in made]
    result = []
    for index, (one, score) in enumerate(zip(made, engine("fp64").score(spans), strict=True)):
        grid = [ASIDE.get(name, {}).get(ratio, ratio) for ratio in GRID]
        ratios = np.array([grid[(3 * index + t) % len(grid)] for t in range(len(score.logp))])
        shift = random.normal(0, 0.5, len(score.logp))
        energy, entropy = np.random.default_rng(index).uniform(0.1, 2.0, (2, len(score.logp)))
        known = {"gamma": GAMMA, "log_z": 0.3, "mean_logp": np.full(len(score.logp), -2.0), "energy": f32(energy)}
        filled = [stream for part in parts_of(recipe(name).mechanism) for stream in part.fills if stream.name in known]
        one = one.mark(constants={stream: known[stream.name] for stream in filled})
        if name in TOKENS_EARN:
            earned = np.random.default_rng(index).choice([-0.1, 0.2, 0.5], len(entropy))
            one = one.mark(process=f32(np.where((np.arange(len(earned)) == 0) & (len(earned) > 2), 0.0, earned)))
        top_ids = np.array([np.random.default_rng(index).permutation(5)[:3] for _ in entropy], np.int32).reshape(-1, 3)
        one = one.mark(episode=hesitating(one.episode, f32(entropy)), top_ids=top_ids)
        result.append(one.mark(old=(score.logp - np.log(ratios)).astype(np.float32), ref=f32(score.logp + shift)))
    return tuple(result)


def hesitating(answer: Episode, entropy: np.ndarray) -> Episode:
    """With the entropies of a sampler."""
    cuts = np.cumsum([len(part) for part in answer.segments])[:-1]
    parts = zip(answer.segments, np.split(entropy, cuts), strict=True)
    segments = tuple(dataclasses.replace(part, entropy=own) for part, own in parts)
    return dataclasses.replace(answer, segments=segments)


def tau(row: Row) -> float:
    return row.episode.request.temperature


def f32(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32)


@functools.cache
def batch(name: str) -> Batch:
    return batch_of(recipe(name), rows(name))


@functools.cache
def batch_for_all(name: str) -> Batch:
    """The awkward rows of any recipe; those of preferences are in pairs, or beside answers to other questions."""
    made, whole = rows(name), recipe(name).mechanism.objective.whole
    if isinstance(whole, Preference):
        made = (
            bind(make("curate:mismatch"))(rows(name)) if name == "kto" else pairs(rows(name), memory=Memory(0), most=2)
        )
    return batch_of(recipe(name), made)
