"""Who answers under which instruction, who is shown what, what is learnt from whom, and runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import episode, recipe_of, require_resumable, run
from worded import grown
from worked import POOL, TASK, Signs, beginner, register

from assay.ask import Sampling, first_requests
from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.exploration.meml_grpo.experts import (
    GOLD,
    MANNERS,
    AsExperts,
    GoldAfterFailure,
    as_experts,
    expert_of,
    gold_after_failure,
    taught_experts,
)
from assay.methods.exploration.meml_grpo.lessons import MUTUAL, lessons
from assay.part import bind
from assay.recipe import Recipe, check
from assay.record import rollout_table
from assay.rng import Key
from assay.types import Origin, Request, Row

PROBLEM = TASK.problem(Key(0), level=3)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


class Codec(Signs):
    """A bracket of an instruction is spelt as one of the task."""

    def encode(self, text: str) -> Any:
        spelt = text.translate(str.maketrans("()", "[]"))
        return super().encode("".join(sign for sign in spelt if sign in self.signs))


def requests(samples: int = 6) -> list[Request]:
    drawn = first_requests([PROBLEM], Memory(0), first=0, samples=samples, sampling=Sampling(max_new=6), codec=Codec())
    return as_experts(drawn, codec=Codec(), experts=3)


def rows(*rights: Sequence[bool | None]) -> list[Row]:
    """The answers of each expert."""
    made = []
    for request in requests(3 * max(map(len, rights))):
        own, place = rights[expert_of(request)], request.sample // len(MANNERS)
        if place < len(own):
            right = own[place]
            answer = episode([1, 2], sample=request.sample, reward=None if right is None else float(right))
            row = Row(dataclasses.replace(answer, request=request))
            made.append(row if right is not None else row.mark(in_loss=False, in_group=False, in_denominator=False))
    return made


def test_the_experts_answer_in_turn_each_in_a_group_of_its_own() -> None:
    made = requests()
    assert [(r.group, expert_of(r)) for r in made] == [(f"0:0/e{i % 3}", i % 3) for i in range(6)]
    question = PROBLEM.prompt
    contexts = [Codec().render(text).tolist() for text in (question, f"{question} (", f"{question} )")]
    assert [r.context.tolist() for r in made[:3]] == contexts and not any(r.helped for r in made)
    assert expert_of(dataclasses.replace(made[1], group="0:0")) == -1, "of no expert"
    assert grown(AsExperts(experts=3), PROBLEM, Codec(), 6) == 2, "by a space and a bracket"
    shown = taught_experts(made, codec=Codec())
    texts = [Codec().decode(r.prefix[0].ids.tolist()[:-1]) for r in shown[:3]]
    assert texts == TASK.traces(PROBLEM)[:3] and all(r.max_new == 0 for r in shown)


def golden(*rights: Sequence[bool | None]) -> list[Request]:
    return gold_after_failure([row.episode for row in rows(*rights)], codec=Codec(), more_than=6 / 8)


def test_who_failed_more_than_three_quarters_is_shown_the_solution() -> None:
    found = golden([False] * 4, [False, False, False, True], [False, False, False, None])
    assert [r.group for r in found] == ["0:0/e0/gold", "0:0/e2/gold"] and {r.tag for r in found} == {GOLD}
    assert found[1].context.tolist() == requests()[2].context.tolist(), "under its own instruction"
    assert Codec().decode(found[0].prefix[0].ids.tolist()[:-1]) == PROBLEM.solution and found[0].helped
    assert {r.round for r in found} == {requests()[0].round + 1}
    episodes = [row.episode for row in rows([False] * 4, [False, False, False, True], [])]
    assert [r.group for r in bind(GoldAfterFailure(), codec=Codec())(episodes)] == ["0:0/e0/gold"]
    done = [dataclasses.replace(episode([1], reward=1.0), request=r) for r in found]
    before = [row.episode for row in rows([False] * 4, [True] * 4, [False] * 4)]
    assert gold_after_failure([*before, *done], codec=Codec(), more_than=6 / 8) == [], "once"


def test_answers_that_nobody_judged_are_no_failures() -> None:
    """3 of 4 failed, which is not more than 3/4; 4 of 5 would be."""
    assert golden([False, False, False, True, None], [], []) == golden([None] * 4, [], []) == []
    episodes = [row.episode for row in rows([False, False, False, True, False], [], [])]
    assert len(gold_after_failure(episodes, codec=Codec(), more_than=6 / 8)) == 1
    unjudged = [*episodes[:4], dataclasses.replace(episodes[4], verdict=None)]
    assert gold_after_failure(unjudged, codec=Codec(), more_than=6 / 8) == []


def test_the_worst_is_given_what_the_best_had_right() -> None:
    """Accuracies 1/2, 1 and 0: the two right answers of the second expert, under the question of the third."""
    given_rows = rows([True, False], [True, True], [False, False])
    found = lessons(given_rows)
    copies = found[len(given_rows) :]
    assert len(copies) == 2 and {expert_of(row.episode.request) for row in copies} == {1}
    assert {row.tag for row in copies} == {MUTUAL}
    third = requests()[2].context.tolist()
    assert all(row.episode.training_context.tolist() == third for row in copies)
    assert not any(row.in_group or row.in_denominator for row in copies) and all(row.in_loss for row in copies)
    assert [row.in_group for row in found[: len(given_rows)]] == [True] * 6
    given_rows = [row.mark(in_loss=not row.episode.right) for row in given_rows]
    assert len(lessons(given_rows)) == len(given_rows), "what is out of the loss is not copied"
    equal = lessons(rows([True, False], [True, False], [False, False]))[6:]
    assert [expert_of(row.episode.request) for row in equal] == [0], "the first of equals"


def test_solutions_and_answers_of_no_expert_are_no_merit() -> None:
    """All experts failed; the right answers are a solution that was shown, and one of a group of no expert."""
    failed, (shown, *_) = rows([False] * 4, [False] * 4, [False] * 4), golden([False] * 4, [], [])
    gold = Row(dataclasses.replace(episode([1], reward=1.0), request=shown))
    plain = Row(dataclasses.replace(gold.episode, request=dataclasses.replace(shown, group="0:0", tag="")))
    found = lessons([*failed, gold, plain])
    assert len(found) == 14 and [(row.in_group, row.in_denominator) for row in found[:12]] == [(True, True)] * 12
    assert not found[12].in_group and not found[12].in_denominator and found[12].in_loss
    assert found[13].in_group and found[13].in_denominator


@given(st.lists(st.lists(st.sampled_from([True, False, None]), min_size=2, max_size=4), min_size=3, max_size=3))
def test_nothing_is_learnt_from_equals_and_the_rows_stay(rights: list[list[bool | None]]) -> None:
    made = rows(*rights)
    found = lessons(made)
    judged = [[r for r in own if r is not None] for own in rights]
    rates = [sum(own) / len(own) for own in judged if own]
    copies = found[len(made) :]
    assert len(found) >= len(made)
    assert bool(copies) == (bool(rates) and max(rates) > min(rates))
    assert all(row.episode.right for row in copies)


def small(**scale: object) -> Recipe:
    sizes = {"num_prompts": 4, "group_size": 6, "num_steps": 10, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of("meml-grpo", max_new=6, **{**sizes, **scale})


def test_too_few_answers_for_the_experts_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"as-experts: 4 answers are too few for 3 experts"):
        check(small(group_size=4))
    check(small(group_size=6))
    recipe = small()
    with pytest.raises(ConfigError, match="2 to 3 experts, not 4"):
        check(dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, ask=(AsExperts(experts=4),))))


def test_a_run_teaches_first_and_then_learns_from_each_other() -> None:
    notes, memory = run(small(), beginner(), pool=POOL, codec=Codec())
    assert all((e.segments[0].origin == Origin.INJECTED).all() for e in notes.episodes[0]), "imitation"
    later = [row for step in notes.rows[1:] for row in step]
    tags = {row.tag or row.episode.request.tag for row in later}
    assert {"", MUTUAL, GOLD} <= tags and memory.stage == 1
    for step in notes.batches[1:]:
        for batch in step:
            tokens = np.repeat(np.array(batch.tag), batch.lengths)
            special = np.isin(tokens, [MUTUAL, GOLD])
            assert not batch.advantage[special].any() and batch.mask[special].all()
            assert not batch.counted[special].any(), "not in the denominator of the policy's loss"


def test_rollouts_show_an_answer_and_its_copy_with_the_advantage_of_each() -> None:
    notes, _ = run(small(num_steps=4), beginner(), pool=POOL, codec=Codec())
    originals = 0
    for step, (rows, batches) in enumerate(zip(notes.rows, notes.batches, strict=True)):
        shown = rollout_table(rows, Codec().decode, step=step, batches=batches)["advantage"]
        copied = {row.episode.request.id for row in rows if row.tag == MUTUAL}
        for row, advantage in zip(rows, shown, strict=True):
            if row.tag == MUTUAL:
                assert not any(advantage)
            elif row.episode.request.id in copied:
                group = [other.reward for other in rows if other.group == row.group and other.in_group]
                assert any(advantage) == (len(set(group)) > 1)
                originals += any(advantage)
    assert originals > 0


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns() -> None:
    notes, _ = run(
        small(num_prompts=8, group_size=9, num_steps=40, learning_rate=0.02), beginner(), pool=POOL, codec=Codec()
    )
    own = [np.mean([e.right for e in step if not e.request.helped]) for step in notes.episodes[4:]]
    shown("rise of its own answers", np.mean(own[-5:]) - np.mean(own[:3]), above=0.1)


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(), beginner, after=4, pool=POOL, codec=Codec())
