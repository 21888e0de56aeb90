"""Proofs of propositional calculus as rows of labels: drawn, changed in a label or cut, with their truth by a kernel.

The kernel here is written from the rules alone: labels take their premises from a stack, as in Metamath. A rule matches
its premises by unification, so that what is left of the formulas is most general. A row proves the theorem if its last
formula can be made the goal. The kernel shares no code with the verifier, and knows no steps of syntax.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from assay.verifiers.audit import Labelled

Formula = Any  # "p" (of the theorem), 3 (unknown), (">", "p", "q"), ("~", "p")
Draw = random.Random

# label -> premises and conclusion; the letters are unknown formulas
RULES: dict[str, tuple[tuple[str, ...], str]] = {
    "1": ((), "(p>(q>p))"), "2": ((), "((p>(q>r))>((p>q)>(p>r)))"), "3": ((), "((~p>~q)>(q>p))"),
    "4": ((), "((p&q)>p)"), "5": ((), "((p&q)>q)"), "6": ((), "(p>(q>(p&q)))"), "7": ((), "(p>(pvq))"),
    "8": ((), "(q>(pvq))"), "9": ((), "((p>r)>((q>r)>((pvq)>r)))"), "m": (("p", "(p>q)"), "q"),
    "i": (("p",), "(q>p)"), "d": (("(p>(q>r))", "(p>q)"), "(p>r)"), "c": (("(p>q)", "(q>r)"), "(p>r)"),
    "j": ((), "(p>p)"), "w": ((), "(~~p>p)"), "k": ((), "(p>~~p)"), "e": (("~~p",), "p"), "b": (("p",), "~~p"),
    "n": (("(p>q)",), "(~q>~p)"), "h": (("~q", "(p>q)"), "~p"), "a": (("p", "q"), "(p&q)"), "f": (("(p&q)",), "p"),
    "g": (("(p&q)",), "q"), "x": (("p",), "(pvq)"), "y": (("q",), "(pvq)"), "o": (("(p>r)", "(q>r)"), "((pvq)>r)"),
}  # fmt: skip
LARGEST = 40  # symbols of a goal


def read(text: str) -> Formula:
    """The formula of a text: `read("(p>~q)")` is (">", "p", ("~", "q"))."""
    return _read(text)[0]


def _read(text: str) -> tuple[Formula, str]:
    if text[0] == "~":
        inner, rest = _read(text[1:])
        return ("~", inner), rest
    if text[0] != "(":
        return text[0], text[1:]
    left, rest = _read(text[1:])
    right, end = _read(rest[1:])
    return (rest[0], left, right), end[1:]


def told(formula: Formula) -> str:
    if not isinstance(formula, tuple):
        return str(formula)
    return f"~{told(formula[1])}" if formula[0] == "~" else f"({told(formula[1])}{formula[0]}{told(formula[2])})"


class Clash(Exception):
    """Two formulas cannot be made one."""


class Kernel:
    """The formulas of a row, with what is known of the unknown ones."""

    def __init__(self, given: Mapping[str, Formula]) -> None:
        self.given = given
        self.known: dict[int, Formula] = {}
        self.fresh = itertools.count()

    def last(self, row: str) -> Formula:
        """What a row proves. Raises Clash if it proves nothing, or more than one formula."""
        stack: list[Formula] = []
        for label in row:
            if label in self.given:
                stack.append(self.given[label])
                continue
            if label not in RULES:
                raise Clash(label)
            names: dict[str, Formula] = {}
            premises, conclusion = RULES[label]
            if len(premises) > len(stack):
                raise Clash("too few premises")
            taken = stack[len(stack) - len(premises) :]
            del stack[len(stack) - len(premises) :]
            for premise, one in zip(premises, taken, strict=True):
                self.join(self.renamed(read(premise), names), one)
            stack.append(self.renamed(read(conclusion), names))
        if len(stack) != 1:
            raise Clash("not one formula")
        return stack[0]

    def renamed(self, formula: Formula, names: dict[str, Formula]) -> Formula:
        if isinstance(formula, tuple):
            return (formula[0], *(self.renamed(one, names) for one in formula[1:]))
        if formula not in names:
            names[formula] = next(self.fresh)
        return names[formula]

    def join(self, one: Formula, other: Formula) -> None:
        one, other = self.seen(one), self.seen(other)
        if one == other:
            return
        if isinstance(one, int):
            self.set(one, other)
        elif isinstance(other, int):
            self.set(other, one)
        elif isinstance(one, tuple) and isinstance(other, tuple) and one[0] == other[0]:
            for a, b in zip(one[1:], other[1:], strict=True):
                self.join(a, b)
        else:
            raise Clash(f"{one} and {other}")

    def set(self, unknown: int, formula: Formula) -> None:
        if unknown in _leaves(self.whole(formula)):
            raise Clash("a formula within itself")
        self.known[unknown] = formula

    def seen(self, formula: Formula) -> Formula:
        while isinstance(formula, int) and formula in self.known:
            formula = self.known[formula]
        return formula

    def whole(self, formula: Formula) -> Formula:
        formula = self.seen(formula)
        return (formula[0], *map(self.whole, formula[1:])) if isinstance(formula, tuple) else formula


def _leaves(formula: Formula) -> list[Formula]:
    return [leaf for one in formula[1:] for leaf in _leaves(one)] if isinstance(formula, tuple) else [formula]


def proves(given: Mapping[str, Formula], row: str, goal: Formula) -> bool:
    kernel = Kernel(given)
    try:
        kernel.join(kernel.last(row), goal)
    except Clash:
        return False
    return True


# --- the set --------------------------------------------------------------------------------------------------


def _formula(d: Draw, depth: int) -> Formula:
    if depth == 0 or d.random() < 0.3:
        return d.choice("pqrs")
    head = d.choice("~>>>&v")
    return (head, *(_formula(d, depth - 1) for _ in range(1 if head == "~" else 2)))


def _drawn(d: Draw) -> tuple[dict[str, Formula], str, Formula] | None:
    """(hypotheses, a row, the goal that it proves). Rules are drawn while they fit; the row ends with one formula."""
    given = {label: _formula(d, 2) for label in "ABC"[: d.randint(1, 3)]}
    row, depth = "", 0
    for _ in range(d.randint(4, 24)):
        fitting = [*given, *given, *(label for label, (premises, _) in RULES.items() if len(premises) <= depth)]
        fitting += [label for label, (premises, _) in RULES.items() if 0 < len(premises) <= depth] * 3
        label = d.choice(fitting)
        try:
            _ends(given, row + label)
        except Clash:
            continue
        row += label
        depth += 1 - len(RULES[label][0]) if label in RULES else 1
    kernel = Kernel(given)
    try:
        goal = kernel.whole(kernel.last(row))
    except Clash:
        return None
    for leaf in set(_leaves(goal)):
        if isinstance(leaf, int):
            kernel.known[leaf] = _formula(d, 1)
    goal = kernel.whole(goal)
    return None if len(told(goal)) > LARGEST or len(row) < 3 else (given, row, goal)


def _ends(given: Mapping[str, Formula], row: str) -> None:
    """Raises Clash if no step of a row can be: closed by conjunctions, it is a row of one formula."""
    depth = sum(1 - len(RULES[label][0]) if label in RULES else 1 for label in row)
    Kernel(given).last(row + "a" * (depth - 1))


def metamath(count: int, seed: int) -> Iterator[Labelled]:
    """Rows that prove a theorem, with a label changed, dropped, doubled or two turned round, and rows that are none."""
    d = random.Random(f"metamath {seed}")
    made = 0
    while made < count:
        found = _drawn(d)
        if found is None:
            continue
        given, row, goal = found
        text = f"{', '.join(map(told, given.values()))} : {told(goal)}"
        at, way = d.randrange(len(row)), made % 5
        if way == 4:
            ways = {
                "a gap": f"{row[:at]}?{row[at + 1 :]}", "a statement": f"{row} $a |- p $.",
                "the goal's name": "theorem",
                "another letter": f"{row[:at]}D{row[at + 1 :]}", "a sign": f"{row[:at]}é{row[at + 1 :]}", "empty": "",
                "a syntax step": " ".join([*row, "wi"]), "the formula": told(goal), "twice": " ".join(row + row),
            }  # fmt: skip
        elif way in (0, 1):
            ways = {"a row": " ".join(row), "without spaces": row, "on lines": "\n".join(row)}
        else:
            ways = {
                "a label changed": f"{row[:at]}{d.choice([*RULES, *given])}{row[at + 1 :]}",
                "a label dropped": f"{row[:at]}{row[at + 1 :]}",
                "a label more": f"{row[:at]}{d.choice([*RULES, *given])}{row[at:]}",
                "labels turned": f"{row[:at]}{row[at : at + 2][::-1]}{row[at + 2 :]}",
                "its beginning": row[:at],
            }
        name = d.choice(list(ways))
        label = proves(given, "".join(ways[name].split()), goal) if way in (2, 3) else way in (0, 1)
        answer = " ".join(ways[name]) if way in (2, 3) else ways[name]
        if way in (2, 3) and ways[name] == row:
            continue
        made += 1
        yield Labelled(text, answer, label, name, origin=("drawn", "drawn", "mutant", "mutant", "trick")[way])
