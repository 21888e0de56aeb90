"""Gym tasks: strict checkers against rules worked out here, disjoint splits, and the audit of every generator."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import ROOT

from assay.errors import ConfigError, DataError, UnknownName
from assay.rng import Key
from assay.tasks.gym import task as gym
from assay.tasks.gym.algebra import Unreadable, is_antiderivative, parse, polynomial, rational
from assay.tasks.gym.audit import Audit, audit, wrong_answers
from assay.tasks.gym.excluded import EXCLUDED
from assay.tasks.gym.rules import RULES
from assay.tasks.gym.task import gym_names, gym_task
from assay.tasks.task import Spec

PAGE = ROOT / "docs" / "reasoning_gym.md"
needs_package = pytest.mark.skipif(importlib.util.find_spec("reasoning_gym") is None, reason="reasoning-gym is absent")


def spec_of(answer: str, **facts: object) -> Spec:
    return {"seed": 0, "question": "?", "answer": answer, "facts": facts}


def status(name: str, spec: Spec, answer: str) -> str:
    verdict = gym._check(name, spec, answer)
    return verdict.status if verdict.status == "ok" else verdict.kind


# Names


@pytest.mark.slow
@needs_package
def test_every_generator_is_a_task_or_named_with_a_reason() -> None:
    from reasoning_gym.factory import DATASETS

    assert set(RULES) | set(EXCLUDED) == set(DATASETS)
    assert not set(RULES) & set(EXCLUDED)
    assert all(reason.endswith(".") and len(reason) > 30 for reason in EXCLUDED.values())


def test_the_page_names_every_generator() -> None:
    page = PAGE.read_text()
    shown = {line.split("`")[1].removeprefix("gym:") for line in page.splitlines() if line.startswith("| `")}
    assert shown == set(RULES) | set(EXCLUDED)
    assert all(reason in page for reason in EXCLUDED.values())


def test_unknown_and_excluded_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="chain_sum"):
        gym_task("chain_summ")
    with pytest.raises(DataError, match="no answer"):
        gym_task("boxnet")


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'assay-rl\[gym\]'"):
        gym_task("chain_sum")


@pytest.mark.slow
def test_listing_imports_neither_the_package_nor_torch() -> None:
    code = (
        "import sys; from assay.tasks.gym.task import gym_names, gym_task; gym_names(); gym_task('chain_sum')\n"
        "assert not {'reasoning_gym', 'torch', 'sympy', 'mpmath'} & set(sys.modules)"
    )
    if importlib.util.find_spec("reasoning_gym") is None:
        code = code.replace("gym_task('chain_sum')", "0")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Formulas


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3*4", Fraction(14)),
        ("2 - 3 - 4", Fraction(-5)),
        ("12/4/3", Fraction(1)),
        ("-(2 + 3)*-2", Fraction(10)),
        ("1.5/0.5", Fraction(3)),
        ("7/3", Fraction(7, 3)),
    ],
)
def test_rational_values(text: str, value: Fraction) -> None:
    assert rational(parse(text)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2 +",
        "(2",
        "2)",
        "2 3",
        "2 = 2",
        "2^3",
        "__import__('os')",
        "a.b",
        "1//2",
        "1/0",
        "x",
        "2**3",
        "()",
        "¿",
        "9\n1",
    ],
)
def test_what_is_no_rational_formula_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        rational(parse(text))


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        max_leaves=12,
    )
)
def test_rational_agrees_with_python_on_integer_formulas(text: str) -> None:
    assert rational(parse(text)) == eval(text)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="0123456789xyC+-*/(). expsinlog", max_size=60))
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (rational, polynomial, lambda tree: is_antiderivative(tree, parse("x"), "x")):
        try:
            read(parse(text))
        except Unreadable:
            continue


@pytest.mark.parametrize(
    "text", ["(" * 3000 + "1" + ")" * 3000, "-" * 3000 + "1", "((2**60)**60)**60", "(x+y+z+w)**60"]
)
def test_hostile_formulas_are_refused_quickly(text: str) -> None:
    with pytest.raises(Unreadable):
        polynomial(parse(text))


def test_hostile_powers_are_refused_quickly() -> None:
    for text in ("9**9**9**9", "exp(exp(exp(exp(9*x))))", "sin(10**4000)"):
        with pytest.raises(Unreadable):
            is_antiderivative(parse(text), parse("x"), "x")


def test_polynomials_are_exact() -> None:
    assert polynomial(parse("(x + 1)*(x - 1)")) == {(("x", 2),): 1, (): -1}
    assert polynomial(parse("x*y - y*x")) == {}
    assert polynomial(parse("-34*x**8/15")) == {(("x", 8),): Fraction(-34, 15)}


@pytest.mark.parametrize(
    ("formula", "integrand", "right"),
    [
        ("x**3/3 + C", "x**2", True),
        ("sin(x)**2/2", "sin(x)*cos(x)", True),
        ("-cos(x)**2/2 + 7", "sin(x)*cos(x)", True),
        ("x*log(x) - x + C", "log(x)", True),
        ("2*(2*x + 7)**(3/2)/3", "2*sqrt(2*x + 7)", True),
        ("x**3/3 + C*x", "x**2", False),
        ("sin(x)", "sin(x)", False),
        ("123456789123457*x**2", "2*123456789123456*x", False),
    ],
)
def test_antiderivatives(formula: str, integrand: str, right: bool) -> None:
    assert is_antiderivative(parse(formula), parse(integrand), "x") is right


# Checkers: (task, facts and reference, right answers, wrong answers)

CASES: list[tuple[str, Spec, list[str], list[str]]] = [
    (
        "chain_sum",
        spec_of("-1204"),
        ["-1204", "-1,204", "-1204.0"],
        ["1204", "-1204 apples", "-12,04", "-1204\n-1204", "nan"],
    ),
    ("complex_arithmetic", spec_of("-5.0 + 20.0i"), ["-5 + 20i", "-5+20i"], ["-5 - 20i", "5 + 20i", "20i", "-5 + 20"]),
    ("complex_arithmetic", spec_of("10.00i"), ["10i", "0 + 10i"], ["10", "-10i"]),
    ("polynomial_equations", spec_of("-0.04, 0.0"), ["0, -0.04"], ["0", "-0.04, 0, 0", "0.04, 0", "-0.0401, 0"]),
    ("polynomial_multiplication", spec_of("x**2 - 1"), ["-1 + x*x"], ["(x - 1)*(x + 1)", "x**2 + 1", "x^2 - 1"]),
    (
        "simple_integration",
        spec_of("x**2 + C", variable="x", integrand="2*x"),
        ["x**2", "C + x**2"],
        ["x**2 + C*x", "2*x"],
    ),
    (
        "game_of_life",
        spec_of("[[0,1],[1,0]]"),
        ["[[0, 1], [1, 0]]"],
        ["[[0,1],[1,0.0]]", "[[false,1],[1,0]]", "[[0,1],[1,0],[0,0]]"],
    ),
    ("game_of_life_halting", spec_of("False"), ["False"], ["True", "", "No", "false"]),
    ("number_sorting", spec_of("['1.0', '2.5']"), ['["1.0", "2.5"]'], ["['1.5', '2.5']", "[1.0, 2.5]", "1.0, 2.5"]),
    (
        "group_anagrams",
        spec_of('[["ab", "ba"], ["c"]]'),
        ['[["c"], ["ba", "ab"]]'],
        ['[["ab"], ["ba"], ["c"]]', "[1]", "3"],
    ),
    (
        "palindrome_partitioning",
        spec_of('[["a", "a"], ["aa"]]'),
        ['[["aa"], ["a", "a"]]'],
        ['[["aa"], ["aa"], ["a", "a"]]'],
    ),
    (
        "codeio",
        spec_of('{"a": 74.13754231507654000012, "b": [1]}'),
        ['{"b": [1], "a": 74.137542315076540000120}'],
        [
            '{"b": [1], "a": 74.13754231507654000013}',
            '{"a": 74.13754231507654000012, "b": [1.0]}',
            "{}",
            "[1e99999999999]",
        ],
    ),
    ("pool_matrix", spec_of("3.0 5.22"), ["3 5.22"], ["3 5.23", "3", "3 5.22 1"]),
    ("figlet_font", spec_of("ABCDEFGHIJ"), ["ABCDEFGHIJ"], ["ABCDEFGHIJK", "ABCDEFGHI"]),
    ("fraction_simplification", spec_of("$\\frac{3}{4}$"), ["3/4", "\\dfrac{3}{4}"], ["6/8", "0.75", "3/4/1", "-3/4"]),
    ("power_function", spec_of("897303639322.6414"), ["8.97e+11", "897000000000"], ["8.973e+11", "8.97e+10", "9e+11"]),
    (
        "coin_flip",
        spec_of("0.3125", rational={"numerator": 5, "denominator": 16}),
        ["5/16", "10/32", "0.3125"],
        ["0.31", "0.31251", "5/0"],
    ),
    ("prime_factorization", spec_of("2 × 2 × 3"), ["3 × 2 × 2", "2*2*3"], ["4 × 3", "2 × 3", "12", "2 × 2 × 3 ×"]),
    ("time_intervals", spec_of("67 days, 01:04:00"), ["67 days, 01:04:00"], ["67 days", "67 days, 01:04:01"]),
    ("gsm_symbolic", spec_of("288"), ["288", "288.0"], ["288 or 289", "x = 288"]),
    ("mini_sudoku", spec_of("1 2\n2 1"), ["1 2 \n2  1"], ["1 2 2 1", "1 2\n2 2", "1 2\n2 1\n1 2"]),
    (
        "countdown",
        spec_of("4*6 + 1", numbers=[1, 4, 6], target=25),
        ["1 + 6*4", "(1 + 6*4)"],
        ["25", "4*6", "4*6 + 1 + 1 - 1", "5*5"],
    ),
    ("puzzle24", spec_of("4*6*1*1", numbers=[1, 1, 4, 6]), ["6*4*1/1"], ["3*8*1*1", "24", "4*6", "4*6*1**1"]),
    ("palindrome_generation", spec_of("aba", letters=["a", "a", "b"]), ["aba"], ["aab", "bab", "a b a", "ABA"]),
    ("n_queens", spec_of("Q _\n_ _", valid_answers=["Q _\n_ _", "_ Q\n_ _"]), ["_ Q\n_ _"], ["_ _\n_ _", "Q Q\n_ _"]),
    (
        "advanced_geometry",
        spec_of("(4.051, -5.487)"),
        ["4.051, -5.487"],
        ["(4.051, 5.487)", "(-5.487, 4.051)", "4.051"],
    ),
    ("advanced_geometry", spec_of("16.91°"), ["16.91", "16.910°"], ["16.9°", "17°", "16.91 degrees"]),
    (
        "knights_knaves",
        spec_of("Zoe is a knight, and Al is a knave."),
        ["Zoe is a knight, and Al is a knave"],
        ["Zoe is a knave, and Al is a knave."],
    ),
]


@pytest.mark.parametrize(
    ("name", "spec", "right", "wrong"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_checkers_take_right_answers_and_no_others(name: str, spec: Spec, right: list[str], wrong: list[str]) -> None:
    for answer in [spec["answer"], *right]:
        assert status(name, spec, answer) == "ok", answer
    for answer in wrong:
        assert status(name, spec, answer) != "ok", answer


def test_cryptarithm_follows_the_rules_of_the_puzzle() -> None:
    spec = spec_of("A=1,B=2,C=3", words_letters=["A", "B"], result_letters="C", allow_leading_zero=False)
    assert status("cryptarithm", spec, "C=9,A=4,B=5") == "ok"
    for answer in ("A=1,B=2,C=4", "A=1,B=2", "A=1,B=1,C=2", "A=0,B=3,C=3", "A=1,A=1,B=2,C=3", "A=1,B=2,C=3,D=4"):
        assert status("cryptarithm", spec, answer) == "wrong", answer


def test_colouring_needs_every_vertex_and_given_colours() -> None:
    puzzle = {"vertices": [0, 1, 2], "edges": [[0, 1], [1, 2]], "color_options": [1, 2]}
    spec = spec_of('{"0": 1, "1": 2, "2": 1}', puzzle=puzzle)
    assert status("graph_color", spec, '{"2": 2, "1": 1, "0": 2}') == "ok"
    for answer in ('{"0": 1, "1": 1, "2": 2}', '{"0": 1, "1": 2}', '{"0": 1, "1": 3, "2": 1}', '{"0": true}', "[]"):
        assert status("graph_color", spec, answer) != "ok", answer


def test_jugs_pours_water() -> None:
    spec = spec_of('["fill B", "pour B->A"]', puzzle={"jug_capacities": [3, 5], "target": 2})
    assert status("jugs", spec, '["fill B", "pour B->A", "empty A"]') == "ok"  # 5 - 3 = 2 stays in B
    for answer in (
        "[]",
        '["fill A"]',
        '["fill C"]',
        '["pour A->A"]',
        '["fill B", "pour B->A", "empty B"]',
        '["drink A"]',
    ):
        assert status("jugs", spec, answer) != "ok", answer


def test_hanoi_needs_legal_moves_and_no_more_than_the_reference() -> None:
    moves = ["Move disk 1 from Peg 1 to Peg 2", "Move disk 2 from Peg 1 to Peg 3", "Move disk 1 from Peg 2 to Peg 3"]
    spec = spec_of("\n".join(moves), num_disks=2, num_pegs=3, start_peg=1, target_peg=3, solution_length=3)
    assert status("tower_of_hanoi", spec, spec["answer"]) == "ok"
    detour = ["Move disk 1 from Peg 1 to Peg 3", "Move disk 1 from Peg 3 to Peg 2", *moves[1:]]
    large_first = ["Move disk 2 from Peg 1 to Peg 3"]
    for wrong in (detour, large_first, moves[:2], [*moves[:2], "Move disk 1 from Peg 2 to Peg 9"], ["Move it"]):
        assert status("tower_of_hanoi", spec, "\n".join(wrong)) != "ok", wrong


def test_grids_of_sums() -> None:
    kakurasu = spec_of("1 0\n0 1", n_rows=2, n_cols=2, row_sums=[1, 2], col_sums=[1, 2])
    assert status("kakurasu", kakurasu, "1 0\n0 1") == "ok"
    assert {status("kakurasu", kakurasu, wrong) for wrong in ("0 1\n1 0", "1 0", "1 1\n0 1")} == {"wrong"}
    survo = spec_of("1 4 5\n3 2 5\n4 6 10", puzzle=[[1, 0, 5], [0, 2, 5], [4, 6, 10]], candidate_numbers=[3, 4])
    assert status("survo", survo, "1 4 5\n3 2 5\n4 6 10") == "ok"
    for wrong in ("1 3 5\n4 2 5\n4 6 10", "1 4 5\n3 2 5", "2 3 5\n3 2 5\n4 6 10"):
        assert status("survo", survo, wrong) == "wrong", wrong


def test_paths_must_be_shortest_and_stay_on_open_cells() -> None:
    spec = spec_of("down right", matrix=[["*", "X"], ["O", "#"]])
    assert status("shortest_path", spec, "down  right") == "ok"
    for wrong in ("right down", "down up down right", "infeasible", "down", "down-right"):
        assert status("shortest_path", spec, wrong) != "ok", wrong
    walled = spec_of("infeasible", matrix=[["*", "X", "#"]])
    assert (status("shortest_path", walled, "infeasible"), status("shortest_path", walled, "right right")) == (
        "ok",
        "wrong",
    )


def test_lock_presses_must_all_act_and_be_fewest() -> None:
    buttons = [
        {"name": "A", "type": "add", "value": 2, "active_state": "red"},
        {"name": "B", "type": "multiply", "value": 3, "active_state": "any"},
    ]
    facts = {
        "buttons": buttons,
        "initial_value": 1,
        "initial_state": "red",
        "target_value": 9,
        "solution_path": ["A", "B"],
    }
    spec = spec_of("A → B", **facts)
    assert status("quantum_lock", spec, "A→B") == "ok"
    assert status("quantum_lock", spec, "B → B") == "ok"  # 1 * 3 * 3, as short
    for wrong in ("B → A", "A B", "A → B → A", "A → A", "A → Z"):
        assert status("quantum_lock", spec, wrong) != "ok", wrong


def test_far_too_long_answers_are_a_matter_of_form() -> None:
    assert status("chain_sum", spec_of("7"), "7" + " " * 300) == "format"


# Instances


@needs_package
@pytest.mark.slow
def test_gym_tasks_have_natural_wording_only() -> None:
    task = gym_task("chain_sum")
    problem = task.problem(Key(0), level=1, wording="natural")
    assert isinstance(problem.prompt, str)
    assert "\\boxed{}" in problem.prompt
    assert json.loads(json.dumps(problem.spec)) == problem.spec
    with pytest.raises(DataError, match="natural"):
        task.problem(Key(0), level=1)


@needs_package
def test_the_same_equation_in_other_words_is_the_same_problem() -> None:
    task = gym_task("simple_equations")
    one, two = (
        {**spec_of("4", equation="2*x = 8"), "question": q} for q in ("Solve for x: 2*x = 8", "Find x: 2*x = 8")
    )
    assert task.generator.canonical(one) == task.generator.canonical(two)


@needs_package
@pytest.mark.slow
def test_splits_are_drawn_disjoint_whatever_the_keys() -> None:
    task = gym_task("coin_flip")
    drawn = {
        split: {task.problem(Key(0, split, i), level=1, split=split, wording="natural").id for i in range(60)}
        for split in ("train", "valid", "test")
    }
    assert not drawn["train"] & drawn["valid"]
    assert not drawn["train"] & drawn["test"]
    assert not drawn["valid"] & drawn["test"]


@needs_package
@pytest.mark.slow
def test_an_instance_does_not_depend_on_the_process() -> None:
    names = [
        "isomorphic_strings",
        "list_functions",
        "polynomial_multiplication",
        "ransom_note",
        "word_ladder",
        "chain_sum",
    ]
    code = (
        "import sys\nfrom assay.rng import Key, digest\nfrom assay.tasks.gym.task import gym_task\n"
        f"for name in {names!r}:\n"
        "    print(digest([gym_task(name).generator.instance(Key(i).generator(), 1) for i in range(40)]))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


@pytest.mark.slow
@needs_package
def test_drawing_leaves_the_global_random_state_alone() -> None:
    before = random.getstate()
    gym_task("list_functions").generator.instance(Key(0).generator(), 1)
    assert random.getstate() == before


# The audit


def test_wrong_answers_differ_from_the_reference() -> None:
    kinds = dict(wrong_answers(spec_of("12 ab"), "13 ab", unique=True, place=1))
    assert kinds["one character"] == "13 ab"
    assert kinds["foreign character"] == "1¿ ab"
    assert "12 ab" not in kinds.values()
    assert set(dict(wrong_answers(spec_of("12"), "13", unique=False, place=0))) == set(kinds) - {
        "one character",
        "other item",
    }


def assert_clean(report: Audit) -> None:
    assert report.own == report.items, report
    assert report.rejected == report.tried, report.accepted[:3]
    assert report.shared == 0, report


@pytest.mark.slow
@needs_package
def test_the_audit_finds_a_lenient_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    def contains(answer: str, spec: Spec) -> bool:
        return spec["answer"] in answer

    monkeypatch.setitem(RULES, "chain_sum", type(RULES["chain_sum"])("arithmetic", contains))
    report = audit("chain_sum", items=5)
    assert not report.clean
    assert {kind for kind, _, _ in report.accepted} >= {"inside text", "trailing text", "twice"}


@pytest.mark.turns(8)
@needs_package
@pytest.mark.slow
@pytest.mark.parametrize("name", gym_names())
def test_audit_of_every_generator(name: str) -> None:
    report = audit(name, items=200)
    assert_clean(report)
    assert report.distinct >= 100, report
    assert len(report.splits) == 3, report


@pytest.mark.slow
@needs_package
@pytest.mark.parametrize(
    "name", ["arc_1d", "calendar_arithmetic", "chain_sum", "dice", "jugs", "knights_knaves", "survo"]
)
def test_audit_of_some_generators(name: str) -> None:
    assert_clean(audit(name, items=5))
