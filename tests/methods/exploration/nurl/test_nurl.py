"""Who is nudged, by which hint, in which context each answer trains, and runs through both stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import episode, group_of, phases_of, recipe_of, require_resumable, run, segment
from worded import grown
from worked import POOL, TASK, Signs, beginner, register

from assay.memory import Memory
from assay.methods.exploration.nurl.nudge import NUDGED, ROLE, Nudge, hint_in, nudge
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.rng import Key
from assay.types import Episode, Request

PROBLEM = TASK.problem(Key(0), level=3)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


class Codec(Signs):
    """The signs of the writer's prompt are passed over."""

    def encode(self, text: str) -> Any:
        return super().encode("".join(sign for sign in text if sign in self.signs))


def answers(*rights: bool | None, group: str = "0:0") -> list[Episode]:
    made = [episode([1], reward=None if right is None else float(right)) for right in rights]
    asked = [
        Request(PROBLEM, Codec().render(PROBLEM.prompt), group, max_new=6, sample=i, draw=int(group[-1]))
        for i in range(len(rights))
    ]
    return [dataclasses.replace(e, request=r) for e, r in zip(made, asked, strict=True)]


def nudged(episodes: Sequence[Episode], writer: str = "policy") -> list[Request]:
    return nudge(episodes, codec=Codec(), group_size=4, writer=writer, longest=5, share=0.5, least=3)


def test_first_the_hint_then_three_answers_with_it_and_one_without() -> None:
    first = answers(False, False, None, False)
    (writing,) = nudged(first)
    assert (writing.role, writing.group, writing.max_new, writing.helped) == (ROLE, "0:0/hinter", 5, True)
    assert writing.context.tolist() == Codec().render(f"{PROBLEM.prompt} [{PROBLEM.spec['letters'][-1]}] ").tolist()
    written = Episode(writing, (segment([1, 2]),), "stop", text="ab")
    again = nudged([*first, written])
    hinted = Codec().render(Prompt.of(PROBLEM).with_hint("ab").told).tolist()
    assert [r.context.tolist() == hinted for r in again] == [True, True, True, False]
    assert {r.group for r in again} == {"0:0/nudged"} and all(r.helped for r in again)
    assert writing.round == 1 and {r.round for r in again} == {2} and [r.sample for r in again] == [0, 1, 2, 3]
    bare = again[-1]
    assert (
        bare.context.tolist()
        == Codec().render(PROBLEM.prompt).tolist()
        == Episode(bare, (), "stop").training_context.tolist()
    )
    assert Episode(again[0], (), "stop").training_context.tolist() == hinted, "trained as it was asked"
    done = [dataclasses.replace(e, request=r) for e, r in zip(answers(*[False] * 4), again, strict=True)]
    assert nudged([*first, written, *done]) == [], "once"
    assert len({r.id for r in [writing, *again, *(e.request for e in first)]}) == 9


def test_questions_with_hints_are_longer_by_hand() -> None:
    """The solution is x,y,z#z: its first step is ` [x]`, its first two are ` [x,y]`. The writer reads ` [z] `, 5 signs;
    around its hint, which is cut at `longest` and at the limit of answers, stand 3.
    """
    assert [grown(Nudge(writer="solution", share=s), PROBLEM, Codec(), 6) for s in (0.3, 0.5)] == [4, 6]
    assert [grown(Nudge(longest=5), PROBLEM, Codec(), limit) for limit in (1, 4, 6)] == [5, 3 + 4, 3 + 5]


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6))
def test_only_groups_that_are_judged_and_all_wrong(rights: list[bool | None]) -> None:
    wanted = False in rights and True not in rights
    assert bool(nudged(answers(*rights))) == bool(nudged(answers(*rights), writer="solution")) == wanted


def test_hints_that_are_no_use() -> None:
    problem = dataclasses.replace(PROBLEM, solution="a,b#345")
    request = dataclasses.replace(answers(False)[0].request, problem=problem, role=ROLE)
    for text, finish, hint in [("a b ", "stop", "a b"), ("b", "length", ""), ("is 345", "stop", ""), (" ", "stop", "")]:
        assert hint_in(Episode(request, (), finish, text=text), least=3) == hint  # type: ignore[arg-type]
    first = answers(False, False)
    written = Episode(nudged(first)[0], (segment([1]),), "length", text="ab")
    assert nudged([*first, written]) == [], "and the group is left alone"
    bare = [
        dataclasses.replace(
            e, request=dataclasses.replace(e.request, problem=dataclasses.replace(PROBLEM, solution=None))
        )
        for e in first
    ]
    assert nudged(bare) == [], "nobody knows the answer"


def test_the_bare_answer_gets_the_rest_of_the_group_by_hand() -> None:
    """Three of four right: p = 3/4, and the population's advantage of the wrong one is -sqrt(p / (1 - p)) = -sqrt 3;
    with ddof 1 it is sqrt(3/4) of that.
    """
    rows = phases_of(small()).credit(group_of([1.0, 1.0, 1.0, 0.0]), Memory(0))[0]
    assert rows.advantage[-1] == pytest.approx(-(3**0.5) * (3 / 4) ** 0.5, rel=1e-5)


def small(writer: str = "policy", **scale: object) -> Recipe:
    rows = {"num_prompts": 8, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    recipe = recipe_of("nurl", max_new=6, **{**rows, **scale})
    (part,) = recipe.mechanism.expand
    expand = (dataclasses.replace(part, writer=writer),)  # type: ignore[call-arg]
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=expand))


@pytest.mark.parametrize("writer", ["policy", "solution"])
def test_a_run_nudges_in_its_second_stage_alone(writer: str) -> None:
    recipe = small(writer, num_steps=6)
    notes, memory = run(recipe, beginner(), pool=POOL, codec=Codec())
    tags = [{e.request.tag for e in step} for step in notes.episodes]
    assert all(found == {""} for found in tags[:3]) and any(NUDGED in found for found in tags[3:])
    assert any(ROLE in found for found in tags[3:]) == (writer == "policy") and memory.stage == 1
    every = [row for rows in notes.rows for row in rows]
    assert not any(row.in_loss for row in every if row.role == ROLE)
    plain = [row for row in every if not row.episode.request.helped]
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == len(plain)


@pytest.mark.slow
@pytest.mark.learning
def test_hints_make_hard_problems_learnable() -> None:
    recipe = small("solution", num_steps=30, learning_rate=0.02, group_size=8)
    notes, _ = run(recipe, beginner(), pool=POOL, codec=Codec())
    bare = [np.mean([e.right for e in step if not e.request.helped]) for step in notes.episodes]
    shown("rise without hints", np.mean(bare[-5:]) - np.mean(bare[:5]), above=0.2)


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(), beginner, after=3, pool=POOL, codec=Codec())
