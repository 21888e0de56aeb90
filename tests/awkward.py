"""A batch of awkward rows for every recipe.

Ragged rows, shared contexts, several temperatures, tokens of an environment, rows with no token to train, rows out of
the loss or of the denominator, an empty answer, no token that two answers share, and ratios on both sides of every
clip, none near it. What a recipe needs beside them, its method's `oracle.py` adds:

    ROWS = {"remax": with_greedy}      the rows -> those that its advantages are made of
    PREFERRED = {"kto": mismatched}    the rows -> those of which its preferences are made, in place of pairs
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from of_methods import said
from tiny import batch_of, episode, policy, recipe_of, segment

from assay.credit import Constant
from assay.curate.pairs import pairs
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.memory import Memory
from assay.objective.preference import Preference
from assay.part import parts_of
from assay.recipe import Recipe
from assay.streams import Stream
from assay.types import Batch, Episode, Origin, Row, Segment

MAX_NEW = 8
GAMMA = 0.7
GRID = (0.45, 0.79, 0.81, 1.0, 1.19, 1.21, 1.25, 1.29, 3.1, 11.0)


@functools.cache
def engine(precision: str) -> LocalEngine:
    return policy(precision)


@functools.cache
def recipe(name: str) -> Recipe:
    return recipe_of(name, max_new=MAX_NEW)


def planned(name: str, random: np.random.Generator, *, eight: bool = False) -> list[Row]:
    """The answers, before anything is known of their tokens; with a group of eight of which one is right."""
    mechanism = recipe(name).mechanism
    imitates = isinstance(mechanism.credit, Constant) and mechanism.objective.injected == "train"
    written = Origin.INJECTED if imitates else Origin.POLICY

    def row(group: str, sample: int, reward: float, parts: str, prompt: str, temperature: float, **marks: Any) -> Row:
        """`parts` spells who wrote the answer, a letter a token: policy, environment or somebody injected."""
        origins = {"p": written, "e": Origin.ENV, "i": Origin.INJECTED}
        runs = [(origins[who], len(list(run))) for who, run in itertools.groupby(parts)]
        segments = [
            segment(random.integers(0, 5, count), origin=who, version=-1, node=f"{group}/{sample}/{place}")
            for place, (who, count) in enumerate(runs)
        ]
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
    if eight:
        parts = ["p" * (1 + i % 5) for i in range(8)]
        made += [row("eight", i, float(i == 3), own, "c", 1.0) for i, own in enumerate(parts)]
    return said("ROWS").get(name, list)(made)


@functools.cache
def rows(name: str) -> tuple[Row, ...]:
    """Awkward rows of weights that are no more, each with old and reference log-probs."""
    random = np.random.default_rng(11)
    made = planned(name, random)
    spans = [Span(r.episode.request.context, r.episode.stream("ids").astype(np.int32), tau(r)) for r in made]
    result = []
    for index, (one, score) in enumerate(zip(made, engine("fp64").score(spans), strict=True)):
        ratios = np.array([GRID[(3 * index + t) % len(GRID)] for t in range(len(score.logp))])
        shift = random.normal(0, 0.5, len(score.logp))
        one = filled(name, index, one).mark(ref=f32(score.logp + shift))
        result.append(one.mark(old=(score.logp - np.log(ratios)).astype(np.float32)))
    return tuple(result)


def filled(name: str, index: int, row: Row) -> Row:
    """With the constants that parts of the recipe fill, candidates for each token, and the sampler's entropies."""
    count = len(row.episode)
    energy, entropy = np.random.default_rng(index).uniform(0.1, 2.0, (2, count))
    known = {"gamma": GAMMA, "log_z": 0.3, "mean_logp": np.full(count, -2.0), "energy": f32(energy)}
    streams = [
        stream
        for part in parts_of(recipe(name).mechanism)
        for stream in part.writes
        if isinstance(stream, Stream) and stream.name in known
    ]
    top_ids = np.array([np.random.default_rng(index).permutation(5)[:3] for _ in entropy], np.int32).reshape(-1, 3)
    row = row.mark(constants={stream: known[stream.name] for stream in streams}, top_ids=top_ids)
    return row.mark(episode=dataclasses.replace(row.episode, segments=split(row.episode, entropy=f32(entropy))))


@dataclass(frozen=True)
class Tabled:
    """Awkward rows, and what an engine says of their tokens; `mu` is neither the old nor the current policy."""

    rows: tuple[Row, ...]
    logp: tuple[np.ndarray, ...]
    entropy: tuple[np.ndarray, ...]


@functools.cache
def tabled(name: str) -> Tabled:
    """The same answers and a group of eight of which one is right, with ratios from 0.2 to 5 to the old policy, and of
    that to the sampler.
    """
    random, result, every, hesitation = np.random.default_rng(0), [], [], []
    for index, row in enumerate(planned(name, random, eight=True)):
        count = len(row.episode)
        now = np.log(random.uniform(0.05, 0.95, count))
        old = f32(now - np.log(random.choice([0.2, 0.7, 0.9, 1.0, 1.0, 1.1, 1.25, 1.5, 3.0, 5.0], count)))
        mu = f32(np.minimum(old - np.log(random.choice([0.4, 0.8, 1.0, 1.2, 6.0], count)), -0.01))
        row = filled(name, index, row).mark(old=old, ref=f32(now + random.normal(0, 0.7, count)))
        known = dataclasses.replace(row.episode, segments=split(row.episode, old=old, mu=mu))
        result.append(row.mark(episode=known))
        every.append(now)
        hesitation.append(random.uniform(0, 2, count))
    return Tabled(tuple(result), tuple(every), tuple(hesitation))


def split(answer: Episode, **streams: np.ndarray) -> tuple[Segment, ...]:
    """The segments of an answer with these streams."""
    cuts = np.cumsum([len(part) for part in answer.segments])[:-1]
    pieces = {name: np.split(values, cuts) for name, values in streams.items()}
    return tuple(
        dataclasses.replace(part, **{name: each[place] for name, each in pieces.items()})
        for place, part in enumerate(answer.segments)
    )


def tau(row: Row) -> float:
    return row.episode.request.temperature


def f32(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32)


@functools.cache
def batch(name: str) -> Batch:
    return batch_of(recipe(name), rows(name))


def in_pairs(rows: Sequence[Row]) -> list[Row]:
    return pairs(rows, memory=Memory(0), most=2)


@functools.cache
def batch_for_all(name: str) -> Batch:
    """The awkward rows of any recipe; those of preferences are in pairs, or beside answers to other questions."""
    made, whole = rows(name), recipe(name).mechanism.objective.whole
    if isinstance(whole, Preference):
        made = said("PREFERRED").get(name, in_pairs)(made)
    return batch_of(recipe(name), made)
