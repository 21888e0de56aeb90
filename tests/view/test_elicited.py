"""What a run taught beyond what its model showed with examples, and answers side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.scoring.bank import Bank, entry
from assay.view.elicited import beside_examples, read_beside
from assay.view.findings import results

M, N = 48, 16


def exam(name: str, step: int, right: float, *answers: str) -> dict[str, Any]:
    """An exam of 48 problems x 16 answers, of which about this share is right, more of some problems than of others."""
    correct = np.round(N * np.clip(right + np.linspace(-0.1, 0.1, M), 0, 1)).astype(int)
    whole = {"levels": [1] * M, "n": [N] * M, "correct": correct.tolist(), "invalid": [0] * M, "truncated": [0] * M}
    named = {"problems": [f"p{i}" for i in range(M)], "tasks": ["words"] * M, "max_new": 32, "temperature": 0.7}
    bank = Bank.from_json({**named, **whole, "tokens": [N] * M})
    read = [{"problem": f"p{i}", "question": f"q{i}", "answer": text} for i, text in enumerate(answers)]
    return {**entry(bank, step=step, set=name), "read": read}


@pytest.mark.parametrize(
    ("after", "word"), [(0.9, "More than elicitation"), (0.7, "Elicitation"), (0.5, "Elicitation")]
)
def test_a_run_that_does_not_beat_the_examples_is_elicitation(after: float, word: str) -> None:
    found = beside_examples([exam("test", 0, 0.3), exam("examples", 0, 0.7), exam("test", 40, after)], {})
    assert found is not None and found["verdict"].startswith(word)
    assert found["pass"]["1"]["mean"] == pytest.approx(0.7, abs=0.02)
    assert found["ahead"]["pass"]["1"]["mean"] == pytest.approx(after - 0.7, abs=0.03)


def test_without_that_exam_or_before_the_last_one_nothing_is_said() -> None:
    before, shown = exam("test", 0, 0.3), exam("examples", 0, 0.7)
    assert beside_examples([before, exam("test", 40, 0.9)], {}) is None
    found = beside_examples([before, shown], {})
    assert found is not None and found["verdict"] is None and found["ahead"] is None


def test_answers_stand_side_by_side_by_question() -> None:
    evals = [exam("test", 0, 0.3, "a", "b"), exam("examples", 0, 0.7, "c"), exam("test", 40, 0.9, "d", "e")]
    said = [(one["question"], one["before"]["answer"], one["after"]["answer"]) for one in read_beside(evals)]
    assert said == [("q0", "a", "d"), ("q1", "b", "e")]
    assert [one["examples"] and one["examples"]["answer"] for one in read_beside(evals)] == ["c", None]
    assert read_beside(evals[:2]) == []
    (test,) = results(evals, {})
    assert test["set"] == "test" and test["examples"]["verdict"] and len(test["read"]) == 2
    assert "read" not in test["before"]
