"""Rows of labels without the steps of syntax, completed to whole proofs.

A person who writes a proof names rules and hypotheses. The formulas with which the rules are used follow from the
theorem; here they are found by unification (condensed detachment, C. A. Meredith). Nothing has to be trusted in this
module: the kernel checks the whole proof that comes of it.

Formulas are those of propositional calculus: every axiom of syntax has the form `( x op y )` or `op x`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.verifiers.proofs.database import Assertion, Database, Symbols
from assay.verifiers.proofs.kernel import MOST_STEPS, Refused

MOST_LABELS = 400  # in a row that is completed
MOST_SHOWN = 1000  # symbols of a formula that is shown
DEEPEST = 200  # of a formula
Term = str | int | tuple[Any, ...]
"""A variable of the theorem, the number of an unknown formula, or a syntax axiom's label with its arguments."""


@dataclass(frozen=True)
class Syntax:
    """How formulas are written: `Syntax.of(database).read(("(", "p", ">", "q", ")"))` is ("wi", "p", "q")."""

    kind: str  # the type of formulas
    prefix: dict[str, str]  # symbol -> label
    infix: dict[str, str]

    @classmethod
    def of(cls, database: Database) -> Syntax:
        kinds = {h.symbols[0] for h in database.floating}
        prefix, infix = {}, {}
        for label, axiom in database.assertions.items():
            match axiom.symbols if axiom.proof is None and axiom.symbols[0] in kinds else ():
                case (_, "(", _, operator, _, ")"):
                    infix[operator] = label
                case (_, operator, _):
                    prefix[operator] = label
        return cls(next(iter(kinds)), prefix, infix)

    def read(self, symbols: Symbols, known: dict[str, Term] | None = None) -> Term:
        """The term that the symbols after a type say. Raises Refused."""
        term, rest = self._read(symbols, known or {}, 0)
        if rest:
            raise Refused("format", f"'{' '.join(symbols)[:80]}' is no formula.")
        return term

    def _read(self, symbols: Symbols, known: dict[str, Term], depth: int) -> tuple[Term, Symbols]:
        if not symbols or depth > DEEPEST:
            raise Refused("format", "a formula ends too early, or is nested too deeply.")
        first, rest = symbols[0], symbols[1:]
        if first in self.prefix:
            inner, rest = self._read(rest, known, depth + 1)
            return (self.prefix[first], inner), rest
        if first != "(":
            return known.get(first, first), rest
        left, rest = self._read(rest, known, depth + 1)
        if not rest or rest[0] not in self.infix:
            raise Refused("format", "a formula lacks an operator.")
        right, after = self._read(rest[1:], known, depth + 1)
        if after[:1] != (")",):
            raise Refused("format", "a formula lacks its ')'.")
        return (self.infix[rest[0]], left, right), after[1:]

    def write(self, term: Term) -> Symbols:
        """The symbols of a term: `("wn", "p")` is `("~", "p")`."""
        if not isinstance(term, tuple):
            return (str(term),)
        operator = next(symbol for symbol, label in (self.prefix | self.infix).items() if label == term[0])
        if operator in self.prefix:
            return (operator, *self.write(term[1]))
        return ("(", *self.write(term[1]), operator, *self.write(term[2]), ")")


@dataclass(frozen=True)
class _Step:
    """A use of an assertion: the terms for its variables, and the steps that its hypotheses came from."""

    label: str
    variables: tuple[Term, ...] = ()
    children: tuple[_Step, ...] = ()
    said: Term = ""
    rule: bool = False  # not a hypothesis


def completed(database: Database, theorem: Assertion, row: Sequence[str]) -> tuple[str, ...]:
    """The proof with all steps of syntax that the row leaves out. Raises Refused if no formulas make it a proof."""
    step, unknown = _solved(database, theorem, row)
    return _written(step, unknown, _names(database))


def concluded(database: Database, theorem: Assertion, row: Sequence[str]) -> list[tuple[str, Symbols]]:
    """Each rule of a row that is a proof, with the formula that it concludes, in their order. Raises Refused."""
    step, unknown = _solved(database, theorem, row)
    default = next(iter(_names(database)))
    syntax = Syntax.of(database)
    found: list[tuple[str, Symbols]] = []
    waiting = [step]
    while waiting:
        step = waiting.pop()
        if step.rule:
            found.append((step.label, syntax.write(_filled(step.said, unknown, default))))
        waiting += step.children
    return found[::-1]


def _names(database: Database) -> dict[str, str]:
    """Variable -> the label of its hypothesis."""
    return {h.symbols[1]: h.label for h in database.floating}


def stacked(database: Database, theorem: Assertion, row: Sequence[str]) -> list[Symbols]:
    """The formulas on the stack behind a row that need not be whole; `?` stands for a formula that nothing decides yet.
    Raises Refused, for formulas too that have more than `MOST_SHOWN` symbols.

    stacked(base(), theorem(["p", "( p > q )"], "q"), "AB")  # [("p",), ("(", "p", ">", "q", ")")]
    """
    stack, unknown, syntax = _run(database, theorem, row)
    return [_shown(step.said, unknown, syntax) for step in stack]


def _shown(term: Term, unknown: dict[int, Term], syntax: Syntax) -> Symbols:
    """The symbols of a term. Terms share their parts, so that a short row may say an endless formula."""
    prefix, infix = ({label: symbol for symbol, label in fixes.items()} for fixes in (syntax.prefix, syntax.infix))
    symbols: list[str] = []
    waiting: list[tuple[Term, bool]] = [(term, True)]  # and whether it is a term, and no symbol
    while waiting:
        item, is_term = waiting.pop()
        item = _bound(item, unknown) if is_term else item
        if not isinstance(item, tuple):
            symbols.append("?" if isinstance(item, int) else item)
        elif item[0] in prefix:
            waiting += [(item[1], True), (prefix[item[0]], False)]
        else:
            waiting += [(")", False), (item[2], True), (infix[item[0]], False), (item[1], True), ("(", False)]
        if len(symbols) + len(waiting) > MOST_SHOWN:
            raise Refused("long", f"a formula on the stack has more than {MOST_SHOWN} symbols.")
    return tuple(symbols)


def _solved(database: Database, theorem: Assertion, row: Sequence[str]) -> tuple[_Step, dict[int, Term]]:
    """The last step of a row, and the formulas that were unknown in it. Raises Refused."""
    stack, unknown, syntax = _run(database, theorem, row)
    if len(stack) != 1:
        raise Refused("wrong", f"{len(stack)} statements are left at the end, where one is expected.")
    if not unify(stack[0].said, syntax.read(theorem.symbols[1:]), unknown):
        raise Refused("wrong", f"it does not prove '{' '.join(theorem.symbols)}'.")
    return stack[0], unknown


def _run(database: Database, theorem: Assertion, row: Sequence[str]) -> tuple[list[_Step], dict[int, Term], Syntax]:
    """(the stack behind a row, the formulas that were unknown in it, how formulas are written). Raises Refused."""
    if len(row) > MOST_LABELS:
        raise Refused("long", f"the row has more than {MOST_LABELS} labels.")
    syntax = Syntax.of(database)
    given = {h.label: h.symbols for h in theorem.active if h.kind == "$e"}
    unknown: dict[int, Term] = {}
    stack: list[_Step] = []
    count = 0
    for number, label in enumerate(row, 1):
        if label in given:
            stack.append(_Step(label, said=syntax.read(given[label][1:])))
            continue
        used = database.assertions.get(label)
        if used is None or used.symbols[0] == syntax.kind:
            raise Refused("format", f"step {number}: no rule or hypothesis has the label '{label[:40]}'.")
        step, count = _used(used, stack, syntax, unknown, count, number)
        stack.append(step)
    return stack, unknown, syntax


def _used(
    used: Assertion, stack: list[_Step], syntax: Syntax, unknown: dict[int, Term], count: int, number: int
) -> tuple[_Step, int]:
    variables = [h.symbols[1] for h in used.hypotheses if h.kind == "$f"]
    fresh: dict[str, Term] = {variable: count + i for i, variable in enumerate(variables)}
    needed = [h for h in used.hypotheses if h.kind == "$e"]
    if len(stack) < len(needed):
        raise Refused("wrong", f"step {number}: {used.label} needs {len(needed)} statements, {len(stack)} are there.")
    children = tuple(stack[len(stack) - len(needed) :])
    del stack[len(stack) - len(needed) :]
    for hypothesis, child in zip(needed, children, strict=True):
        if not unify(syntax.read(hypothesis.symbols[1:], fresh), child.said, unknown):
            raise Refused("wrong", f"step {number}: {used.label} does not fit what stands before it.")
    said = syntax.read(used.symbols[1:], fresh)
    return _Step(used.label, tuple(fresh.values()), children, said, True), count + len(variables)


def unify(one: Term, other: Term, unknown: dict[int, Term]) -> bool:
    """Makes two terms equal by binding unknown formulas; False if no formulas do."""
    pairs = [(one, other)]
    budget = MOST_STEPS
    while pairs:
        a, b = (_bound(term, unknown) for term in pairs.pop())
        budget -= 1
        if budget < 0:
            raise Refused("long", "the formulas of the proof become too large.")
        if a == b:
            continue
        if isinstance(b, int):
            a, b = b, a
        if isinstance(a, int):
            if _occurs(a, b, unknown):
                return False
            unknown[a] = b
        elif isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0]:
            pairs += zip(a[1:], b[1:], strict=True)
        else:
            return False
    return True


def _bound(term: Term, unknown: dict[int, Term]) -> Term:
    while isinstance(term, int) and term in unknown:
        term = unknown[term]
    return term


def _filled(term: Term, unknown: dict[int, Term], default: str) -> Term:
    term = _bound(term, unknown)
    if isinstance(term, tuple):
        return (term[0], *(_filled(part, unknown, default) for part in term[1:]))
    return default if isinstance(term, int) else term


def _occurs(number: int, term: Term, unknown: dict[int, Term]) -> bool:
    waiting, seen = [term], set()
    while waiting:
        term = _bound(waiting.pop(), unknown)
        if term == number:
            return True
        if isinstance(term, tuple) and id(term) not in seen:
            seen.add(id(term))
            waiting += term[1:]
    return False


def _written(step: _Step, unknown: dict[int, Term], names: dict[str, str]) -> tuple[str, ...]:
    """The labels of the whole proof: for each step the formulas, then its hypotheses, then its label.

    An unknown formula that nothing decides may be any formula, so it becomes the first variable.
    """
    whole: list[str] = []
    default = next(iter(names))
    waiting: list[_Step | Term] = [step]
    while waiting:  # written from its end
        item = waiting.pop()
        if isinstance(item, _Step):
            whole.append(item.label)
            waiting += [*item.variables, *item.children]
        else:
            item = _bound(item, unknown)
            if isinstance(item, tuple):
                whole.append(item[0])
                waiting += item[1:]
            else:
                whole.append(names[default if isinstance(item, int) else item])
        if len(whole) > MOST_STEPS:
            raise Refused("long", f"the proof has more than {MOST_STEPS} steps.")
    return tuple(whole[::-1])
