"""TTRL: all vote, some train, and the vote is the last row of the formula of certainty."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from voting import answered, kept, rows_of

from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.methods.unlabelled.ttrl.first_answers import first_answers
from assay.part import bind
from assay.recipe import at_profile
from assay.reward import GroupVote
from assay.reward.certainty import FORMS, certainty
from assay.verifiers.elections import shares


def test_the_first_answers_of_each_group_train_by_their_samples() -> None:
    rows = rows_of(answered("a", "b", "c"), answered("a", "b", "c", group="h"))
    assert kept(first_answers(rows, count=2)) == [0, 1, 3, 4]
    assert kept(first_answers(rows[::-1], count=2)) == [1, 2, 4, 5]
    assert kept(first_answers(rows, count=3)) == list(range(6))


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
def test_the_vote_is_a_step_of_the_cluster_probability(texts: list[str]) -> None:
    """1[e^z = max] with z = log p_c, for the first of equal clusters."""
    votes = [found.value for found in bind(GroupVote())(answered(*texts)) if found is not None]
    worth = [certainty(np.array([-math.log(p)]), FORMS["cluster"], vocab=0) for p in shares(texts)]
    best = max(worth)
    first = texts[next(i for i, value in enumerate(worth) if value > best - 1e-9)]
    assert votes == [float(text == first) for text in texts]


def test_as_large_a_share_of_a_smaller_group_trains() -> None:
    recipe, lines = at_profile(RECIPES["ttrl"], "laptop", max_new=16)
    assert (recipe.scale.group_size, recipe.mechanism.curate[0].count) == (8, 4)  # type: ignore[attr-defined]
    assert any("FirstAnswers.count: 32 -> 4" in line for line in lines)


def test_three_steps_of_training(tmp_path: Path) -> None:
    """Groups of four, of which two train; nobody in an untrained group ends an answer, so that no vote is held."""
    run = small_run("ttrl", tmp_path, settings={"mechanism.curate.0.count": 2})
    assert [record["rollouts"] for record in run.metrics()] == [8.0, 8.0, 8.0]
