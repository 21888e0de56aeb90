"""GiGPO: both levels by hand, which states are one, what never matters, and a world in which turns are learnt."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from formulas import standard
from hypothesis import given, settings
from hypothesis import strategies as st
from partners import credited
from talking import TALKING, replying
from tiny import Letters, episode, group_of, policy, recipe_of, register, require_resumable, run, segment

from assay.credit import GroupRelative
from assay.methods.turns.gigpo.anchored import GroupInGroup, alike, states
from assay.types import Origin, Reward, Row

ENV = Origin.ENV


def visiting(*told: Sequence[int], earns: Sequence[float] = (), reward: float = 0.0, sample: int = 0) -> Row:
    """One token, then for each reply another one; `earns`: what each of these turns earns."""
    pieces = [segment([1])]
    for ids in told:
        pieces += [segment(ids, origin=ENV), segment([2])]
    at = np.cumsum([1, *(len(ids) + 1 for ids in told)]) - 1
    given_ = Reward("turns", sum(earns), "turn", np.array([*earns]), at[: len(earns)])
    made = episode(pieces, sample=sample, reward=reward)
    return Row.of(dataclasses.replace(made, rewards=(*made.rewards, given_)))


def own(row: Row, found: list[float]) -> list[float]:
    """The numbers of the policy's tokens; replies have none."""
    mine = row.episode.stream("origin") == Origin.POLICY
    assert not np.array(found)[~mine].any()
    return np.array(found)[mine].tolist()


def in_groups(rows: list[Row], **values: Any) -> list[list[float]]:
    part = GroupInGroup(**{"gamma": 0.5, "scale": "none", **values})
    return [own(row, found) for row, found in zip(rows, credited(part, rows), strict=True)]


HUB, OTHER = [3, 3], [4]


def test_both_levels_by_hand() -> None:
    """Rewards 1 and 0, gamma 1/2, three turns and two. From the prompt the returns are 1/4 and 0. HUB was told to the
    first answer before its second turn and to the second one before its last: 1/2 and 0. OTHER was told once.
    """
    rows = [visiting(HUB, OTHER, reward=1.0), visiting(HUB, sample=1)]
    assert in_groups(rows) == [[0.5 + 1 / 8, 0.5 + 1 / 4, 0.5], [-0.5 - 1 / 8, -0.5 - 1 / 4]]
    assert in_groups(rows, weight=2.0)[0] == [0.5 + 1 / 4, 0.5 + 1 / 2, 0.5]
    assert in_groups(rows, weight=0.0) == [[0.5] * 3, [-0.5] * 2]
    whole, first, hub = (standard(values) for values in ([1.0, 0.0], [0.25, 0.0], [0.5, 0.0]))
    scaled = in_groups(rows, scale="std")
    assert scaled[0] == pytest.approx([whole[0] + first[0], whole[0] + hub[0], whole[0]])
    assert scaled[1] == pytest.approx([whole[1] + first[1], whole[1] + hub[1]])


def test_an_answer_that_comes_back_is_compared_with_itself() -> None:
    """It was at HUB twice, with 1/2 and 1 to come, and its fellow once, with 0: the mean is 1/2."""
    rows = [visiting(HUB, HUB, reward=1.0), visiting(HUB, sample=1)]
    assert in_groups(rows)[0][1:] == [0.5 + 0.0, 0.5 + 0.5] and in_groups(rows)[1][1] == -0.5 - 0.5


def test_what_turns_earn_counts_in_both_levels() -> None:
    """A tenth off at the first turn of the second answer: totals 1 and -1/10; from the prompt 1/2 and -1/10."""
    rows = [visiting(HUB, reward=1.0), visiting(HUB, earns=(-0.1, 0.0), sample=1)]
    assert in_groups(rows)[0] == pytest.approx([0.55 + 0.3, 0.55 + 0.5])


def test_a_state_is_the_last_reply_or_all_replies() -> None:
    """Both come to HUB, the second one by OTHER: one state, or two."""
    rows = [visiting(HUB, reward=1.0), visiting(OTHER, HUB, sample=1)]
    assert in_groups(rows)[0] == [0.5 + 1 / 4, 0.5 + 1 / 2]
    assert in_groups(rows, anchor="replies")[0] == [0.5 + 1 / 4, 0.5]


def test_states_of_different_groups_are_apart_and_similar_ones_may_be_one() -> None:
    first, second = (np.array(ids, np.int32).tobytes() for ids in ([1, 2, 3, 4], [1, 2, 4]))
    assert alike((first,), (second,)) == pytest.approx(2 * 3 / 7) and alike((first,), (first,)) == 1
    told = [[(first,)], [(second,)], [(second,)]]
    exact = states(["g", "g", "h"], told, 1.0)
    assert len({key for keys in exact for key in keys}) == 3
    near = states(["g", "g", "h"], told, 0.8)
    assert near[0] == near[1] != near[2]
    assert states(["g", "g", "h"], told, 0.9)[0] != states(["g", "g", "h"], told, 0.9)[1]
    rows = [visiting([1, 2, 3, 4], reward=1.0), visiting([1, 2, 4], sample=1)]
    assert in_groups(rows)[0][1] == 0.5 and in_groups(rows, similarity=0.8)[0][1] == 1.0


@settings(max_examples=40, deadline=None)
@given(
    visits=st.lists(st.lists(st.sampled_from([(3,), (4,), (3, 3)]), max_size=3), min_size=2, max_size=5),
    rewards=st.lists(st.integers(-4, 4).map(float), min_size=5, max_size=5),
    seed=st.integers(0, 99),
)
def test_neither_order_nor_a_constant_matters_and_no_comparison_is_won_by_all(
    visits: list[list[tuple[int, ...]]], rewards: list[float], seed: int
) -> None:
    """With gamma 1 a constant in all rewards is in every return."""

    def rows(by: float) -> list[Row]:
        return [visiting(*told, reward=rewards[i] + by, sample=i) for i, told in enumerate(visits)]

    plain = in_groups(rows(0.0), gamma=1.0)
    order = np.random.default_rng(seed).permutation(len(visits))
    shuffled = in_groups([rows(0.0)[i] for i in order], gamma=1.0)
    for place, i in enumerate(order):
        assert shuffled[place] == pytest.approx(plain[i], abs=1e-9)
    for one, other in zip(plain, in_groups(rows(2.5), gamma=1.0), strict=True):
        assert one == pytest.approx(other, abs=1e-9)
    turns = in_groups(rows(0.0), gamma=1.0, weight=1.0)
    wholes = in_groups(rows(0.0), gamma=1.0, weight=0.0)
    assert sum(a - b for one, other in zip(turns, wholes) for a, b in zip(one, other)) == pytest.approx(0, abs=1e-9)


@given(rewards=st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=2, max_size=6))
def test_without_states_that_recur_it_is_the_comparison_of_answers(rewards: list[float]) -> None:
    """All that recurs in answers of one turn is the prompt: weight 0 and weight 1 differ by a factor of two."""
    rows = group_of(rewards)
    plain = np.array(credited(GroupRelative(), rows))
    np.testing.assert_allclose(credited(GroupInGroup(weight=0.0), rows), plain, atol=1e-12)
    np.testing.assert_allclose(credited(GroupInGroup(), rows), 2 * plain, atol=1e-12)


# Runs


def reply(spec: Any, text: str) -> str | None:
    """Behind a b: an error the first time, and nothing the fourth."""
    if not text.endswith("b") or text.count("d") + text.count("c") > 2:
        return None
    return "c" if "c" in text or "d" in text else "d"


FAILING = dataclasses.replace(TALKING, world=replying(reply, "b", failed=lambda r: r == "d"))


def engine() -> Any:
    return policy("fp32", decode=Letters().decode)


def small(**scale: object) -> Any:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    return recipe_of("gigpo", max_new=8, **sizes)


def test_turns_of_one_state_have_other_advantages_than_their_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, FAILING)
    notes, _ = run(small(num_steps=1), engine())
    ((batch,),) = notes.batches
    several = 0
    for start, stop in zip(batch.at, batch.at[1:]):
        mask, advantage = batch.mask[start:stop], batch.advantage[start:stop]
        assert not advantage[~mask].any(), "replies have none"
        several += len(set(np.round(advantage[mask], 6).tolist())) > 1
    assert several > 4


@pytest.mark.slow
def test_a_stopped_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, FAILING)
    require_resumable(small(), engine, after=2)


@pytest.mark.deep
def test_it_learns_to_answer_and_to_avoid_calls_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, FAILING)
    notes, _ = run(small(num_steps=60, learning_rate=0.014), engine())
    failed = [sum(s.failed for e in step for s in e.segments) / len(step) for step in notes.episodes]
    accuracy = notes.accuracy()
    assert np.mean(accuracy[-6:]) > accuracy[0] + 0.2
    assert np.mean(failed[-6:]) < failed[0] * 0.7
