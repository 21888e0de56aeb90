"""The vote of a group and of the paired group."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.part import Rewarding, bind
from assay.reward import GroupVote, PartnerVote
from assay.types import Episode, Problem

ONE = Problem("countdown", "one", {}, "one")
OTHER = Problem("countdown", "other", {}, "other", parents=(ONE.id,))
ALONE = Problem("countdown", "alone", {}, "alone")


def answers(problem: Problem, *texts: str, group: str) -> list[Episode]:
    made = []
    for i, text in enumerate(texts):
        answer = episode([1], group=group, sample=i)
        request = dataclasses.replace(answer.request, problem=problem)
        made.append(dataclasses.replace(answer, request=request, text=text, finish="length" if not text else "stop"))
    return made


def earned(part: Rewarding, episodes: list[Episode]) -> list[float | None]:
    return [None if found is None else found.value for found in bind(part)(episodes)]


def test_the_majority_of_a_group_counts_as_right_and_a_cut_answer_has_no_vote() -> None:
    group = answers(ONE, "a#7", "b# 7", "9", "", "", "", group="g")
    assert earned(GroupVote(differs=-1.0), group) == [1, 1, -1, -1, -1, -1]
    assert earned(GroupVote(), answers(ONE, "", "", group="g")) == [None, None]


def test_each_wording_is_judged_by_the_answers_to_the_other() -> None:
    first = answers(ONE, "7", "7", "9", group="g")
    second = answers(OTHER, "9", "9", "7", group="h")
    third = answers(ALONE, "7", group="i")
    assert earned(PartnerVote(), first + second + third) == [0, 0, 1, 0, 0, 1, None]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_a_vote_is_for_the_most_frequent_answer_only(texts: list[str]) -> None:
    found = earned(GroupVote(), answers(ONE, *texts, group="g"))
    winners = {text for text, reward in zip(texts, found, strict=True) if reward}
    assert len(winners) == 1 and texts.count(winners.pop()) == max(map(texts.count, texts))
