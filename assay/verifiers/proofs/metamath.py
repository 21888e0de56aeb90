"""Verdicts on proofs of propositional calculus: our kernel decides, and Metamath must agree with what it accepts.

A theorem is plain data: hypotheses, which have the labels A, B, C, ..., and a goal. An answer is a row of labels; the
steps of syntax may be left out. Only labels of the database and of the theorem's hypotheses can stand in an answer, so
no answer can state an axiom, another theorem or a symbol.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Verdict
from assay.verifiers.explained import Explained
from assay.verifiers.proofs.completion import completed
from assay.verifiers.proofs.database import Assertion, Database, Hypothesis, Malformed, read
from assay.verifiers.proofs.kernel import Refused, check
from assay.verifiers.unfinished import starved, unfinished

HYPOTHESES = "ABCDEFGH"  # their labels
MOST_CHARACTERS = 20_000
AT_ONCE = 50  # theorems in one job of Metamath
Proved = tuple["Claim", tuple[str, ...]]  # and its whole proof
Ask = Callable[[Sequence[Any]], list[Outcome]]

_LABELS = re.compile(r"[A-Za-z0-9._\s-]+")
_TURNSTILE = "|-"


@dataclass(frozen=True)
class Claim:
    """A theorem, and the row of labels that is said to prove it: `Claim(("p", "( p > q )"), "q", "A B m")`."""

    hypotheses: tuple[str, ...]
    goal: str
    row: str

    @classmethod
    def of(cls, spec: Mapping[str, Any], row: str) -> Claim:
        return cls(tuple(spec["hypotheses"]), spec["goal"], row)


@dataclass(frozen=True)
class Verified:
    """The findings about a claim: `assay verify explain` shows them."""

    verdict: Verdict
    proof: tuple[str, ...] = ()  # the whole proof, with the steps of syntax
    layer: str = "reading"  # the check that decided: reading, completion, kernel, metamath


@functools.cache
def base() -> Database:
    """The rules that answers may use."""
    return read(base_text())


@functools.cache
def base_text() -> str:
    return Path(__file__).with_name("propositional.mm").read_text(encoding="ascii")


def theorem(hypotheses: Sequence[str], goal: str) -> Assertion:
    """The theorem as the kernel knows it. Raises Malformed if the formulas are no formulas of the database."""
    database = base()
    stated = tuple(
        Hypothesis(label, "$e", (_TURNSTILE, *formula.split())) for label, formula in zip(HYPOTHESES, hypotheses)
    )
    symbols = (_TURNSTILE, *goal.split())
    known = {h.symbols[1] for h in database.floating} | database.constants
    used = set(symbols).union(*(h.symbols for h in stated))
    if not used <= known or len(stated) < len(hypotheses):
        raise Malformed(f"'{goal}' from {len(hypotheses)} hypotheses: unknown symbols, or too many hypotheses.")
    floating = tuple(h for h in database.floating if h.symbols[1] in used)
    return Assertion("theorem", symbols, floating + stated, frozenset(), active=database.floating + stated)


def verify(claims: Sequence[Claim], ask: Ask | None = None) -> list[Verified]:
    """Verdicts of both kernels. `ask` sends jobs to Metamath; by default to the worker processes of the external."""
    found = [_by_kernel(claim) for claim in claims]
    accepted = [i for i, one in enumerate(found) if one.verdict.status == "ok"]
    if accepted:
        proofs = [(claims[i], found[i].proof) for i in accepted]
        for i, (outcome, label) in zip(accepted, _verified(proofs, ask or workers_of("metamath").map), strict=True):
            found[i] = _agreed(found[i], outcome, label)
    return found


def _verified(proofs: Sequence[Proved], ask: Ask) -> list[tuple[Outcome, str]]:
    """(the outcome of Metamath, the label to look for) of each proof. Many proofs are put in one database first. A
    proof that is not proved there is tried again alone, since a fault may lie in the proofs beside it.
    """
    parts = [range(i, min(i + AT_ONCE, len(proofs))) for i in range(0, len(proofs), AT_ONCE)]
    together = ask([_job([proofs[i] for i in part]) for part in parts])
    found = {i: (said, f"t{place}") for part, said in zip(parts, together) for place, i in enumerate(part)}
    again = [i for i, said in found.items() if not _is_proved(*said)]
    alone = ask([_job([proofs[i]]) for i in again]) if again else []
    found |= {i: (outcome, "t0") for i, outcome in zip(again, alone, strict=True)}
    return [found[i] for i in range(len(proofs))]


def _is_proved(outcome: Outcome, label: str) -> bool:
    return outcome.status == "done" and outcome.result["proved"].get(label, False)


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Judges pairs of a theorem, written `hypotheses : goal`, and a row of labels."""
    claims = [Claim(*read_theorem(gold), answer) for gold, answer in pairs]
    return [
        Explained(
            one.verdict,
            f"{', '.join(claim.hypotheses)} : {claim.goal}",
            one.verdict.answer,
            "",
            one.layer,
            one.verdict.detail or f"the whole proof is {' '.join(one.proof)}",
        )
        for claim, one in zip(claims, verify(claims), strict=True)
    ]


def read_theorem(text: str) -> tuple[tuple[str, ...], str]:
    """(the hypotheses, the goal) of a theorem such as `p, (p>q) : q`. Every symbol is one character."""
    given, _, goal = text.replace(" ", "").rpartition(":")
    return tuple(" ".join(formula) for formula in given.split(",") if formula), " ".join(goal)


def _by_kernel(claim: Claim) -> Verified:
    if not claim.row.strip():
        return Verified(Verdict.fail("empty"))
    if len(claim.row) > MOST_CHARACTERS:
        return Verified(Verdict.fail("long", f"longer than {MOST_CHARACTERS} characters"))
    if "?" in claim.row or "$" in claim.row:
        return Verified(Verdict.fail("forbidden", "'?' proves nothing, and '$' begins statements of a database"))
    if _LABELS.fullmatch(claim.row) is None or not claim.row.isascii():
        return Verified(Verdict.fail("format", "a proof is a row of labels: letters, digits, '.', '_' and '-'"))
    try:
        stated = theorem(claim.hypotheses, claim.goal)
    except Malformed as error:
        return Verified(Verdict.invalid("bad_gold", str(error)))
    labels = labels_of(claim.row)
    layer, proof = "completion", tuple(labels)
    try:
        if _syntax().isdisjoint(labels):
            proof = completed(base(), stated, labels)
        layer = "kernel"
        check(base().assertions, stated, proof)
    except Refused as refusal:
        return Verified(Verdict.fail(refusal.kind, str(refusal), " ".join(labels)), proof, layer)
    return Verified(Verdict.ok(" ".join(labels)), proof, layer)


def labels_of(row: str) -> list[str]:
    """The labels of a row: words, or single characters if the row is one word that is no label."""
    words = row.split()
    return list(words[0]) if len(words) == 1 and words[0] not in base().assertions else words


@functools.cache
def _syntax() -> frozenset[str]:
    """The labels of steps of syntax: a row that has one of them is a whole proof."""
    kinds = {h.symbols[0] for h in base().floating}
    formulas = {label for label, assertion in base().assertions.items() if assertion.symbols[0] in kinds}
    return frozenset(formulas | {h.label for h in base().floating})


def _job(proved: Sequence[Proved]) -> dict[str, Any]:
    """The database with these theorems and proofs at its end. Labels of hypotheses differ between theorems."""
    text = [base_text()]
    for place, (claim, proof) in enumerate(proved):
        own = {label: f"t{place}.{label}" for label, _ in zip(HYPOTHESES, claim.hypotheses)}
        stated = "".join(f"{own[label]} $e |- {h} $.\n" for label, h in zip(HYPOTHESES, claim.hypotheses))
        steps = "\n".join(own.get(label, label) for label in proof)
        text.append(f"${{ {stated}t{place} $p |- {claim.goal} $=\n{steps} $. $}}\n")
    return {"database": "".join(text), "theorems": [f"t{place}" for place in range(len(proved))]}


def _agreed(found: Verified, outcome: Outcome, label: str) -> Verified:
    if (verdict := unfinished(outcome, "metamath")) is not None:
        return Verified(verdict, found.proof)
    if (ended := outcome.result["ended"]) == "starved":
        return Verified(starved("metamath"), found.proof)
    if ended != "done":
        return Verified(Verdict.fail("undecided", f"metamath exceeds its limit of {ended}"), found.proof)
    if not _is_proved(outcome, label):
        said = "our kernel accepts the proof, and Metamath does not"
        return Verified(Verdict.invalid("disagreement", f"{said}: {outcome.result['said'][-300:]}"), found.proof)
    return Verified(found.verdict, found.proof, "metamath")
