"""RLCCF: the common label by hand, and a run in which three models answer and each learns."""

from __future__ import annotations

from pathlib import Path

import pytest
from earning import earned, paid, posed
from tiny import phases_of, recipe_of
from voting import answered

from assay.lab.trial import small_run
from assay.memory import Memory
from assay.types import Episode, Row


def test_three_steps_of_training(tmp_path: Path) -> None:
    """Two groups of four answers for each of three models."""
    run = small_run("rlccf", tmp_path, settings={"scale.max_new": 64})
    assert [record["rollouts"] for record in run.metrics()] == [24.0, 24.0, 24.0]


def crowd(**said: str) -> list[Episode]:
    """Answers of one letter each of the models, to one question."""
    return [one for role, letters in said.items() for one in posed(answered(*letters, group=role), role=role, draw=0)]


def test_a_model_that_agrees_with_itself_weighs_more() -> None:
    """a has 4 votes of weight 1, and b 2 of weight 1/2 and 3 of weight 3/4, which are 3 1/4: fewer, though 5 votes."""
    answers = crowd(policy="aaaa", second="bbcd", third="bbbd")
    assert earned("rlccf", answers) == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_each_model_is_compared_with_itself_alone() -> None:
    """b has 2 times 3 votes of weight 3/4 against 4 of weight 1."""
    answers = crowd(policy="aaaa", second="bbbc", third="bdbb")
    assert earned("rlccf", answers) == [0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1]
    rows = [Row(one) for one in paid("rlccf", answers)]
    found = {batch.role: batch.advantage for batch in phases_of(recipe_of("rlccf")).credit(rows, Memory(0))}
    assert found["policy"].tolist() == [0, 0, 0, 0]
    assert found["second"] == pytest.approx([0.5, 0.5, 0.5, -1.5], abs=1e-5)
    assert found["third"] == pytest.approx([0.5, -1.5, 0.5, 0.5], abs=1e-5)
