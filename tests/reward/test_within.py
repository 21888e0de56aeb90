"""Rewards of turns, steps and tokens by hand, and the credit that reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from tiny import Letters, episode, segment

from assay.credit import GAE, GroupRelative, ReturnToGo
from assay.part import Part, Rewarding, bind
from assay.reward import FailedReplies, RepeatedNgrams, RepeatedSteps
from assay.types import Episode, Origin, Reward, Row


def dense(part: Rewarding, answer: Episode) -> list[float]:
    (found,) = bind(part, codec=Letters())([answer])
    return found.dense(len(answer)).tolist()


def test_a_turn_that_ends_in_a_failing_call_costs() -> None:
    reply = segment([2, 2], origin=Origin.ENV)
    wrong = dataclasses.replace(reply, failed=True)
    answer = episode([segment([1, 1]), reply, segment([1]), wrong, segment([1])])
    assert dense(FailedReplies(cost=0.5), answer) == [0, 0, 0, 0, -0.5, 0, 0, 0]
    assert dense(FailedReplies(), episode([1, 1])) == [0, 0]


def test_a_step_that_repeats_an_earlier_one_costs() -> None:
    """aad bad aad bd, with d as the mark: the third step repeats the first; the end of the answer ends a step."""
    ids = Letters().encode("aadbadaadb")
    assert dense(RepeatedSteps(cost=0.5, marks="d"), episode(ids.tolist())) == [0] * 8 + [-0.5, 0]


def test_steps_that_differ_in_their_last_letter_do_not_repeat_each_other() -> None:
    """Two steps of two letters, with d as the mark."""
    assert dense(RepeatedSteps(marks="d"), episode(Letters().encode("aadabd").tolist())) == [0] * 6


def test_the_tokens_of_a_repeated_ngram_cost() -> None:
    """a b c a b d: 'a b' comes twice, 'a b c' once."""
    answer = episode([1, 2, 3, 1, 2, 4])
    assert dense(RepeatedNgrams(length=2, cost=0.5), answer) == [0, 0, 0, -0.5, -0.5, 0]
    assert dense(RepeatedNgrams(length=3, cost=0.5), answer) == [0] * 6
    assert dense(RepeatedNgrams(length=7), answer) == [0] * 6


def rows(*rewards: tuple[float, Sequence[float]]) -> list[Row]:
    """Rows of three tokens with a reward of the whole and one for each token."""
    made = []
    for i, (whole, tokens) in enumerate(rewards):
        parts = (Reward("outcome", whole), Reward("tokens", sum(tokens), "token", np.array(tokens)))
        made.append(Row.of(dataclasses.replace(episode([1, 1, 1], sample=i), rewards=parts)))
    return made


def advantages(part: Part, rows: Sequence[Row]) -> list[list[float]]:
    return [row.advantage.tolist() for row in bind(part)(rows)]


def test_each_token_has_the_credit_of_what_follows_it() -> None:
    """Returns are 1 - .5 and 0 - 1: their mean is -.25. To come are (.5, 1, 1) and (-1, -.5, 0)."""
    made = rows((1.0, [-0.5, 0.0, 0.0]), (0.0, [-0.5, -0.5, 0.0]))
    expected = [[0.75, 1.25, 1.25], [-0.75, -0.25, 0.25]]
    assert np.allclose(advantages(ReturnToGo(), made), expected)
    gae = advantages(GAE(gamma=1.0, lam=1.0), made)
    assert np.allclose(gae, np.array(expected) - 0.25)  # no baseline
    summed = advantages(GroupRelative(scale="none"), made)
    assert np.allclose(summed, [[0.75] * 3, [-0.75] * 3])


def test_a_group_that_earns_the_same_throughout_teaches_nothing() -> None:
    assert advantages(ReturnToGo(), rows((1.0, [0, 0, 0]), (1.0, [0, 0, 0]))) == [[0, 0, 0]] * 2


def test_an_answer_without_one_of_its_rewards_does_not_train() -> None:
    broken = dataclasses.replace(episode([1]), rewards=(Reward("a", 1.0), Reward.unknown("b", "judge_down")))
    row = Row.of(broken)
    assert row.reward is None and not (row.in_loss or row.in_group or row.in_denominator)
    half = Reward.unknown("steps", "judge_down")
    assert dataclasses.replace(broken, rewards=(half,)).reward is None


def test_whole_answers_have_no_rewards_at_tokens() -> None:
    assert Row.of(episode([1], reward=1.0)).process is None
    assert pytest.approx(1.0) == Row.of(episode([1], reward=1.0)).reward
