"""TP as a judge: how steps are stated, what a prover says of them, and which answers train."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from preferred import accuracy, beginner
from tiny import ALONE, END, episode, recipe_of, register, run

from assay.curate import RankedPairs
from assay.curate.pairs import SIDES
from assay.methods.judges.tp_judge import proved
from assay.methods.judges.tp_judge.formal import REPAIRS, fate_of_all, fates, statement_of
from assay.methods.judges.tp_judge.proved import (
    AllVerified,
    ProvedSteps,
    Unproved,
    all_verified,
    by_coq,
    claims_in,
    proved_steps,
)
from assay.part import bind
from assay.types import Episode, Row, Verdict
from assay.verifiers.explained import Verified


def exact(statements: Sequence[str]) -> list[bool]:
    """Statements by Python's own arithmetic, in the place of a prover."""
    for old, new in (("<>", "!="), ("/\\", " and "), ("~", "not ")):
        statements = [one.replace(old, new) for one in statements]
    return [eval(one.replace("=", "==").replace("!==", "!=")) for one in statements]


# Statements


@pytest.mark.parametrize(
    ("step", "repairs", "statement"),
    [
        ("11*8=88", 0, "(11*8=88)"),
        ("3-5=-2", 0, "((3+2)=5)"),  # 3 + 2 = 0 + 5
        ("2*(3-4)=-2", 0, "((2*3+2)=2*4)"),
        ("8/2=4", 0, "(8=4*2) /\\ 2<>0"),
        ("12005+1=12006", 0, "(((12*1000+5)+1)=(12*1000+6))"),
        ("3 × 4 = 12", 0, None),
        ("3 × 4 = 12", 1, "(3*4=12)"),
        ("16 eggs * 2 = $32", 1, None),
        ("16 eggs * 2 = $32", 2, "(16*2=32)"),
        ("So 3+4=7.", 2, None),
        ("So 3+4=7.", 3, "((3+4)=7)"),
        ("4/4=1 11", 3, None),
        ("4/4=1 11", 4, "(4=1*4) /\\ 4<>0"),
        ("3+4=7=2*3", 4, None),
        ("3+4=7=2*3", 5, "((3+4)=7) /\\ (7=2*3)"),
    ],
)
def test_statements_by_hand(step: str, repairs: int, statement: str | None) -> None:
    assert statement_of(step, repairs) == statement


@pytest.mark.parametrize(
    "step",
    [
        "",
        "x=3",
        "7=7",
        "2x=6",
        "5.5+1=6.5",
        "2^3=8",
        "2**3=8",
        "x+3=5",
        "3+=5",
        "1+1",
        "9" * 13 + "+1=2",
        "(" * 150 + "=1",
    ],
)
def test_what_says_something_else_is_not_stated(step: str) -> None:
    assert [statement_of(step, repairs) for repairs in range(len(REPAIRS) + 1)] == [None] * 6


NUMBERS = st.integers(0, 2000).map(str)
SUMS = st.recursive(
    NUMBERS,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({''.join(t)})"),
    max_leaves=3,
)


@given(SUMS, SUMS, st.integers(-2, 2), st.booleans())
def test_a_statement_is_true_when_the_equation_is(left: str, right: str, off: int, divided: bool) -> None:
    """Whatever the negative numbers in between, and with a quotient, which is no whole number or has none below."""
    side, divisor = (f"{left}/{right}", Fraction(eval(right))) if divided else (f"{left}+{right}", Fraction(1))
    whole = Fraction(eval(left)) / divisor if divided and divisor else Fraction(eval(f"{left}+{right}"))
    value = math.floor(whole) + off
    true = value == whole and divisor != 0
    assert fates([f"{side}={value}"], exact, repairs=0) == ["verified" if true else "false"]


# Fates


def test_errors_are_read_anew_and_no_statement_is_asked_twice() -> None:
    asked: list[list[str]] = []

    def prove(statements: Sequence[str]) -> list[bool]:
        asked.append(list(statements))
        return exact(statements)

    steps = ["3*4=12", "So 3+4=8.", "x=1", "3*4=12"]
    assert fates(steps, prove, repairs=5) == ["verified", "false", "error", "verified"]
    assert asked == [["(3*4=12)", "~((3*4=12))"], ["((3+4)=8)", "~(((3+4)=8))"]]
    assert fates(steps, exact, repairs=0) == ["verified", "error", "error", "verified"]
    assert fates(["1+1=2"], lambda both: [False] * len(both), repairs=5) == ["error"]
    assert fates(["1+1=2"], lambda both: [True] * len(both), repairs=5) == ["error"], "a prover of everything"


@given(st.lists(st.sampled_from(["1+1=2", "1+1=3", "So 2*2=4.", "2 eggs*2=5 eggs", "x=1"]), max_size=6))
def test_more_repairs_decide_more_and_change_nothing_that_is_decided(steps: list[str]) -> None:
    rounds = [fates(steps, exact, repairs=repairs) for repairs in range(len(REPAIRS) + 1)]
    for fewer, more in zip(rounds, rounds[1:], strict=False):
        assert all(one in ("error", other) for one, other in zip(fewer, more, strict=True))


def test_the_fate_of_a_solution() -> None:
    assert [fate_of_all(s) for s in ([], ["verified"], ["verified", "error"], ["error", "false"])] == [  # type: ignore[list-item]
        "error",
        "verified",
        "error",
        "false",
    ]


# Rewards, and who trains


def answer(text: str, sample: int = 0, group: str = "g") -> Episode:
    made = episode([1, END], sample=sample, group=group, prompt=group)
    problem = dataclasses.replace(made.request.problem, wording="compact")
    return dataclasses.replace(made, request=dataclasses.replace(made.request, problem=problem), text=text)


TRUE, FALSE, MUTE = "3*4=12 2,12+2=14!,<4 4#14", "3*4=12,12+2=15#14", "a=3,3*4=12#12"


def test_rewards_by_hand() -> None:
    assert claims_in(answer(TRUE)) == ["3*4=12 2", "12+2=14!"]
    found = proved_steps([answer(TRUE), answer(FALSE), answer(MUTE), answer("14")], repairs=5, prove=exact)
    assert [(one.value, one.unread) for one in found[:2] if one] == [(1.0, False), (0.0, False)]
    assert all(one is not None and one.unread and math.isnan(one.value) for one in found[2:])
    assert ProvedSteps(repairs=6).refusal() and ProvedSteps().refusal() is None


def test_an_error_of_the_prover_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [Verified(Verdict.invalid("worker_lost"))]
    monkeypatch.setattr("assay.verifiers.proofs.coq.verify", lambda claims: broken * len(claims))
    with pytest.raises(Unproved):
        by_coq(["(1=1)"])
    (found,) = proved_steps([answer(TRUE)], repairs=5)
    assert found is not None and found.invalid == "worker_lost"


def rows_of(**groups: tuple[str, str]) -> list[Row]:
    episodes = [answer(text, i, name) for name, both in groups.items() for i, text in enumerate(both)]
    rewards = proved_steps(episodes, repairs=5, prove=exact)
    return [Row(dataclasses.replace(e, rewards=(r,) if r else ())) for e, r in zip(episodes, rewards, strict=True)]


def test_which_answers_are_imitated_and_which_are_paired() -> None:
    """Both verified: imitated. One verified, one false: a pair. All else: nothing."""
    rows = rows_of(a=(TRUE, TRUE), b=(FALSE, TRUE), c=(FALSE, FALSE), d=(TRUE, MUTE), e=(MUTE, FALSE))
    imitated = [row.group for row in all_verified(rows) if row.in_loss]
    assert imitated == ["a", "a"]
    paired = bind(RankedPairs())(rows)
    assert {(row.group, row.episode.text): float(row.constants[SIDES][0]) for row in paired if row.in_loss} == {
        ("b", FALSE): -1.0,
        ("b", TRUE): 1.0,
    }
    assert bind(AllVerified())(rows)[2].in_loss is False


# With Coq


@pytest.mark.slow
def test_coq_agrees_with_arithmetic() -> None:
    steps = [
        "12005*3=36015",
        "12005*3=36016",
        "3-5=-2",
        "0/4=0",
        "0/0=0",
        "7/2=3",
        "2*(3-4)*(1-6)=10",
        "999999+1=1000000",
    ]
    assert fates(steps, by_coq, repairs=0) == fates(steps, exact, repairs=0)
    assert fates(steps, exact, repairs=0)[0] == "verified"


@pytest.mark.deep
@pytest.mark.parametrize("name", ["tp-judge", "tp-judge-outcome"])
def test_it_learns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right letters are told by a step that is true, and wrong ones by one that is false."""
    register(monkeypatch, ALONE)
    monkeypatch.setattr(proved, "claims_in", lambda episode: ["1+1=2" if episode.right else "1+1=3"])
    monkeypatch.setattr(proved, "by_coq", exact)
    engine = beginner()
    before = accuracy(engine)
    sizes = {"num_prompts": 64, "group_size": 2, "num_steps": 48, "warmup_steps": 2, "learning_rate": 0.005}
    run(recipe_of(name, max_new=4, **sizes), engine)
    assert accuracy(engine) > before + 0.2
