"""F1 of words, worked out by precision and recall, and where an answer and its references come from."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.part import bind
from assay.reward import AnswerF1
from assay.reward.overlap import f1, references
from assay.types import Episode, Problem, Verdict

WORDS = st.lists(st.sampled_from(["red", "fox", "hen", "house"]), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("red fox", "red fox", 1.0),
        ("The Red Fox.", "red fox", 1.0),
        ("red fox house", "red fox", 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        ("fox", "red fox", 2 * 1 * 0.5 / 1.5),
        ("red red", "red fox", 2 * 0.5 * 0.5 / 1.0),
        ("hen", "red fox", 0.0),
        ("", "red fox", 0.0),
        ("yes", "yes", 1.0),
        ("yes it is", "yes", 0.0),
        ("no", "yes", 0.0),
    ],
)
def test_f1_by_precision_and_recall(answer: str, reference: str, expected: float) -> None:
    assert f1(answer, reference, words="bag") == pytest.approx(expected)


def test_as_a_set_a_word_counts_once() -> None:
    """red, of red and fox: precision 1, recall 1/2."""
    assert f1("red red", "red fox", words="set") == pytest.approx(2 * 1 * 0.5 / 1.5)


@given(one=WORDS, other=WORDS)
def test_f1_is_symmetric_and_one_for_the_same_words(one: list[str], other: list[str]) -> None:
    first, second = " ".join(one), " ".join(other)
    assert f1(first, second, words="bag") == f1(second, first, words="bag")
    assert 0.0 <= f1(first, second, words="bag") <= 1.0
    assert (f1(first, second, words="bag") == 1.0) == (sorted(one) == sorted(other))
    assert (f1(first, second, words="set") == 1.0) == (set(one) == set(other))


def answered(
    text: str, *, wording: str = "compact", finish: str = "stop", right: bool = False, **spec: object
) -> Episode:
    problem = Problem("tiny", "?", spec, "?", solution=None if spec else "x#red fox", wording=wording)  # type: ignore[arg-type]
    made = episode([1])
    verdict = Verdict.ok("x") if right else Verdict.fail("wrong")
    request = dataclasses.replace(made.request, problem=problem)
    return dataclasses.replace(made, request=request, text=text, finish=finish, verdict=verdict)


def rewards(*episodes: Episode) -> list[float]:
    return [reward.value for reward in bind(AnswerF1())(list(episodes))]


def test_the_answer_is_the_marked_one_and_the_best_reference_counts() -> None:
    assert rewards(answered("fox fox#red fox")) == [1.0] and rewards(answered("red fox#hen")) == [0.0]
    several = ["hen", "red fox"]
    assert rewards(answered("\\boxed{fox}", wording="natural", golds=several)) == pytest.approx([2 / 3])
    assert rewards(answered("fox", wording="natural", golds=several)) == [0.0], "nothing is marked"
    assert rewards(answered("#fox", gold="red fox")) == pytest.approx([2 / 3])


def test_what_the_verifier_calls_right_is_right_and_what_was_cut_is_not() -> None:
    assert rewards(answered("#vulpes", right=True), answered("#red fox", finish="length")) == [1.0, 0.0]


def test_a_row_without_reference_lacks_one() -> None:
    bare = Problem("rows", "?", {"columns": {}}, "?", provenance="data")
    assert references(bare) == [] and AnswerF1().lacks(bare) == "a reference answer"
    assert AnswerF1().lacks(dataclasses.replace(bare, spec={"gold": "4"})) is None
