"""How theorems of the task `metamath` are posed, and what can be said of a proof beside its verdict."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

import numpy as np

from assay.tasks.abilities import Proving
from assay.tasks.pose import Posing
from assay.tasks.task import Spec
from assay.verifiers.proofs.completion import Syntax, Term, stacked
from assay.verifiers.proofs.database import Malformed
from assay.verifiers.proofs.kernel import Refused
from assay.verifiers.proofs.metamath import base, labels_of, read_theorem, theorem

VARIABLES = "pqrst"
MOST_HYPOTHESES = 5
LARGEST = 15  # symbols of a formula that is posed
_CONNECTIVES = re.compile(r"[>&v~]")


@functools.cache
def _syntax() -> Syntax:
    return Syntax.of(base())


def written(spec: Spec) -> str:
    """A theorem as it is posed: `p,(p>q):q`."""
    return f"{','.join(spec['hypotheses'])}:{spec['goal']}".replace(" ", "")


def shown(spec: Spec) -> str:
    """A theorem with its proof, and the rule that another one is to be proved with, where a prompt has them."""
    proof, lemma = spec.get("proof", ""), spec.get("lemma", "")
    return f"{written(spec)}{f'={proof}' if proof else ''}{f'@{lemma}' if lemma else ''}"


def read(text: str, above: Sequence[Spec]) -> Spec | None:
    """The theorem that was written, of whose proof nothing is known; None if it is none, or if it says its goal."""
    hypotheses, goal = read_theorem(text)
    if not goal or len(hypotheses) > MOST_HYPOTHESES or len(set(hypotheses)) < len(hypotheses) or goal in hypotheses:
        return None
    for formula in (*hypotheses, goal):
        symbols = tuple(formula.split())
        try:
            term = _syntax().read(symbols) if len(symbols) <= LARGEST else None
        except Refused:
            return None
        if term is None or not _of_variables(term):
            return None
    return {"hypotheses": list(hypotheses), "goal": goal, "witness": ""}


def _of_variables(term: Term) -> bool:
    if isinstance(term, tuple):
        return all(map(_of_variables, term[1:]))
    return isinstance(term, str) and term in tuple(VARIABLES)


def _level(spec: Spec) -> int:
    """The number of rules in the proof; where none is known, a guess by the size of the theorem."""
    rules = sum(label in base().assertions for label in spec["witness"])
    return max(1, min(6, rules or 1 + len(_CONNECTIVES.findall(written(spec))) // 3))


def posing(instance: Callable[[np.random.Generator, int], Spec]) -> Posing:
    """How theorems are posed, with `instance` as what draws theorems of ours."""
    return Posing(
        seed={"hypotheses": ["p", "( p > q )"], "goal": "q", "witness": "ABm"},
        shown=1,
        compact=lambda above: f"T {' '.join(map(shown, above))}",
        natural=lambda above: (
            "Theorems of propositional calculus are written HYPOTHESIS,HYPOTHESIS:GOAL, where > is implication, ~ "
            "negation, & conjunction and v disjunction, the variables are p, q, r, s and t, and every formula of two "
            "parts stands in brackets. Behind = stands a proof, and behind @ the rule that a proof should use. Here "
            "are theorems:\n\n" + "\n".join(map(shown, above)) + "\n\nWrite another theorem that is not easy to "
            "prove, made of what these say, as \\boxed{HYPOTHESIS,HYPOTHESIS:GOAL}."
        ),
        write=written,
        read=read,
        level=_level,
        example=lambda generator, level, above: instance(generator, level),
    )


def lemmas(spec: Spec, answer: str) -> tuple[str, ...]:
    """The rules that a row of labels uses."""
    return tuple(dict.fromkeys(label for label in labels_of(answer) if label in base().assertions))


def proves_else(spec: Spec, answer: str) -> bool:
    """Whether a row of labels proves one formula from the hypotheses, and another one than the goal."""
    try:
        stack = stacked(base(), theorem(spec["hypotheses"], spec["goal"]), labels_of(answer))
    except (Refused, Malformed):
        return False
    return len(stack) == 1 and stack[0] != tuple(spec["goal"].split())


PROVING = Proving(lemmas=lemmas, proves_else=proves_else)
