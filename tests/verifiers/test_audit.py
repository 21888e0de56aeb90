"""Audits: intervals by hand, the confusion of verdicts, what a file may hold, and a verifier of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell

from assay.verifiers.audit import Labelled, audit, read_rows, table
from assay.verifiers.explainers import VERIFIERS
from assay.verifiers.rates import bound_of_none, wilson

ROWS: list[dict[str, Any]] = [
    {"gold": "wake(at=7)", "answer": "wake(at=7)", "label": True, "type": "one", "origin": "hand"},
    {"gold": "wake(at=7)", "answer": "wake(at=8)", "label": False, "kind": "wrong", "type": "one", "origin": "mutant"},
    {"gold": "wake(at=7)", "answer": "wake(at=7", "label": False, "kind": "format", "type": "two", "origin": "mutant"},
    {"gold": "wake(at=7)", "answer": "wake(at=7)", "label": False, "type": "two", "origin": "hand"},  # a wrong label
    {"gold": "wake(", "answer": "wake(at=7)", "label": True, "type": "two", "origin": "hand"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.parametrize(
    ("total", "bound"), [(1, 0.95), (10, 0.2589), (59, 0.04951), (300, 0.009936), (3000, 0.000998)]
)
def test_the_bound_where_nothing_was_seen_is_exact(total: int, bound: float) -> None:
    """A share p is missed `total` times with the chance (1 - p) ** total, which is 5 % at the bound."""
    assert bound_of_none(total) == pytest.approx(bound, rel=1e-3)
    assert (1 - bound_of_none(total)) ** total == pytest.approx(0.05)


def test_of_nothing_nothing_is_known() -> None:
    assert bound_of_none(0) == 1.0 and wilson(0, 0) == (0.0, 1.0)


def test_rates_have_intervals_and_verdicts_are_counted_by_what_was_deserved(rows: Path) -> None:
    """Accepted are one right and one wrong of three wrong ones; the gold of the last row cannot be read."""
    found = audit(read_rows(rows), "calls")
    assert (found["rows"], found["right"], found["wrong"], found["invalid"]) == (5, 2, 3, 1)
    assert found["precision"] == 0.5 and found["recall"] == 0.5
    low, high = wilson(1, 3)
    wrong = {"count": 1, "of": 3, "share": pytest.approx(1 / 3), "low": low, "high": high}
    assert found["shares"]["false_positives"] == wrong
    assert found["types"]["one"]["shares"]["false_positives"]["bound"] == pytest.approx(0.95)
    assert "bound" not in found["shares"]["false_negatives"]
    assert found["confusion"] == {
        "ok": {"ok": 1, "invalid(bad_gold)": 1},
        "fail": {"ok": 1},
        "fail(wrong)": {"fail(wrong)": 1},
        "fail(format)": {"fail(format)": 1},
    }
    assert [one["line"] for one in found["disagreements"]] == [4, 5]
    assert list(found["origins"]) == ["hand", "mutant"] and found["origins"]["mutant"]["shares"]["recall"]["of"] == 0


def test_the_table_shows_intervals_bounds_confusion_and_disagreements(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Shell(capsys)("verify", "audit", rows, "--by", "calls").out.splitlines()
    assert lines[0].split("  ")[-1].strip() == "right refused"
    assert lines[1].startswith("one") and "1.000 [0.207, 1.000]" in lines[1] and "0 of 1 (< 0.95)" in lines[1]
    assert any(line.startswith("from mutant") for line in lines)
    assert len({len(line) for line in lines[:6]}) == 1, "columns stand below each other"
    assert "1 verdicts are invalid: errors of ours, counted as not accepted" in lines
    assert lines[-2].startswith("line 4: 'wake(at=7)' and 'wake(at=7)' (wrong) came out as ok: ")
    assert lines[-1].startswith("line 5: 'wake(' and 'wake(at=7)' (right) came out as invalid(bad_gold): ")


def test_a_set_of_one_type_and_origin_has_one_line() -> None:
    said = table(audit([Labelled("wake(at=7)", "wake(at=7)", True)], "calls"))
    assert [line.split()[0] for line in said.splitlines()[1:2]] == ["all"] and "from" not in said


@pytest.mark.parametrize(
    "row",
    ['{"gold": "1", "answer": "1", "label": true, "kind": "wrong"}',
     '{"gold": "1", "answer": "1", "label": true, "type": 3}', "[" * 100_000,
     '{"gold": "1", "answer": "1", "label": null}'],
    ids=["a right answer with a kind", "a type that is no text", "deep", "no label"],
)  # fmt: skip
def test_a_wrong_row_is_named_by_its_line(row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set.jsonl").write_text(f"{json.dumps(ROWS[0])}\n\n{row}\n")
    reply = Shell(capsys)("verify", "audit", tmp_path / "set.jsonl", "--by", "calls")
    assert reply.code == 64 and "set.jsonl, line 3: " in reply.err and len(reply.err) < 600


def test_a_separator_within_a_text_ends_no_row(tmp_path: Path) -> None:
    row = {"gold": "1", "answer": "a\u2028b\x85", "label": False}
    (tmp_path / "set.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    assert [one.answer for one in read_rows(tmp_path / "set.jsonl")] == ["a\u2028b\x85"]


BLOCK = "### main\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE"
EDITED = json.dumps({"before": {"main": "a\nb"}, "after": {"main": "a\nc"}})
REPAIRED = json.dumps({"wrong": ["a=x+1"], "right": ["a=x+2"]})
CASES = [
    # verifier, reference, response, verdict, kind, a part of the reason
    ("calls", "wake(at=7)", '[{"name": "wake", "arguments": {"at": 7}}]', "ok", "", "3 of 3"),
    ("calls", "wake(at=7)", "wake(at=8)", "fail", "wrong", "of 3"),
    ("calls", "wake(at=7)", "", "fail", "format", "JSON list"),
    ("calls", "?", "wake(at=7)", "invalid", "bad_gold", "no list of calls"),
    ("patches", EDITED, BLOCK, "ok", "", "likeness of the diffs 1"),
    ("patches", EDITED, BLOCK.replace("\nc\n", "\nd\n"), "fail", "wrong", "likeness"),
    ("patches", EDITED, BLOCK.replace("\nb\n", "\nz\n"), "fail", "format", "does not apply"),
    ("patches", EDITED, "c", "fail", "format", "no SEARCH/REPLACE blocks"),
    ("patches", EDITED.replace('"a\\nc"', '"a\\nb"'), BLOCK, "invalid", "bad_gold", "before"),
    ("patches", "{", BLOCK, "invalid", "bad_gold", "before"),
    ("repairs", REPAIRED, "a=x+1>a=2+x", "ok", "", "results of the right program"),
    ("repairs", REPAIRED, "a=x+1>a=x+3", "fail", "wrong", "other results"),
    ("repairs", REPAIRED, "a=x+2", "fail", "format", "no edit"),
    ("repairs", '{"wrong": ["a=x+1"], "right": ["a"]}', "a=x+1>a=x+3", "invalid", "bad_gold", "two programs"),
    ("repairs", '{"wrong": [1], "right": ["a=x+2"]}', "a=x+1>a=x+2", "invalid", "bad_gold", "two programs"),
    ("repairs", "7", "a=x+1>a=x+3", "invalid", "bad_gold", "two programs"),
    ("constraints", '[["words", 2], ["lowercase"]]', "two words", "ok", "", "all rules"),
    ("constraints", '[["words", 2], ["lowercase"]]', "Two words", "fail", "wrong", '["lowercase"]'),
    ("constraints", '[["words", 2]]', " \n", "fail", "empty", "empty"),
    ("constraints", '[["wrods", 2]]', "two words", "invalid", "bad_gold", "begins with one of"),  # codespell:ignore
    ("constraints", "[]", "two words", "invalid", "bad_gold", "list of rules"),
    ("formats", "steps", "3+4=7#7", "ok", "", "as they should"),
    ("formats", "steps", "3+4=7#7#7", "fail", "format", "once each"),
    ("formats", "bare", "7", "ok", "", "as they should"),
    ("formats", "opened", "it is 7</think> <answer>\\boxed{7}</answer>", "ok", "", "as they should"),
    ("formats", "natural", "it is 7</think> <answer>\\boxed{7}</answer>", "fail", "format", "once each"),
    ("formats", "neutral", "7", "invalid", "bad_gold", "natural, opened, steps, bare"),
]


@pytest.mark.parametrize(("by", "gold", "answer", "status", "kind", "why"), CASES)
def test_verdicts_on_plain_text_are_explained(
    by: str, gold: str, answer: str, status: str, kind: str, why: str
) -> None:
    (one,) = VERIFIERS[by].explain([(gold, answer)])
    assert (one.verdict.status, one.verdict.kind) == (status, kind) and why in one.why


def test_all_calls_are_noted_and_many_are_not_deep() -> None:
    text = ";".join(["wake(at=7)"] * 100)
    (one,) = VERIFIERS["calls"].explain([(text, json.dumps([{"name": "wake", "arguments": {"at": 7}}] * 100))])
    assert one.verdict.status == "ok" and (one.verdict.answer or "").count("wake") > 30
    (one,) = VERIFIERS["calls"].explain([("wake(at=7);mail(to=bob)", "mail(to=bob);wake(at=8)")])
    assert one.answer and one.gold and "mail" in one.answer and "wake" in one.answer and "mail" in one.gold


@pytest.mark.parametrize("by", ["calls", "patches", "repairs", "constraints", "formats"])
@pytest.mark.parametrize("text", ["", "\x00", "\u202ewake(at=7)", "[" * 100_000, "a" * 10_000_000], ids=range(5))
def test_whatever_comes_has_a_verdict(by: str, text: str) -> None:
    gold = next(case[1] for case in CASES if case[0] == by)
    mine, theirs = VERIFIERS[by].explain([(gold, text), (text, "wake(at=7)")])
    assert mine.verdict.status == "fail" and theirs.verdict.status == "invalid"
