"""Credit for turns by hand: what stands between replies, what is still to come there, and with whom it is compared."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from formulas import standard
from hypothesis import given, settings
from hypothesis import strategies as st
from in_turns import earning
from partners import credited
from tiny import episode, group_of, segment

from assay.credit import GAE, GroupRelative, ReturnToGo, SameTurn, pack
from assay.credit.gae import estimate
from assay.curate.turns import own_turns, turn_returns, turn_rewards
from assay.types import Origin, Row, Segment

NUMBER = st.integers(-8, 8).map(lambda n: n / 4)
ENV = Origin.ENV


# What a turn is


def test_turns_stand_between_replies_and_know_what_was_told() -> None:
    ids = lambda *numbers: np.array(numbers, np.int32).tobytes()  # noqa: E731
    pieces = [
        segment([1, 2]), segment([3]), segment([4, 4], origin=ENV), segment([4], origin=ENV, failed=True),
        segment([2]), segment([3], origin=ENV), segment([0]),
    ]  # fmt: skip
    made = own_turns(episode(pieces))
    assert [(turn.start, turn.stop) for turn in made] == [(0, 3), (6, 7), (8, 9)]
    assert [turn.told for turn in made] == [(), (ids(4, 4), ids(4)), (ids(3),)]
    assert [(turn.replied, turn.failed) for turn in made] == [(True, True), (True, False), (False, False)]


def test_what_is_read_instead_is_what_was_told_and_an_opening_is_no_reply_to_a_turn() -> None:
    context = np.array([3, 3], np.int32)
    empty = Segment(np.zeros(0, np.int32), np.zeros(0, np.int8), context=context)
    replaced = own_turns(episode([segment([1]), empty, segment([2])]))
    assert [turn.told for turn in replaced][1] == (context.tobytes(),)
    assert [turn.replied for turn in replaced] == [True, False]
    reply = segment([4], origin=ENV)
    recalled = own_turns(episode([segment([1]), empty, reply, segment([2])]))
    assert recalled[1].told == (reply.ids.tobytes(),) and len(recalled) == 2
    opened = own_turns(episode([reply, segment([1, 2])]))
    assert [(turn.start, turn.told, turn.replied) for turn in opened] == [(1, (reply.ids.tobytes(),), False)]
    assert own_turns(episode([segment([4], origin=ENV)])) == []


def test_in_worlds_of_numbers_each_step_is_a_turn() -> None:
    seen = np.array([[0.5, 1.0], [0.25, 1.0], [0.5, 1.0]], np.float32)
    made = own_turns(episode([segment([1, 2, 1], seen=seen)]))
    assert [(turn.start, turn.stop) for turn in made] == [(0, 1), (1, 2), (2, 3)]
    assert made[0].told == made[2].told == (seen[0].tobytes(),) != made[1].told


def test_what_turns_earn_and_return() -> None:
    """1, 2 and 4 + 8: with gamma 1/2 the returns are 1 + 1 + 3, 2 + 6 and 12."""
    row = earning((1.0, [3]), (2.0, [3, 3]), (4.0, [3]), reward=8.0)
    rewards = turn_rewards(row, own_turns(row.episode))
    assert rewards.tolist() == [1, 2, 12]
    assert turn_returns(rewards, 0.5).tolist() == [5, 8, 12] and turn_returns(rewards, 0.0).tolist() == [1, 2, 12]


# Returns to go


def test_what_is_to_come_is_discounted_from_turn_to_turn() -> None:
    """Returns of the two answers: 1 + (2 + 8) / 2 = 6, and 4 alone; their mean is 5. Within the first turn nothing is
    discounted, the reward stands at its last token, and over a reply what comes then is to come.
    """
    rows = [earning((1.0, [3]), (2.0, [3]), reward=8.0), earning((0.0, [3]), reward=4.0, sample=1)]
    first, second = credited(ReturnToGo(gamma=0.5), rows)
    assert first == [6 - 5, 6 - 5, 5 - 5, 10 - 5, 10 - 5] and second == [-1, -1]
    undiscounted, _ = credited(ReturnToGo(), rows)
    assert undiscounted == pytest.approx([11 - 7.5, 11 - 7.5, 10 - 7.5, 10 - 7.5, 10 - 7.5])


@given(rewards=st.lists(NUMBER, min_size=2, max_size=5))
def test_without_rewards_of_turns_returns_are_centred(rewards: list[float]) -> None:
    rows = group_of(rewards)
    assert credited(ReturnToGo(gamma=0.5), rows) == credited(ReturnToGo(), rows)
    np.testing.assert_allclose(credited(ReturnToGo(), rows), credited(GroupRelative(scale="none"), rows), atol=1e-12)


# Groups by turn


def test_answers_are_compared_at_the_same_turn() -> None:
    """Returns 3, 2 (= 2 + 0) and 1, 1, and 5 alone: first turns 3, 1, 5, second turns 2, 1. Nobody has a third one."""
    rows = [
        earning((1.0, [3]), (2.0, [4])),
        earning((0.0, [3, 3]), (0.0, [4]), reward=1.0, sample=1),
        earning((0.0, [3]), reward=5.0, sample=2),
    ]
    found = credited(SameTurn(scale="none"), rows)
    assert found == [[0, 0, 0, 0.5, 0.5], [-2, -2, 0, 0, -0.5, -0.5], [2, 2]]
    scaled = credited(SameTurn(epsilon=0.0), rows)
    first, second = standard([3.0, 1.0, 5.0], 0.0), standard([2.0, 1.0], 0.0)
    assert scaled[0] == pytest.approx([first[0]] * 2 + [0] + [second[0]] * 2)
    assert scaled[1] == pytest.approx([first[1]] * 2 + [0, 0] + [second[1]] * 2)


def test_a_turn_that_no_other_answer_has_is_compared_with_none() -> None:
    rows = [earning((0.0, [3]), (4.0, [3])), earning((1.0, [3]), sample=1)]
    assert credited(SameTurn(scale="none"), rows) == [[1.5, 1.5, 0, 0, 0], [-1.5, -1.5]]
    assert credited(SameTurn(gamma=0.0, scale="none"), rows) == [[-0.5, -0.5, 0, 0, 0], [0.5, 0.5]]


@given(rewards=st.lists(NUMBER, min_size=2, max_size=6))
def test_answers_of_one_turn_have_the_advantage_of_their_group(rewards: list[float]) -> None:
    rows = group_of(rewards)
    np.testing.assert_allclose(credited(SameTurn(), rows), credited(GroupRelative(), rows), rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    turns=st.lists(st.lists(NUMBER, min_size=1, max_size=3), min_size=2, max_size=4),
    shift=NUMBER,
    order=st.randoms(use_true_random=False),
)
def test_neither_place_nor_order_nor_other_groups_matter(turns: list[list[float]], shift: float, order: object) -> None:
    """With gamma = 0 a constant for every turn changes nothing."""

    def rows(by: float) -> list[Row]:
        return [earning(*((r + by, [3]) for r in each), sample=i) for i, each in enumerate(turns)]

    part = SameTurn(gamma=0.0, scale="none")
    plain = credited(part, rows(0.0))
    for one, other in zip(plain, credited(part, rows(shift)), strict=True):
        assert one == pytest.approx(other, abs=1e-9)
    assert credited(part, rows(0.0)[::-1])[::-1] == plain
    assert credited(part, [*rows(0.0), earning((9.0, [3]), group="h")])[: len(turns)] == plain


def test_replies_have_no_advantage_and_train_nothing() -> None:
    """The same, wherever in a batch the row stands."""
    rows = [earning((1.0, [3, 4]), (2.0, [4])), earning((0.0, [3]), reward=1.0, sample=1)]
    for part in (SameTurn(), ReturnToGo(gamma=0.5), GAE(per="turn", gamma=0.5)):
        made = [row.mark(advantage=np.array(a)) for row, a in zip(rows, credited(part, rows), strict=True)]
        batch = pack(made)
        assert batch.mask.tolist() == [True, True, False, False, True, True, True, True]
        assert pack(made[::-1]).advantage.tolist() == [*batch.advantage[6:], *batch.advantage[:6]]


# GAE across replies


def test_gae_jumps_over_replies() -> None:
    """The recursion over own tokens alone, in plain loops: delta_t = r_t + gamma V_next - V_t, where the next own token
    stands behind the reply, and what is told of values and rewards at replies is read by nobody.
    """
    row = earning((1.0, [3, 4]), (0.5, [3]), reward=2.0)
    dense = np.asarray(row.process)
    value = np.array([0.5, 0.25, 99.0, -99.0, 1.0, 0.75], np.float32)
    row = row.mark(value=value, process=dense + np.array([0, 0, 7.0, 7.0, 0, 0]))
    (found,) = credited(GAE(gamma=0.5, lam=0.25), [row])
    own, reward, ahead, expected = [0, 1, 4, 5], [0, 1, 0, 2.5], 0.0, [0.0] * 6
    for k in range(3, -1, -1):
        after = float(value[own[k + 1]]) if k < 3 else 0.0
        ahead = reward[k] + 0.5 * after - float(value[own[k]]) + 0.5 * 0.25 * ahead
        expected[own[k]] = ahead
    assert found == pytest.approx(expected)
    bare = estimate(np.array(reward), value[own].astype(np.float64), gamma=0.5, lam=0.25)
    assert [found[t] for t in own] == pytest.approx(bare.tolist())


def test_gae_by_turn_discounts_where_a_turn_ends() -> None:
    """gamma = 1/2 and lambda = 1/4 behind tokens 1 and 5 alone. The last turn: 2.5 - 3/4, and 3/4 - 1 more before it.
    The first: 1 + 1/2 - 1/4 + 1/8 of what comes then, and 1/4 - 1/2 more before it.
    """
    row = earning((1.0, [3, 4]), (0.5, [3]), reward=2.0)
    row = row.mark(value=np.array([0.5, 0.25, 0, 0, 1.0, 0.75], np.float32))
    (found,) = credited(GAE(gamma=0.5, lam=0.25, per="turn"), [row])
    last, before = 2.5 - 0.75, 2.5 - 0.75 + (0.75 - 1.0)
    first = 1 + 0.5 * 1.0 - 0.25 + 0.125 * before
    assert found == pytest.approx([first + (0.25 - 0.5), first, 0, 0, before, last])


@given(values=st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=6), gamma=st.sampled_from([0.0, 0.5, 1.0]))
def test_of_turns_of_one_token_gae_by_turn_is_gae(values: list[tuple[float, float]], gamma: float) -> None:
    row = earning(*((r, [3]) for r, _ in values), own=1, reward=1.0)
    at = np.zeros(len(row.episode), np.float32)
    at[[turn.start for turn in own_turns(row.episode)]] = [v for _, v in values]
    rows = [row.mark(value=at)]
    assert credited(GAE(gamma=gamma, lam=0.5, per="turn"), rows) == credited(GAE(gamma=gamma, lam=0.5), rows)


@given(values=st.lists(NUMBER, min_size=1, max_size=6), reward=NUMBER)
def test_within_one_turn_the_return_is_whole(values: list[float], reward: float) -> None:
    """Whatever gamma and lambda are, A + V of an answer of one turn is its reward."""
    row = earning((0.0, [3]), own=len(values), reward=reward).mark(value=np.array(values, np.float32))
    (found,) = credited(GAE(gamma=0.25, lam=0.5, per="turn"), [row])
    np.testing.assert_allclose(torch.tensor(found) + torch.tensor(values), reward, atol=1e-9)
