"""The verifiers that `assay verify` can use, by name, each with the meaning of its reference."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import unknown
from assay.verifiers.explained import Explained

Explain = Callable[[Sequence[tuple[str, str]]], list[Explained]]


@dataclass(frozen=True)
class Verifier:
    """A verifier of pairs of a reference and an answer, both as text.

    Example:
        verifier("metamath").explain([("p, (p>q) : q", "A B m")])[0].verdict.status  # "ok"
    """

    name: str
    reference: str  # what the reference says, and how it is written
    function: str  # `module:function` of type `Explain`

    @property
    def explain(self) -> Explain:
        module, _, name = self.function.partition(":")
        found: Any = getattr(importlib.import_module(module), name)
        return found


VERIFIERS: dict[str, Verifier] = {
    one.name: one
    for one in (
        Verifier("mathematics", "the right answer: 1/2", "assay.verifiers.mathematics.against_gold:explain"),
        Verifier(
            "metamath",
            "a theorem of propositional calculus, hypotheses : goal, as in 'p, (p>q) : q'",
            "assay.verifiers.proofs.metamath:explain",
        ),
        Verifier(
            "verilog",
            "the text of a module 'top' that the answer must equal for all inputs",
            "assay.verifiers.circuits.equal_circuits:explain",
        ),
        Verifier(
            "optimisation",
            "a linear program as the task writes it, as in 'max 3a+2b;a+b<=4;a<=3'",
            "assay.verifiers.optimisation.equal_programs:explain",
        ),
        Verifier(
            "sql",
            """tables, listed or as SQL that makes them, and a query as JSON, {"tables": ..., "query": ...}""",
            "assay.verifiers.sql.by_execution:explain",
        ),
        Verifier(
            "smt",
            """what is asked as JSON, {"ask": "equal", "variables": {"a": "Int"}, "term": "(< a 4)"}""",
            "assay.verifiers.smt.terms_and_values:explain",
        ),
        Verifier(
            "programs",
            "lines of asserts, or a JSON object of tests",
            "assay.verifiers.programs.explained:explain",
        ),
        Verifier(
            "calls",
            "calls of tools, as in 'wake(at=7);mail(to=bob)', a JSON list, or an object with calls, ordered and tools",
            "assay.verifiers.calls:explain",
        ),
        Verifier(
            "patches",
            """files as JSON, {"before": {path: text}, "after": {path: text}}""",
            "assay.verifiers.patches:explain",
        ),
        Verifier(
            "repairs",
            """two programs as JSON, {"wrong": ["a=x+1"], "right": ["a=x+2"]}""",
            "assay.verifiers.repairs:explain",
        ),
        Verifier("constraints", """rules as JSON, [["words-at-most", 3]]""", "assay.verifiers.instructions:explain"),
        Verifier("formats", "the name of a format: natural, opened, steps or bare", "assay.verifiers.formats:explain"),
        Verifier("coq", "a statement in Coq: 'forall P : Prop, P -> P'", "assay.verifiers.proofs.coq:explain"),
    )
}


def verifier(name: str) -> Verifier:
    """The verifier of this name."""
    if name not in VERIFIERS:
        raise unknown("verifier", name, VERIFIERS, "assay verify --help")
    return VERIFIERS[name]
