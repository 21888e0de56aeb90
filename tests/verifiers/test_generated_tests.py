"""Tests that programs make: agreement of whole sets, inputs by generator and validator, the file that comes of it."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from data_files import jsonl, problems_of
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell

from assay.errors import DataError
from assay.sandbox import opened
from assay.tasks import task
from assay.tasks.data.task import data
from assay.verifiers.programs.agreement import HARD, MOST, agreed
from assay.verifiers.programs.generated import MOST_INPUTS, Dropped, Ingredients, Made, inputs_of, make

GENERATOR = """
import random
def generate(scale, seed):
    if scale > 1000:
        return None
    draw = random.Random(seed * 7919 + scale)
    members = [draw.randint(-scale, scale) for _ in range(draw.randint(1, 5))]
    return f"{len(members)}\\n{' '.join(map(str, members))}\\n"
"""
VALIDATOR = """
def valid(text):
    count, *members = map(int, text.split())
    return 1 <= count <= 5 and len(members) == count
"""
RIGHT = "input(); print(sum(map(int, input().split())))"
SLOW = "input(); total = 0\nfor one in input().split(): total += int(one) + sum(range(20000)) * 0\nprint(total, '')"
WRONG = "input(); print(sum(abs(int(one)) for one in input().split()))"
LATE = "n = int(input()); print(sum(map(int, input().split()))) if n < 5 else exit(1)"  # no output on long inputs
CLOCK = "import time; input(); print(sum(map(int, input().split())) if time.time_ns() % 2 else time.time_ns())"
sandboxed = pytest.mark.external("sandbox")


# --- agreement ----------------------------------------------------------------------------------------------


def test_whole_sets_agree_and_not_single_outputs() -> None:
    """Each output has a majority of two in three, and no two solutions agree on all three inputs."""
    assert agreed([["1", "2", "9"], ["1", "8", "3"], ["7", "2", "3"]], share=0.6) is None
    found = agreed([["1", "2"], ["1", "2"], ["7", "2"]], share=0.6)
    assert found is not None and (found.outputs, found.solutions) == (("1", "2"), (0, 1))


@pytest.mark.parametrize(
    ("right", "wrong", "share", "believed"),
    [(9, 7, MOST, False), (10, 6, MOST, True), (6, 5, HARD, False), (7, 5, HARD, True), (8, 8, HARD, False)],
)
def test_the_share_is_of_all_solutions(right: int, wrong: int, share: float, believed: bool) -> None:
    """Of sixteen: 60 % are ten, 40 % are seven; the others end without output. Eight against eight is no agreement."""
    outputs = [["a", "b"]] * right + [["a", "c"]] * wrong + [["a", None]] * (16 - right - wrong)
    assert (agreed(outputs, share=share) is not None) == believed


def test_no_output_is_no_value_and_nothing_agrees_on_nothing() -> None:
    assert agreed([["1", None]] * 5) is None
    assert agreed([[]] * 5) is None
    assert agreed([]) is None


def test_spaces_and_lines_are_no_difference_and_the_first_text_stands() -> None:
    found = agreed([["3\n4 \n"], ["3 4"], ["34"]], share=0.6)
    assert found is not None and (found.outputs, found.solutions) == (("3\n4 \n",), (0, 1))


Outputs = st.lists(st.lists(st.sampled_from(["a", "b", None]), min_size=3, max_size=3), min_size=1, max_size=8)


@pytest.mark.slow
@given(Outputs, st.sampled_from([0.3, 0.4, 0.6, 1.0]), st.randoms())
def test_what_is_believed_was_said_by_enough_and_by_nobody_else(
    outputs: list[list[str | None]], share: float, draw: random.Random
) -> None:
    found = agreed(outputs, share=share)
    if found is not None:
        said = [i for i, one in enumerate(outputs) if one == list(found.outputs)]
        assert list(found.solutions) == said and len(said) >= share * len(outputs)
    turned = draw.sample(outputs, len(outputs))  # their order is no reason
    other = agreed(turned, share=share)
    assert (other and other.outputs) == (found and found.outputs)
    if len(outputs) > 1 and agreed([*outputs, [None] * 3], share=share) is not None:
        assert found is not None, "a solution without outputs never helps"


def test_labels_are_cleaner_than_those_of_one_sample_and_of_a_vote_on_each_input() -> None:
    """Problems with 16 solutions, each right with 0.5 or wrong in one of three ways that share outputs with the others.

    A vote on each input labels all problems, some wrongly; whole sets label fewer, and these rightly.
    """
    draw = random.Random(5)
    right = {"whole": 0, "vote": 0, "one": 0}
    labelled = {"whole": 0, "vote": 0, "one": 0}
    for _ in range(400):
        truth = [str(draw.randrange(10)) for _ in range(6)]
        bad = [[out if draw.random() < 0.5 else "x" for out in truth] for _ in range(3)]  # ways to be wrong
        outputs = [truth if draw.random() < 0.5 else draw.choice(bad) for _ in range(16)]
        votes = [max(sorted({o[i] for o in outputs}), key=[o[i] for o in outputs].count) for i in range(6)]
        whole = agreed(outputs)
        for name, label in (("one", outputs[0]), ("vote", votes), ("whole", whole and list(whole.outputs))):
            labelled[name] += label is not None
            right[name] += label == truth
    precision = {name: right[name] / labelled[name] for name in right}
    assert precision["whole"] > 0.98 > precision["vote"] > precision["one"]
    assert labelled["one"] == labelled["vote"] == 400 and 20 < labelled["whole"] < 200
    exact = sum(math.comb(16, k) for k in range(10, 17)) / 2**16  # ten of sixteen are right: 0.227
    assert abs(labelled["whole"] / 400 - exact) < 0.07


# --- in the sandbox -----------------------------------------------------------------------------------------


@sandboxed
@pytest.mark.slow
def test_inputs_are_of_all_scales_and_what_the_validator_refuses_is_left_out() -> None:
    found = inputs_of(GENERATOR, VALIDATOR, opened())
    assert len(found) == len(set(found)) == MOST_INPUTS
    largest = [max(abs(int(one)) for one in text.split()[1:]) for text in found]
    assert min(largest) <= 1 and max(largest) > 100
    assert inputs_of(GENERATOR, "def valid(text): return 1", opened()) == []  # 1 is not True
    assert inputs_of("def generate(scale, seed): return scale", VALIDATOR, opened()) == []
    assert inputs_of("generate = 3", VALIDATOR, opened()) == []
    few = inputs_of("def generate(scale, seed): return '1\\n7\\n' if scale < 100 else exit()", VALIDATOR, opened())
    assert few == ["1\n7\n"]


@sandboxed
@pytest.mark.slow
def test_tests_come_of_solutions_that_agree_on_all_inputs() -> None:
    found = make(Ingredients(GENERATOR, VALIDATOR, (SLOW, RIGHT, WRONG, RIGHT, LATE)), opened(), least=20)
    assert isinstance(found, Made), found
    assert found.agreeing == (0, 1, 3) and found.solution in (1, 3)  # three of five are 60 %; the slow one is not taken
    for text, wanted in found.tests:
        assert int(wanted) == sum(map(int, text.split()[1:]))


@sandboxed
@pytest.mark.slow
def test_a_problem_is_dropped_at_the_stage_that_it_fails() -> None:
    def stage(*solutions: str, generator: str = GENERATOR, hard: bool = False, least: int = 20) -> str:
        found = make(Ingredients(generator, VALIDATOR, solutions, hard), opened(), least=least)
        return found.stage if isinstance(found, Dropped) else "made"

    assert stage(RIGHT, RIGHT) == "solutions"
    assert stage(RIGHT, RIGHT, RIGHT, least=200) == "inputs"
    assert stage(RIGHT, RIGHT, RIGHT, generator="def generate(scale, seed): 1 / 0") == "inputs"
    assert stage(RIGHT, RIGHT, WRONG, LATE, "syntax error") == "agreement"
    assert stage(RIGHT, RIGHT, WRONG, LATE, "syntax error", hard=True) == "made"
    assert stage(CLOCK, CLOCK, CLOCK) in ("agreement", "repeat")


@sandboxed
@pytest.mark.slow
def test_a_file_of_tests_is_written_and_judges_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"prompt": "Add the numbers.", "generator": GENERATOR, "validator": VALIDATOR, "source": "ours"}
    raw = jsonl(tmp_path / "raw.jsonl", [
        {**row, "solutions": [RIGHT, WRONG, RIGHT]},
        {**row, "prompt": "Hard to say.", "solutions": [RIGHT, WRONG, LATE]},
    ])  # fmt: skip
    into, shell = tmp_path / "tested.jsonl", Shell(capsys)
    found = shell("data", "tests", raw, "--into", into, "--json").document
    assert (found["rows"], found["written"], found["stages"]) == (2, 1, {"agreement": 1})
    (made,) = map(json.loads, into.read_text().splitlines())
    assert made.keys() == {"prompt", "source", "tests", "solution", "agreed", "of"}
    assert (made["agreed"], made["of"], len(made["tests"]["streams"])) == (2, 3, MOST_INPUTS)
    (problem,) = problems_of(into)
    rows = task(data(into).name)
    fence = "Here:\n```python\n{}\n```".format
    verdicts = [rows.verify(problem, text) for text in (made["solution"], fence(SLOW), fence(WRONG), "\\boxed{3}", "")]
    assert [one.status for one in verdicts] == ["ok", "ok", "fail", "fail", "fail"]
    assert [one.kind for one in verdicts[2:]] == ["wrong", "format", "format"]
    checked = shell("data", "check", into, "--json").document
    assert checked["answers"]["given"] == 1 and checked["answers"]["unreadable"]["count"] == 0
    assert checked["columns"] == {**checked["columns"], "answer": "tests", "solution": "solution"}
    assert "exists already" in shell("data", "tests", raw, "--into", into).err


def test_what_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.lab.data_tests import origin_of

    with pytest.raises(DataError, match=r"raw:3: expected .*'generator'.*there are: prompt, solutions"):
        origin_of("raw:3", {"prompt": "?", "solutions": ["pass"]})
    shell = Shell(capsys)
    assert "name it with --into" in shell("data", "tests", tmp_path / "raw.jsonl").err
    assert "not of `assay data check`" in shell("data", "check", tmp_path / "raw.jsonl", "--into", "x").err
    assert "check" in shell("data", "chek", tmp_path / "raw.jsonl").err  # codespell:ignore chek


def test_rows_whose_tests_are_none_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": "Add.", "tests": {"streams": []}}, {"prompt": "Print.", "tests": {"streams": [["1", "1"]]}}]
    found = Shell(capsys)("data", "check", jsonl(tmp_path / "rows.jsonl", rows), "--json").document
    (bad,) = found["answers"]["unreadable"]["rows"]
    assert bad["row"] == 1 and "without tests" in bad["why"]


def test_other_answers_of_a_row_come_before_its_tests(tmp_path: Path) -> None:
    rows = [{"prompt": "2 + 2?", "answer": "4", "tests": {"streams": [["", "4"]]}}]
    (problem,) = problems_of(jsonl(tmp_path / "rows.jsonl", rows))
    assert problem.spec["gold"] == "4" and "tests" not in problem.spec
