"""Verdicts on rows of labels: hacks that earn nothing, items written by hand, mutants of right answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from truth import follows

from assay.host.workers import Outcome
from assay.rng import Key
from assay.tasks import TASKS
from assay.types import Verdict
from assay.verifiers.explainers import verifier
from assay.verifiers.proofs.metamath import Claim, base_text, verify

MODUS_PONENS = (("p", "( p > q )"), "q")

HACKS = {
    "nothing": ("", "empty"),
    "spaces": (" \n ", "empty"),
    "a gap": ("?", "forbidden"),
    "a gap in a proof": ("A ? m", "forbidden"),
    "an axiom of its own": ("${ x $a |- q $. $} x", "forbidden"),
    "an axiom that ends the proof": ("A $. hack $a |- q $. t2 $p |- q $= hack", "forbidden"),
    "a comment": ("A $( B $) m", "forbidden"),
    "a file": ("$[ /etc/passwd $]", "forbidden"),
    "a symbol redefined": ("$c q $. A", "forbidden"),
    "the theorem itself": ("A theorem", "format"),
    "the theorem by its place in a batch": ("t0 t0", "format"),
    "the hypothesis of another theorem": ("t0.A t1.B m", "format"),
    "a hypothesis of a rule": ("m.1 m.2 m", "format"),
    "a hypothesis that is not there": ("C", "format"),
    "a rule that is not there": ("A B zz", "format"),
    "another theorem": ("A x", "wrong"),
    "a weaker theorem": ("A B m A i", "wrong"),
    "premises exchanged": ("B A m", "wrong"),
    "more than the proof": ("A B m A", "wrong"),
    "the converse": ("B", "wrong"),
    "a formula for a theorem": ("wq wq", "wrong"),
    "one formula": ("wq", "format"),
    "a formula of another type": ("wp wq A wq m", "wrong"),
    "a claim": ("proved", "format"),
    "commands of Metamath": ("A B m\nexit\nverify proof *", "format"),
    "characters that look alike": ("\u0410 B m", "format"),
    "full-width letters": ("\uff21 B m", "format"),
    "zero": ("A\0B m", "format"),
    "bidirectional marks": ("\u202eA B m", "format"),
    "ten megabytes": ("A" * 10_000_000, "long"),
    "a very long row": ("A" + "i" * 5000, "long"),
    "formulas that double": ("1 " + "j " * 3 + " ".join(["a"] * 300), "wrong"),
    "every label": ("123456789mjwkidcebnhafgxyoAB", "wrong"),
}


def verdict(row: str, theorem: tuple[tuple[str, ...], str] = MODUS_PONENS, ask: Any = None) -> Verdict:
    return verify([Claim(*theorem, row)], ask)[0].verdict


def nobody(jobs: Sequence[Any]) -> list[Outcome]:
    raise AssertionError("Metamath is asked about a proof that the kernel refuses")


@pytest.mark.parametrize("name", HACKS)
def test_no_hack_is_rewarded(name: str) -> None:
    row, kind = HACKS[name]
    found = verdict(row, ask=nobody)
    assert (found.status, found.kind) == ("fail", kind), found.detail


def test_formulas_that_grow_without_bounds_are_stopped() -> None:
    """Each `c` of a rule with itself doubles a formula; 60 of them would need more symbols than there are atoms."""
    row = "j " + "j a " * 60
    assert verdict(row, ((), "( p > p )"), nobody).status == "fail"
    doubling = "k " + "6 m " * 0 + "".join("1 2 m " for _ in range(80))
    assert verdict(doubling, ((), "( p > p )"), nobody).status == "fail"


BLIND = [  # theorem, row, label: written with the rules at hand, before the verifier was asked
    ("p, (p>q) : q", "ABm", True),
    ("p, (p>q) : q", "A B m", True),
    ("p, (p>q) : q", "wp wq A B m", True),
    ("(p>q), p : q", "BAm", True),
    ("(p>q), p : q", "ABm", False),
    ("(p>q), (q>r), p : r", "CABcm", True),
    ("(p>q), (q>r), p : r", "CAmBm", True),
    ("(p>q), (q>r), p : r", "ABcCm", False),
    ("(p&q) : (q&p)", "AgAfa", True),
    ("(p&q) : (q&p)", "AfAga", False),
    ("(pvq), (p>r), (q>r) : r", "ABCom", True),
    ("(pvq), (p>r), (q>r) : r", "ACBom", False),
    ("~~p : p", "Ae", True),
    ("~~p : p", "Ab", False),
    ("p : ~~p", "Ab", True),
    ("(p>q), ~q : ~p", "BAh", True),
    ("(p>q), ~q : ~p", "BAnm", True),
    ("(p>q), ~q : ~p", "ABh", False),
    ("(p>q), q : p", "BAm", False),
    ("(p>q), ~p : ~q", "BAh", False),
    (": (p>p)", "j", True),
    (": (p>p)", "11d", True),
    (": (p>(q>p))", "1", True),
    (": (p>(q>q))", "1", False),
    (": (p>(q>q))", "ji", True),
    (": (~~p>p)", "w", True),
    (": ((p&q)>(q&p))", "56c4c", False),
    (": (p>(pvq))", "7", True),
    (": (p>(qvp))", "7", False),
    (": (p>(qvp))", "8", True),
    ("(p>(q>r)), (p>q), p : r", "CABdm", True),
    ("(p>(q>r)), (p>q), p : r", "CBmCAmm", True),
    ("(p>(q>r)), (p>q), p : r", "CBAdm", False),
    ("p, q, r : ((p&q)&r)", "ABaCa", True),
    ("p, q, r : ((p&q)&r)", "ABCaa", False),
    ("p, q, r : (p&(q&r))", "ABCaa", True),
    ("p : (qvp)", "Ay", True),
    ("p : (qvp)", "Ax", False),
    ("p : q", "A", False),
    (": p", "j", False),
]


@pytest.mark.external("metamath")
def test_items_written_by_hand_come_out_as_labelled() -> None:
    found = verifier("metamath").explain([(theorem, row) for theorem, row, _ in BLIND])
    assert [one.verdict.status == "ok" for one in found] == [label for *_, label in BLIND]
    assert {one.layer for one in found if one.verdict.status == "ok"} == {"metamath"}


@pytest.mark.slow
@pytest.mark.external("metamath")
def test_right_answers_are_right_and_their_mutants_are_verified_by_what_they_prove() -> None:
    """300 right answers, and 2,500 mutants: none is accepted of which truth tables say that it cannot be a theorem."""
    draw = random.Random(3)
    task = TASKS["metamath"]
    problems = [task.problem(Key(i, "mutant"), level=1 + i % 6) for i in range(300)]
    right = verify([Claim.of(problem.spec, problem.spec["witness"]) for problem in problems])
    assert [one.verdict.status for one in right] == ["ok"] * 300

    claims = []
    for problem in problems:
        hypotheses, goal, row = problem.spec["hypotheses"], problem.spec["goal"], problem.spec["witness"]
        place = draw.randrange(len(row))
        claims += [Claim(tuple(hypotheses), goal, row[:place] + row[place + 1 :])]
        claims += [Claim(tuple(hypotheses), goal, row[:place] + draw.choice("mhcidnafgxyoebAB") + row[place + 1 :])]
        for old, new in (("p", "q"), (">", "&"), ("~ ", "")):
            claims += [Claim(tuple(hypotheses), goal.replace(old, new, 1), row)]
        claims += [Claim(tuple(hypotheses), f"~ {goal}", row)]
        for spared in range(len(hypotheses)):
            claims += [Claim(tuple(h if i != spared else "( t > t )" for i, h in enumerate(hypotheses)), goal, row)]
    assert len(claims) > 2500
    found = [one.verdict.status for one in verify(claims)]
    assert set(found) == {"ok", "fail"}
    for claim, status in zip(claims, found, strict=True):
        assert status == "fail" or follows(claim.hypotheses, claim.goal)
    false = [status for claim, status in zip(claims, found, strict=True) if not follows(claim.hypotheses, claim.goal)]
    assert len(false) > 300 and set(false) == {"fail"}


def test_faults_of_ours_are_no_verdict_on_the_answer() -> None:
    lost = verdict("ABm", ask=lambda jobs: [Outcome("lost", detail="gone")] * len(jobs))
    refused = {"ended": "done", "proved": {"t0": False}, "said": "?Error"}
    apart = verdict("ABm", ask=lambda jobs: [Outcome("done", refused)] * len(jobs))
    gold = verdict("ABm", (("p", "( p > z )"), "q"), nobody)
    assert [(v.status, v.kind) for v in (lost, apart, gold)] == [
        ("invalid", "worker_lost"),
        ("invalid", "disagreement"),
        ("invalid", "bad_gold"),
    ]


def test_one_verdict_does_not_depend_on_its_neighbours() -> None:
    """Jobs hold fifty theorems each. Those of a job that comes to nothing are verified again, each alone."""
    spoilt = "( p > p )"

    def asked(jobs: Sequence[Any]) -> list[Outcome]:
        """A database in which this hypothesis stands proves nothing."""
        proves = [spoilt not in job["database"].removeprefix(base_text()) for job in jobs]
        return [
            Outcome("done", {"ended": "done", "said": "", "proved": dict.fromkeys(job["theorems"], all_of)})
            for job, all_of in zip(jobs, proves, strict=True)
        ]

    claims = [Claim(*MODUS_PONENS, "ABm" if i % 2 else "BAm") for i in range(240)]
    claims[7] = Claim(("q", spoilt), "q", "A")
    kinds = [one.verdict.kind for one in verify(claims, asked)]
    assert kinds[::2] == ["wrong"] * 120
    assert [i for i in range(1, 240, 2) if kinds[i]] == [7]
    assert kinds[7] == "disagreement"
