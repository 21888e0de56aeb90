"""The vote of a group, and of several roles."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.part import Rewarding, bind
from assay.reward import CollectiveVote, GroupVote
from assay.types import Episode, Problem

ONE = Problem("countdown", "one", {}, "one")


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


def of_roles(**texts: str) -> list[Episode]:
    """Answers of one letter each, by role, to one question."""
    made = []
    for role, letters in texts.items():
        for answer in answers(ONE, *(letter.strip() for letter in letters), group=role):
            request = dataclasses.replace(answer.request, role=role, draw=0)
            made.append(dataclasses.replace(answer, request=request))
    return made


def collected(everyone: list[Episode], role: str, **values: Any) -> list[float | None]:
    mine = [episode for episode in everyone if episode.request.role == role]
    found = bind(CollectiveVote(**values))(mine, everyone=everyone)
    return [None if one is None else one.value for one in found]


def test_a_collective_weighs_its_members_by_how_much_they_agree() -> None:
    """One says a four times; two say b twice each and disagree else: 4 votes of weight 1 and 4 of weight 1/2."""
    everyone = of_roles(first="aaaa", second="bbcd", third="bbef")
    assert collected(everyone, "second") == [0, 0, 0, 0] and collected(everyone, "first") == [1, 1, 1, 1]
    crowd = of_roles(first="aaaa", second="bbbc", third="bbbd")  # 4 against 2 * 3 * 0.75
    assert collected(crowd, "second") == [1, 1, 1, 0] and collected(crowd, "second", gamma=2.0) == [0, 0, 0, 0]


def test_a_teacher_alone_may_vote() -> None:
    everyone = of_roles(policy="aaab", teacher="bb c")
    assert collected(everyone, "policy", gamma=0.0, voters=("teacher",)) == [0, 0, 0, 1]
    assert collected(of_roles(policy="a", teacher=" "), "policy", voters=("teacher",)) == [None]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_a_collective_of_one_is_the_vote_of_the_group(texts: list[str]) -> None:
    everyone = of_roles(policy="".join(texts))
    assert collected(everyone, "policy") == earned(GroupVote(), everyone)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_a_vote_is_for_the_most_frequent_answer_only(texts: list[str]) -> None:
    found = earned(GroupVote(), answers(ONE, *texts, group="g"))
    winners = {text for text, reward in zip(texts, found, strict=True) if reward}
    assert len(winners) == 1 and texts.count(winners.pop()) == max(map(texts.count, texts))
