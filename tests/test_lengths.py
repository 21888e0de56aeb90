"""Lengths: limits, budgets, shortness, filters; what a score adds to a verdict."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import (
    END,
    Letters,
    batch_of,
    episode,
    group_of,
    models_of,
    phases_of,
    policy,
    recipe_of,
    register,
    run,
    segment,
)

from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.gdpo.formatted import Formatted
from assay.methods.gfpo.difficulty import STORE, quantile, track_difficulty
from assay.methods.gfpo.filtered import Filtered, FilteredByDifficulty
from assay.methods.l1.adherence import Adherence
from assay.methods.l1.budget import EXACTLY, Budget, Limit, budget_of, told
from assay.methods.length.reward import Shortness, StopProperly
from assay.methods.length.whole import WholeAnswers
from assay.methods.rew_qwen.reward import ModelScore
from assay.part import Part, bind
from assay.reward import SoftOverlong
from assay.types import Episode, Origin, Request, Row, Verdict


def earned(part: Part, episodes: Sequence[Episode]) -> list[float]:
    found = bind(part, max_new=8)(episodes, everyone=episodes)
    return [reward.value for reward in found]


def of_lengths(*spec: tuple[int, bool], group: str = "g") -> list[Episode]:
    return [
        episode([1] * n, group=group, sample=i, reward=float(right), right=right) for i, (n, right) in enumerate(spec)
    ]


# Rewards


def test_shortness_by_hand() -> None:
    """Lengths 2, 4, 6 of one group: 1/2, 0, -1/2; what is wrong keeps only what is negative."""
    right = of_lengths((2, True), (4, True), (6, True))
    wrong = of_lengths((2, False), (4, False), (6, False), (10, True), group="h")
    assert earned(Shortness(weight=2.0), right) == [1.0, 0.0, -1.0]
    assert earned(Shortness(), right + wrong)[3:] == pytest.approx([0.0, 0.0, 0.0, -0.5])
    assert earned(Shortness(), of_lengths((9, False), (1, True), group="w")) == pytest.approx([-0.5, 0.5])
    assert earned(Shortness(), of_lengths((3, True), (3, False))) == [0.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6), st.integers(1, 5))
def test_shortness_does_not_see_by_how_much_all_are_longer(spec: list[tuple[int, bool]], more: int) -> None:
    found = earned(Shortness(), of_lengths(*spec))
    assert found == pytest.approx(earned(Shortness(), of_lengths(*[(n + more, r) for n, r in spec])))
    assert all(-0.5 <= f <= 0.5 and (right or f <= 0) for f, (_, right) in zip(found, spec, strict=True))


def test_stopping_properly() -> None:
    answers = [
        episode([1], reward=1.0, right=right, finish=finish)  # type: ignore[arg-type]
        for right in (True, False)
        for finish in ("stop", "length")
    ]
    assert earned(StopProperly(right=2.0, wrong=-1.0, cut=0.25), answers) == [2.0, 0.5, -1.0, -0.25]
    assert earned(StopProperly(right=2.0, wrong=-1.0, cut=-0.5), answers) == [2.0, -0.5, -1.0, -0.5]
    with pytest.raises(ConfigError, match=r"1\.5"):
        earned(StopProperly(cut=1.5), answers)


def test_what_can_be_read_is_formatted() -> None:
    kinds = [Verdict.ok(), Verdict.fail("wrong"), Verdict.fail("format"), Verdict.fail("truncated")]
    answers = [dataclasses.replace(episode([1]), verdict=verdict) for verdict in kinds]
    assert earned(Formatted(readable=1.0, malformed=-0.5), answers) == [1.0, 1.0, -0.5, -0.5]


def test_a_score_ranks_within_right_and_within_wrong() -> None:
    """1[right] + sigmoid(s / 2) - 1: (0, 1) for right and (-1, 0) for wrong answers."""
    for score in (-900.0, -2.0, 0.0, 3.0, 900.0, None):
        verdict = dataclasses.replace(Verdict.ok(), scores={"rm": score, "other": 5.0})
        (found,) = earned(ModelScore(alpha=0.5, score="rm"), [dataclasses.replace(episode([1]), verdict=verdict)])
        expected = 1 / (1 + math.exp(-max(-700.0, 0.5 * (score or 0.0)))) - 1
        assert found == pytest.approx(expected) and -1 <= found <= 0


# Budgets


def limited(tokens: int, most: bool, length: int, right: bool) -> Episode:
    made = episode([1] * length, right=right)
    tag = f"{'at most' if most else 'exactly'} {tokens}"
    return dataclasses.replace(made, request=dataclasses.replace(made.request, tag=tag))


def test_adherence_by_hand() -> None:
    """With the outcome: 1[right] - |n - T| / 10, and 1[right] clip((n - T) / 10 + 1/2, 0, 1)."""
    exact = [limited(6, False, *spec) for spec in [(6, True), (2, True), (9, False)]]
    assert earned(Adherence(unit=10), exact) == pytest.approx([0.0, -0.4, -0.3])
    most = [limited(6, True, *spec) for spec in [(6, True), (1, True), (9, True), (20, True), (9, False)]]
    assert [1 + cost for cost in earned(Adherence(unit=10), most)][:4] == pytest.approx([0.5, 1.0, 0.2, 0.0])
    assert earned(Adherence(unit=10), most)[4] == 0.0
    assert earned(Adherence(unit=10), [episode([1] * 5)]) == [0.0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(0, 40), st.booleans(), st.integers(1, 30))
def test_a_right_answer_never_earns_more_by_missing_its_limit(n: int, length: int, right: bool, unit: int) -> None:
    (on_length,) = earned(Adherence(unit=unit), [limited(n, False, n, right)])
    (beside,) = earned(Adherence(unit=unit), [limited(n, False, length, right)])
    assert beside <= on_length == 0.0
    (longer,) = earned(Adherence(unit=unit), [limited(n, True, length + 1, right)])
    assert longer <= earned(Adherence(unit=unit), [limited(n, True, length, right)])[0] <= 0.0


def budgeted(requests: Sequence[Request], **values: object) -> list[Request]:
    part = Budget(**values)  # type: ignore[arg-type]
    return bind(part, codec=Letters())(requests, memory=Memory(3))


def test_a_group_has_one_budget_and_groups_have_their_own() -> None:
    requests = [e.request for g in range(200) for e in of_lengths((1, True), (2, True), group=str(g))]
    asked = budgeted(requests, low=5, high=9, at_most=0.5)
    limits = [budget_of(request) for request in asked]
    assert limits[::2] == limits[1::2] and None not in limits
    assert {limit.tokens for limit in limits if limit} == {5, 6, 7, 8, 9}
    assert 0.35 < np.mean([limit.most for limit in limits if limit]) < 0.65
    assert not any(limit.most for limit in map(budget_of, budgeted(requests, low=5, high=9)) if limit)
    assert budget_of(requests[0]) is None


def test_what_the_prompt_says() -> None:
    problem = episode([1]).request.problem
    assert told(problem, Limit(40, False)) == "=40" and told(problem, Limit(40, True)) == "<40"
    natural = dataclasses.replace(problem, wording="natural")
    assert told(natural, Limit(40, False)) == "Think for 40 tokens."
    assert told(natural, Limit(40, True)) == "Think for maximum 40 tokens."


# Filters


def test_what_the_limit_cut_leaves_the_denominator_and_stays_in_the_statistics() -> None:
    ends = [(8, "length"), (8, "stop"), (3, "stop")]
    rows = [Row(episode([1] * n, sample=i, finish=finish)) for i, (n, finish) in enumerate(ends)]
    found = bind(WholeAnswers())(rows)
    assert [(r.in_loss, r.in_denominator, r.in_group) for r in found] == [(False, False, True)] + [(True,) * 3] * 2


def kept(part: Part, rows: Sequence[Row], memory: Memory | None = None) -> list[bool]:
    found = bind(part)(rows, memory=memory or Memory(0))
    for row in found:
        assert row.in_denominator and row.in_loss == row.in_group
    return [row.in_loss for row in found]


def test_the_shortest_and_the_best_paid_a_token() -> None:
    rows = group_of([1, -1, 0, 1, -1], lengths=[4, 1, 2, 3, 8])
    assert kept(Filtered(keep=2), rows) == [False, True, True, False, False]
    # 1/4, -1, 0, 1/3, -1/8: negative rewards prefer the long
    assert kept(Filtered(keep=2, by="reward-per-token"), rows) == [True, False, False, True, False]
    assert kept(Filtered(keep=4, by="reward-per-token"), rows) == [True, False, True, True, True]
    ties = group_of([0, 0, 0], lengths=[3, 1, 1])
    assert kept(Filtered(keep=1, by="reward-per-token"), ties) == [False, True, False]
    with pytest.raises(ConfigError, match="luck"):
        kept(Filtered(by="luck"), rows)  # type: ignore[arg-type]


def in_turns(own: int, replied: int, sample: int, reward: float = 1.0) -> Episode:
    """An answer of so many tokens, and a reply of a tool within it."""
    pieces = [segment([1]), segment([2] * replied, origin=Origin.ENV), segment([1] * (own - 1))]
    return episode(pieces, sample=sample, reward=reward, right=reward > 0)


def test_what_tools_reply_is_no_length() -> None:
    """Own tokens 2, 3, 4; with the replies of 9, 1 and 4 the second would be the shortest and the first the longest."""
    answers = [in_turns(2, 9, 0), in_turns(3, 1, 1), in_turns(4, 4, 2)]
    rows = [Row(answer) for answer in answers]
    assert kept(Filtered(keep=1), rows) == [True, False, False]
    assert kept(Filtered(keep=1, by="reward-per-token"), rows) == [True, False, False]
    assert kept(FilteredByDifficulty(hard=2, medium=1, easy=1), rows) == [True, True, False]
    assert earned(Shortness(), answers) == [0.5, 0.0, -0.5]
    told_three = [
        dataclasses.replace(answer, request=dataclasses.replace(answer.request, tag=f"{EXACTLY} 3"))
        for answer in answers
    ]
    assert earned(Adherence(unit=10), told_three) == pytest.approx([-0.1, 0.0, -0.1])


def test_the_limit_counts_replies_and_so_does_the_punishment_of_coming_near_it() -> None:
    """7 of 8 tokens, 2 into a buffer of 3."""
    assert earned(SoftOverlong(buffer=3), [in_turns(2, 5, 0)]) == pytest.approx([-2 / 3])


def test_statistics_are_those_of_the_kept_and_the_denominator_that_of_all() -> None:
    recipe = recipe_of("gfpo")  # keeps 3 of 8
    rows = group_of([1, 0, 1, 1, 0, 0, 1, 1], lengths=[1, 2, 3, 4, 4, 4, 4, 4])
    batch = batch_of(recipe, bind(recipe.mechanism.curate[0])(rows))
    deviation = math.sqrt(2 / 9) + 1e-6
    expected = [(1 / 3) / deviation, *[-(2 / 3) / deviation] * 2, *[(1 / 3) / deviation] * 3]
    np.testing.assert_allclose(batch.advantage, [*expected, *[0.0] * 20], rtol=1e-6)
    assert batch.counted.all() and batch.counted_rows.all() and batch.mask.sum() == 6


def test_easy_groups_keep_fewer() -> None:
    """Means of 0, 0.25, 0.5, 0.75 were seen as often: the median is 0.25, the third quartile 0.5."""
    memory = dataclasses.replace(Memory(0), step=10).keep(STORE, {"0": 5, "250": 5, "500": 5, "750": 5})
    part = FilteredByDifficulty(hard=4, medium=3, easy=2, warmup=10)

    def count(*rewards: float, at: Memory = memory) -> int:
        return sum(kept(part, group_of(list(rewards)), at))

    assert [count(*[1.0] * n, *[0.0] * (4 - n)) for n in range(5)] == [4, 3, 2, 2, 2]
    assert count(1, 1, 1, 1, at=dataclasses.replace(memory, step=9)) == 4
    assert count(1, 1, 1, 1, at=Memory(0)) == 4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=30), st.sampled_from([0.25, 0.5, 0.75]))
def test_quantiles_of_what_was_seen_are_exact(eighths: list[int], share: float) -> None:
    memory = Memory(0)
    for i, n in enumerate(eighths):
        memory = track_difficulty(memory, rows=group_of([n / 8, n / 8], name=str(i)))
    found = quantile(memory.store(STORE), share)
    ordered = sorted(n / 8 for n in eighths)
    assert found == ordered[math.ceil(share * len(ordered)) - 1]


# In the loop


@pytest.mark.slow
def test_answers_get_shorter_where_short_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """All answers with the letter are right; the reward for being short takes the tail off."""
    register(monkeypatch)
    sized = {"num_prompts": 8, "group_size": 8, "num_steps": 16, "learning_rate": 0.02, "warmup_steps": 0}
    recipe = recipe_of("len-kimi", max_new=6, **sized)
    notes, _ = run(recipe, policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))
    lengths = [np.mean([len(e) for e in step if e.right]) for step in notes.episodes]
    assert np.mean(lengths[-4:]) < np.mean(lengths[2:6]) - 0.3
    assert {r.name for e in notes.episodes[-1] for r in e.rewards} == {"outcome", "shortness"}
    assert {r.name for e in notes.episodes[0] for r in e.rewards} == {"outcome"}


def test_adaptive_filtering_counts_groups_from_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("gfpo-adaptive", max_new=4, num_prompts=4, group_size=8, num_steps=3)
    phases, models = phases_of(recipe), models_of(policy("fp32", vocab=4))
    assert phases.source(Memory(0)) and models
    _, memory = run(recipe, policy("fp32", vocab=4, init_std=0.1))
    assert sum(memory.store(STORE).values()) == 12


def test_end_tokens_count_as_length() -> None:
    assert earned(Adherence(unit=10), [limited(3, False, 3, True)]) == [0.0]
    ended = dataclasses.replace(limited(3, False, 2, True), segments=episode([1, 1, END]).segments)
    assert earned(Adherence(unit=10), [ended]) == [0.0]
