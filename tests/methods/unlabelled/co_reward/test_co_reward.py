"""Co-rewarding in runs: crossed labels, and those of a teacher that follows."""

from __future__ import annotations

from pathlib import Path

import pytest
from earning import advantages, earned, posed
from tiny import Notes, policy, recipe_of, register, run
from voting import answered

from assay.lab.trial import small_run
from assay.types import Episode, Problem


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def groups_in(notes: Notes) -> list[set[str]]:
    return [{episode.request.group for episode in step} for step in notes.episodes]


def test_both_wordings_train_in_one_update() -> None:
    """Letters have one wording: the same question in a second group, whose answers are the labels of the first."""
    notes, _ = run(recipe_of("co-reward", num_steps=2, num_prompts=2, group_size=4), policy("fp32"))
    assert groups_in(notes)[0] == {"0:0", "0:1", "0:0/reworded", "0:1/reworded"}
    for rows, batches in zip(notes.rows, notes.batches, strict=True):
        assert len(batches) == 1 and len(rows) == 16


def test_the_teacher_answers_and_does_not_train() -> None:
    notes, _ = run(recipe_of("co-reward-teacher", num_steps=2, num_prompts=2, group_size=4), policy("fp32"))
    for rows in notes.rows:
        assert {row.role for row in rows if row.in_loss} <= {"policy"}
        assert sum(row.role == "teacher" for row in rows) == 8


def test_three_steps_of_training(tmp_path: Path) -> None:
    made = small_run("co-reward", tmp_path)
    assert [record["rollouts"] for record in made.metrics()] == [16.0, 16.0, 16.0]


def both(first: str, second: str) -> list[Episode]:
    """Answers of a sign each to a question and to its paraphrase; a space is an answer that was cut."""
    question = Problem("tiny", "a", {"letter": "a"}, "a")
    paraphrase = Problem("tiny", "b", {"letter": "b"}, "b", parents=(question.id,))
    groups = ((first, question, "g"), (second, paraphrase, "h"))
    return [
        one
        for texts, problem, group in groups
        for one in posed(answered(*map(str.strip, texts), group=group), problem=problem)
    ]


def test_the_majority_of_one_wording_is_the_label_of_the_other() -> None:
    """7 is elected by the question and 9 by the paraphrase: each group is paid for the other's answer."""
    answers = both("7779", "9998")
    assert earned("co-reward", answers) == [0, 0, 0, 1, 0, 0, 0, 0]
    found = advantages("co-reward", answers)
    assert found == pytest.approx([-0.5, -0.5, -0.5, 1.5, 0, 0, 0, 0], abs=1e-5)


def test_a_cut_answer_has_no_vote_and_no_label_no_reward() -> None:
    assert earned("co-reward", both("7   ", "7799")) == [1, 0, 0, 0, 1, 1, 0, 0]
    assert earned("co-reward", both("    ", "7799")) == [0, 0, 0, 0, None, None, None, None]
