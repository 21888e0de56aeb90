"""Terms of SMT-LIB: reading, values by the standard, verdicts on mutants that an enumeration verifies, hacks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import Shell
from values_by_hand import VALUES as VALUES_BY_HAND

from assay.externals.z3 import _CALLS, answer
from assay.host.workers import Outcome
from assay.rng import Key
from assay.tasks import task
from assay.verifiers.smt import terms, terms_and_values
from assay.verifiers.smt.terms import DEEPEST, LONGEST, MOST_NODES, Unreadable, plain, read, write
from assay.verifiers.smt.terms_and_values import explain
from assay.verifiers.smt.values import everywhere, value

external = pytest.mark.external("z3")
NAMES: dict[str, terms.Sort] = {"a": "Int", "b": "Int", "p": "Bool", "x": 4, "y": 4}
LESS = {"ask": "equal", "variables": {"a": "Int", "b": "Int"}, "term": "(< a (+ b 1))"}
SUM = {"ask": "equal", "variables": {"x": 4, "y": 4}, "sort": 4, "term": "(bvadd x y)"}
VALUES = {"ask": "values", "variables": {"a": "Int", "p": "Bool", "x": 4}, "terms": ["(> (* 2 a) 5)", "p", "(= x #xa)"]}
LOOP = {
    "ask": "invariant",
    "variables": {"a": "Int", "b": "Int"},
    "init": "(and (= a 0) (= b 1))",
    "guard": "(< a 5)",
    "step": {"a": "(+ a 1)", "b": "(+ b 2)"},
    "post": "(= b 11)",
}


def verdict(gold: object, candidate: str | None) -> tuple[str, str]:
    (one,) = explain([(gold if isinstance(gold, str) else json.dumps(gold), candidate)])
    return one.verdict.status, one.verdict.kind


# --- reading ------------------------------------------------------------------------------------------------


def test_a_term_and_its_text() -> None:
    term = read("(=> p\n (and (<= a (- 3)) (= (bvadd x #b0011) #xF)))", NAMES)
    assert write(term) == "(=> p (and (<= a (- 3)) (= (bvadd x (_ bv3 4)) (_ bv15 4))))"
    assert read(write(term), NAMES) == term
    assert [one.operator for one in term] == ["=>", "p", "and", "<=", "a", "value", "=", "bvadd", "x", "value", "value"]
    assert read("(ite p a (mod b 3))", NAMES, "Int").sort == "Int"


@pytest.mark.parametrize(
    "wrong",
    [
        "", " ", "(", ")", "()", "(())", "a", "1", "(< a)", "(< a b p)", "(< a x)", "(< a p)", "(= a x)", "(and p)",
        "(not p p)",
        "(< a b) (check-sat)", "(push)", "(check-sat)", "(assert true)", "(include \"/etc/passwd\")", "(< a c)",
        "(let ((a b)) (< a b))", "(let ((true false)) true)", "(define-fun p () Bool true)",
        "(forall ((a Int)) (< a b))",
        "(exists ((q Bool)) q)", "((_ extract 1 0) x)", "(= x ((_ int2bv 4) a))", "(! p :named q)", "(as p Bool)",
        "(< (* a b) 3)", "(< (div a 0) 3)", "(< (mod a b) 3)", "(< (div a (- 1 1)) 3)", "(< -1 a)", "(< 01 a)",
        "(< 1.5 a)",
        "(< 99999999999 a)", "(= x #b011)", "(= x #b)", "(= x (_ bv16 4))", "(= x (_ bv1 0))", "(= x (_ bv1 99))",
        "(= x (_ BitVec 4))", "(bvult x 3)", "(bvult x a)", "(= (bvadd x) x)", "(ite p a p)", "(ite a p p)", "|a|",
        "p ; a comment", "(< á 1)", "p\0", "\u202ep", "(and " + "p " * MOST_NODES + ")",
        "(not " * (DEEPEST + 1) + "p" + ")" * (DEEPEST + 1), "(not " * 5_000, "p" + " " * LONGEST, "(" * 1_000_000,
        "#b" + "0" * 33, "(distinct a b x)", "(xor p)", "(- )", "(< a 1.5)", "(< a (to_real b))", "(= r (/ 1 0))",
        "(/ r 2)",
        "(= r 1.)", "(= r .5)", "(= r 01.5)", "(= (* r r) 2)", "(= (/ 1 r) 2)", "(is_int a)", "(= (to_int a) 2)",
        "(= x ((_ extract 4 0) x))", "(= x ((_ extract 0 1) x))", "(= x ((_ extract -1 0) x))",
        "(= x ((_ extract 3) x))",
        "(= x ((_ extract 3 0) x y))", "(= x ((_ extract 3 0) a))", "(= x ((_ rotate_left 1) x))",
        "(((_ extract 3 0)) x)",
        "(= (concat x x x x x x x x x) x)", "(= ((_ zero_extend 29) x) x)", "(= (concat x y) x)", "((_ extract 3 0",
        "((_",
    ],
)  # fmt: skip
def test_what_is_no_term_is_unreadable(wrong: str) -> None:
    with pytest.raises(Unreadable):
        read(wrong, {**NAMES, "r": "Real"})


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="()<=+-*andorxpyb 01_#v4\n", max_size=50)
    | st.lists(
        st.sampled_from(
            ["(", ")", "(_ extract 3 0)", "concat", "x", "r", "/", "1.5", "2", "+", "<", "=", "distinct", "to_int"]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_reading_never_raises_anything_else_and_its_own_writing_is_read(some: str) -> None:
    for start, end in (("", ""), ("(and p (< a ", "))"), ("(= x (bvadd ", "))")):
        try:
            term = read(start + some + end, {**NAMES, "r": "Real"}, computed=True)
        except Unreadable:
            continue
        assert read(write(term), {**NAMES, "r": "Real"}, computed=True) == term


# --- values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("(div (- 7) 2)", {}, -4),  # the rest is never negative: -7 = 2 * -4 + 1
        ("(mod (- 7) 2)", {}, 1),
        ("(div (- 7) (- 2))", {}, 4),  # -7 = -2 * 4 + 1
        ("(mod (- 7) (- 2))", {}, 1),
        ("(- a b 1)", {"a": 9, "b": 3}, 5),
        ("(- a)", {"a": 9}, -9),
        ("(abs (- 5))", {}, 5),
        ("(* 2 3 a)", {"a": -2}, -12),
        ("(ite p a b)", {"p": 0, "a": 1, "b": 2}, 2),
        ("(bvadd x y)", {"x": 15, "y": 1}, 0),  # wraps round
        ("(bvsub x y)", {"x": 0, "y": 1}, 15),
        ("(bvmul x y)", {"x": 5, "y": 5}, 9),
        ("(bvneg x)", {"x": 8}, 8),
        ("(bvnot x)", {"x": 5}, 10),
        ("(bvudiv x y)", {"x": 5, "y": 0}, 15),  # by zero: all ones
        ("(bvurem x y)", {"x": 5, "y": 0}, 5),  # by zero: the dividend
        ("(bvudiv x y)", {"x": 13, "y": 4}, 3),
        ("(bvshl x y)", {"x": 5, "y": 2}, 4),
        ("(bvshl x y)", {"x": 5, "y": 9}, 0),
        ("(bvlshr x y)", {"x": 12, "y": 2}, 3),
        ("(bvashr x y)", {"x": 12, "y": 2}, 15),
        ("(bvashr x y)", {"x": 8, "y": 15}, 15),
        ("(bvxor x y (_ bv1 4))", {"x": 6, "y": 3}, 4),
    ],
)
def test_values_are_those_of_the_standard(text: str, values: dict[str, int], expected: int) -> None:
    sort = 4 if "bv" in text else "Int"
    assert value(read(text, NAMES, sort), values) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(bvult x y)", True), ("(bvslt x y)", False), ("(bvsgt x y)", True), ("(bvuge y x)", True),
        ("(bvsle x x)", True),
        ("(bvugt x y)", False), ("(bvule y x)", False), ("(bvsge y x)", False), ("(distinct x y)", True),
        ("(xor p p p)", True), ("(=> p (not p))", False), ("(or (not p) (= x y))", False),
        ("(and p (distinct a b))", True),
    ],
)  # fmt: skip
def test_truths_are_those_of_the_standard(text: str, expected: bool) -> None:
    """x is 1 and y is 15, which is -1 with a sign."""
    assert value(read(text, NAMES), {"x": 1, "y": 15, "p": 1, "a": 0, "b": 1}) == expected


def test_places_are_all_of_a_small_domain() -> None:
    assert len(list(everywhere({"p": "Bool", "x": 4, "a": "Int"}, 8))) == 2 * 16 * 17
    assert [one["x"] for one in everywhere({"x": 8}, 2)] == [254, 255, 0, 1, 2]


@external
def test_z3_and_the_evaluation_give_every_operator_the_same_meaning() -> None:
    """For each operator: no place where Z3 finds a value that differs from the one computed here."""
    built: list[terms.SmtTerm] = []
    asked = [
        "(< a b 3)", "(<= b a 5)", "(>= a b b)", "(> 9 b a)", "(= a b 5)", "(distinct a b 5)", "(=> p q (= a b))",
        "((_ extract 2 1) x)", "((_ zero_extend 3) x)", "((_ sign_extend 3) x)", "(+ r 0.25)", "(< r 2 3.5)",
    ]  # fmt: skip
    for operator in _CALLS:
        texts = {
            "mod": "(mod a (- 3))", "div": "(div a (- 3))", "abs": "(abs a)", "not": "(not p)", "*": "(* 3 a)",
            "ite": "(ite p a b)", "bvnot": "(bvnot x)", "bvneg": "(bvneg x)", "-": "(- a b)", "/": "(/ r 3 2)",
            "to_real": "(to_real a)", "to_int": "(to_int r)", "is_int": "(is_int r)", "concat": "(concat x y x)",
        }  # fmt: skip
        names = "x y" if operator.startswith("bv") else "p q" if operator in terms.LOGIC else "a b"
        text = texts.get(operator, f"({operator} {names})")
        asked.append(text)
    for text in asked:
        variables: dict[str, terms.Sort] = {**NAMES, "q": "Bool", "r": "Real"}
        sort = next(s for s in ("Int", "Bool", "Real", 4, 12, 2, 7) if _is(text, variables, s))
        term = read(text, variables, sort)
        for place in (
            {"a": -7, "b": 2, "p": 1, "q": 0, "x": 13, "y": 0, "r": Fraction(-7, 2)},
            {"a": 5, "b": 5, "p": 0, "q": 1, "x": 9, "y": 3, "r": Fraction(3)},
        ):
            fixed = [
                terms.SmtTerm("=", "Bool", (terms.SmtTerm(n, s), terms.number(place[n], s)))
                for n, s in variables.items()
            ]
            built.append(terms.both(*fixed, terms.differ(term, terms.number(value(term, place), sort))))
    assert len(built) == 2 * len(asked) == 2 * (len(_CALLS) + 12)
    found = answer({"terms": [plain(term) for term in built]}, lambda _: None)
    assert [one["status"] for one in found["answers"]] == ["unsat"] * len(built)


def _is(text: str, variables: dict[str, terms.Sort], sort: terms.Sort) -> bool:
    try:
        return read(text, variables, sort).sort == sort
    except Unreadable:
        return False


# --- verdicts -----------------------------------------------------------------------------------------------


@external
@pytest.mark.parametrize(
    ("gold", "candidate", "expected"),
    [
        (LESS, "(<= a b)", ("ok", "")),
        (LESS, "(not (> a b))", ("ok", "")),
        (LESS, "(or (= b a) (< a b))", ("ok", "")),
        (LESS, "(< a b)", ("fail", "wrong")),
        (LESS, "true", ("fail", "wrong")),
        (LESS, "false", ("fail", "wrong")),
        (LESS, "(=> (< a b) (< a b))", ("fail", "wrong")),  # says nothing
        (LESS, "(and (<= a b) (< a 1000000))", ("fail", "wrong")),  # right in every small box
        (LESS, "(< a (+ b 1)) (define-fun a () Int 0)", ("fail", "format")),
        (LESS, "(let ((b a)) (<= a b))", ("fail", "format")),
        (LESS, "(+ a b)", ("fail", "format")),
        (SUM, "(bvsub x (bvneg y))", ("ok", "")),
        (SUM, "(bvadd (bvxor x y) (bvshl (bvand x y) (_ bv1 4)))", ("ok", "")),
        (SUM, "(bvor x y)", ("fail", "wrong")),
        (SUM, "(ite (= x (_ bv15 4)) (bvor x y) (bvadd x y))", ("fail", "wrong")),
        (SUM, "(bvadd x (bvudiv y (_ bv1 4)))", ("ok", "")),
        (SUM, "(bvadd x (bvurem y (_ bv0 4)))", ("ok", "")),  # by zero the dividend: so the standard says
        (SUM, "(bvadd x (bvudiv y (_ bv0 4)))", ("fail", "wrong")),
        (SUM, "(bvadd #b0000 x #x0 y)", ("ok", "")),
        (SUM, "(+ x y)", ("fail", "format")),
        (VALUES, "a=3 p=true x=10", ("ok", "")),
        (VALUES, "x=#b1010, p=true, a=1000000000", ("ok", "")),
        (VALUES, "a=2 p=true x=10", ("fail", "wrong")),
        (VALUES, "a=3 p=false x=10", ("fail", "wrong")),
        (VALUES, "unsat", ("fail", "wrong")),
        (VALUES, "a=3 p=true", ("fail", "format")),
        (VALUES, "a=3 a=3 p=true x=10", ("fail", "format")),
        (VALUES, "a=3 p=true x=26", ("fail", "format")),  # 26 is 10 in four bits
        (VALUES, "a=3 p=1 x=10", ("fail", "format")),
        (VALUES, "a=3 p=true x=-6", ("fail", "format")),
        (VALUES, "a=3p=true x=10", ("fail", "format")),
        (VALUES, "a=9999999999 p=true x=10", ("fail", "format")),
        (VALUES, "(model (define-fun a () Int 3))", ("fail", "format")),
        ({**VALUES, "terms": ["(< a 3)", "(> a 2)"]}, "unsat", ("ok", "")),
        ({**VALUES, "terms": ["(< a 3)", "(> a 1)"]}, "unsat", ("fail", "wrong")),
        (LOOP, "(and (= b (+ (* 2 a) 1)) (<= a 5))", ("ok", "")),
        (LOOP, "(and (<= 0 a 5) (= b 11))", ("fail", "wrong")),
        (LOOP, "(and (<= 0 a 5) (= b (+ a a 1)))", ("ok", "")),
        (LOOP, "(and (= b (+ (* a a) 1)) (<= a 5))", ("fail", "format")),  # a product of variables
        ({**LESS, "variables": {"a": "Real", "b": "Real"}}, "(or (< a b) (= a b) (< 0 (- a b) 1))", ("ok", "")),
        ({**LESS, "variables": {"a": "Real", "b": "Real"}}, "(<= a b)", ("fail", "wrong")),
        ({**VALUES, "terms": ["(> (* a a) 5)", "(< (* a a) 9)"]}, "unsat", ("ok", "")),
        ({**VALUES, "terms": ["(> (* a a) 5)", "(< (* a a) 10)"]}, "unsat", ("fail", "wrong")),
        (LOOP, "(= b (+ (* 2 a) 1))", ("fail", "wrong")),  # at the end a could be more than 5
        (LOOP, "(= b 11)", ("fail", "wrong")),
        (LOOP, "false", ("fail", "wrong")),
        (LOOP, "true", ("fail", "wrong")),
        (LOOP, "(and (= a 0) (= b 1))", ("fail", "wrong")),
        (LOOP, "(< a 5)", ("fail", "wrong")),
        (LESS, "", ("fail", "empty")),
        (LESS, None, ("fail", "format")),
        (LESS, "(" * 10_000_000, ("fail", "format")),
        (VALUES, "a=3 " * 2_500_000, ("fail", "format")),
        (VALUES, "a=3\0 p=true x=10", ("fail", "format")),
    ],
)
def test_verdicts_that_a_person_can_check(gold: object, candidate: str | None, expected: tuple[str, str]) -> None:
    assert verdict(gold, candidate) == expected


@external
@pytest.mark.parametrize(
    "gold",
    [
        "", "[]", "{}", "null", "7", "[" * 100_000, json.dumps({**LESS, "ask": "proof"}),
        json.dumps({**LESS, "term": "(< a"}),
        json.dumps({**LESS, "variables": {}}), json.dumps({**LESS, "variables": {"true": "Bool"}}),
        json.dumps({**LESS, "variables": {"a": "Real", "b": "Int"}}), json.dumps({**LESS, "variables": {"a": True}}),
        json.dumps({**LESS, "variables": {"a": 99}}), json.dumps({**LESS, "term": "(< a a)"}),
        json.dumps({**LESS, "term": "(<= a a)"}), json.dumps({**VALUES, "terms": []}),
        json.dumps({**LOOP, "init": "false"}),
        json.dumps({**LOOP, "post": "(>= a 5)"}), json.dumps({**LOOP, "step": {"c": "a"}}),
    ],
)  # fmt: skip
def test_a_problem_that_cannot_be_verified_is_no_fault_of_the_answer(gold: str) -> None:
    """Among them formulas that are true or false everywhere: a formula that says nothing would be right."""
    assert verdict(gold, "(< a b)") == ("invalid", "bad_gold")


class Said:
    """A solver that says what a test tells it to say."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)

    def map(self, jobs: list[object]) -> list[Outcome]:
        return [self.outcomes.pop(0) for _ in jobs]


def says(status: str, **more: object) -> Outcome:
    return Outcome("done", {"answers": [{"status": status, **more}]})


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (says("unsat"), ("ok", "")),
        (says("sat", values={"a": 1, "b": 1}), ("fail", "wrong")),
        (says("sat", values={"a": 0, "b": 1}), ("invalid", "bug")),  # there both sides are true: not believed
        (says("unknown", detail="canceled"), ("fail", "undecided")),
        (Outcome("time"), ("fail", "time")),
        (Outcome("memory"), ("fail", "memory")),
        (Outcome("crash"), ("fail", "undecided")),
        (Outcome("lost"), ("invalid", "worker_lost")),
        (Outcome("error", detail="Z3Exception"), ("invalid", "bug")),
    ],
)
def test_what_a_solver_says_against_an_answer_is_computed(
    outcome: Outcome, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = says("sat", values={"a": 1, "b": 1}), says("sat", values={"a": 2, "b": 1})  # where the gold holds, and not
    solver = Said(*places, outcome)
    monkeypatch.setattr(terms_and_values, "_golds", {})
    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: solver)
    assert verdict(LESS, "(< a b)") == expected


@pytest.mark.parametrize(("outcome", "kind"), [(Outcome("lost"), "worker_lost"), (says("unknown"), "bad_gold")])
def test_trouble_with_the_problem_is_ours(outcome: Outcome, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    golds: dict[str, object] = {}
    monkeypatch.setattr(terms_and_values, "_golds", golds)
    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: Said(outcome, outcome))
    assert verdict(LESS, "(<= a b)") == ("invalid", kind)
    assert (json.dumps(LESS) in golds) == (kind == "bad_gold"), "a lost process says nothing of the problem"


HOLDS_NOWHERE, UNKNOWN = says("unsat"), says("unknown")
ODD = says("sat", values={"a": 0, "b": 0})  # a place where nothing speaks against the answer


def together(*outcomes: Outcome) -> Outcome:
    """What is said of the three questions about an invariant, which are one job."""
    return Outcome("done", {"answers": [outcome.result["answers"][0] for outcome in outcomes]})


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (together(HOLDS_NOWHERE, UNKNOWN, HOLDS_NOWHERE), ("fail", "undecided")),
        (together(HOLDS_NOWHERE, UNKNOWN, ODD), ("invalid", "bug")),  # whichever comes first
        (together(ODD, HOLDS_NOWHERE, UNKNOWN), ("invalid", "bug")),
        (together(UNKNOWN, HOLDS_NOWHERE, says("sat", values={"a": 5, "b": 0})), ("fail", "wrong")),  # b is not 11 then
        (Outcome("lost"), ("invalid", "worker_lost")),
        (Outcome("memory"), ("fail", "memory")),
    ],
)
def test_a_fault_of_ours_comes_before_an_answer_that_is_too_hard(
    outcome: Outcome, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, needs = says("sat", values={"a": 0, "b": 1}), says("sat", values={"a": 5, "b": 0})
    solver = Said(begins, needs, outcome)
    monkeypatch.setattr(terms_and_values, "_golds", {})
    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: solver)
    assert verdict(LOOP, "(<= a 5)") == expected


def test_values_are_computed_and_only_that_there_are_none_is_asked_of_the_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the solver cannot decide it, nobody is paid for saying it."""
    monkeypatch.setattr(terms_and_values, "_golds", {})
    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: pytest.fail("the solver was asked"))
    assert verdict(VALUES, "a=3 p=true x=10") == ("ok", "")
    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: Said(UNKNOWN))
    assert verdict(VALUES, "unsat") == ("fail", "undecided")


@pytest.mark.parametrize(("variables", "asked", "right", "wrong"), VALUES_BY_HAND, ids=range(len(VALUES_BY_HAND)))
def test_values_need_no_solver(
    variables: Any, asked: list[str], right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: pytest.fail("the solver was asked"))
    gold = {"ask": "values", "variables": variables, "terms": asked}
    assert (verdict(gold, right), verdict(gold, wrong)) == (("ok", ""), ("fail", "wrong"))


def test_a_division_by_zero_has_no_value() -> None:
    """The standard leaves it open, so that no value fulfils a term with it; bit-vectors have one."""
    gold = {"ask": "values", "variables": {"a": "Int"}, "terms": ["(= (div 5 a) (div 5 a))"]}
    assert verdict(gold, "a=0") == ("fail", "wrong") and verdict(gold, "a=2") == ("ok", "")


ODD = [
    *(
        "a=1",
        "b=2",
        "c=3",
        "r=1/0",
        "r=1/3",
        "a=1.0",
        "a=1/1",
        "x=#xff",
        "x=#b1",
        "-",
        "=",
        "unsat",
        "unsat ",
        "(",
        "r=-0.5",
    ),
    *("r=1e5", "é=1", "a=٣", "r=00.5", ",", ";", "\0", "r=1/9999999999", "s=0"),
]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(ODD), max_size=5).map(" ".join) | st.text(max_size=30), min_size=1, max_size=20)
)
def test_no_answer_is_a_fault_of_ours(answers: list[str]) -> None:
    """No solver is asked here; what it makes of an answer is tested above."""
    for variables in ({"a": "Int", "b": "Int", "c": "Int"}, {"r": "Real", "s": "Real"}, {"x": 8}):
        names = list(variables)
        gold = json.dumps({"ask": "values", "variables": variables, "terms": [f"(= {names[0]} {names[0]})"]})
        terms_asked = json.dumps({"ask": "equal", "variables": variables, "term": f"(= {names[0]} {names[-1]})"})
        read_alone = [(gold, one) for one in answers if one.strip() != "unsat"]
        found = explain(read_alone) if read_alone else []
        assert {one.verdict.status for one in found} <= {"ok", "fail"}
        assert {terms_and_values._read(terms_and_values.gold_of(terms_asked), one).__class__ for one in answers} <= {
            str,
            terms_and_values.Candidate,
        }


HARD = "(distinct (bvmul (bvudiv x y) y) (bvsub x (bvurem x y)))"  # it holds nowhere, which takes long to find out
LONG: dict[str, terms.Sort] = {"x": 32, "y": 32}


@pytest.mark.slow
@external
def test_work_beyond_the_budget_is_unknown_at_the_same_point_each_time() -> None:
    """The budget is Z3's own count of its steps, and no clock."""
    jobs = {"terms": [plain(read(HARD, LONG))] * 2}
    one, other = answer(jobs, lambda _: None)["answers"]
    assert one == other and one["status"] == "unknown"


@pytest.mark.slow
@external
def test_an_answer_that_is_too_hard_to_judge_is_refused() -> None:
    """The same term is no problem that anybody could be asked."""
    gold = {"ask": "equal", "variables": LONG, "term": "(bvult x y)"}
    assert verdict(gold, f"(or (bvult x y) {HARD})") == ("fail", "undecided")
    assert verdict(gold, "(not (bvule y x))") == ("ok", "")
    assert verdict({**gold, "term": HARD}, "false") == ("invalid", "bad_gold")
    assert verdict({"ask": "values", "variables": LONG, "terms": [HARD]}, "unsat") == ("fail", "undecided")


@external
def test_only_terms_that_were_read_reach_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[str] = []
    real = terms_and_values.workers_of("z3")

    class Listening:
        def map(self, asked: list[object]) -> list[Outcome]:
            jobs.extend(map(json.dumps, asked))
            return real.map(asked)

    monkeypatch.setattr(terms_and_values, "workers_of", lambda name: Listening())
    monkeypatch.setattr(terms_and_values, "_golds", {})
    assert verdict(LESS, "(<= a b) (exit)")[0] == "fail" and verdict(LESS, "(not(>\n a\tb))")[0] == "ok"
    assert jobs and not any("exit" in text or "\\n" in text or "(" in text for text in jobs)


# --- mutants, verified by an enumeration that shares no code ---------------------------------------------------

Bits = Callable[[int, int], int]
WORDS: dict[str, Bits] = {
    "bvadd": lambda x, y: (x + y) % 16, "bvsub": lambda x, y: (x - y) % 16, "bvand": lambda x, y: x & y,
    "bvor": lambda x, y: x | y, "bvxor": lambda x, y: x ^ y, "bvmul": lambda x, y: x * y % 16,
}  # fmt: skip
ORDERS: dict[str, Bits] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b, "distinct": lambda a, b: a != b,
}  # fmt: skip
Tree = Any  # "x", a number, or (operator, left, right)


def bits_tree(draw: random.Random, depth: int) -> Tree:
    if depth == 0:
        return draw.choice(["x", "y", draw.randrange(16)])
    return (draw.choice(list(WORDS)), bits_tree(draw, depth - 1), bits_tree(draw, depth - 1))


def order_tree(draw: random.Random) -> Tree:
    sides = [(draw.randint(-2, 2), draw.randint(-2, 2), draw.randint(-3, 3)) for _ in range(2)]
    return draw.choice(["and", "or"]), *((draw.choice(list(ORDERS)), *side) for side in sides)


def mutated(draw: random.Random, tree: Tree) -> Tree:
    """One operator, constant or order of a tree changed; turning two sides round often changes nothing."""
    if not isinstance(tree, tuple):
        return draw.choice(["x", "y", draw.randrange(16)])
    kind = draw.randrange(4)
    operator, left, right = tree
    if kind == 0:
        return draw.choice(list(WORDS)), left, right
    if kind == 1:
        return operator, right, left
    return (operator, mutated(draw, left), right) if kind == 2 else (operator, left, mutated(draw, right))


def order_mutated(draw: random.Random, tree: Tree) -> Tree:
    joined, *rest = tree
    place, kind = draw.randrange(2), draw.randrange(4)
    operator, p, q, r = rest[place]
    if kind == 0:
        joined = {"and": "or", "or": "and"}[joined]
    elif kind == 1:
        rest.reverse()
    elif kind == 2:
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
        rest[place] = (turned, -p, -q, -r)
    else:
        rest[place] = draw.choice(
            [(operator, p, q, r + 1), (draw.choice(list(ORDERS)), p, q, r), (operator, p + 1, q, r)]
        )
    return joined, *rest


def bits_text(tree: Tree) -> str:
    if isinstance(tree, tuple):
        return f"({tree[0]} {bits_text(tree[1])} {bits_text(tree[2])})"
    return tree if isinstance(tree, str) else f"(_ bv{tree} 4)"


def whole(number: int) -> str:
    return str(number) if number >= 0 else f"(- {-number})"


def order_text(tree: Tree) -> str:
    texts = [f"({o} (+ (* {whole(p)} a) (* {whole(q)} b)) {whole(r)})" for o, p, q, r in tree[1:]]
    return f"({tree[0]} {' '.join(texts)})"


def bits_at(tree: Tree, x: int, y: int) -> int:
    if isinstance(tree, tuple):
        return WORDS[tree[0]](bits_at(tree[1], x, y), bits_at(tree[2], x, y))
    return x if tree == "x" else y if tree == "y" else tree


def order_at(tree: Tree, a: int, b: int) -> bool:
    return (all if tree[0] == "and" else any)(ORDERS[o](p * a + q * b, r) for o, p, q, r in tree[1:])


@pytest.mark.turns(3)
@external
@pytest.mark.slow
def test_mutants_are_verified_as_an_enumeration_verifies_them() -> None:
    """400 mutants of terms that no code of the package wrote. With numbers this small, two formulas of whole numbers
    that differ anywhere differ within 12 of zero."""
    draw = random.Random(7)
    golds, pairs, truth = [], [], []
    for _ in range(200):
        gold = bits_tree(draw, 2)
        one = mutated(draw, gold)
        golds.append({"ask": "equal", "variables": {"x": 4, "y": 4}, "sort": 4, "term": bits_text(gold)})
        pairs.append(bits_text(one))
        truth.append(all(bits_at(gold, x, y) == bits_at(one, x, y) for x in range(16) for y in range(16)))
    box = [(a, b) for a in range(-12, 13) for b in range(-12, 13)]
    while len(golds) < 400:
        gold = order_tree(draw)
        one = order_mutated(draw, gold)
        if len({order_at(gold, a, b) for a, b in box}) == 2:
            golds.append({"ask": "equal", "variables": {"a": "Int", "b": "Int"}, "term": order_text(gold)})
            pairs.append(order_text(one))
            truth.append(all(order_at(gold, a, b) == order_at(one, a, b) for a, b in box))
    found = explain(list(zip(map(json.dumps, golds), pairs, strict=True)))
    assert not [one.why for one in found if one.verdict.status == "invalid"]
    assert [one.verdict.status == "ok" for one in found] == truth
    assert 0.1 < sum(truth) / len(truth) < 0.6


# --- the task -----------------------------------------------------------------------------------------------


@external
@pytest.mark.slow
def test_the_second_oracle_agrees_on_right_and_on_wrong_answers() -> None:
    smt = task("smt")
    assert smt.checker.verify_many is not None and smt.checker.second is not None
    for level in smt.generator.levels:
        posed = [smt.problem(Key(seed), level=level) for seed in range(4)]
        answers = [one.solution or "" for one in posed]
        pairs = [(problem, text) for problem in posed for text in answers]
        first, second = (
            [one.status for one in verified(pairs)] for verified in (smt.checker.verify_many, smt.checker.second)
        )
        assert first == second, level
        assert 4 <= first.count("ok") < 12


@pytest.mark.turns(3)
@pytest.mark.slow
@external
def test_unsatisfiable_problems_are_few_and_no_constant_answer_pays() -> None:
    smt = task("smt")
    posed = [smt.problem(Key(seed), level=2) for seed in range(200)]
    none = [one for one in posed if one.solution == "unsat"]
    assert 1 <= len(none) <= 10, "at most one in twenty, or `unsat` would be worth a try"
    assert smt.checker.verify_many is not None
    found = smt.checker.verify_many([(one, "unsat") for one in posed])
    assert [one.status == "ok" for one in found] == [one in none for one in posed]


@pytest.mark.turns(3)
@pytest.mark.slow
@external
def test_an_invariant_is_not_copied_from_the_question() -> None:
    smt = task("smt")
    assert smt.checker.verify_many is not None
    pairs = []
    for seed in range(20):
        problem = smt.problem(Key(seed), level=6)
        guard, post = problem.spec["guard"], problem.spec["post"]
        copies = (f"(or {guard} {post})", f"(=> (not {guard}) {post})", guard, post, "true", problem.spec["init"])
        pairs += [(problem, copy) for copy in copies]
    assert {one.status for one in smt.checker.verify_many(pairs)} == {"fail"}


@external
def test_a_verdict_is_explained_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("verify", "explain", "--by", "smt", json.dumps(SUM), "(bvor x y)")
    assert reply.out.splitlines()[0] == "fail(wrong)"
    last = reply.out.splitlines()[-1]
    assert last.startswith("decided by z3: it has another value, for x=")
