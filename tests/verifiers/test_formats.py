"""Strict formats: one well-formed response, and every way to be almost one."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.part import bind
from assay.reward import WellFormed
from assay.rng import Key
from assay.tasks import TASKS, task
from assay.types import Episode, Problem, Verdict
from assay.verifiers.formats import TAGS, Formed, formed

GOOD = "<think>3+4 is 7</think>\n<answer>It is \\boxed{7}.</answer>\n"

BAD = [
    "",
    " ",
    "\\boxed{7}",
    GOOD.replace("<think>", ""),
    GOOD.replace("</think>", ""),
    GOOD.replace("3+4 is 7", ""),
    GOOD.replace("3+4 is 7", " \n\t"),
    GOOD.replace("It is \\boxed{7}.", "7"),
    GOOD.replace("\\boxed{7}", "\\boxed{}"),
    GOOD.replace("\\boxed{7}", "\\boxed{7"),
    GOOD.replace("\\boxed{7}", "\\boxed{7} or \\boxed{8}"),
    "Sure! " + GOOD,
    GOOD + "\\boxed{8}",
    GOOD + GOOD,
    GOOD.replace("</think>", "</think> so "),
    GOOD.replace("3+4", "3<think>+4"),
    GOOD.replace("3+4", "3</THINK>+4"),
    GOOD.replace("3+4", "3<Answer>+4"),
    GOOD.replace("3+4", "3＜think＞+4"),
    GOOD.upper().replace("\\BOXED", "\\boxed"),
    "<answer>\\boxed{7}</answer><think>3+4 is 7</think>",
    "<think><answer>\\boxed{7}</answer></think>",
    "<think>a</answer><answer>\\boxed{7}</think>",
    "\x00" + GOOD,
    "\u202e" + GOOD,
    "<think>" * 5000 + GOOD,
    GOOD + " " * 1_000_001,
]


def test_the_format_is_read() -> None:
    assert formed(GOOD, "natural") == Formed("3+4 is 7", "It is \\boxed{7}.")
    assert formed(GOOD.removeprefix("<think>"), "natural", opened=True) == formed(GOOD, "natural")
    boxed = GOOD.replace("3+4 is 7", "perhaps \\boxed{8}")
    assert formed(boxed, "natural") is not None  # the checker judges the last one, which is in the answer
    assert formed("3+4=7#7", "compact") == Formed("3+4=7", "7")
    assert formed("7", "compact", steps=False) == Formed("", "7")


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_almost_is_not_the_format(text: str) -> None:
    assert formed(text, "natural") is None
    assert formed(GOOD, "natural", opened=True) is None


@pytest.mark.parametrize("text", ["", "#", "7", "#7", "3+4=7#", "1#2#3", " #7", "3+4=7# "])
def test_almost_is_not_the_compact_format(text: str) -> None:
    assert formed(text, "compact") is None


@given(st.lists(st.sampled_from([*TAGS, "x", "\\boxed{7}", " "]), max_size=8))
def test_only_one_order_of_the_marks_is_the_format(pieces: list[str]) -> None:
    found = formed("".join(pieces), "natural")
    marks = [piece for piece in pieces if piece in TAGS]
    assert found is None or (marks == list(TAGS) and "boxed" in found.answer and found.thought)


def answer(text: str, verdict: Verdict, problem: Problem, finish: str = "stop") -> Episode:
    base = episode([1])
    request = dataclasses.replace(base.request, problem=problem)
    return dataclasses.replace(base, request=request, text=text, verdict=verdict, finish=finish)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_worked_solution_of_each_task_has_the_compact_format(name: str) -> None:
    problem = task(name).problem(Key(3), level=task(name).generator.levels.start)
    (found,) = bind(WellFormed())([answer(problem.solution or "", Verdict.ok(), problem)])
    assert found.value == 1.0
    (cut,) = bind(WellFormed())([answer(problem.solution or "", Verdict.ok(), problem, finish="length")])
    assert cut.value == 0.0
