"""Worlds of foreign programs, by hand and by their contract: proofs in Coq and Metamath, circuits, formulas."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import check_world
from assay.errors import ConfigError
from assay.externals import EXTERNALS, by_name
from assay.rng import Key
from assay.tasks import task
from assay.tasks.equation_memory import best_of
from assay.tasks.worked import turns
from assay.types import Origin, Problem
from assay.worlds import Reply

WORLDS = {"coq-steps": ".]", "metamath-steps": "]", "verilog-turns": ";]", "equation": "]", "equation-memory": "]"}
SPECS: dict[str, Any] = {
    "coq-steps": {"statement": "forall P Q:Prop, (P/\\Q)->Q/\\P", "witness": ["intros P Q.", "tauto."]},
    "metamath-steps": {"hypotheses": ["p", "( p > q )", "( q > r )"], "goal": "r", "witness": "ABmCm"},
    "verilog-turns": {"inputs": 2, "tables": ["0001"], "witnesses": ["a&b"]},
    "equation": {
        "formula": "c0*x+c1",
        "shown": [3.0, 7.0, 11.0, 15.0, 19.0],  # 2x + 1 at 1, 3, 5, 7, 9
        "held": [5.0, 9.0, 13.0, 17.0],
    },
}
SPECS["equation-memory"] = SPECS["equation"]


def cases(*names: str) -> list[Any]:
    """Each world, left out where a program that it needs cannot be used."""
    externals = {name: task(name).checker.externals for name in names or WORLDS}
    return [pytest.param(name, marks=[pytest.mark.external(e) for e in every]) for name, every in externals.items()]


def replies(name: str, *calls: str, spec: Any = None) -> list[Reply]:
    """What is replied to these inputs, each written as a call."""
    world = task(name).world
    assert world is not None
    play = world.start(SPECS[name] if spec is None else spec, Key(0))
    play.open()
    heard = [play.step(world.act("policy", f"[{call}{WORLDS[name]}", waits=True)) for call in calls]
    play.close()
    return heard


def said(reply: Reply) -> str:
    """The words of a reply; "end" where the play is over."""
    return "end" if reply.ask is None else "".join(line.text for line in reply.ask.say)


def posed(name: str) -> Problem:
    return dataclasses.replace(task(name).problem(Key(0), level=1), spec=SPECS[name])


def status(name: str, text: str) -> str:
    return task(name).verify(posed(name), text).status


# By hand


@pytest.mark.slow
@pytest.mark.external("coq")
def test_a_proof_goes_on_from_the_goals_that_are_left_and_ends_with_the_last() -> None:
    heard = replies("coq-steps", "intros P Q H", "destruct H as [a b]. split", "exact a", "exact b", "exact a")
    assert list(map(said, heard[:2])) == ["H:P/\\Q|-Q/\\P", "a:P;b:Q|-Q +1"]
    assert said(heard[2]).startswith("!") and heard[2].failed and 'The term "a" has type "P"' in said(heard[2])
    assert list(map(said, heard[3:])) == ["a:P;b:Q|-P", "end"], "what failed is no part of the proof"
    text = "[intros P Q H.]H:P/\\Q|-Q/\\P[destruct H as [a b]. split.]a:P;b:Q|-Q +1[exact a.]!no[exact b.]|-P[exact a.]"
    assert status("coq-steps", text) == "ok"
    assert status("coq-steps", text.removesuffix("[exact a.]")) == "fail"
    assert status("coq-steps", text.replace("!no", "")) == "fail", "a tactic that fails is no part of a proof"


REFUSED = [  # each would switch off a check of the kernel, or leave the proof
    *("admit", "Admitted", "Unset Guard Checking", "Axiom f : False", "Load x", "Require Import Lia", "Abort"),
    *("Set Printing All", 'Redirect "x" idtac', "Fail admit", "give_up", "exact_no_check I", "Undo", "Restart"),
    *(
        "Qed. Axiom f : False. Theorem t : 1 = 2",
        "Timeout 1 auto",
        "BackTo 1",
        "(* *) admit",
        "intros..",
        "reflexivity..",
    ),
]


@pytest.mark.slow
@pytest.mark.external("coq")
def test_commands_that_are_no_tactics_are_refused_and_leave_nothing_behind() -> None:
    wrong = {"statement": "1 = 2", "witness": ["admit."]}
    heard = replies("coq-steps", *REFUSED, "intros", spec=wrong)
    assert all(said(reply).startswith("!") and reply.failed for reply in heard[:-1]), list(map(said, heard))
    assert said(heard[-1]) == "|-1=2"
    problem = dataclasses.replace(posed("coq-steps"), spec=wrong)
    texts = [f"[{call}.]" for call in REFUSED]
    verify = task("coq-steps").checker.verify_many
    assert verify is not None
    assert [verdict.status for verdict in verify([(problem, text) for text in texts])] == ["fail"] * len(texts)


@pytest.mark.deep
@pytest.mark.external("coq")
def test_a_tactic_without_an_end_is_an_error_of_the_policy_and_the_proof_goes_on() -> None:
    heard = replies("coq-steps", "intros P Q H", "repeat (assert True by exact I)", "destruct H", "split; assumption")
    assert [said(reply) for reply in heard[1:]] == ["!the session ends: time", "H:P;H0:Q|-Q/\\P", "end"]


@pytest.mark.external("coq")
@pytest.mark.parametrize("level", range(1, 7))
def test_the_goals_of_worked_solutions_are_those_of_the_session(level: int) -> None:
    """They are followed in Python where the problem is made, and told by Coq where it is played."""
    for number in range(5):
        problem = task("coq-steps").problem(Key(number), level=level)
        pieces = turns(problem, task("coq-steps"))
        assert "".join(text for text, _ in pieces) == problem.solution
        assert sum(origin == Origin.ENV for _, origin in pieces) == len(pieces) // 2


@pytest.mark.slow
@pytest.mark.external("metamath")
def test_labels_are_put_on_the_stack_and_the_play_ends_with_the_goal() -> None:
    heard = replies("metamath-steps", "AB", "z", "m", "m", "Cm")
    assert list(map(said, heard)) == [
        "p,(p>q)",
        "!step 3: no rule or hypothesis has the label 'z'.",
        "q",
        "!step 4: m needs 2 statements, 1 are there.",
        "end",
    ]
    assert status("metamath-steps", "[AB]p,(p>q)[z]!no[m]q[Cm]") == "ok"
    assert status("metamath-steps", "[AB]p,(p>q)[z]no[m]q[Cm]") == "fail"
    assert status("metamath-steps", "[AB]p,(p>q)[m]q [cut][Cm]") == "ok", "a reply that a limit cut is no call"


@pytest.mark.external("metamath")
def test_formulas_that_grow_without_end_are_an_error_of_the_policy() -> None:
    """Each use of a rule that joins two formulas doubles what it is given, since terms share their parts."""
    doubling = "A" + "".join("b" for _ in range(50))
    heard = replies("metamath-steps", "1" * 500, doubling, "A" * 500, "1" + "1m" * 100, spec=SPECS["metamath-steps"])
    assert said(heard[0]).startswith("!the row has more than") and said(heard[1]) == f"{'~' * 100}p"


@pytest.mark.slow
@pytest.mark.external("iverilog")
@pytest.mark.external("yosys")
def test_a_circuit_may_be_handed_in_again_with_the_first_wrong_output_in_view() -> None:
    heard = replies("verilog-turns", "y=a|b", "y=(a&", "y=a&b")
    assert said(heard[0]) == "!2/4 a=0,b=1:y=1 not y=0"
    assert said(heard[1]).startswith("!compile: ") and "syntax error" in said(heard[1])
    assert said(heard[2]) == "end"
    last = replies("verilog-turns", *["y=a|b"] * 4)
    assert [said(reply) for reply in last[:3]] == ["!2/4 a=0,b=1:y=1 not y=0"] * 3 and said(last[3]) == "end"
    assert status("verilog-turns", "[y=a|b;]!2/4 a=0,b=1:y=1 not y=0[y=a&b;]") == "ok"
    assert status("verilog-turns", "[y=a&b;][y=a|b;]!2/4 a=0,b=1:y=1 not y=0") == "fail", "the last one counts"


@pytest.mark.external("iverilog")
@pytest.mark.parametrize("circuit", ["y=$finish", "y=$random", 'y=1; initial $display("1")', "y=`x", "y=#5 a", "y=x"])
def test_a_circuit_that_would_end_or_feign_the_simulation_is_refused(circuit: str) -> None:
    (heard,) = replies("verilog-turns", circuit)
    assert said(heard).startswith("!") and heard.failed


@pytest.mark.slow
@pytest.mark.external("iverilog")
def test_the_first_wrong_cycle_of_a_circuit_with_a_clock_is_told() -> None:
    problem = task("verilog-turns").problem(Key(3), level=8)
    (heard,) = replies("verilog-turns", "q=q", spec=problem.spec)
    assert "clk=" in said(heard) and " not q=" in said(heard)


@pytest.mark.slow
@pytest.mark.external("scipy")
def test_a_formula_is_fitted_to_the_points_shown_and_scored_at_those_held_back() -> None:
    heard = replies("equation", "c0*x", "c0*x^2+c1", "c0*x+c1", "c0")
    slope = (1 * 3 + 3 * 7 + 5 * 11 + 7 * 15 + 9 * 19) / (1 + 9 + 25 + 49 + 81)  # least squares through the origin
    away = [abs(slope * x - (2 * x + 1)) / (2 * x + 1) for x in range(1, 10)]
    assert said(heard[0]) == f"{100 * sum(away[::2]) / 5:.2g}%" == "8.1%"
    assert said(heard[1]).endswith("%") and said(heard[2]) == "end"
    right = task("equation").verify(posed("equation"), "[c0*x]8.1%[c0*x+c1]")
    assert (right.status, right.answer, right.scores["accuracy"]) == ("ok", "c0*x+c1", 1.0)
    assert (right.scores["error"] or 0.0) < 1e-6
    near = task("equation").verify(posed("equation"), "[c0*x]")
    held = sum(away[1::2]) / 4
    assert near.status == "fail" and near.scores == pytest.approx({"accuracy": -math.log10(held) / 3, "error": held})


@pytest.mark.slow
@pytest.mark.external("scipy")
def test_after_three_tries_the_best_formulas_are_all_that_is_read() -> None:
    """c0*x is 8.1% away. A call that fails is a try, and nothing to remember."""
    heard = replies("equation-memory", "c0*x", "c0", "sin", "c0/x", "c0*x", "c0*x^2", spec=SPECS["equation"])
    errors = [said(reply) for reply in heard]
    assert errors[0] == "8.1%" and errors[2] == f"f 3 7 11 15 19;c0*x 8.1%;c0 {errors[1]}" and heard[2].failed
    asks = [reply.ask for reply in heard]
    assert [ask.context for ask in asks if ask] == ["append", "append", "replace", "append", "append"]
    assert errors[5] == "end", "there are six tries, as without a memory"
    world = task("equation-memory").world
    assert world is not None and asks[2] is not None
    (line,) = world.spoken("natural").lines(asks[2])
    assert line.text.startswith(SPOKEN) and line.text.endswith(f"c0*x 8.1%\nc0 {errors[1]}\nFind a better one.")
    assert status("equation-memory", "[c0*x]8.1%[c0][sin][c0*x+c1]") == "ok", "all contexts count"


SPOKEN = "A curve goes through these points: y(1) = 3, y(3) = 7, y(5) = 11, y(7) = 15, y(9) = 19. Find a formula"


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from([0.1, 0.2, 0.3])), max_size=8))
def test_no_more_than_three_formulas_are_remembered_and_none_that_is_forgotten_is_better(
    tried: list[tuple[str, float]],
) -> None:
    kept = best_of(tried)
    assert len(kept) == min(3, len({formula for formula, _ in tried}))
    worst = max((error for _, error in kept), default=0.0)
    assert [error for _, error in kept] == sorted(min(e for f, e in tried if f == one) for one, _ in kept)
    assert all(error >= worst for formula, error in tried if formula not in dict(kept))


def shape(formula: str) -> str:
    return formula.removeprefix("c0*").removesuffix("+c1")


@pytest.mark.deep
@pytest.mark.external("scipy")
def test_no_formula_fits_the_problems_of_the_first_level() -> None:
    """Of 60 problems one in four at most, however many constants it is allowed; the shape of each fits it."""
    known = task("equation")
    asked = [known.problem(Key(i, "shapes"), level=1) for i in range(60)]
    every = {"c0*x^c1+c2", "c0*sin(c1*x)+c2", "c0*sin(x)+c1*cos(x)+c2", "c0*exp(c1*x)+c2", "c0*sin(x)*x^c1+c2"}
    every |= {"c0*x^c1*log(x)+c2", "c0*log(x+c1)+c2", "c0*sin(sqrt(x))+c1*cos(sqrt(x))+c2", "c0*cos(x)*x^c1+c2"}
    assert known.checker.verify_many is not None
    for formula in sorted(every):
        verdicts = known.checker.verify_many([(problem, f"[{formula}]") for problem in asked])
        assert sum(verdict.status == "ok" for verdict in verdicts) <= 15, formula
    assert len({shape(problem.spec["formula"]) for problem in asked}) > 15


@pytest.mark.external("scipy")
@pytest.mark.parametrize(
    "formula",
    [
        *("9^9^9^9", "exp(exp(exp(x)))", "1/0", "log(0-x)", "(" * 99 + "x" + ")" * 99, "-" * 150 + "x", "c0+c1+c2+c3"),
        *("__import__", "x.real", "x" * 300, "", "x+", "x x", "1e999", "sin x", "y", "c0(x)", "-" * 30 + "x", "x;x"),
    ],
)
def test_a_formula_that_overflows_or_is_none_is_an_error_of_the_policy(formula: str) -> None:
    (heard,) = replies("equation", formula)
    assert said(heard).startswith("!") and heard.failed
    assert status("equation", f"[{formula}]") == "fail"


# The contract


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_it_keeps_the_contract_of_a_world(name: str) -> None:
    """Among the texts that are played are one of a megabyte, unfinished brackets and replies that are imitated."""
    assert check_world(name, plays=2).plays == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_worked_solutions_reach_the_end_through_real_calls_and_are_right(name: str) -> None:
    known = task(name)
    problems = [known.problem(Key(9)("worked", level), level=level) for level in known.generator.levels[::2]]
    world = known.world
    assert world is not None and known.checker.verify_many is not None and known.checker.second is not None
    for problem in problems:
        play = world.start(problem.spec, Key(0))
        play.open()
        heard = [
            play.step(world.act("policy", text, waits=True)) for text, who in turns(problem, known) if who != Origin.ENV
        ]
        assert [reply.end for reply in heard] == [*[""] * (len(heard) - 1), "ended"]
    pairs = [(problem, problem.solution or "") for problem in problems]
    for verify in (known.checker.verify_many, known.checker.second):
        assert [verdict.status for verdict in verify(pairs)] == ["ok"] * len(pairs)


@pytest.mark.parametrize("name", WORLDS)
def test_a_program_that_is_missing_ends_a_run_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = task(name).checker.externals[0]
    missing = dataclasses.replace(EXTERNALS[program], version=lambda: None)
    monkeypatch.setitem(EXTERNALS, program, missing)
    monkeypatch.setattr(by_name, "_shared", {})
    with pytest.raises(ConfigError, match=f"{program} .*is not installed: run"):
        by_name.require([program], f"task '{name}'")
