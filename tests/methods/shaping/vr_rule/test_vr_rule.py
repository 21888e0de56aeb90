"""Accuracy and format as rules: their sum, and the format as a gate."""

from __future__ import annotations

import dataclasses

import pytest
from earning import advantages, earned, judged

from assay.tasks import task

SPEC = {"numbers": [2, 14, 1], "target": 26, "witness": "2*(14-1)"}
PROBLEM = task("countdown").pose(SPEC, level=3, wording="natural")
RIGHT, WRONG = "\\boxed{2*(14-1)}", "\\boxed{2*14-1}"


def formed(answer: str) -> str:
    return f"<think>14-1 is 13.</think> <answer>{answer}</answer>"


ANSWERS = [judged(PROBLEM, text, sample=i) for i, text in enumerate((formed(RIGHT), RIGHT, formed(WRONG), WRONG))]


def test_the_sum_by_hand() -> None:
    """C + F / 10: right and in form, right, in form, neither."""
    assert earned("vr-rule", ANSWERS) == pytest.approx([1.1, 1.0, 0.1, 0.0])


def test_the_gate_by_hand() -> None:
    """C in the right format, and -1 in any other, right or wrong."""
    assert earned("vr-gate", ANSWERS) == [1, -1, 0, -1]


def test_the_gate_is_open_to_what_cannot_be_read_and_shut_to_two_answers() -> None:
    unread, twice = judged(PROBLEM, formed("\\boxed{twenty-six}")), judged(PROBLEM, formed(RIGHT) * 2)
    assert unread.verdict is not None and unread.verdict.kind == "format"
    assert earned("vr-gate", [unread, twice]) == [0, -1]


@pytest.mark.parametrize(("name", "least"), [("vr-rule", 1.0), ("vr-gate", -1.0)])
def test_an_answer_that_was_cut_has_no_format(name: str, least: float) -> None:
    assert earned(name, [dataclasses.replace(ANSWERS[0], finish="length")]) == [least]


@pytest.mark.parametrize(
    ("name", "away", "square"),
    [
        ("vr-rule", (0.55, 0.45, -0.45, -0.55), 2 * (0.55**2 + 0.45**2)),  # around 0.55
        ("vr-gate", (1.25, -0.75, 0.25, -0.75), 1.25**2 + 2 * 0.75**2 + 0.25**2),  # around -1/4
    ],
)
def test_advantages_by_hand(name: str, away: tuple[float, ...], square: float) -> None:
    deviation = (square / 3) ** 0.5
    assert advantages(name, ANSWERS) == pytest.approx([one / deviation for one in away], rel=1e-4)
