"""The question of a problem, written in JSON: values, a term that equals another, or an invariant of a loop."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.verifiers.smt.terms import (
    MOST_BITS,
    SmtTerm,
    Sort,
    Unreadable,
    Variables,
    both,
    differ,
    negated,
    read,
    substituted,
)

Ask = Literal["values", "equal", "invariant"]
FIELDS: Mapping[str, tuple[str, ...]] = {
    "values": ("terms",),
    "equal": ("term",),
    "invariant": ("init", "guard", "step", "post"),
}
MOST_VARIABLES = 8
_NAME = re.compile(r"[a-z][a-z0-9]{0,7}")
_TAKEN = ("value", "variable", "true", "false")


@dataclass(frozen=True)
class Gold:
    """A problem: the kind of its question, its variables, and the terms that state it.

    Example:
        gold_of('{"ask": "equal", "variables": {"a": "Int"}, "term": "(< a 4)"}').terms["term"]
    """

    text: str
    ask: Ask = "values"
    variables: Variables = field(default_factory=dict)
    terms: Mapping[str, SmtTerm] = field(default_factory=dict)
    step: Mapping[str, SmtTerm] = field(default_factory=dict)  # the values of the variables after a round of the loop
    trouble: str = ""  # why no answer can be verified against it
    kind: str = "bad_gold"  # of the invalid verdict then

    def claims(self, answer: SmtTerm) -> list[tuple[str, SmtTerm]]:
        """The terms that must hold nowhere if the answer is right, each with the fault that it shows if it holds."""
        if self.ask == "equal":
            return [("it has another value", differ(self.terms["term"], answer))]
        init, guard, post = (self.terms[name] for name in ("init", "guard", "post"))
        after = substituted(answer, self.step)
        return [
            ("it does not hold at the beginning", both(init, negated(answer))),
            ("a round of the loop breaks it", both(answer, guard, negated(after))),
            ("it does not imply the goal at the end", both(answer, negated(guard), negated(post))),
        ]

    def demands(self) -> list[tuple[str, SmtTerm]]:
        """Terms of the problem itself that must hold somewhere, each with why no answer can be verified if it does not.

        Z3 decides them. Without them an empty formula would be a right answer. A problem that asks for values has none,
        because values are computed.
        """
        if self.ask == "equal" and self.terms["term"].sort == "Bool":
            term = self.terms["term"]
            return [("the term holds nowhere", term), ("the term holds everywhere", negated(term))]
        if self.ask == "invariant":
            init, guard, post = (self.terms[name] for name in ("init", "guard", "post"))
            nothing = "the goal needs no invariant"
            return [("the loop cannot begin", init), (nothing, both(negated(guard), negated(post)))]
        return []


def gold_text(spec: Mapping[str, Any]) -> str:
    """The gold of a problem as `explain` takes it: the question and the terms that state it, as JSON."""
    asked = ("ask", "variables", "sort", *FIELDS[spec["ask"]])
    return json.dumps({name: spec[name] for name in asked if name in spec}, sort_keys=True)


def gold_of(text: str) -> Gold:
    """The problem of a text; one with `trouble` if it is none."""
    try:
        described = json.loads(text)
        ask: Ask = described["ask"]
        if ask not in FIELDS:
            raise Unreadable(f"asks for {ask!r}, not for {', '.join(FIELDS)}")
        variables = _variables(described["variables"])
        return _read(text, ask, variables, described)
    except Unreadable as error:
        return Gold(text, trouble=str(error))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        expected = "; ".join(f"{one}: {', '.join(names)}" for one, names in FIELDS.items())
        return Gold(text, trouble=f'expected JSON with "ask", "variables" and what is asked ({expected})')


def _read(text: str, ask: Ask, variables: Variables, described: Mapping[str, Any]) -> Gold:
    if ask == "values":
        listed = [read(term, variables, computed=True) for term in described["terms"]]
        if not listed:
            raise Unreadable("no terms")
        return Gold(text, ask, variables, {"all": both(*listed)})
    if ask == "equal":
        return Gold(text, ask, variables, {"term": read(described["term"], variables, described.get("sort", "Bool"))})
    terms = {name: read(described[name], variables) for name in ("init", "guard", "post")}
    step = {name: read(term, variables, variables[name]) for name, term in described["step"].items()}
    return Gold(text, ask, variables, terms, step)


def _variables(described: Mapping[str, Sort]) -> dict[str, Sort]:
    for name, sort in described.items():
        if not _NAME.fullmatch(name) or name in _TAKEN:
            raise Unreadable(f"'{name[:20]}' cannot be a variable: expected up to 8 small letters and digits")
        if sort not in ("Int", "Real", "Bool") and not (type(sort) is int and 0 < sort <= MOST_BITS):
            raise Unreadable(f"'{name}' is {sort!r}, not Int, Real, Bool or a number of bits up to {MOST_BITS}")
    if not 0 < len(described) <= MOST_VARIABLES:
        raise Unreadable(f"no variable, or more than {MOST_VARIABLES}")
    return dict(described)
