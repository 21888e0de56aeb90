"""SGPO: the grades of wrong answers by hand, and three steps of training."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.lab.trial import small_run
from assay.methods.shaping.sgpo.right_prefix import right_prefix, right_share
from assay.tasks.steps import Chain, Step, StepVerdict
from assay.types import Episode, Problem

# 3 4 7 = 14: 3+4=7 leaves 7 and 7, and 7+7=14
PROBLEM = Problem("search-stream", "c 3 4 7=14", {"numbers": [3, 4, 7], "target": 14}, "3 4 7=14", level=3)
NONE, HALF, ALL = "3+4=8 7,8+7=15#3*4+7", "3+4=7 7,7+7=15#3*4+7", "3+4=7 7,7+7=14#3*4+7"


def answer(text: str, reward: float | None = 0.0, *, group: str = "g", sample: int = 0) -> Episode:
    own = episode([1], reward=reward, group=group, sample=sample, text=text)
    return dataclasses.replace(own, request=dataclasses.replace(own.request, problem=PROBLEM))


def grades(episodes: list[Episode], slope: float = 4.0, threshold: float = 1.0) -> list[float | None]:
    return [None if r is None else r.value for r in right_prefix(episodes, slope=slope, threshold=threshold)]


def test_three_wrong_answers_by_hand() -> None:
    """None, half or all of two steps are right: sigma(-4), sigma(-2) and sigma(0)."""
    found = grades([answer(text, sample=i) for i, text in enumerate((NONE, HALF, ALL))])
    assert found == pytest.approx([1 / (1 + math.e**4), 1 / (1 + math.e**2), 0.5])
    assert grades([answer(HALF)], slope=2.0, threshold=0.5) == [0.5]


def test_a_right_answer_or_an_error_of_ours() -> None:
    """With a right answer in the group there are no grades; what could not be judged has none, and decides nothing."""
    assert grades([answer(HALF), answer(ALL, 1.0, sample=1)]) == [None, None]
    found = grades([answer(ALL), answer(HALF, None, sample=1), answer(HALF, 1.0, group="h")])
    assert found == [0.5, None, None]
    assert grades([dataclasses.replace(answer(ALL), verdict=None), answer(HALF, sample=1)], threshold=0.5) == [
        None,
        0.5,
    ]
    other = dataclasses.replace(PROBLEM, task="countdown")
    own = answer(HALF)
    assert grades([dataclasses.replace(own, request=dataclasses.replace(own.request, problem=other))]) == [None]


VERDICTS: list[StepVerdict] = ["valid", "useless", "wrong"]


@given(st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=8))
def test_what_follows_the_first_error_only_lengthens(verdicts: list[StepVerdict]) -> None:
    """The share times the number of steps is the number of steps before the first error."""
    share = right_share(Chain(tuple(Step(0, 1, verdict) for verdict in verdicts), "faithful"))
    count = round(share * len(verdicts))
    assert share == pytest.approx(count / len(verdicts)) and "wrong" not in verdicts[:count]
    assert count == len(verdicts) or verdicts[count] == "wrong"
    assert right_share(Chain((), "none")) == 0.0


def test_three_steps_of_training(tmp_path: Path) -> None:
    """An untrained model is never right, so that every answer has a grade."""
    run = small_run("sgpo", tmp_path, task="search-stream")
    for record in run.metrics():
        assert record["reward/accuracy"] == 0.0 and record["reward/right-prefix"] >= 1 / (1 + math.e**4) - 1e-9
