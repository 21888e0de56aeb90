"""Teachers for groups without a right answer: which are asked, in whose place, and how their tokens are learnt."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from altered import altered
from fresh_draws import require_fresh_draws
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from tiny import Table, batch_of, episode, group_of, models_of, recipe_of, require_resumable, run, segment, update
from worked import POOL, TASK, Signs, beginner, register, world

from assay.collect.teachers import ask_teachers, comprehension
from assay.engine.interface import Span
from assay.memory import Memory
from assay.methods.exploration.ampo.make_room import make_room
from assay.objective import Entropy
from assay.recipe import Recipe
from assay.record.measure import step_stats
from assay.rng import Key
from assay.tasks import TASKS, task
from assay.tasks.task import Solution
from assay.types import Episode, Origin, Request, Row
from assay.verifiers.answers import before_answer


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    given = {"num_prompts": 4, "group_size": 4, "num_minibatches": 1, "warmup_steps": 0, **scale}
    return recipe_of("ampo", max_new=6, **given)


# Traces


@given(level=st.integers(1, 12), seed=st.integers(0, 99), wording=st.sampled_from(["compact", "natural"]))
@settings(max_examples=40, deadline=None)
def test_every_trace_is_right_and_of_its_own_style(level: int, seed: int, wording: str) -> None:
    chain = TASKS["mod-chain"]
    problem = chain.problem(Key(seed), level=level, wording=wording)  # type: ignore[arg-type]
    traces = chain.traces(problem)
    assert traces[0] == problem.solution and len(set(traces)) == 4
    for trace in traces:
        assert chain.verify(problem, trace).status == "ok"
        assert trace.startswith(before := before_answer(trace, problem.wording)) and before.endswith(("#", "{"))


def test_traces_of_an_example() -> None:
    problem = TASKS["mod-chain"].pose({"p": 23, "start": 5, "steps": [["+", 3], ["*", 7], ["-", 12]]}, level=3)
    own, *others = TASKS["mod-chain"].traces(problem)
    assert own == "5+3=8,8*7=10,10-12=21#21"
    assert others == ["8,10,21#21", "8:8,56:10,-2:21#21", "5,8,10,21#21"]
    countdown = TASKS["countdown"].problem(Key(1), level=3)
    assert TASKS["countdown"].traces(countdown) == [countdown.solution]


# The choice


def asked(count: int) -> list[Request]:
    problem = POOL.problem(Key(1))
    context = Signs().render(problem.prompt)
    return [Request(problem, context, "0:0", max_new=6, sample=i) for i in range(count)]


def judged(rights: Sequence[bool | None]) -> list[Episode]:
    made = [episode([1], reward=None if right is None else float(right)) for right in rights]
    return [dataclasses.replace(e, request=r) for e, r in zip(made, asked(len(rights)), strict=True)]


def teachers(episodes: Sequence[Episode], engine: object = None, **changes: object) -> list[Request]:
    values: dict = {"most": 2, "right": 0, "choice": "best", **changes}
    models = models_of(engine or beginner())
    return ask_teachers(episodes, models=models, memory=Memory(2), codec=Signs(), **values)


@pytest.mark.parametrize("rights", [[True, False], [True, True], [None, None]])
def test_only_a_group_without_a_right_answer_asks(rights: list[bool | None]) -> None:
    assert teachers(judged(rights)) == []
    assert len(teachers(judged([False, None, False]))) == 2
    assert len(teachers(judged([True, False]), right=9, most=1)) == 1


def test_a_teacher_is_asked_once_and_writes_all_itself() -> None:
    first = judged([False, False])
    again = teachers(first)
    for place, request in enumerate(again):
        assert (request.group, request.max_new, request.sample) == ("0:0", 0, 2 + place)
        assert (request.prefix[0].origin == Origin.INJECTED).all() and request.prefix[0].ids[-1] == 0
    answered = [dataclasses.replace(e, request=r, provenance="teacher") for e, r in zip(judged([True, True]), again)]
    assert teachers([*first, *answered]) == []
    assert len({r.id for r in (*asked(2), *again)}) == 4


def test_comprehension_is_what_a_trace_adds_to_the_probability_of_the_answer() -> None:
    """By the scores of the same spans, token by token."""
    engine, request = beginner(), asked(1)[0]
    traces = TASK.traces(request.problem)
    codec, found = Signs(), comprehension(request, traces, models_of(engine), Signs())
    answer = codec.encode(request.problem.spec["letters"][-1])

    def probability(before: str) -> float:
        context = np.concatenate([request.context, codec.encode(before)]).astype(np.int32)
        return float(np.exp(engine.score([Span(context, answer)])[0].logp).mean())

    expected = [max(0.0, probability(t.rpartition("#")[0] + "#" * ("#" in t)) - probability("#")) for t in traces]
    assert found == pytest.approx(expected, abs=1e-6) and max(found) > 0


def test_the_best_come_first_the_worst_last_and_ties_go_to_the_shorter() -> None:
    engine, request = beginner(), asked(1)[0]
    traces = TASK.traces(request.problem)
    worth = comprehension(request, traces, models_of(engine), Signs())

    def chosen(**changes: object) -> list[int]:
        texts = [Signs().decode(r.prefix[0].ids[:-1].tolist()) for r in teachers(judged([False]), engine, **changes)]
        return [traces.index(text) for text in texts]

    order = sorted(range(3), key=lambda i: (-worth[i], len(traces[i])))
    assert chosen(most=3) == order and chosen(most=1) == order[:1]
    assert chosen(most=1, choice="worst") == sorted(range(3), key=lambda i: (worth[i], len(traces[i])))[:1]
    assert sorted(chosen(most=3, choice="random")) == [0, 1, 2]


# Their places


def taught(rewards: Sequence[float], teaching: Sequence[bool], name: str = "g") -> list[Row]:
    rows = group_of(rewards, name=name)
    return [
        row.mark(episode=dataclasses.replace(row.episode, provenance="teacher" if own else "fresh"))
        for row, own in zip(rows, teaching, strict=True)
    ]


@given(
    st.lists(st.booleans(), min_size=1, max_size=6),
    st.lists(st.booleans(), max_size=3),
    st.integers(0, 50),
)
@settings(max_examples=80, deadline=None)
def test_groups_keep_their_size_and_teachers_displace_the_wrong_only(
    own: list[bool], others: list[bool], seed: int
) -> None:
    rows = taught([float(r) for r in (*own, *others)], [False] * len(own) + [True] * len(others))
    found = make_room(rows, memory=Memory(seed))
    kept = [row for row in found if row.in_loss]
    assert len(kept) == len(own)
    assert all(row.in_loss for row, right in zip(found, own) if right)
    assert not any(row.in_loss for row, right in zip(found[len(own) :], others) if not right)
    assert all(row.in_loss == row.in_group == row.in_denominator for row in found)
    assert [row.in_loss for row in make_room(rows, memory=Memory(seed))] == [row.in_loss for row in found]


def test_two_of_eight_are_a_constant_advantage() -> None:
    """6 wrong and 2 right: 1 - 1/4 for the traces, -1/4 for the others."""
    rows = make_room(taught([0.0] * 8 + [1.0, 1.0], [False] * 8 + [True] * 2), memory=Memory(0))
    recipe = small()
    batch = batch_of(recipe, rows)
    found = sorted(float(batch.advantage[i]) for i in batch.at[:-1])
    assert found == pytest.approx([-0.25] * 6 + [0.75] * 2)


# The loss


def test_injected_tokens_go_by_the_shaped_probability() -> None:
    """d/d log pi of -A f(pi), f = x / (x + 0.1): -A 0.1 pi / (pi + 0.1)^2, each token by 1 / (B L)."""
    recipe = small()
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=())
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=goal))
    written = [segment([1, 2], origin=Origin.INJECTED), segment([3, 0])]
    rows = [Row(episode([piece], sample=i, reward=1.0 - i)) for i, piece in enumerate(written)]
    rows = [row.mark(old=np.log(np.array([0.5, 0.25], np.float32))) for row in rows]
    logp = np.log([0.5, 0.02])
    table = Table({row.episode.request.id: logp.tolist() for row in rows})
    update(table, batch_of(recipe, rows), goal, recipe.scale)
    share = 1 / (2 * recipe.scale.max_new)
    expected = [-0.5 * 0.1 * p / (p + 0.1) ** 2 * share for p in (0.5, 0.02)]
    np.testing.assert_allclose(table.coefficients[rows[0].episode.request.id], expected, rtol=1e-5)
    # the policy's own: ratios 1 and 0.08, the second beyond 1 - 0.2 with A < 0
    np.testing.assert_allclose(table.coefficients[rows[1].episode.request.id], [0.5 * share, 0.0], rtol=1e-5)
    assert Entropy(weight=0.001) in small().mechanism.objective.regularise


# In the loop


def collected(recipe: Recipe) -> tuple[list[Episode], list[Row]]:
    phases, models, memory = world(recipe), models_of(beginner()), Memory(3)
    episodes, memory = phases.collect(models, phases.ask(models, phases.source(memory), memory), memory)
    return episodes, phases.curate(models, episodes, memory)


def test_groups_that_failed_train_on_verified_traces() -> None:
    episodes, rows = collected(small(num_prompts=24))
    groups = {e.request.group for e in episodes}
    helped = {e.request.group for e in episodes if e.provenance == "teacher"}
    assert helped and helped < groups
    for group in groups:
        mine = [row for row in rows if row.group == group]
        fresh = [row.episode.verdict.status for row in mine if row.episode.provenance == "fresh"]  # type: ignore[union-attr]
        assert (group in helped) == ("ok" not in fresh)
        assert sum(row.in_loss for row in mine) == 4
    stats = step_stats(episodes, rows)
    assert stats["group/all_wrong"] == pytest.approx(len(helped) / len(groups))
    right = [e.verdict.status == "ok" for e in episodes if e.provenance == "fresh"]  # type: ignore[union-attr]
    assert stats["reward/accuracy"] == pytest.approx(np.mean(right))


def test_a_wrong_trace_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lying = altered(TASK, others=lambda spec: [Solution("]")] * 3)
    register(monkeypatch, lying)
    _, rows = collected(small(num_prompts=8))
    wrong = [r for r in rows if r.episode.provenance == "teacher" and r.reward == 0.0]
    assert wrong and not any(row.in_loss or row.in_group or row.in_denominator for row in wrong)
    assert task("worked") is lying


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(
        small(num_steps=4, learning_rate=0.02, num_minibatches=2), beginner, after=2, pool=POOL, codec=Signs()
    )


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_and_asks_less() -> None:
    notes, memory = run(small(num_prompts=8, num_steps=40, learning_rate=0.02), beginner(), pool=POOL, codec=Signs())
    fresh = [[e.verdict.status == "ok" for e in step if e.provenance == "fresh"] for step in notes.episodes]  # type: ignore[union-attr]
    asked_for = [sum(e.provenance == "teacher" for e in step) for step in notes.episodes]
    shown("rise", np.mean(fresh[-4:]) - np.mean(fresh[:4]), above=0.2)
    shown("answers of teachers, last less first", sum(asked_for[-4:]) - sum(asked_for[:4]), below=0)
    assert memory.budget.rollouts == 40 * 32


def replaced(memory: Memory, name: str) -> Any:
    rows = group_of([0.0] * 6 + [1.0], name=name)
    rows[-1] = Row(dataclasses.replace(rows[-1].episode, provenance="teacher"))
    return [row.in_loss for row in make_room(rows, memory=memory)]


def test_what_makes_room_is_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(replaced)
