"""TP-GRPO: advantages of thoughts by hand, on worked answers, and three steps of training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.memory import Memory
from assay.methods.shaping.tp_grpo.thoughts import thoughts
from assay.part import bind
from assay.tasks import ALPHABET, task
from assay.types import Problem, Row


class Characters:
    """A codec of one token a character."""

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(ALPHABET[i] for i in ids)


# 3 4 7 = 14: 3+4=7 leaves 7 and 7, and 7+7=14; 4*7=29 is false
PROBLEM = Problem("search-stream", "c 3 4 7=14", {"numbers": [3, 4, 7], "target": 14}, "3 4 7=14", level=3)


def answer(text: str, advantage: float, sample: int = 0, group: str = "g") -> Row:
    right = task("search-stream").verify(PROBLEM, text).status == "ok"
    own = episode(
        [ALPHABET.index(sign) for sign in text], reward=float(right), right=right, sample=sample, group=group, text=text
    )
    request = dataclasses.replace(own.request, problem=PROBLEM)
    return Row(dataclasses.replace(own, request=request), advantage=np.full(len(text), advantage))


def by_step(row: Row) -> list[tuple[str, float]]:
    """The pieces of an answer at its commas and its '#', each with the one advantage that its characters have."""
    text, begin, found = row.episode.text, 0, []
    assert row.advantage is not None
    for piece in text.replace("#", ",").split(","):
        values = set(row.advantage[begin : begin + len(piece)].tolist())
        assert len(values) == 1
        found.append((piece, values.pop()))
        begin += len(piece) + 1
    return found


RIGHT = "4*7=29 3,~,3+4=7 7,7+7=14#3+4+7"
WRONG = "4*7=29 3,~,3+4=8 7,8+7=15#3*4+7"
LEFT = "4*4=16 7,3+4=7 7,7+7=14#3*4+7"  # the wrong step is not taken back, though what follows it is valid
TWICE = "4*7=29 3,~,~,~,3+4=8 7#3*4+7"  # the first step is taken back; nothing is left for the others to take back


def test_the_texts_are_read_as_they_are_meant() -> None:
    verdicts = [[s.verdict for s in task("search-stream").chain(PROBLEM, t).steps] for t in (RIGHT, WRONG)]  # type: ignore[union-attr]
    assert verdicts[0] == ["wrong", "valid", "valid", "valid"]
    assert verdicts[1] == ["wrong", "valid", "wrong", "wrong"]
    other = [[s.verdict for s in task("search-stream").chain(PROBLEM, t).steps] for t in (LEFT, TWICE)]  # type: ignore[union-attr]
    assert other[0] == ["wrong", "valid", "valid"]
    assert other[1] == ["wrong", "valid", "wrong", "wrong", "wrong"]


def test_a_right_and_a_wrong_answer_by_hand() -> None:
    """Half of the group is right, so a wrong thought of the right answer costs alpha / 2, be it taken back or not; the
    wrong answer was built on what was not taken back.
    """
    found = thoughts([answer(RIGHT, 1.0), answer(WRONG, -1.0, 1)], codec=Characters(), alpha=0.5)
    assert [a for _, a in by_step(found[0])] == [0.75, 1.0, 1.0, 1.0, 1.0]
    assert [a for _, a in by_step(found[1])] == [0.0, 0.0, -1.0, -1.0, -1.0]
    left, twice = thoughts([answer(LEFT, -1.0), answer(TWICE, -1.0, 1)], codec=Characters(), alpha=0.5)
    assert [a for _, a in by_step(left)] == [-1.0, 0.0, 0.0, -1.0]
    assert [a for _, a in by_step(twice)] == [0.0, 0.0, -1.0, -1.0, -1.0, -1.0]


def test_the_accuracy_is_that_of_the_own_group() -> None:
    """By the recipe's alpha of 1: one of two answers to a problem is right, and one of four to another; of all answers
    of the batch it would be one of three.
    """
    rows = [
        answer(text, 1.0 if text == RIGHT else -1.0, i, group)
        for group, texts in (("g", [RIGHT, WRONG]), ("h", [RIGHT, WRONG, WRONG, WRONG]))
        for i, text in enumerate(texts)
    ]
    (shape,) = RECIPES["tp-grpo"].mechanism.shape
    found = bind(shape, codec=Characters())(rows, memory=Memory(0))
    assert [by_step(found[i])[0] for i in (0, 2)] == [("4*7=29 3", 1 - 1 / 2), ("4*7=29 3", 1 - 1 / 4)]


@given(st.integers(1, 5), st.integers(0, 5), st.floats(0, 2))
def test_thoughts_only_take_credit_away_from_right_answers_and_blame_from_wrong_ones(
    good: int, bad: int, alpha: float
) -> None:
    """The harder the problem, the less a wrong thought costs; the answer itself keeps its advantage."""
    rows = [answer(RIGHT, 1.5, i) for i in range(good)] + [answer(WRONG, -0.5, good + i) for i in range(bad)]
    for before, after in zip(rows, thoughts(rows, codec=Characters(), alpha=alpha), strict=True):
        old, new = before.advantage, after.advantage
        assert old is not None and new is not None and new[-1] == old[-1]
        if before.episode.right:
            assert (new <= old).all() and new.min() == pytest.approx(1.5 - alpha * good / (good + bad))
        else:
            assert (new >= old).all() and set(new.tolist()) == {0.0, -0.5}


def test_a_task_that_judges_no_steps_keeps_its_advantages() -> None:
    row = answer(RIGHT, 1.0)
    other = dataclasses.replace(PROBLEM, task="countdown")
    row = row.mark(
        episode=dataclasses.replace(row.episode, request=dataclasses.replace(row.episode.request, problem=other))
    )
    (found,) = thoughts([row], codec=Characters(), alpha=1.0)
    assert found is row


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("tp-grpo", tmp_path, task="search-stream")
    assert [record["rollouts"] for record in run.metrics()] == [8.0, 8.0, 8.0]
