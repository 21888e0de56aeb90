"""A task of two letters with judges, in signs: for tests of roles that judge the answers of others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from altered import altered
from tiny import END, policy, recipe_of, run, segment

import assay.tasks
from assay.engine.local import LocalEngine
from assay.part import Rewarding, bind
from assay.source import Pool, Share
from assay.source.epochs import problem_set
from assay.tasks.judging import to_compare, to_judge
from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Episode, Problem, Request, Reward, Verdict

NAME = "pairs-of-letters"
SIGNS = "ab,#[] JC+-01234"


class Signs:
    """A codec of one token a sign; token 0 ends an answer. What is no sign is passed over."""

    vocab = 1 + len(SIGNS)
    end_ids = frozenset({END})
    stops: tuple[str, ...] = ()

    def render(self, prompt: Any) -> np.ndarray:
        return self.encode(f"{prompt} ")

    def encode(self, text: str) -> np.ndarray:
        return np.array([1 + SIGNS.index(sign) for sign in text if sign in SIGNS], dtype=np.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(SIGNS[i - 1] if i else "." for i in ids)


def _read(spec: Any, steps: Sequence[str], answer: str | None) -> Any:
    """A step is right if it is the letter of its place."""
    wanted = spec["letters"]
    return ["valid" if wanted[i : i + 1] == step else "wrong" for i, step in enumerate(steps)], "none"


def _letters(generator: np.random.Generator, level: int) -> dict[str, Any]:
    return {"letters": "".join("ab"[int(i)] for i in generator.integers(2, size=level))}


STEPPED = Task(
    name=NAME,
    domain="letters",
    summary="the letters of the question one by one, then the last of them",
    generator=Generator(
        levels=range(1, 4), instance=_letters, canonical=lambda spec: spec["letters"], split=lambda spec: "train"
    ),
    wordings=Wordings(
        compact=lambda spec: spec["letters"],
        natural=lambda spec: spec["letters"],
        solve=lambda spec: Solution(spec["letters"][-1], ",".join(spec["letters"]), "\n".join(spec["letters"])),
    ),
    checker=Checker(
        check=lambda spec, text: (
            Verdict.ok(text) if text == spec["letters"][-1] else Verdict.fail("wrong", answer=text)
        ),
        steps=_read,
    ),
)
RULED = altered(
    dataclasses.replace(STEPPED, summary="two letters, each of which is a rule"),
    solve=lambda spec: Solution(spec["letters"]),
    check=lambda spec, text: Verdict.ok(text) if text == spec["letters"] else Verdict.fail("wrong", answer=text),
    steps=None,
    rules=lambda spec, text: [text[i : i + 1] == letter for i, letter in enumerate(spec["letters"])],
)
POOL = Pool((Share(NAME, (2,)),))


def register(patch: pytest.MonkeyPatch, task: Task = STEPPED) -> None:
    patch.setitem(assay.tasks.TASKS, NAME, task)
    problem_set.cache_clear()


def beginner(*, seed: int = 0, layers: int = 2) -> LocalEngine:
    return policy(
        "fp32",
        vocab=Signs.vocab,
        hidden=32,
        layers=layers,
        heads=4,
        head_dim=8,
        kv_heads=4,
        ffn=32 * layers,
        context=64,
        seed=seed,
    )


def _share(text: str) -> Share:
    name, _, weight = text.partition("=")
    return Share(name, (2,), float(weight or 1))


def taught(*names: str, num_steps: int) -> LocalEngine:
    """A policy that has imitated worked solutions of these tasks for a while, written `NAME=WEIGHT` if they are drawn
    with other weights than 1. It knows the form of a judgement.
    """
    engine = beginner()
    recipe = recipe_of("sft", max_new=10, num_prompts=32, group_size=1, num_steps=num_steps, learning_rate=0.006)
    run(recipe, engine, pool=Pool(tuple(map(_share, names))), codec=Signs())
    return engine


def asked(letters: str = "ab", task: Task = STEPPED) -> Problem:
    return task.pose({"letters": letters}, level=len(letters))


def answer(
    text: str,
    problem: Problem | None = None,
    *,
    group: str = "0:0",
    sample: int = 0,
    role: str = "policy",
    parent: str = "",
    finish: Any = "stop",
    rewards: Sequence[Reward] = (),
    right: bool | None = None,
) -> Episode:
    """What somebody wrote to a problem, with the verdict of its task."""
    problem = problem or asked()
    found = assay.tasks.task(problem.task).verify(problem, text) if finish == "stop" else Verdict.fail("truncated")
    if right is not None:
        found = Verdict.ok(text) if right else Verdict.fail("wrong")
    codec, draw = Signs(), int(group.split(":")[1].split("/")[0])
    request = Request(
        problem, codec.render(problem.prompt), group, max_new=12, draw=draw, sample=sample, role=role, parent=parent
    )
    written = segment([*codec.encode(text).tolist(), *([END] if finish == "stop" else [])])
    return Episode(request, (written,), finish, text=text, verdict=found, rewards=tuple(rewards))


def judgement(of: Episode, text: str, *, role: str = "judge", sample: int = 0, **more: Any) -> Episode:
    """What a judge wrote of an answer."""
    task = assay.tasks.task(of.request.problem.task)
    posed = to_judge(task, of.request.problem, of.text, right=of.right)
    place = f"0:{10 + of.request.sample}"
    return answer(text, posed, group=place, sample=sample, role=role, parent=of.request.id, **more)


def comparison(one: Episode, other: Episode, text: str, *, role: str = "judge", sample: int = 0) -> Episode:
    """What a judge wrote of two answers, of which it read `one` first."""
    task = assay.tasks.task(one.request.problem.task)
    posed = to_compare(task, one.request.problem, (one.text, other.text), rights=(one.right, other.right))
    place = 20 + 5 * min(one.request.sample, other.request.sample) + max(one.request.sample, other.request.sample)
    parent = f"{one.request.id} {other.request.id}"
    return answer(text, posed, group=f"0:{place}", sample=sample, role=role, parent=parent)


def worth(part: Rewarding, episodes: Sequence[Episode], *others: Episode) -> list[float | str | None]:
    """What each answer has of this reward; `unread` for no judgement."""
    found = bind(part, codec=Signs(), max_new=12)(episodes, everyone=[*episodes, *others])
    return [None if one is None else "unread" if one.unread else one.value for one in found]
