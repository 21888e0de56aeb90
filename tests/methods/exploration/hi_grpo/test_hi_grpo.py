"""Turns, their rewards, advantages and means by hand and by their laws, and a run on a task of two turns."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from talking import replying
from tiny import END, Letters, episode, policy, recipe_of, require_resumable, run

import assay.tasks
from assay.credit import pack
from assay.memory import Memory
from assay.methods.exploration.hi_grpo.credit import turn_relative
from assay.methods.exploration.hi_grpo.mean import turn_mean
from assay.methods.exploration.hi_grpo.turns import InTurn, in_turn, turns_of
from assay.part import bind
from assay.recipe import Recipe
from assay.reward import Outcome, Scored, Sum, ValidSteps
from assay.source import Pool, Share
from assay.source.epochs import problem_set
from assay.tasks.task import Checker, Generator, Solution, Task, Wordings
from assay.types import Batch, Episode, Origin, Reward, Row, Segment, Verdict

P, E = int(Origin.POLICY), int(Origin.ENV)


@pytest.mark.parametrize(
    ("origin", "turns"),
    [
        ([], []),
        ([P, P], [0, 0]),
        ([P, E, E, P], [0, 0, 0, 1]),
        ([P, E], [0, 0]),
        ([P, E, P, E, P, P], [0, 0, 1, 1, 2, 2]),
        ([E, P], [0, 1]),
    ],
)
def test_turns_by_hand(origin: list[int], turns: list[int]) -> None:
    assert turns_of(np.array(origin, np.int8)).tolist() == turns


def answer(
    origin: list[int], *, sample: int = 0, scores: dict[str, float] | None = None, group: str = "0:0"
) -> Episode:
    made = episode([1] * len(origin), sample=sample, reward=0.0, group=group)
    whole = Segment(np.ones(len(origin), np.int32), np.array(origin, np.int8))
    verdict = dataclasses.replace(Verdict.fail("wrong"), scores=scores or {})
    return dataclasses.replace(made, segments=(whole,), verdict=verdict)


def test_a_reward_stands_at_the_end_of_its_turn() -> None:
    two, one = answer([P, P, E, P], scores={"x": 0.5}), answer([P, P], scores={"x": 0.25}, sample=1)
    for turn, at in ((0, [2, 1]), (1, [3, None])):
        found = bind(InTurn(of=Scored(name="x"), turn=turn))([two, one])
        assert [None if r is None else int(r.at[0]) for r in found] == at  # type: ignore[index]
        assert [r.value for r in found if r is not None] == [0.5, 0.25][: 2 - turn]
        assert all(r.scope == "turn" for r in found if r is not None)
    assert bind(InTurn(of=Scored(name="y")))([two]) == [None]
    assert InTurn(of=ValidSteps()).refusal() and InTurn(turn=0).refusal() is None


def row(origin: list[int], dense: list[float], *, group: str = "0:0", sample: int = 0) -> Row:
    return Row(answer(origin, group=group, sample=sample), process=np.array(dense))


def test_advantages_by_hand() -> None:
    """Plans earn 1, 0 and 1, drawings 3 and 1, and the third answer has no second turn. With a flow of 1/2 the plans
    have 2.5, 0.5 and 1.
    """
    rows = [
        row([P, E, P], [0, 1, 3]),
        row([P, E, P], [0, 0, 1], sample=1),
        row([P, P], [0, 1], sample=2),
    ]
    plans = np.array([2.5, 0.5, 1.0])
    first = (plans - 4 / 3) / (np.sqrt(((plans - 4 / 3) ** 2).sum() / 2) + 1e-6)
    second = np.array([1.0, -1.0]) / (np.sqrt(2.0) + 1e-6)
    one, two, three = turn_relative(rows, backflow=0.5, ddof=1, epsilon=1e-6)
    assert one.advantage == pytest.approx([first[0], first[0], second[0]])
    assert two.advantage == pytest.approx([first[1], first[1], second[1]])
    assert three.advantage == pytest.approx([first[2], first[2]])
    apart, *_ = turn_relative(rows, backflow=0.0, ddof=1, epsilon=1e-6)
    assert apart.advantage == pytest.approx([1 / 3 / (3**-0.5 + 1e-6)] * 2 + [second[0]])


def test_what_the_third_turn_earns_flows_back_to_the_first() -> None:
    """By halves: 1, 0, 4 return 2, 2, 4; 0, 1, 0 return 0.5, 1, 0; and nothing returns nothing."""
    origin = [P, E, P, E, P]
    rows = [row(origin, [1, 0, 0, 0, 4]), row(origin, [0, 0, 1, 0, 0], sample=1), row(origin, [0.0] * 5, sample=2)]
    found = turn_relative(rows, backflow=0.5, ddof=1, epsilon=0.0)
    for token, returns in ((0, [2.0, 0.5, 0.0]), (2, [2.0, 1.0, 0.0]), (4, [4.0, 0.0, 0.0])):
        expected = (np.array(returns) - np.mean(returns)) / np.std(returns, ddof=1)
        assert [one.advantage[token] for one in found] == pytest.approx(expected)  # type: ignore[index]


ANSWERS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0, 2.0])),
    min_size=2,
    max_size=7,
)


def made_of(drawn: list[tuple[int, float, float]], shift: float = 0.0) -> list[Row]:
    """Answers of one turn or two with these rewards; the shift is added to the reward of each turn."""
    return [
        row([P, E, P], [0, plan + shift, drawing + shift], sample=i) if two else row([P], [plan + shift], sample=i)
        for i, (two, plan, drawing) in enumerate(drawn)
    ]


@given(ANSWERS, st.floats(0, 2), st.randoms(use_true_random=False))
def test_laws_of_the_advantages(drawn: list[tuple[int, float, float]], backflow: float, random: Any) -> None:
    """They add up to 0 in each turn, do not know the order of rows, nor, where all have two turns, a constant."""
    rows = made_of(drawn)
    found = turn_relative(rows, backflow=backflow, ddof=1, epsilon=1e-6)
    for level in (0, 1):
        told = [r.advantage[-1 if level else 0] for r, (two, *_) in zip(found, drawn) if two or not level]  # type: ignore[index]
        assert sum(told) == pytest.approx(0, abs=1e-6)
    order = list(range(len(rows)))
    random.shuffle(order)
    other = turn_relative([rows[i] for i in order], backflow=backflow, ddof=1, epsilon=1e-6)
    for place, i in enumerate(order):
        assert other[place].advantage == pytest.approx(found[i].advantage)
    if all(two for two, *_ in drawn):
        moved = turn_relative(made_of(drawn, 0.5), backflow=backflow, ddof=1, epsilon=1e-6)
        for one, same in zip(found, moved, strict=True):
            assert one.advantage == pytest.approx(same.advantage, abs=1e-5)


def batch_of(*origins: list[int], counted: list[list[bool]] | None = None) -> Batch:
    rows = [Row(answer(origin, sample=i), advantage=np.zeros(len(origin))) for i, origin in enumerate(origins)]
    if counted is not None:
        rows = [r.mark(keep=np.array(keep)) for r, keep in zip(rows, counted, strict=True)]
    return pack(rows)


def test_the_mean_by_hand() -> None:
    """Turn 0 has 3 tokens of the policy and turn 1 has 2: replies do not train and are in no denominator."""
    weights = turn_mean(batch_of([P, P, E, P], [P, E, P]), max_new=9)
    assert weights == pytest.approx([1 / 3] * 3 + [1 / 2] + [1 / 3] * 2 + [1 / 2])
    assert turn_mean(batch_of([P, P], [P]), max_new=9) == pytest.approx([1 / 3] * 3)
    half = turn_mean(batch_of([P, P, E, P], counted=[[True, False, True, True]]), max_new=9)
    assert half == pytest.approx([1, 1, 1, 1])


@given(st.lists(st.lists(st.sampled_from([P, P, E]), min_size=1, max_size=6), min_size=1, max_size=5))
def test_each_turn_weighs_one(origins: list[list[int]]) -> None:
    batch = batch_of(*origins)
    weights, turns = turn_mean(batch, max_new=9), np.concatenate([turns_of(np.array(o, np.int8)) for o in origins])
    for turn in set(turns[batch.counted].tolist()):
        assert weights[batch.counted & (turns == turn)].sum() == pytest.approx(1)


# Two turns of letters: the plan is a letter and `d`, the reply is `c`, and then the letter of the question comes.


def _scores(spec: Any, text: str) -> dict[str, float]:
    plan, reply, rest = text.partition("dc")
    return {
        "plan-boxes": float(plan == spec["letter"] and bool(reply)),
        "cells": float(bool(rest) and spec["letter"] in rest),
    }


def _verify_all(pairs: Any) -> list[Verdict]:
    found = [(_scores(problem.spec, text), problem, text) for problem, text in pairs]
    verdicts = [Verdict.ok(text) if said["cells"] else Verdict.fail("wrong") for said, _, text in found]
    return [dataclasses.replace(v, scores=said) for v, (said, *_) in zip(verdicts, found, strict=True)]


TWO_TURNS = Task(
    name="two-turns",
    domain="letters",
    summary="a letter planned, and then written",
    generator=Generator(
        levels=range(1, 2),
        instance=lambda generator, level: {"letter": "ab"[int(generator.integers(2))]},
        canonical=lambda spec: spec["letter"],
        split=lambda spec: "train",
    ),
    wordings=Wordings(
        compact=lambda spec: spec["letter"],
        natural=lambda spec: spec["letter"],
        solve=lambda spec: Solution(spec["letter"], f"{spec['letter']}dc"),
    ),
    checker=Checker(
        check=lambda spec, text: Verdict.ok(text) if spec["letter"] in text else Verdict.fail("wrong"),
        verify_many=_verify_all,
    ),
    world=replying(lambda spec, text: "c" if text.count("d") == 1 else None, "d"),
)
POOL = Pool((Share("two-turns"),))


def small(name: str = "hi-grpo", **changes: object) -> Recipe:
    values = {"num_prompts": 8, "group_size": 8, "num_steps": 40, "warmup_steps": 2, "learning_rate": 0.02, **changes}
    return recipe_of(name, max_new=6, **values)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(assay.tasks.TASKS, "two-turns", TWO_TURNS)
    problem_set.cache_clear()


def beginner() -> Any:
    return policy("fp32", decode=Letters().decode, hidden=16, ffn=16, init_std=0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("name", "learnt"),
    [("hi-grpo", ("cells",)), ("hi-grpo-apart", ("plan-boxes", "cells"))],
    ids=["together", "apart"],
)
@pytest.mark.learning
def test_turns_are_learnt(name: str, learnt: tuple[str, ...]) -> None:
    """Both of them apart. Where what the second turn earns flows to the first, a seed in seven never learns the plan:
    its picture is as well worth without.
    """
    notes, _ = run(small(name, num_steps=64, learning_rate=0.01), beginner(), pool=POOL, codec=Letters())
    scores = [[e.verdict.scores for e in step if e.verdict is not None] for step in notes.episodes]
    for score in learnt:
        means = [np.mean([said.get(score) or 0.0 for said in step]) for step in scores]
        shown(f"rise of {score}", np.mean(means[-8:]) - np.mean(means[:8]), above=0.2)
    lengths = {len(set(turns_of(r.episode.stream("origin")).tolist())) for r in notes.rows[-1]}
    assert 2 in lengths and END == 0


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_steps=4, num_prompts=2), beginner, after=2, pool=POOL, codec=Letters())


def test_an_error_of_ours_leaves_the_answer_without_a_reward() -> None:
    def lost(episodes: Any, **_: Any) -> list[Reward | None]:
        return [Reward.unknown("judge", "judge_down") for _ in episodes]

    (found,) = in_turn([answer([P])], of=lost, turn=0)
    assert found is not None and found.invalid == "judge_down"
    part = bind(InTurn(of=Sum(of=(Scored(name="x"), Outcome()))))
    (whole,) = part([answer([P], scores={"x": 0.5})], max_new=3, memory=Memory(0))
    assert whole.value == 0.5
