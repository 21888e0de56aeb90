"""Reads databases in Metamath's format: statements, scopes, hypotheses and disjoint variables. Includes are refused.

The rules are those of chapter 4 of the Metamath book. What a database says about itself is checked here; whether its
proofs are right is asked of the kernel.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Symbols = tuple[str, ...]
Pair = tuple[str, str]

_LABEL = re.compile(r"[A-Za-z0-9._-]+")
_SYMBOL = re.compile(r"[!-#%-~]+")
_ENDS = {"$c": "$.", "$v": "$.", "$d": "$.", "$f": "$.", "$e": "$.", "$a": "$.", "$p": "$="}


class Malformed(ValueError):
    """The text is no database. The message says what is wrong, and at which statement."""


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis in scope: `Hypothesis("wp", "$f", ("wff", "p"))`."""

    label: str
    kind: Literal["$f", "$e"]
    symbols: Symbols


@dataclass(frozen=True)
class Assertion:
    """An axiom or a theorem, with all that the use of it demands and all that its proof may use.

    Example:
        Assertion("mp", Symbols("|- q".split()), (wp, wq, minor, major), frozenset())
    """

    label: str
    symbols: Symbols
    hypotheses: tuple[Hypothesis, ...]  # a step with this assertion takes these from the stack, in this order
    disjoint: frozenset[Pair]  # pairs of its variables, sorted, whose substitutes share no variable
    proof: tuple[str, ...] | None = None  # the tokens of a theorem's proof; None: an axiom
    active: tuple[Hypothesis, ...] = ()  # all hypotheses that the proof may use
    apart: frozenset[Pair] = frozenset()  # all pairs of variables that the proof may take for disjoint


@dataclass
class Database:
    """The assertions of a database in their order, and its symbols.

    Example:
        read("$c |- ok $.  yes $a |- ok $.").assertions["yes"].symbols  # ("|-", "ok")
    """

    constants: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    assertions: dict[str, Assertion] = field(default_factory=dict)
    floating: tuple[Hypothesis, ...] = ()  # the hypotheses in scope at the end


@dataclass
class _Scope:
    variables: set[str] = field(default_factory=set)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    disjoint: set[Pair] = field(default_factory=set)


def read(text: str) -> Database:
    """The database that the text says. Raises Malformed."""
    return _Reader(text).read()


def pairs_of(variables: Symbols | list[str]) -> set[Pair]:
    return {tuple(sorted(pair)) for pair in itertools.combinations(variables, 2)}  # type: ignore[misc]


def _tokens(text: str) -> Iterator[str]:
    """The tokens outside comments."""
    words = iter(text.split())
    for word in words:
        if word == "$(":
            for inside in words:
                if inside == "$)":
                    break
                if "$(" in inside or "$)" in inside:
                    raise Malformed("a comment holds '$(' or '$)'.")
            else:
                raise Malformed("a comment does not end.")
        elif word == "$[":
            raise Malformed("a file is included: databases are read as one text.")
        else:
            yield word


class _Reader:
    """The state of reading: the scopes that are open, and all labels that were given."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.found = Database()
        self.scopes = [_Scope()]
        self.labels: set[str] = set()
        self.types: dict[str, str] = {}  # of variables, over the whole database

    def read(self) -> Database:
        label = None
        for token in self.tokens:
            if token in ("${", "$}"):
                self._bracket(token)
            elif token in ("$c", "$v", "$d"):
                if label:
                    raise Malformed(f"the label '{label}' stands before {token}, which has none.")
                self._declare(token, self._upto(_ENDS[token]))
            elif token in _ENDS:
                if not label:
                    raise Malformed(f"{token} has no label.")
                self._state(label, token, self._upto(_ENDS[token]))
                label = None
                continue
            elif label:
                raise Malformed(f"'{token}' follows the label '{label}', where a kind of statement is expected.")
            else:
                label = self._new_label(token)
        if label or len(self.scopes) > 1:
            raise Malformed(f"the text ends within a {'statement' if label else 'scope'}.")
        self.found.floating = tuple(h for h in self.scopes[0].hypotheses if h.kind == "$f")
        return self.found

    def _bracket(self, token: str) -> None:
        if token == "${":
            self.scopes.append(_Scope())
        elif len(self.scopes) == 1:
            raise Malformed("'$}' closes no scope.")
        else:
            self.scopes.pop()

    def _upto(self, end: str) -> Symbols:
        found = []
        for token in self.tokens:
            if token == end:
                return tuple(found)
            if end == "$." and token.startswith("$"):
                raise Malformed(f"'{token}' stands within a statement, before its '$.'.")
            found.append(token)
        raise Malformed(f"a statement has no '{end}'.")

    def _new_label(self, token: str) -> str:
        if _LABEL.fullmatch(token) is None:
            raise Malformed(f"'{token[:40]}' is no label.")
        if token in self.labels or token in self.found.constants | self.found.variables:
            raise Malformed(f"the label '{token}' is taken.")
        self.labels.add(token)
        return token

    def _declare(self, kind: str, symbols: Symbols) -> None:
        active = self._variables()
        if kind == "$d":
            if len(symbols) < 2 or len(set(symbols)) < len(symbols) or not set(symbols) <= active:
                raise Malformed(f"$d {' '.join(symbols)} names no two different variables in scope.")
            self.scopes[-1].disjoint |= pairs_of(symbols)
            return
        for index, symbol in enumerate(symbols):
            taken = symbol in self.found.constants | active | self.labels | set(symbols[:index])
            if _SYMBOL.fullmatch(symbol) is None or taken or (kind == "$c" and symbol in self.found.variables):
                raise Malformed(f"{kind} {symbol}: this is no new symbol.")
        if kind == "$v":
            self.scopes[-1].variables |= set(symbols)
            self.found.variables |= set(symbols)
        elif len(self.scopes) > 1:
            raise Malformed("constants are declared outside scopes.")
        else:
            self.found.constants |= set(symbols)

    def _state(self, label: str, kind: str, symbols: Symbols) -> None:
        if not symbols or symbols[0] not in self.found.constants:
            raise Malformed(f"{label}: a statement begins with a constant.")
        typed = {h.symbols[1] for h in self._hypotheses() if h.kind == "$f"}
        if kind == "$f":
            self._float(label, symbols, typed)
            return
        for symbol in symbols[1:]:
            if symbol not in self.found.constants and symbol not in typed:
                raise Malformed(f"{label}: '{symbol}' is neither a constant nor a variable with a type in scope.")
        if kind == "$e":
            self.scopes[-1].hypotheses.append(Hypothesis(label, "$e", symbols))
        else:
            proof = self._upto("$.") if kind == "$p" else None
            self.found.assertions[label] = self.assertion(label, symbols, proof)

    def _float(self, label: str, symbols: Symbols, typed: set[str]) -> None:
        if len(symbols) != 2 or symbols[1] not in self._variables():
            raise Malformed(f"{label}: $f needs a type and a variable in scope.")
        if symbols[1] in typed or self.types.setdefault(symbols[1], symbols[0]) != symbols[0]:
            raise Malformed(f"{label}: the variable '{symbols[1]}' has a type already.")
        self.scopes[-1].hypotheses.append(Hypothesis(label, "$f", (symbols[0], symbols[1])))

    def _variables(self) -> set[str]:
        return set().union(*(scope.variables for scope in self.scopes))

    def _hypotheses(self) -> list[Hypothesis]:
        return [hypothesis for scope in self.scopes for hypothesis in scope.hypotheses]

    def assertion(self, label: str, symbols: Symbols, proof: Symbols | None) -> Assertion:
        """The assertion with its mandatory hypotheses: all $e in scope, and the $f of each variable that occurs."""
        active = tuple(self._hypotheses())
        used = set(symbols).union(*(h.symbols for h in active if h.kind == "$e"))
        mandatory = tuple(h for h in active if h.kind == "$e" or h.symbols[1] in used)
        apart = frozenset(pair for scope in self.scopes for pair in scope.disjoint)
        disjoint = frozenset(pair for pair in apart if set(pair) <= used)
        return Assertion(label, symbols, mandatory, disjoint, proof, active, apart)
