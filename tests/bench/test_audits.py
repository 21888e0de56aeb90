"""Error rates on labelled answers that the verifiers did not make: short forms of the sets, and what is kept."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell

from bench.audits import __main__ as measured
from bench.audits import circuits, linear, proofs
from bench.audits.edits import results
from bench.audits.programs import value
from bench.audits.queries import Question
from bench.audits.sets import SETS, render, section, written
from bench.audits.solutions import FUNCTIONS
from bench.audits.terms import changes, laws, meaning
from bench.audits.texts import built

SHORT = {
    "programs": 60,
    "mathematics, right": 180,
    "mathematics, wrong": 180,
    "clocked": 60,
    "verilog": 60,
    "coq": 60,
    "optimisation": 60,
}
NEEDS = {
    "programs": ["sandbox"], "smt": ["z3"], "optimisation": ["highs"], "sql": ["sqlite"], "metamath": ["metamath"],
    "verilog": ["iverilog", "yosys"], "coq": ["coq"],
}  # fmt: skip  # verifier -> externals
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow, *map(pytest.mark.external, NEEDS[one.by])] if one.by in NEEDS else [])
    for name, one in SETS.items()
]


def audited(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], seed: int, count: int | None
) -> dict[str, Any]:
    path = written(name, folder, seed, count)
    return Shell(capsys)("verify", "audit", path, "--by", SETS[name].by, "--json").document


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", NAMES)
def test_no_wrong_answer_of_a_short_set_is_accepted(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audited(name, tmp_path, capsys, 3, SHORT.get(name, 150))
    assert [one for one in found["disagreements"] if not one["label"]] == []
    assert found["invalid"] == 0 and found["rows"] >= 60
    assert found["recall"] is None or found["recall"] >= 0.97


@pytest.mark.turns(2)
@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_no_wrong_answer_of_a_whole_set_is_accepted(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audited(name, tmp_path, capsys, 2, None)
    assert [one for one in found["disagreements"] if not one["label"]] == []
    assert found["invalid"] == 0 and found["rows"] >= 300
    assert found["recall"] is None or found["recall"] >= 0.97


DRAWN = [
    pytest.param(name, marks=[pytest.mark.slow] if one.by in NEEDS else [])
    for name, one in SETS.items()
    if name not in ("programs", "coq")
]


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", DRAWN)
def test_sets_are_drawn_by_their_seed_and_hold_both_labels(name: str) -> None:
    rows = list(SETS[name].rows(60, 5))
    assert rows == list(SETS[name].rows(60, 5)) != list(SETS[name].rows(60, 6))
    labels = {row.label for row in rows}
    assert labels == ({True, False} if "," not in name else {name.endswith("right")})


def test_what_labels_rest_on_is_right() -> None:
    """Results of lines, values of programs and counts of a text, worked out by hand."""
    assert results(["a=x+1", "b=a*x"]) == [0, 2, 6, 12, 20, 30, 42, 56, 72, 90]
    assert results(["a=b+1"]) is results(["a=x/2"]) is results(["a=x+1;"]) is None
    second = FUNCTIONS[0]
    assert value(second, second.solutions[0], ([3, 1, 3],)) == "1"
    assert value(second, "def second(xs):\n    return 1 / 0", ([],)) == "!ZeroDivisionError"
    assert value(second, "def second(xs):\n    while True:\n        pass", ([],)) == "!Endless"

    places = [{"x": 15, "y": 4, "p": 1}, {"x": 9, "y": 0, "p": 0}]
    for tree, expected in (
        (("bvadd", "x", "y"), [3, 9]),
        (("bvashr", "x", 1), [15, 12]),  # -1 and -7 halved and rounded down are -1 and -4
        (("bvudiv", "x", "y"), [3, 15]),
        (("bvurem", "x", "y"), [3, 9]),
        (("bvslt", "x", "y"), [1, 1]),
        (("ite", ("=>", "p", False), ("bvneg", "x"), ("bvnot", "x")), [0, 7]),
        (("mod", ("-", "y", 5), 3), [2, 1]),  # -1 and -5
    ):
        assert [meaning(tree, place) for place in places] == expected
    assert changes(random.Random(1), "a") == {"variable": "b"}
    assert laws(("<=", "a", 3)) == {
        "order mirrored": (">=", 3, "a"),
        "not the opposite": ("not", (">", "a", 3)),
        "one more": ("<", "a", ("+", 3, 1)),
    }

    assert [circuits.value(tree, {"a": 7, "b": 2, "c": 0}) for tree in (("+", "a", "b"), ("-", "c", "b"))] == [1, 6]
    whole = linear.Program("max", (3, 2), (linear.Row((1, 1), "<=", Fraction(2)),), (Fraction(1), None), whole=True)
    assert linear.points(whole) == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)}
    half = linear.Program("max", (1, 1), (linear.Row((2, 4), "<=", Fraction(3)),), (Fraction(1), None))
    assert linear.corners(half) == {(0, 0), (0, Fraction(3, 4)), (1, 0), (1, Fraction(1, 4))}
    given = {"A": proofs.read("p"), "B": proofs.read("(p>q)")}
    assert proofs.proves(given, "ABm", "q") and not proofs.proves(given, "BAm", "q")
    assert not proofs.proves(given, "AB", "q") and not proofs.proves(given, "ABm", "r")
    shops = [{"size": 2, "age": 5, "colour": "red"}, {"size": None, "age": 9, "colour": "red"}]
    assert Question("size", (("age", ">", 3),), total="count", by=True).rows(shops) == {("red", 1): 1}
    assert Question("age", (("size", "<>", 2),)).rows(shops) == {}  # of NULL it is not true that it is not 2

    class First:
        """Draws the first choice and the lowest number."""

        def random(self) -> float:
            return 0.5

        def choice(self, values: Any) -> Any:
            return values[0]

        def randint(self, low: int, high: int) -> int:
            return low

    one = built(First())  # type: ignore[arg-type]
    assert one.text == "the the sun." and (one.words, one.sentences, one.paragraphs, one.bullets) == (3, 1, 1, 0)


def test_rates_are_kept_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "audits.json"
    monkeypatch.setattr(measured, "KEPT", kept)
    monkeypatch.setattr("bench.rendering.render", lambda: None)
    assert measured.main(["formats", "--keep", "--show"]) == 0
    said = capsys.readouterr().out
    assert "right refused" in said and "| formats | " in said and "| 0 (< 0.4" in said
    result = json.loads(kept.read_text())
    assert list(result["sets"]) == ["formats"] and section(tmp_path) == render(result)
    assert section(tmp_path / "none") == ""
    with pytest.raises(SystemExit):
        measured.main(["format"])
    assert "no set named format; these are: programs, calls" in capsys.readouterr().err
    assert measured.main(["calls", "--write", str(tmp_path / "sets")]) == 0
    assert len((tmp_path / "sets" / "calls.jsonl").read_text().splitlines()) == SETS["calls"].count
