"""Verdicts ahead: judged in whole groups while others are sampled, and the same as at the end of a round."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.collect import AtEnd, AtOnce
from assay.run.grader import Grader, grader, reward_names_of
from assay.source import Pool, Share
from assay.types import Episode, Verdict

PATIENCE = 30  # seconds until a test gives up


def judged(episodes: Sequence[Episode]) -> list[Verdict]:
    return [Verdict.ok(one.text) if one.request.sample % 2 else Verdict.fail("wrong", one.text) for one in episodes]


def round_of(*groups: str) -> list[Episode]:
    return [episode([1], group=group, sample=n, text=f"{group}{n}") for n, group in enumerate(groups)]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12), st.randoms())
def test_verdicts_are_those_of_the_end_whatever_comes_first(answers: list[tuple[str, bool]], draw) -> None:
    """`answers`: the group of each, and whether it is judged; they come in any order."""
    episodes = round_of(*(group for group, _ in answers))
    order = draw.sample(range(len(answers)), len(answers))
    found = []
    for verdicts in (AtOnce(judged), AtEnd(judged)):
        verdicts.begin([one.request for one in episodes])
        for place in order:
            if answers[place][1]:
                verdicts.take(place, episodes[place])
            else:
                verdicts.skip(place)
        found.append(verdicts.end())
    assert found[0] == found[1]
    assert set(found[0]) == {place for place, (_, asked) in enumerate(answers) if asked}


def test_a_whole_group_is_judged_while_the_other_is_sampled() -> None:
    began, batches = threading.Event(), []

    def verify(episodes: Sequence[Episode]) -> list[Verdict]:
        batches.append([one.text for one in episodes])
        began.set()
        return judged(episodes)

    first, second, third, fourth = episodes = round_of("a", "b", "a", "b")
    ahead = AtOnce(verify)
    ahead.begin([one.request for one in episodes])
    ahead.take(0, first)
    ahead.take(1, second)
    assert not batches, "no group is whole"
    ahead.take(2, third)
    assert began.wait(PATIENCE), "group a is judged before group b is there"
    ahead.take(3, fourth)
    assert set(ahead.end()) == {0, 1, 2, 3}
    assert batches == [["a0", "a2"], ["b1", "b3"]]


def test_an_error_of_the_verifier_ends_the_round_and_the_next_one_begins_anew() -> None:
    def verify(episodes: Sequence[Episode]) -> list[Verdict]:
        if episodes[0].text == "a0":
            raise ZeroDivisionError("a bug")
        return judged(episodes)

    (bad,), (good,) = round_of("a"), round_of("b")
    ahead = AtOnce(verify)
    ahead.begin([bad.request])
    with pytest.raises(ZeroDivisionError):
        ahead.take(0, bad)
        ahead.end()
    ahead.begin([good.request])
    ahead.take(0, good)
    assert ahead.end() == {0: Verdict.fail("wrong", "b0")}


def test_a_round_that_was_broken_off_leaves_nothing_to_the_next() -> None:
    hold, entered = threading.Event(), threading.Event()

    def verify(episodes: Sequence[Episode]) -> list[Verdict]:
        entered.set()
        assert hold.wait(PATIENCE)
        return judged(episodes)

    ahead = AtOnce(verify)
    old, new = round_of("a", "b"), round_of("c")
    ahead.begin([one.request for one in old])
    ahead.take(0, old[0])
    assert entered.wait(PATIENCE)
    ahead.take(1, old[1])  # waits; then sampling was stopped
    ahead.begin([one.request for one in new])
    ahead.take(0, new[0])
    hold.set()
    assert ahead.end() == {0: Verdict.fail("wrong", "c0")}
    assert ahead.waited > 0


def right(completions: Sequence[str], **columns: object) -> list[float]:
    return [1.0] * len(completions)


def test_only_foreign_programs_judge_ahead() -> None:
    own, foreign = Pool((Share("countdown", (3,)),)), Pool((Share("countdown", (3,)), Share("programs", (2,))))
    assert isinstance(Grader().verdicts(own), AtEnd), "verifiers in this process would take time from the sampler"
    judge = Grader()
    assert isinstance(judge.verdicts(foreign), AtOnce) and judge.measured()["time/reward_wait"] == 0.0
    names, given = reward_names_of(right, None)
    with grader(names, given=given) as scored:
        assert isinstance(scored.verdicts(foreign), AtEnd), "reward functions see all answers of a round"
        assert "time/reward_wait" not in scored.measured()
