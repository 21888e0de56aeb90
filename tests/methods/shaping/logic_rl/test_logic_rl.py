"""Logic-RL: the answer counts in exactly the right format only, and the four sums that this leaves."""

from __future__ import annotations

import dataclasses

import pytest
from earning import advantages, earned, judged
from tiny import recipe_of

from assay.ask.template import R1
from assay.part import bind
from assay.policy import character_tokenizer
from assay.tasks import ALPHABET, task
from assay.types import Request

CODEC = character_tokenizer(ALPHABET + "\n")
SPEC = {"statements": ["b", "d&e", "a^b", "b^e", "b"]}  # all five are knaves
PROBLEM = task("knights").pose(SPEC, level=5, wording="natural")


def formed(answer: str) -> str:
    return f"<think>If B is a knight, then A is.</think>\n<answer>\\boxed{{{answer}}}</answer>"


RIGHT, WRONG, UNREAD = formed("NNNNN"), formed("KKNNN"), formed("all of them lie")
ANSWERS = [judged(PROBLEM, text, sample=i) for i, text in enumerate((RIGHT, WRONG, UNREAD, "\\boxed{NNNNN}"))]


def test_the_four_sums() -> None:
    """Format 1 or -1; with it 2 for the right answer, -1.5 for a wrong one, -2 for what cannot be read; else -2."""
    assert earned("logic-rl", ANSWERS) == [1 + 2, 1 - 1.5, 1 - 2, -1 - 2]


@pytest.mark.parametrize(
    "text",
    [
        RIGHT.replace("</think>", ""),
        RIGHT + RIGHT,
        "so: " + RIGHT,
        RIGHT + " indeed",
        "<answer>\\boxed{NNNNN}</answer><think>so</think>",
    ],
)
def test_a_right_answer_in_another_format_earns_nothing(text: str) -> None:
    """Each mark stands once, in this order, with nothing around them."""
    assert earned("logic-rl", [judged(PROBLEM, text)]) == [-3]


def test_an_answer_that_was_cut_has_no_format() -> None:
    assert earned("logic-rl", [dataclasses.replace(ANSWERS[0], finish="length")]) == [-3]


def test_one_of_each_by_hand() -> None:
    """The mean is -3/8; the deviation divides by 3."""
    away = [3 + 3 / 8, -1 / 2 + 3 / 8, -1 + 3 / 8, -3 + 3 / 8]
    deviation = (sum(one**2 for one in away) / 3) ** 0.5
    assert advantages("logic-rl", ANSWERS) == pytest.approx([one / deviation for one in away], rel=1e-5)


def test_the_prompt_says_the_format() -> None:
    (ask,) = recipe_of("logic-rl").mechanism.ask
    (asked,) = bind(ask, codec=CODEC)([Request(PROBLEM, CODEC.render(PROBLEM.prompt), "g", 9)])
    assert R1 in CODEC.decode(asked.context.tolist())
