"""Rewards made of rewards: laws that always hold, worked examples, and what an error of ours does to them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.errors import ConfigError
from assay.known import SLOTS
from assay.memory import Memory
from assay.part import Rewarding, bind
from assay.recipe import Mechanism, Recipe, check
from assay.record.measure import step_stats
from assay.reward import (
    Affine,
    Cascade,
    Clipped,
    Delta,
    Gated,
    Masked,
    Outcome,
    Product,
    Saturated,
    Scheduled,
    Scored,
    SoftOverlong,
    Sum,
    Veto,
)
from assay.run.configure import from_data, to_data
from assay.run.own_rewards import scored_by
from assay.scale import Scale
from assay.types import Episode, Reward, RewardScope, Row, Verdict

NUMBERS = st.floats(-100, 100)
SCALE = Scale(num_prompts=2, group_size=2, max_new=8, learning_rate=1e-3, num_steps=10)
NAMES = "abc"


def told(episodes: Sequence[Episode], *, name: str) -> list[Reward | None]:
    """What the verdict's score of this name says: NaN is an error of ours, a missing score says nothing."""
    scores = [(e.verdict.scores if e.verdict else {}).get(name) for e in episodes]
    return [
        None if s is None else Reward.unknown(name, "judge_down") if math.isnan(s) else Reward(name, s) for s in scores
    ]


class Told(Rewarding):
    name: str = "a"
    does = told


def steps(episodes: Sequence[Episode], *, values: tuple[float, ...]) -> list[Reward | None]:
    at = np.arange(1, 2 * len(values), 2, dtype=np.int32)
    return [Reward("steps", sum(values), "span", np.array(values), at) for _ in episodes]


class Steps(Rewarding):
    values: tuple[float, ...] = ()
    does = steps

    @property
    def gives(self) -> RewardScope:
        return "span"


A, B, C = Told("a"), Told("b"), Told("c")
COMBINATORS: list[Rewarding] = [
    Sum(of=(A, B)),
    Product(of=(A, B)),
    Gated(gate=A, of=B, opens=-1e9),
    Cascade(first=A, then=B, accepts=1e9),
    Veto(of=A, critical=(B,), least=0.0),
    *(kind(of=A) for kind in (Affine, Clipped, Saturated, Scheduled)),
]


def saying(*rows: dict[str, float], tokens: int = 8) -> list[Episode]:
    """Answers of which a verdict says these scores."""
    verdicts = [dataclasses.replace(Verdict.fail("wrong"), scores=row) for row in rows]
    return [dataclasses.replace(episode([1] * tokens, sample=i), verdict=v) for i, v in enumerate(verdicts)]


def rewards(part: Rewarding, episodes: Sequence[Episode], **offered: Any) -> list[Reward | None]:
    return bind(part, max_new=8, num_steps=10, **offered)(episodes, everyone=episodes, memory=Memory(0))


def value(part: Rewarding, scores: dict[str, float]) -> float:
    (found,) = rewards(part, saying(scores))
    assert found is not None and not found.invalid
    return found.value


@given(a=NUMBERS)
def test_one_reward_alone_is_itself(a: float) -> None:
    for part in (Sum(of=(A,)), Product(of=(A,)), Affine(of=A), Clipped(of=A, low=-100, high=100)):
        assert value(part, {"a": a}) == a
    assert value(Veto(of=A, critical=(A,), least=-101.0), {"a": a}) == a


@given(numbers=st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_the_order_of_a_sum_and_the_nesting_of_a_product_do_not_matter(numbers: tuple[float, float, float]) -> None:
    scores = dict(zip(NAMES, numbers, strict=True))
    sums = {value(Sum(of=order), scores) for order in itertools.permutations((A, B, C))}
    assert len(sums) == 1
    nested = value(Product(of=(Product(of=(A, B)), C)), scores)
    assert nested == pytest.approx(value(Product(of=(A, B, C)), scores))


@given(a=NUMBERS, b=NUMBERS, least=NUMBERS, vetoed=NUMBERS)
def test_a_veto_never_raises(a: float, b: float, least: float, vetoed: float) -> None:
    found = value(Veto(of=A, critical=(B,), least=least, vetoed=vetoed), {"a": a, "b": b})
    assert found == (a if b >= least else min(a, vetoed)) and found <= a


@given(a=NUMBERS, b=NUMBERS, opens=NUMBERS, closed=NUMBERS)
def test_a_gate_and_a_cascade_choose(a: float, b: float, opens: float, closed: float) -> None:
    scores = {"a": a, "b": b}
    assert value(Gated(gate=A, of=B, opens=opens, closed=closed), scores) == (b if a >= opens else closed)
    assert value(Cascade(first=A, then=B, accepts=opens), scores) == (a if a >= opens else b)


@given(a=NUMBERS, b=NUMBERS, above=NUMBERS, slope=st.floats(0, 1))
def test_clip_stays_within_its_bounds_and_saturation_keeps_the_order(
    a: float, b: float, above: float, slope: float
) -> None:
    low, high = min(above, 0.0), max(above, 0.0)
    assert low <= value(Clipped(of=A, low=low, high=high), {"a": a}) <= high
    saturated = [value(Saturated(of=A, above=above, slope=slope), {"a": x}) for x in sorted((a, b))]
    assert saturated[0] <= saturated[1] and saturated[1] <= max(a, b) + 1e-9
    assert value(Saturated(of=A, above=above, slope=slope), {"a": above}) == above


@pytest.mark.parametrize("part", COMBINATORS, ids=lambda part: type(part).__name__)
def test_an_error_of_ours_within_makes_the_whole_invalid_and_never_a_number(part: Rewarding) -> None:
    for broken in ({"a": math.nan, "b": 1.0}, {"a": 1.0, "b": math.nan}):
        if isinstance(part, (Affine, Clipped, Saturated, Scheduled)) and not math.isnan(broken["a"]):
            continue
        (found,) = rewards(part, saying(broken))
        assert found is not None and found.invalid == "judge_down" and math.isnan(found.value)
        (answer,) = saying(broken)
        assert dataclasses.replace(answer, rewards=(Reward("x", 1.0), found)).reward is None
        (outer,) = rewards(Sum(of=(Told("c"), part)), saying({**broken, "c": 1.0}))
        assert outer is not None and outer.invalid == "judge_down"


@pytest.mark.parametrize("part", COMBINATORS, ids=lambda part: type(part).__name__)
def test_a_child_without_a_word_leaves_no_value_but_in_a_sum(part: Rewarding) -> None:
    (found,) = rewards(part, saying({"b": 1.0}))
    assert found is None if not isinstance(part, Sum) else found is not None and found.value == 1.0
    assert rewards(part, saying({})) == [None]


def test_what_overflows_is_an_error_of_ours() -> None:
    (found,) = rewards(Product(of=(A, A)), saying({"a": 1e200}))
    assert found is not None and found.invalid == "not_finite"


def test_weights_and_a_schedule_by_hand() -> None:
    assert value(Sum(of=(A, B), weights=(2.0, -0.5)), {"a": 3.0, "b": 4.0}) == 4.0
    part = Scheduled(of=A, start=1.0, end=0.0, over=0.5)
    asked = bind(part, num_steps=10)
    found = [asked(saying({"a": 8.0}), everyone=(), memory=Memory(0, step=step))[0].value for step in (0, 1, 4, 5, 9)]
    assert found == pytest.approx([8.0, 6.4, 1.6, 0.0, 0.0])
    several = asked(saying({"a": 8.0}, {"a": 2.0}), everyone=(), memory=Memory(0, step=1))
    assert [one.value for one in several if one] == pytest.approx([6.4, 1.6])


def test_the_second_of_a_cascade_and_what_lies_behind_a_gate_see_only_their_answers() -> None:
    answers = saying({"a": 1.0}, {"a": 0.0}, {"a": 0.5})
    seen: list[int] = []

    def look(episodes: Sequence[Episode]) -> list[Reward | None]:
        seen.extend(e.request.sample for e in episodes)
        return [Reward("look", 0.25) for _ in episodes]

    look_part = type("Look", (Rewarding,), {"does": look})()
    cascaded = rewards(Cascade(first=A, then=look_part, accepts=1.0), answers)
    assert [r.value for r in cascaded if r] == [1.0, 0.25, 0.25] and seen == [1, 2]
    seen.clear()
    gated = rewards(Gated(gate=A, of=look_part, opens=0.5, closed=-1.0), answers)
    assert [r.value for r in gated if r] == [0.25, -1.0, 0.25] and seen == [0, 2]


def test_where_the_second_of_a_cascade_has_nothing_to_say_the_first_stands() -> None:
    assert value(Cascade(first=A, then=B), {"a": 0.25}) == 0.25


def test_delta_of_step_scores_by_hand() -> None:
    """p = (.2, .9, .4, .7): differences -.7 and .5, then the score of the last but one, then nothing."""
    (found,) = rewards(Delta(of=Steps((0.2, 0.9, 0.4, 0.7))), saying({}))
    assert found is not None and found.values is not None and found.scope == "span"
    assert found.values.tolist() == pytest.approx([-0.7, 0.5, 0.4, 0.0])
    assert found.at is not None and found.at.tolist() == [1, 3, 5, 7]
    (answer,) = saying({})
    dense = dataclasses.replace(answer, rewards=(found,)).dense
    assert dense is not None and dense.tolist() == pytest.approx([0, -0.7, 0, 0.5, 0, 0.4, 0, 0.0])
    for short, expected in (((0.5,), [0.0]), ((0.5, 0.1), [0.5, 0.0]), ((), [])):
        (found,) = rewards(Delta(of=Steps(short)), saying({}))
        assert found is not None and found.values is not None and found.values.tolist() == expected


@given(scores=st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_what_delta_leaves_to_come_is_one_score_however_many_steps_follow(scores: list[float]) -> None:
    (found,) = rewards(Delta(of=Steps(tuple(scores))), saying({}, tokens=16))
    assert found is not None and found.values is not None
    ahead = np.cumsum(found.values[::-1])[::-1]
    assert ahead[:-1] == pytest.approx(np.array(scores[:-1]), abs=1e-12)


def test_values_of_steps_are_changed_one_by_one() -> None:
    part = Clipped(of=Affine(of=Steps((0.2, 0.9, 0.4)), plus=-0.5), low=-1.0, high=0.0)
    (found,) = rewards(part, saying({}))
    assert found is not None and found.values is not None and found.values.tolist() == pytest.approx([-0.3, 0.0, -0.1])
    (held,) = rewards(Product(of=(A, Steps((1.0, 2.0)))), saying({"a": 3.0}))
    assert held is not None and held.values is not None and held.values.tolist() == [3.0, 6.0] and held.value == 9.0


def test_a_mask_leaves_the_reward_to_answers_of_one_sort() -> None:
    right, wrong = saying({"a": 1.0}, {"a": 1.0})
    right = dataclasses.replace(right, verdict=dataclasses.replace(right.verdict or Verdict.ok(), status="ok", kind=""))
    cut = dataclasses.replace(wrong, finish="length")
    lost = dataclasses.replace(wrong, verdict=Verdict.invalid("worker_lost"))
    sorts = {"right": [1, 0, 0, 0], "wrong": [0, 1, 1, 0], "finished": [1, 1, 0, 1], "unaided": [1, 1, 1, 1]}
    for only, expected in sorts.items():
        part = Masked(of=Outcome(right=1.0, wrong=1.0), only=only)  # type: ignore[arg-type]
        assert [int(r is not None) for r in rewards(part, [right, wrong, cut, lost])] == expected


def test_children_stay_apart_in_metrics() -> None:
    part = Sum(of=(A, Product(of=(B, C))), name="quality")
    answers = saying(
        {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 3.0, "b": 1.0, "c": 1.0}, {"a": math.nan, "b": 1.0, "c": 1.0}
    )
    found = [
        dataclasses.replace(answer, rewards=tuple(r for r in [one] if r))
        for answer, one in zip(answers, rewards(part, answers), strict=True)
    ]
    stats = step_stats(found, [Row(answer) for answer in found])
    expected = {"quality": 5.5, "quality/a": 2.0, "quality/product": 3.5, "quality/product/b": 1.5}
    assert {name: stats[f"reward/{name}"] for name in expected} == pytest.approx(expected)
    assert stats["reward/verifier_failed"] == 1 and stats["reward/invalid/judge_down"] == 1


def recipe_with(*parts: Rewarding) -> Recipe:
    return Recipe("x", "x", "-", "x", Mechanism(reward=parts), SCALE)


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Sum(of=()), "made of no rewards"),
        (Sum(of=(Outcome(),), weights=(1.0, 2.0)), "2 weights came for 1"),
        (Gated(gate=SLOTS["reward"]["repeated-steps"]()), "one number"),  # type: ignore[arg-type]
        (Veto(critical=(SLOTS["reward"]["repeated-ngrams"](),)), "one number"),  # type: ignore[arg-type]
        (Delta(of=Outcome()), "one value for a whole answer"),
        (Clipped(low=1.0, high=0.0), "above high"),
        (Saturated(slope=2.0), "from 0 to 1"),
        (Sum(of=tuple(SLOTS["reward"][n]() for n in ("repeated-steps", "repeated-ngrams"))), "span and token"),  # type: ignore[misc]
    ],
)
def test_what_cannot_be_composed_is_refused_before_a_run(part: Rewarding, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        check(recipe_with(part))
    with pytest.raises(ConfigError, match=says):
        check(recipe_with(Sum(of=(Outcome(), Gated(of=part)))))
    check(recipe_with(Sum(of=(Outcome(), Gated(of=Outcome())))))


def test_a_composed_reward_is_data_and_takes_a_users_function_where_the_outcome_stood() -> None:
    whole = Veto(of=Sum(of=(Outcome(), SoftOverlong(buffer=2)), weights=(1.0, 0.5)), critical=(Scored("safe"),))
    assert from_data(Rewarding, to_data(whole)) == whole
    changed = scored_by(recipe_with(whole), ["/a/my.py:f"]).mechanism.reward
    inner = Sum(of=(Scored("f", 1.0), SoftOverlong(buffer=2)), weights=(1.0, 0.5))
    assert changed == (Veto(of=inner, critical=(Scored("safe"),)),)


def weighed(episodes: Sequence[Episode], *, models: dict[str, float]) -> list[Reward | None]:
    return [Reward("weighed", models["policy"]) for _ in episodes]


class Weighed(Rewarding):
    does = weighed


def test_rewards_within_rewards_get_what_is_offered_at_the_call() -> None:
    """However deep they lie, and whether or not the rewards around them ask for it."""
    part = Sum(of=(Clipped(of=Affine(of=Weighed(), times=2.0), low=0.0, high=9.0), A))
    asked = bind(part, max_new=8)
    for worth in (3.0, 4.0):
        (found,) = asked(saying({"a": 1.0}), everyone=(), memory=Memory(0), models={"policy": worth})
        assert found.value == 2 * worth + 1
