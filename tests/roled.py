"""Steps of recipes with several roles, in which everybody writes what a script says: whose rows train, and by what.

A row is told by its role and the task of its problem, as `critic compare:countdown`. Each method says in
`tests/methods/GROUP/NAME/roles.py` what its recipes teach whom, a step of each stage, worked out by hand:

    ROLES = {"judged": Roles(script, {"countdown": 3}, (Step({"policy countdown": {ONE_OF_FOUR}}, still={...}),))}

What trains a row is its advantage: a number, or those of its tokens where these differ; in a preference pair it is the
side of the row, 1 or -1, and in a row without an advantage the largest of its weights in a further term of the loss.
"""

from __future__ import annotations

import dataclasses
import runpy
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import Notes, here, models_for, policy, recipe_of, stages_of

from assay.curate.pairs import SIDES
from assay.engine.interface import Done, Generation, Span
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.models import Models
from assay.policy import character_tokenizer
from assay.recipe import Recipe
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import ALPHABET
from assay.types import Batch, Request, Row, Segment, Stats

CODEC = character_tokenizer(ALPHABET)
(END,) = CODEC.end_ids
ONE_OF_FOUR = (1.5, -0.5, -0.5, -0.5)
"""(r - 1/4) / s of the rewards 1, 0, 0, 0, whose deviation s is 1/2."""

Script = Callable[[Request], str]
"""What is written in answer to a request."""

Group = tuple[Any, ...]
"""What trains each row of a group, in the order of its samples: a number, or one for each token."""


@dataclass(frozen=True)
class Step:
    """What a step teaches whom.

    Step({"policy countdown": {ONE_OF_FOUR}}, still={"judge judge:countdown"})
    """

    trains: Mapping[str, Set[Group] | str] = field(default_factory=dict)  # role and task -> all that its groups come to
    still: Set[str] = frozenset()  # role and task of the rows that train nobody
    learns: Set[str] = frozenset({"policy"})  # the parameter sets that move


@dataclass(frozen=True)
class Roles:
    """What a recipe teaches whom in its first steps. In the place of groups may stand the name of a reward that comes
    from a network: the one reward of these rows, less the mean of the group, over its deviation.
    """

    script: Script
    tasks: Mapping[str, int]  # task -> level
    steps: Sequence[Step]
    shares: Sequence[int] = ()  # how many of the steps each stage has; (): one
    scale: Mapping[str, Any] = field(default_factory=dict)
    changed: Callable[[Recipe], Recipe] = lambda recipe: recipe  # with sizes that so few rows can reach


def truth(request: Request) -> str:
    assert request.problem.solution is not None
    return request.problem.solution


def numbered(request: Request) -> str:
    """The first answer of each group is right, and the others are different wrong ones, 91 to 93."""
    return truth(request) if request.sample == 0 else str(90 + request.sample)


@cache
def table() -> dict[str, Roles]:
    """Recipe -> what its method says of it."""
    found: dict[str, Roles] = {}
    for path in sorted((Path(__file__).parent / "methods").glob("*/*/roles.py")):
        found |= runpy.run_path(str(path))["ROLES"]
    return found


def require(name: str, patch: pytest.MonkeyPatch) -> None:
    """Runs the recipe's first steps, and compares each with what its method says."""
    watch, roles = watched(name, patch), table()[name]
    assert len(watch.rows) == len(roles.steps)
    for number, wanted in enumerate(roles.steps):
        rows, moved = watch.rows[number], watch.moved[number]
        found = taught(rows, watch.batches[number])
        place = f"{name}, step {number}"
        assert {*found} == {*wanted.trains}, place
        assert {told(row) for row in rows} - {*found} == wanted.still, place
        assert moved == wanted.learns, place
        for who, groups in wanted.trains.items():
            if isinstance(groups, str):
                groups = {_standardised(members, groups) for members in _members(rows, who)}
            assert all(any(_equal(one, other) for other in groups) for one in found[who]), f"{place}: {found[who]}"
            assert all(any(_equal(one, other) for other in found[who]) for one in groups), f"{place}: {found[who]}"


def watched(name: str, patch: pytest.MonkeyPatch) -> Watch:
    """The first steps of a recipe, on networks of a layer that learn from what the script writes."""
    roles, engine = table()[name], policy("fp32", vocab=CODEC.vocab, context=512, decode=CODEC.decode, init_std=0.1)
    patch.setattr(type(engine), "generate", _writing(roles.script))
    shares = roles.shares or [1] * len(RECIPES[name].stages)
    sizes = {"num_prompts": len(roles.tasks), "group_size": 4, "warmup_steps": 0, "num_minibatches": 1, **roles.scale}
    recipe = roles.changed(recipe_of(name, max_new=96, num_steps=sum(shares), **sizes))
    stages = [dataclasses.replace(stage, share=share) for stage, share in zip(recipe.stages, shares, strict=True)]
    recipe, watch = dataclasses.replace(recipe, stages=tuple(stages)), Watch()
    pool = Pool(tuple(Share(task, (level,)) for task, level in roles.tasks.items()))
    train(stages_of(recipe, pool=pool, codec=CODEC), models_for(recipe, engine), Memory(0), watch)
    return watch


@dataclass
class Watch(Notes):
    """A recorder that also notes which of the trained parameter sets moved in each step."""

    moved: list[set[str]] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)

    def started(self, memory: Memory, models: Models) -> None:
        self.versions = _versions(models)

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        now = _versions(models)
        self.moved.append({name for name, version in now.items() if version != self.versions[name]})
        self.versions = now


def _versions(models: Models) -> dict[str, int]:
    return {name: here(models[name]).version for name, spec in models.specs.items() if spec.trained}


def _writing(script: Script) -> Callable[..., list[Generation]]:
    """A method of an engine that writes what the script says."""

    def generate(
        self: LocalEngine, requests: Sequence[Request], key: Key, *, done: Done | None = None
    ) -> list[Generation]:
        texts = [_tokens(script(request), request.max_new) for request in requests]
        spans = [Span(request.context, ids, request.temperature) for request, ids in zip(requests, texts, strict=True)]
        made = []
        for place, (ids, scores) in enumerate(zip(texts, self.score(spans, entropy=True), strict=True)):
            origin, logp = np.zeros(len(ids), np.int8), scores.logp.astype(np.float32)
            segment = Segment(ids, origin, old=logp, mu=logp, entropy=scores.entropy, version=self.version)
            made.append(Generation(segment, "stop" if ids[-1] == END else "length"))
            if done is not None:
                done(place, made[-1])
        return made

    return generate


def _tokens(text: str, most: int) -> np.ndarray:
    """Those of the text and its end; one that is as long as the limit has no end."""
    ids = CODEC.encode(text).astype(np.int32)
    assert len(ids) <= most, f"{text!r} is longer than {most} tokens"
    return ids if len(ids) == most else np.append(ids, END).astype(np.int32)


def told(row: Row) -> str:
    return f"{row.role} {row.episode.request.problem.task}"


def taught(rows: Sequence[Row], batches: Sequence[Batch]) -> dict[str, set[Group]]:
    """Role and task of the rows that train -> what their groups come to."""
    known = {(row.group, row.episode.request.id): row for row in rows}
    groups: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    for batch in batches:
        for i, place in enumerate(zip(batch.group, batch.request, strict=True)):
            row = known[place]
            if batch.mask[batch.at[i] : batch.at[i + 1]].any():
                groups.setdefault((told(row), row.group), []).append((row.episode.request.sample, _worth(batch, i)))
    found: dict[str, set[Group]] = {}
    for (who, _), members in groups.items():
        found.setdefault(who, set()).add(tuple(worth for _, worth in sorted(members, key=lambda pair: pair[0])))
    return found


def _worth(batch: Batch, row: int) -> Any:
    place = slice(batch.at[row], batch.at[row + 1])
    if SIDES in batch.constants:
        return float(batch.constants[SIDES].reshape(len(batch.request), -1)[row].sum())
    values = batch.advantage[place][batch.mask[place]].tolist()
    if not any(values) and batch.term_weights:
        return float(max(weights[place].max() for weights in batch.term_weights.values()))
    return values[0] if len(set(values)) == 1 else tuple(values)


def _members(rows: Sequence[Row], who: str) -> Iterator[list[Row]]:
    """The rows of each group, in the order of its samples."""
    for group in dict.fromkeys(row.group for row in rows if told(row) == who):
        yield sorted((row for row in rows if row.group == group), key=lambda row: row.episode.request.sample)


def _standardised(rows: Sequence[Row], name: str) -> Group:
    assert {tuple(reward.name for reward in row.episode.rewards) for row in rows} == {(name,)}
    rewards = np.array([row.reward for row in rows], np.float64)
    assert len(set(rewards)) > 1
    return tuple(((rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-6)).tolist())


def _equal(one: Group, other: Group) -> bool:
    return len(one) == len(other) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-4) for a, b in zip(one, other, strict=True)
    )
