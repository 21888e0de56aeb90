"""Rows as public sets of programming problems have them: they are tests as they are, and `data check` counts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data_files import jsonl, problems_of, table_of
from small_runs import Shell

from assay.lab.data_check import check_data, text
from assay.lab.data_verified import seconds_of
from assay.tasks import task
from assay.tasks.data.published import is_published, published
from assay.tasks.data.task import data

MBPP = {"prompt": "Square a number.", "code": "def f(x): return x * x", "task_id": 1, "test_setup_code": "two = 2",
        "test_list": ["assert f(two) == 2**2", "assert abs(f(3) - 9) < 1e-6"], "challenge_test_list": []}  # fmt: skip
HUMAN = {"task_id": "a/1", "prompt": "def f(x):\n    '''Square.'''\n", "entry_point": "f",
         "canonical_solution": "    return x * x\n",
         "test": "METADATA = {}\n\ndef check(candidate):\n    assert candidate(2) == 4\n"}  # fmt: skip
APPS = {"question": "Print the square.", "solutions": "[\"print(int(input())**2)\"]", "starter_code": "",
        "input_output": '{"inputs": ["3\\n", "4\\n"], "outputs": ["9\\n", "16\\n"]}'}  # fmt: skip
FENCE = "```python\n{}\n```".format
ROWS: list[tuple[dict[str, Any], str, str, str]] = [
    (MBPP, "test_list", "def f(x): return x ** 2", "def f(x): return 4"),
    (HUMAN, "test", "def f(x): return x ** 2", "def f(x): return x"),
    (APPS, "input_output", "print(int(input()) ** 2)", "print(9)"),
]


@pytest.mark.external("sandbox")
@pytest.mark.parametrize(("row", "column", "right", "wrong"), ROWS, ids=[column for _, column, *_ in ROWS])
@pytest.mark.slow
def test_rows_of_public_sets_judge_programs(
    tmp_path: Path, row: dict[str, Any], column: str, right: str, wrong: str
) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [row])
    table = table_of(path)
    assert (table.columns.answer, table.columns.tests) == (column, True)
    (problem,) = problems_of(path)
    judged = [task(data(path).name).verify(problem, FENCE(program)) for program in (right, wrong)]
    assert [one.status for one in judged] == ["ok", "fail"]
    assert task(data(path).name).verify(problem, "\\boxed{4}").kind == "format"


def test_a_column_is_known_by_the_one_beside_it(tmp_path: Path) -> None:
    assert not is_published("test", ["prompt", "test"]) and is_published("test", ["test", "entry_point"])
    rows = [{"prompt": "2 + 2?", "test": "4", "solution": "It is \\boxed{4}."}]
    assert table_of(jsonl(tmp_path / "a.jsonl", rows)).columns.answer == "solution"
    both = [{**MBPP, "answer": "4"}]
    assert table_of(jsonl(tmp_path / "b.jsonl", both)).columns.answer == "answer"
    table = table_of(jsonl(tmp_path / "c.jsonl", both), answer_column="test_list")
    assert table.columns.tests and '"setup": "two = 2"' in table.problems[0].spec["gold"]
    assert published({**MBPP, "test_imports": ["import math"]}, "test_list") == {
        "asserts": MBPP["test_list"], "setup": "import math\ntwo = 2",
    }  # fmt: skip
    assert published({"test_list": []}, "test_list") is published({}, "input_output") is None


def test_the_check_counts_the_rows_that_can_be_judged(tmp_path: Path) -> None:
    """Of seven rows three can be judged, two have no values to compare with, one draws by chance, one has no tests."""
    asserts = {
        "sum": ["assert f(1) == 2"], "pair": ["assert f(1) == 2", "assert g(1) == 3"], "double": ["assert f(2) == 4"],
        "same": ["assert f(1) == f(2)"], "others": ["assert f(1) == 1", "assert f(1) == g(1)"],
        "drawn": ["assert f(random.random()) == 1"], "none": [],
    }  # fmt: skip
    path = jsonl(tmp_path / "rows.jsonl", [{"prompt": name, "test_list": tests} for name, tests in asserts.items()])
    found = check_data(str(path))
    judges = found["answers"]["judges"]
    assert (judges["rows"], judges["built"], judges["share"]) == (7, 3, 3 / 7)
    assert [(one["count"], one["row"]) for one in judges["reasons"]] == [(2, 4), (1, 6), (1, 7)]
    assert judges["reasons"][0]["reason"].startswith("two results of the program")
    assert "random.random" in judges["reasons"][1]["why"] and judges["reasons"][2]["reason"] == "no reference answer"
    cores = judges["delay"]["cores"]
    assert judges["delay"] == {"answers": 100, "budget": 8.0, "cores": cores, "seconds": 8.0 * 100 / cores}
    said = text(found)
    assert "3 of 7 rows can be verified (42.9%)" in said and "! 2 cannot: two results of the program" in said
    assert f"8 s x 100 / {cores} cores = {800 / cores:g} s at most" in said and "block of code" in said


def test_each_process_of_an_answer_has_its_own_time(tmp_path: Path) -> None:
    apps, calls = (problems_of(jsonl(tmp_path / f"{i}.jsonl", [row]))[0] for i, row in enumerate((APPS, MBPP)))
    assert (seconds_of(apps), seconds_of(calls)) == (8.0, 4.0)  # two inputs; one function, whatever its calls


def test_rows_of_mathematics_are_counted_too(tmp_path: Path) -> None:
    rows = [{"prompt": str(i), "answer": answer} for i, answer in enumerate(["4", "5", "", "word " * 30])]
    judges = check_data(str(jsonl(tmp_path / "rows.jsonl", rows)))["answers"]["judges"]
    cores = judges["delay"]["cores"]
    assert (judges["rows"], judges["built"]) == (4, 2)
    assert judges["delay"] == {"answers": 100, "budget": 0.4, "cores": cores, "seconds": 0.4 * 100 / cores}
    assert {(one["row"], one["count"]) for one in judges["reasons"]} == {(3, 1), (4, 1)}
    assert "a text of ... words" in str(judges["reasons"])


def test_a_file_without_a_row_that_can_be_judged_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [{"prompt": "a", "test_list": ["assert f(1) == f(2)"]}])
    shown = Shell(capsys)("data", "check", path)
    assert shown.code == 64 and "two results of the program" in shown.err
