"""What is said of two verifiers, by answers that were made up."""

from __future__ import annotations

from typing import Any

import pytest

from bench import two_judges

LISTED = "The music and table are music and table."
TOLD = "The old music made a wooden table shake."
POOR = "no sentence"


def answer(words: list[str], text: str, **found: Any) -> dict[str, Any]:
    return {"words": words, "text": text, "tokens": 10, **found}


def test_answers_are_counted_by_question_and_those_that_the_plain_judge_accepts_are_described() -> None:
    listed = {"plain": True, "strict": False, "repeats": True, "others": 2, "telling": 0}
    told = {"plain": True, "strict": True, "repeats": False, "others": 6, "telling": 4}
    poor = {"plain": False, "strict": False, "repeats": False, "others": 2, "telling": 2}
    first, second = ["music", "table"], ["apple", "baby"]
    found = two_judges.summary(
        [answer(first, LISTED, **listed), answer(first, TOLD, **told), answer(second, POOR, **poor)]
    )
    assert (found["questions"], found["answers"]) == (2, 3)
    assert found["right"]["plain"]["mean"] == pytest.approx((1 + 0) / 2), "each question counts once"
    assert found["right"]["strict"]["mean"] == pytest.approx((1 / 2 + 0) / 2)
    assert (found["repeats"], found["others"], found["telling"]) == (1 / 2, 4, 2)


def test_the_page_shows_counts_and_the_first_answers_side_by_side() -> None:
    one = {"questions": 48, "answers": 768, "repeats": 0.25, "others": 5.0, "telling": 3.0, "tokens": 20.0}
    one["right"] = {name: {"mean": 0.5, "low": 0.4, "high": 0.6} for name in two_judges.VERIFIERS}
    curves = {arm: {two_judges.REPEATS: [None, 0.25, 0.75]} for arm in two_judges.VERIFIERS}
    said = {"untrained": [answer(["a", "b"], "x | <b>\n y")], "plain": [answer(["a", "b"], LISTED)]}
    kept = {
        "steps": 40,
        "seed": 0,
        "measured": "2026-01-01",
        "models": dict.fromkeys(("untrained", *two_judges.VERIFIERS), one),
        "curves": curves,
        "read": two_judges.first_answers({**said, "strict": [answer(["a", "b"], TOLD)]}),
    }
    page = two_judges.page(kept)
    assert f"| a, b | x \\| &lt;b> y | {LISTED} | {TOLD} |" in page
    assert "| right by the strict verifier | 0.500 [0.400, 0.600] |" in page
    assert "48 held-out questions 16 times" in page
    assert "repeat a word | 25 % |" in page
    drawn = two_judges.picture(kept)
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"') and "var(" not in drawn
    assert "rewarded by the plain verifier: 0.25 to 0.75" in drawn
