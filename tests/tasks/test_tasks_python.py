"""Programs in Python: values by hand and by Python itself, posed programs that run in the sandbox, and self-play."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rng import Key
from assay.tasks import TASKS, expressions, posing_of, task
from assay.tasks.expressions import is_plain, list_in, value_in, values
from assay.tasks.python_programs import level_of
from assay.types import Verdict

KINDS = ("python-deduction", "python-abduction", "python-induction")
pytestmark = pytest.mark.external("sandbox")


def status(name: str, spec: Any, answer: str) -> str:
    return TASKS[name].checker.check(spec, answer).status


# What runs


def test_values_by_hand() -> None:
    told = values([("sorted(x)[:2]", ["[3,1,2]", "[]"]), ("sum(x)", ["[3,-4]"]), ("[v*2 for v in x]", ["[0,7]"])])
    assert told == [("[1,2]", "[]"), ("-1",), ("[0,14]",)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        *("1/0", "x.y", "x[9]", "max(x)>1", "'a'", "x*9**9", "10**7", "None", "(", "x)\nimport os\n(x", "0.5", "[x]"),
        *("id(x)", "hash('a')", "__import__('os')", "open('/etc/passwd')", "eval('1')", "print(1)", "{}", "x;x"),
        *("[v for v in range(10**9)]", "x" * 121, "", "lambda: 1", "exit()", "(v for v in x)", "[1]*99"),
    ],
)
def test_what_fails_or_has_no_list_of_integers_is_no_program(expression: str) -> None:
    assert values([(expression, ["[1,2]"])]) == [None]
    assert posing_of(task(KINDS[0])).read(f"{expression};[1,2]", []) is None


@pytest.mark.slow
def test_an_expression_has_the_same_value_at_each_run_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that are forbidden keep most such out. One that comes through is found by its second run."""
    monkeypatch.setattr(expressions, "is_plain", lambda text: True)
    chance = "[b for b in __import__('os').urandom(12)]"
    assert values([(chance, ["[1]"])]) == [None]
    assert values([("len(__import__('os').urandom(3))", ["[1]"])]) == [("3",)]


def test_a_sandbox_that_is_lost_is_an_error_and_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost:
        def map(self, runs: Any) -> list[Any]:
            return [expressions.Ran("lost", detail="gone") for _ in runs]

    monkeypatch.setattr(expressions, "opened", Lost)
    for _ in range(2):
        with pytest.raises(expressions.AssayError, match="says nothing of the program"):
            values([("len(x)+4242", ["[1]"])])


members = st.lists(st.integers(-9, 20), min_size=1, max_size=5)


@settings(max_examples=20, deadline=None)
@given(given_lists=st.lists(members, min_size=1, max_size=4))
def test_the_sandbox_and_python_agree(given_lists: list[list[int]]) -> None:
    texts = [json.dumps(one) for one in given_lists]
    (told,) = values([("[v*v for v in sorted(x) if v%2]", [list_in(text) or "" for text in texts])])
    assert told is not None
    assert [json.loads(one) for one in told] == [[v * v for v in sorted(one) if v % 2] for one in given_lists]


@given(st.one_of(st.integers(-(10**6), 10**6), st.lists(st.integers(-(10**6), 10**6), max_size=12)))
def test_values_are_read_as_they_are_written(value: Any) -> None:
    assert value_in(json.dumps(value)) == json.dumps(value, separators=(",", ":"))
    assert (list_in(json.dumps(value)) is not None) == isinstance(value, list)


def test_what_is_no_value_is_refused() -> None:
    refused = ("", "a", "[1", "1.5", "[1,[2]]", "99999999", "[" + "1," * 12 + "1]", "true", "1,2", "[1,,2]")
    assert [value_in(text) for text in refused] == [None] * len(refused)
    assert (value_in("[03, -0]"), value_in("-0")) == ("[3,0]", "0")


# Problems


@pytest.mark.parametrize("level", [1, 2, 3])
def test_drawn_values_are_those_that_the_sandbox_finds(level: int) -> None:
    """They are computed without running the program, by the operations that it was made of."""
    specs = [task("python-induction").problem(Key(i, "drawn"), level=level).spec for i in range(12)]
    assert all(level_of(spec["program"]) == level and is_plain(spec["program"]) for spec in specs)
    found = values([(spec["program"], [before for before, _ in spec["pairs"]]) for spec in specs])
    assert found == [tuple(after for _, after in spec["pairs"]) for spec in specs]


def test_verdicts_by_hand() -> None:
    spec = {"program": "sorted(x)[:2]", "input": "[3,1,2]", "output": "[1,2]"}
    assert [status(KINDS[0], spec, text) for text in ("[1, 2]", "[2,1]", "1,2", "[1,2")] == ["ok", *["fail"] * 3]
    assert [status(KINDS[1], spec, text) for text in ("[9,2,1]", "[1,2]", "[2,3]", "x")] == ["ok", "ok", "fail", "fail"]
    pairs = {"program": "sum(x)", "pairs": [[f"[{n},1]", f"{n + 1}"] for n in range(6)], "message": ""}
    right, shown_alone = "x[0]+x[1]", "{0:1,1:2,2:3}.get(x[0])"
    assert [status(KINDS[2], pairs, text) for text in (right, shown_alone, "__x", "1+")] == ["ok", *["fail"] * 3]


@pytest.mark.parametrize("name", KINDS)
def test_many_answers_have_the_verdicts_of_each(name: str) -> None:
    known = task(name)
    problems = [known.problem(Key(i, "many"), level=1) for i in range(3)]
    pairs = [(p, text) for p in problems for text in (p.solution or "", "[1]", "#", "#[1,2]", "#x", "#)")]
    verdicts = [known.verify(*pair) for pair in pairs]
    if known.checker.verify_many is not None:
        assert known.checker.verify_many(pairs) == verdicts
    assert [v.status for v in verdicts[::6]] == ["ok"] * 3
    assert all(isinstance(v, Verdict) and v.status != "invalid" for v in verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_what_is_posed_is_an_instance_and_its_own_solution_right(name: str) -> None:
    posing, posed = posing_of(TASKS[name]), task(f"pose:{name}")
    for seed, level in itertools.product(range(4), (1, 3)):
        problem = posed.problem(Key(seed), level=level)
        assert posed.verify(problem, problem.solution or "").status == "ok"
        spec = posing.read((problem.solution or "").removeprefix("#"), problem.spec["shown"])
        assert spec is not None and posing.write(spec) == (problem.solution or "").removeprefix("#")
        found = task(name).pose(spec, level=posing.level(spec))
        assert task(name).verify(found, found.solution or "").status == "ok"
    assert status(name, posing.seed, task(name).wordings.solve(posing.seed).answer) == "ok"


def test_what_is_said_of_a_program_does_not_hold_it() -> None:
    read, lists = posing_of(task(KINDS[2])).read, " ".join(f"[{n}]" for n in range(6))
    asked = [{"program": "sum(x)"}]
    assert read(f"{lists};adds all", asked) is not None
    for text in (f"{lists};sum(x)", lists, f"{lists};", f"{lists} [0];a", lists.replace("[1]", "[0]") + ";a"):
        assert read(text, asked) is None, text
