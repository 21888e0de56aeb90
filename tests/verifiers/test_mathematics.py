"""Mathematics answers: where they stand, what equals what, and that nothing a model writes can hang, crash or run."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from altered import altered
from answers import answered
from hypothesis import given
from hypothesis import strategies as st
from small_runs import ROOT, Shell
from tiny import TINY

import assay.tasks
from assay.errors import ConfigError
from assay.host.workers import Workers
from assay.tasks.verifying import verify
from assay.types import Problem, Verdict
from assay.verifiers.audit import audit, read_rows
from assay.verifiers.mathematics import against_gold
from assay.verifiers.mathematics.against_gold import canonical, explain, gold_of
from assay.verifiers.mathematics.compare import compare
from assay.verifiers.mathematics.writing import find

LABELLED = ROOT / "tests" / "data" / "mathematics.jsonl"
RECALL = {"hard": 0.5}  # what is known to be lost: reasons behind an answer, a choice in a small letter
LEAST_ROWS = 120


def verified(gold: str, response: str) -> Verdict:
    (one,) = explain([(gold, response)])
    return one.verdict


def decided(gold: str, answer: str) -> bool | None:
    return compare(gold, answer).equal


# --- labelled answers ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rates() -> dict[str, Any]:
    return audit(read_rows(LABELLED))


@pytest.mark.slow
def test_no_wrong_answer_of_the_labelled_set_is_accepted(rates: dict[str, Any]) -> None:
    assert rates["rows"] >= LEAST_ROWS
    assert [one for one in rates["disagreements"] if not one["label"]] == []
    assert rates["precision"] == 1.0


@pytest.mark.slow
def test_hardly_a_right_one_is_refused(rates: dict[str, Any]) -> None:
    assert rates["recall"] >= 0.99
    for name, part in rates["types"].items():
        assert part["recall"] is None or part["recall"] >= RECALL.get(name, 0.97), name
    assert "invalid" not in {one["verdict"] for one in rates["disagreements"]}


@pytest.mark.slow
def test_every_gold_equals_itself() -> None:
    golds = {row.gold for row in read_rows(LABELLED)}
    assert [gold for gold in golds if verified(gold, f"So \\boxed{{{gold}}}.").status != "ok"] == []


# --- where the answer stands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "answer", "mark"),
    [
        (r"\boxed{3}", "3", "box"),
        (r"\boxed{}", "", "box"),
        (r"\boxed{ }", "", "box"),
        (r"\boxed 7.", "7", "box"),
        (r"\boxed{3", None, "unclosed"),
        (r"\boxed{\boxed{3}}", "3", "box"),
        (r"\boxed{{3}}", "{3}", "box"),
        (r"\fbox{3}", "3", "box"),
        (r"\\boxed{3}", "3", "box"),
        (r"\boxed{\{1,2\}} and more", r"\{1,2\}", "box"),
        (r"\boxed{\frac{1}{2}} {", r"\frac{1}{2}", "box"),
        (r"} \boxed{2}", "2", "box"),
        (r"\boxed{1} then \boxed{2}", "2", "box"),
        (r"\boxed{1} then \boxed{2", None, "unclosed"),
        (r"\boxed{1. Now \boxed{2}", None, "unclosed"),
        (r"<think>\boxed{1}</think> \boxed{2}", "2", "box"),
        (r"<think>\boxed{1}</think> nothing" + "\nmore", None, "none"),
        (r"<think>\boxed{1}", None, "unfinished-thought"),
        (r"\boxed{1}</think>\boxed{2}", "2", "box"),
        ("one\n#### 12", "12", "####"),
        ("#### 12\nmore", "12", "####"),
        ("<answer>4</answer>", "4", "answer-tag"),
        ("x <answer>1</answer> y <answer>2</answer>", "2", "answer-tag"),
        ("So the answer is 5.\n", "5", "anchor"),
        ("The final answer is: 3.5. I hope so.", "3.5", "anchor"),
        ("3/4", "3/4", "whole"),
        ("first\nsecond", None, "none"),
        ("word " * 100, None, "none"),
        ("", None, "none"),
    ],
)
def test_where_the_answer_stands(response: str, answer: str | None, mark: str) -> None:
    found = find(response)
    assert (found.text, found.mark) == (answer, mark)


def test_several_different_boxes_are_counted_and_the_last_one_is_verified() -> None:
    (one,) = explain([("2", r"\boxed{1}. I said \boxed{ 1 }, which is wrong: \boxed{2}")])
    assert one.verdict.status == "ok" and "the last of 2 different ones" in one.verdict.detail


@pytest.mark.parametrize(
    ("response", "kind"),
    [("", "empty"), (" \n ", "empty"), (r"\boxed{}", "empty"), ("a\nb", "format"), (r"\boxed{3", "format")],
)
def test_what_has_no_answer_fails_as_what_it_is(response: str, kind: str) -> None:
    assert verified("3", response) == Verdict.fail(kind, verified("3", response).detail)


# --- what equals what ---------------------------------------------------------------------------------------

whole = st.integers(-(10**6), 10**6)
fraction = st.fractions(max_denominator=999).filter(lambda f: abs(f) < 10**4)


@given(n=whole)
def test_a_whole_number_equals_its_notations(n: int) -> None:
    for text in (str(n), f"{n:,}", f"${n}$", f"{n}.0", rf"\boxed{{{n}}}", f"x={n}", f"{n}/1", rf"\frac{{{n}}}{{1}}"):
        assert decided(str(n), find(text).text or "") is True, text


@pytest.mark.slow
@given(n=whole, place=st.integers(0, 6), digit=st.integers(1, 9))
def test_a_changed_digit_is_another_number(n: int, place: int, digit: int) -> None:
    changed = n + digit * 10**place
    assert decided(str(n), str(changed)) is False
    assert n == 0 or decided(str(n), str(-n)) is False


@given(f=fraction, factor=st.integers(1, 9))
@pytest.mark.slow
def test_a_fraction_equals_its_notations_and_no_other(f: Fraction, factor: int) -> None:
    above, below, sign = abs(f.numerator), f.denominator, "-" if f < 0 else ""
    same = [
        f"{sign}{above}/{below}",
        rf"{sign}\frac{{{above}}}{{{below}}}",
        rf"\dfrac{{{sign}{above * factor}}}{{{below * factor}}}",
        rf"{sign}{above // below}\frac{{{above % below}}}{{{below}}}",
        rf"{f.numerator} \div {below}",
    ]
    for text in same:
        assert decided(f"{f.numerator}/{below}", text) is True, text
    assert decided(f"{f.numerator}/{below}", f"{f.numerator + below}/{below}") is False


@pytest.mark.slow
@given(coefficients=st.lists(st.integers(-9, 9), min_size=1, max_size=4), root=st.integers(-9, 9))
def test_a_product_equals_what_it_multiplies_out_to(coefficients: list[int], root: int) -> None:
    """(x - r) * sum c_k x^k = sum (c_{k-1} - r c_k) x^k."""
    factor = "+".join(f"({c})*x^{{{k}}}" for k, c in enumerate(coefficients))
    shifted = [0, *coefficients]
    out = [a - root * c for a, c in zip(shifted, [*coefficients, 0])]
    product = "+".join(f"({c})x^{k}" for k, c in enumerate(out))
    assert decided(product, f"(x-({root}))*({factor})") is True
    assert decided(product, f"(x-({root}))*({factor})+1") is False


@given(text=st.text(alphabet="0123456789+-*/^(){}[],.=<> xyn\\fracsqrtpi%$|!&;_", max_size=40))
def test_an_answer_equals_itself_whatever_it_is(text: str) -> None:
    assert decided(text, text) is True


@given(gold=st.sampled_from(["1/2", "(1,2)", r"\{1,2\}", "x^2-1", "5 cm", "no solution"]), text=st.text(max_size=80))
def test_no_text_makes_the_exact_steps_fail(gold: str, text: str) -> None:
    assert decided(gold, text) in (True, False, None)
    assert canonical(text) == canonical(text)


@given(parts=st.lists(st.integers(-99, 99), min_size=2, max_size=6, unique=True), data=st.data())
@pytest.mark.slow
def test_sets_have_no_order_and_tuples_have_one(parts: list[int], data: st.DataObject) -> None:
    mixed = data.draw(st.permutations(parts))
    gold, answer = (",".join(map(str, items)) for items in (parts, mixed))
    assert decided(rf"\{{{gold}\}}", rf"\{{{answer}\}}") is True
    assert decided(f"({gold})", f"({answer})") is (mixed == parts)
    assert decided(rf"\{{{gold}\}}", rf"\{{{answer},100\}}") is False


def test_what_reads_alike_is_counted_alike() -> None:
    assert len({canonical(text) for text in ("1,234", "1234.0", "1 234", r"1{,}234")}) == 1
    assert canonical("0.5") == "1/2" and canonical(r"\dfrac{x}{2}") == canonical(r"\frac{x} {2}")


# --- hostile answers ----------------------------------------------------------------------------------------

TOWERS = (
    "9**9**9",
    "9^{9^{9^9}}",
    r"10^{10^{10}}!",
    r"\binom{10^9}{5\cdot 10^8}",
    r"\dfrac{5^{5^{5^{5^5}}-4}-5}{16}",
    r"\sqrt{5^{5^{5^{5^5}}}}",
    "1e999999",
    "2^{10^{100}}",
    "(((99!)!)!)",
)


@pytest.mark.parametrize("tower", TOWERS)
def test_numbers_too_big_to_be_worked_out_are_compared_as_written(tower: str) -> None:
    assert decided("7", tower) is False
    assert decided(tower, tower.replace("^", " ^ ")) is True
    assert decided(tower, "7") is False


@pytest.mark.parametrize(
    "hostile",
    [
        "{" * 10_000,
        "(" * 10_000,
        r"\frac{" * 10_000,
        r"\sqrt" * 1_000 + "2",
        r"\left(" * 1_000 + "1",
        r"\boxed{" * 50_000,
        "$" * 50_000,
        r"\[" * 50_000,
        "a*" * 25_000 + "a",
        "a" * 1_000_000,
        "1" + "\u0301" * 100_000,
        r"\boxed{" + "1+" * 20_000 + "1}",
        "8" + "7" * 99_999,
        r"\boxed{" + "{" * 60 + "1" + "}" * 60 + "}",
        "(" * 60 + "1" + ")" * 60,
        "1," * 900 + "1",
    ],
)
def test_long_and_deep_answers_are_wrong_without_further_ado(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against_gold, "pool", lambda: pytest.fail("asked the pool"))
    assert verified("1", hostile).status == "fail"


def test_a_long_answer_equals_one_that_is_the_same() -> None:
    digits = "7" * 100_000
    assert verified(digits, digits).status == "ok"
    assert verified(digits, rf"\boxed{{{digits}}}").status == "ok"
    assert verified(digits, "7" * 99_999).status == "fail"


@pytest.mark.parametrize("text", ["²", "1\u200b", "\u202e1\u202c", "\ufeff1", "１", "1\x00", "١", "1\u00ad"])
@pytest.mark.slow
def test_look_alikes_and_invisible_characters_are_read_as_what_they_show(text: str) -> None:
    assert verified("1", rf"\boxed{{{text}}}").status == ("fail" if text == "²" else "ok")


def test_a_cyrillic_letter_is_no_choice() -> None:
    assert verified("A", "А").status == "fail" and verified("A", "(A)").status == "ok"


def test_nothing_that_reads_answers_can_evaluate_them() -> None:
    forbidden = {"eval", "exec", "parse_expr", "sympify", "lambdify", "compile", "alarm", "pickle", "loads_pickle"}
    for path in sorted((ROOT / "assay" / "verify").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                plain = isinstance(node.func, ast.Name)
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                assert name not in forbidden - ({"compile"} if not plain else set()), f"{path.name}: {name}"
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "marshal"}, path.name


# --- the gold, and who is to blame --------------------------------------------------------------------------


@pytest.mark.parametrize("gold", [None, "", "  ", r"\boxed{}", r"\frac{1}{2", "}{"])
def test_a_gold_that_says_nothing_is_no_reward(gold: str | None) -> None:
    (one,) = explain([(gold, "5")])
    assert (one.verdict.status, one.verdict.kind) == ("invalid", "bad_gold")


def test_a_worked_solution_as_gold_is_cut_down_to_its_answer() -> None:
    assert gold_of("6 * 7 = <<6*7=42>>42\n#### 42") == ("42", "")
    assert gold_of(r"Because $x=\boxed{\frac{1}{2}}$.") == (r"\frac{1}{2}", "")
    assert gold_of("the answer is yes") == ("the answer is yes", "")
    assert gold_of(f"{'We add. ' * 40}The final answer is $28\\%$. I hope it is correct.") == ("$28\\%$", "")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    with Workers(against_gold.WORKER, count=1, deadline=1.0) as pool:
        monkeypatch.setattr(against_gold, "_pool", [pool])
        monkeypatch.setattr(against_gold, "_known", type(against_gold._known)())
        yield pool


INTEGRAL = r"\int_0^1 2x\,dx"  # not of our grammar: left to the library
HANGS = r"\sum_{k=1}^{10^9} \frac{1}{k}"


@pytest.mark.slow
def test_an_answer_that_hangs_is_wrong_and_a_gold_that_cannot_be_read_is_our_fault(impatient: Workers) -> None:
    found = explain([(INTEGRAL, rf"\boxed{{{HANGS}}}"), (INTEGRAL, r"\frac{2}{2}")])
    assert [(one.verdict.status, one.verdict.kind) for one in found] == [("fail", "time"), ("ok", "")]
    gibberish = explain([(r"\foo{3}+1", r"\sqrt{3}"), ("1 =", "1"), (r"\sqrt{2}", r"\foo{3}")])
    kinds = [(one.verdict.status, one.verdict.kind) for one in gibberish]
    assert kinds == [("invalid", "bad_gold"), ("invalid", "bad_gold"), ("fail", "format")]


@pytest.mark.slow
def test_an_answer_of_a_group_is_worked_out_once(impatient: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = impatient.map
    monkeypatch.setattr(impatient, "map", lambda jobs, **more: asked.append(len(jobs)) or original(jobs, **more))
    pairs = [(INTEGRAL, "2/2")] * 8 + [(INTEGRAL, r"\sqrt{3}")] * 8
    first = [one.verdict.status for one in explain(pairs)]
    assert first == ["ok"] * 8 + ["fail"] * 8
    assert [one.verdict.status for one in explain(pairs)] == first
    assert asked == [2]


def test_a_lost_worker_leaves_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lossy:
        deadline = 5.0

        def map(self, jobs: list[Any]) -> list[Any]:
            return [against_gold.Outcome("lost", detail="the worker process ended with code -9") for _ in jobs]

    monkeypatch.setattr(against_gold, "_pool", [Lossy()])
    monkeypatch.setattr(against_gold, "_known", type(against_gold._known)())
    for _ in range(2):  # and it is not remembered
        verdict = verified(INTEGRAL, r"\sqrt{3}")
        assert (verdict.status, verdict.kind) == ("invalid", "worker_lost")
    assert not against_gold._known


def test_without_the_library_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(against_gold, "_pool", [])
    with pytest.raises(ConfigError, match=r"pip install 'assay-rl\[math\]'"):
        verified(INTEGRAL, r"\sqrt{3}")
    assert verified(r"\sqrt{2}", r"\frac{2}{\sqrt{2}}").status == "ok"  # what our grammar reads needs nothing


# --- as the verifier of a task --------------------------------------------------------------------------------


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        assay.tasks.TASKS, "rows", altered(dataclasses.replace(TINY, name="rows"), verify_many=against_gold.verify)
    )


def row(gold: str | None) -> Problem:
    spec = {"row": 1, "gold": gold, "columns": {}}
    return Problem("rows", "What is it?", spec, f"{gold}", wording="natural", provenance="data")


@pytest.mark.usefixtures("rows")
def test_a_task_is_verified_by_its_judge_all_answers_at_once() -> None:
    episodes = [
        answered(row("1/2"), r"\boxed{0.5}"),
        answered(row("1/2"), r"\boxed{0.6}"),
        answered(row("1/2"), r"\boxed{0.5}", finish="length"),
        answered(row(None), r"\boxed{0.5}"),
    ]
    found = [(verdict.status, verdict.kind) for verdict in verify(episodes)]
    assert found == [("ok", ""), ("fail", "wrong"), ("fail", "truncated"), ("invalid", "bad_gold")]


def test_a_judge_that_fails_leaves_no_verdict_and_a_wrong_configuration_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def broken(pairs: Any) -> list[Verdict]:
        calls.append(len(pairs))
        raise ZeroDivisionError("no")

    def unconfigured(pairs: Any) -> list[Verdict]:
        raise ConfigError("install something")

    monkeypatch.setitem(assay.tasks.TASKS, "rows", altered(dataclasses.replace(TINY, name="rows"), verify_many=broken))
    found = verify([answered(row("1"), "1"), answered(row("1"), "2")])
    assert [(v.status, v.kind) for v in found] == [("invalid", "bug")] * 2
    assert all(v.detail.startswith("rows: ZeroDivisionError: no (") for v in found)
    assert calls == [2, 1, 1, 1, 1]
    monkeypatch.setitem(
        assay.tasks.TASKS, "rows", altered(dataclasses.replace(TINY, name="rows"), verify_many=unconfigured)
    )
    with pytest.raises(ConfigError, match="install something"):
        verify([answered(row("1"), "1")])


# --- the command line ---------------------------------------------------------------------------------------


def test_explain_says_which_step_decided(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    reply = shell("verify", "explain", "1/2", r"so \boxed{0.5}", "--json")
    assert reply.code == 0
    assert reply.document == {
        "verdict": "ok", "kind": None, "gold": "1/2", "answer": "0.5", "mark": "box", "layer": "number",
        "why": "both are 1/2",
    }  # fmt: skip
    said = shell("verify", "explain", "5 cm", "5 m")
    assert said.code == 0 and said.out.startswith("fail(wrong)\n") and "500 is not 5" in said.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["explain", "1/2"], 2, "takes a reference answer and an answer"),
        (["audit", "a", "b"], 2, "takes one file, not 2"),
        (["audit", "nowhere.jsonl"], 64, "nowhere.jsonl cannot be read"),
        (["explian", "1", "2"], 2, "Did you mean 'explain'?"),  # codespell:ignore explian
    ],
)
def test_wrong_uses_are_told(arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("verify", *arguments)
    assert reply.code == code and message in reply.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: no JSON"),
        ('{"gold": "1", "answer": "1"}', 'line 2: expected {"gold": text'),
        ('{"gold": 1, "answer": "1", "label": true}', "line 2: expected"),
        ('{"gold": "1", "answer": "1", "label": 1}', "line 2: expected"),
        ("[]", "line 2: expected"),
    ],
)
def test_audit_names_the_line_that_is_wrong(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps({"gold": "1", "answer": "1", "label": True, "type": "a"})
    path.write_text(f"{good}\n{line}\n")
    reply = Shell(capsys)("verify", "audit", path)
    assert reply.code == 64 and message in reply.err


@pytest.mark.slow
def test_audit_counts_precision_and_recall_by_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of type a two are right and one of them is accepted; of type b one of two that are accepted is right."""
    rows = [("1", "1", True, "a"), ("3", "3 or so", True, "a"), ("2", "2", True, "b"), ("4", "4.0", False, "b")]
    names = ("gold", "answer", "label", "type")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(dict(zip(names, one))) + "\n" for one in rows))
    found = Shell(capsys)("verify", "audit", path, "--json").document
    rates = {name: [part[key] for key in ("rows", "precision", "recall")] for name, part in found["types"].items()}
    assert rates == {"a": [2, 1.0, 0.5], "b": [2, 0.5, 1.0]}
    assert [one["line"] for one in found["disagreements"]] == [2, 4]
    assert (found["precision"], found["recall"]) == (2 / 3, 2 / 3)


@pytest.mark.parametrize("joined", ["*", "", "+", "-", "/"])
def test_a_long_chain_gets_one_verdict_however_deep_the_caller_stands(joined: str) -> None:
    """A chain of so many terms is a tree of as many levels: beyond some it is not read, and calls do not run out."""

    text = f"\\boxed{{{joined.join('xy' * 220)}}}"

    def deep(levels: int) -> Verdict:
        return deep(levels - 1) if levels else verified("2x + 1", text)

    assert deep(0) == deep(500) and deep(0).status == "fail"
