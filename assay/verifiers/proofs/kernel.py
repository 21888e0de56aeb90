"""The kernel: whether a row of labels proves an assertion of a database in Metamath's format.

A proof is read from left to right with a stack of statements. A hypothesis puts itself on the stack; an assertion takes
its hypotheses from the stack, with one substitution for all of them, and puts its own substituted statement there.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from assay.verifiers.proofs.database import Assertion, Database, Symbols

MOST_STEPS = 20_000
MOST_SYMBOLS = 1_000_000  # in all statements of a proof together
Substitution = dict[str, Symbols]


class Refused(ValueError):
    """A proof proves nothing: `kind` is that of the verdict, and the text says which step is wrong, and why."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind = kind


def wrong_theorems(database: Database) -> dict[str, str]:
    """The theorems of a database whose proofs are refused, with the reasons."""
    known: dict[str, Assertion] = {}
    wrong = {}
    for label, assertion in database.assertions.items():
        if assertion.proof is not None:
            try:
                check(known, assertion, assertion.proof)
            except Refused as refusal:
                wrong[label] = str(refusal)
        known[label] = assertion
    return wrong


def check(known: Mapping[str, Assertion], theorem: Assertion, proof: Sequence[str]) -> None:
    """Raises Refused unless the proof, which may use the known assertions, ends with the theorem's statement."""
    if "?" in proof:
        raise Refused("forbidden", "the proof has the step '?', which proves nothing.")
    if proof[:1] in (("(",), ["("]):
        steps = _decompressed(known, theorem, proof)
    else:
        steps = list(proof)
    if len(steps) > MOST_STEPS:
        raise Refused("long", f"the proof has more than {MOST_STEPS} steps.")
    hypotheses = {h.label: h.symbols for h in theorem.active}
    stack: list[Symbols] = []
    saved: list[Symbols] = []
    size = 0
    for number, step in enumerate(steps, 1):
        if isinstance(step, int):
            if step < 0:
                saved.append(_top(stack, number))
                continue
            if step >= len(saved):
                raise Refused("format", f"step {number} recalls what was not saved.")
            stack.append(saved[step])
        elif step in hypotheses:
            stack.append(hypotheses[step])
        elif step in known:
            stack.append(_applied(known[step], stack, theorem, number))
        else:
            raise Refused("format", f"step {number}: no assertion or hypothesis in scope has the label '{step[:40]}'.")
        size += len(stack[-1])
        if size > MOST_SYMBOLS:
            raise Refused("long", f"the statements of the proof have more than {MOST_SYMBOLS} symbols.")
    if len(stack) != 1:
        raise Refused("wrong", f"{len(stack)} statements are left at the end, where one is expected.")
    if stack[0] != theorem.symbols:
        raise Refused("wrong", f"it proves '{_text(stack[0])}', not '{_text(theorem.symbols)}'.")


def _top(stack: list[Symbols], number: int) -> Symbols:
    if not stack:
        raise Refused("format", f"step {number} saves the top of an empty stack.")
    return stack[-1]


def _applied(used: Assertion, stack: list[Symbols], theorem: Assertion, number: int) -> Symbols:
    """The statement that the use of an assertion gives; its hypotheses are taken from the stack."""
    count = len(used.hypotheses)
    if len(stack) < count:
        raise Refused("wrong", f"step {number}: {used.label} needs {count} statements, and {len(stack)} are there.")
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    substitution: Substitution = {}
    for hypothesis, statement in zip(used.hypotheses, taken, strict=True):
        if hypothesis.kind == "$f":
            kind, variable = hypothesis.symbols
            if statement[0] != kind:
                raise Refused("wrong", f"step {number}: '{_text(statement)}' is no {kind} for {used.label}.")
            substitution[variable] = statement[1:]
    for hypothesis, statement in zip(used.hypotheses, taken, strict=True):
        if hypothesis.kind == "$e" and substituted(hypothesis.symbols, substitution) != statement:
            needed = substituted(hypothesis.symbols, substitution)
            raise Refused("wrong", f"step {number}: {used.label} needs '{_text(needed)}', not '{_text(statement)}'.")
    _keep_apart(used, substitution, theorem, number)
    return substituted(used.symbols, substitution)


def substituted(symbols: Symbols, substitution: Substitution) -> Symbols:
    return tuple(itertools.chain.from_iterable(substitution.get(symbol, (symbol,)) for symbol in symbols))


def _keep_apart(used: Assertion, substitution: Substitution, theorem: Assertion, number: int) -> None:
    """Substitutes for disjoint variables share no variable, and the theorem declares all their pairs disjoint too."""
    if not used.disjoint:
        return
    variables = {h.symbols[1] for h in theorem.active if h.kind == "$f"}
    for first, second in used.disjoint:
        for x in variables.intersection(substitution[first]):
            for y in variables.intersection(substitution[second]):
                if x == y or (min(x, y), max(x, y)) not in theorem.apart:
                    raise Refused("wrong", f"step {number}: {used.label} needs '{x}' and '{y}' to be disjoint.")


def _decompressed(known: Mapping[str, Assertion], theorem: Assertion, proof: Sequence[str]) -> list[str | int]:
    """The steps of a compressed proof. -1 saves the top of the stack; a number recalls the entry saved there."""
    end = proof.index(")") if ")" in proof else len(proof)
    mandatory = [h.label for h in theorem.hypotheses]
    labels = [*mandatory, *proof[1:end]]
    if len(set(labels)) < len(labels):
        raise Refused("format", "the list of a compressed proof repeats a label, or has a mandatory hypothesis.")
    steps: list[str | int] = []
    number = 0
    for letter in "".join(proof[end + 1 :]):
        if "U" <= letter <= "Y":
            number = 5 * number + ord(letter) - ord("T")
        elif "A" <= letter <= "T":
            index = 20 * number + ord(letter) - ord("A")
            steps.append(labels[index] if index < len(labels) else index - len(labels))
            number = 0
        elif letter == "Z" and steps and steps[-1] != -1 and number == 0:
            steps.append(-1)
        else:
            raise Refused("format", f"'{letter}' stands where a compressed proof has no such letter.")
        if number > MOST_STEPS or len(steps) > MOST_STEPS:
            raise Refused("long", f"the proof has more than {MOST_STEPS} steps.")
    if number or not steps:
        raise Refused("format", "a compressed proof ends within a number.")
    return steps


def _text(symbols: Symbols) -> str:
    text = " ".join(symbols)
    return text if len(text) <= 120 else f"{text[:120]}..."
