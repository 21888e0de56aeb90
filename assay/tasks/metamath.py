"""Theorems of propositional calculus in Metamath: prove a goal from hypotheses. Many proofs are right.

A theorem is made backwards: the goal is the conclusion of a rule, its premises are conclusions of other rules, and what
is left at the end becomes the hypotheses. So there is a proof, of as many rules as the level says.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.externals.metamath import METAMATH as PROGRAM
from assay.tasks.abilities import OwnBase
from assay.tasks.metamath_posing import PROVING, VARIABLES, posing
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.proofs.completion import Syntax, Term, concluded
from assay.verifiers.proofs.metamath import HYPOTHESES, Claim, base, theorem, verify

RULES = {"m": 4, "h": 4, "c": 4, "i": 4, "d": 4, "n": 4, "a": 4, "f": 2, "g": 2, "x": 4, "y": 4, "o": 4, "e": 1, "b": 3}
"""Rules in proofs of ours, with how often they are drawn where they fit. Proofs may use all others too."""
_TRIES = 10  # at one place
_MOST_HYPOTHESES = 5
_LARGEST = 15  # symbols of a formula
_NEGATED, _COMPOUND = 0.15, 0.35  # shares of random formulas


@dataclass(frozen=True)
class _Node:
    """A formula of a proof, and how it is proved; no rule: it is a hypothesis."""

    said: Term
    rule: str = ""
    premises: tuple[_Node, ...] = ()


@functools.cache
def _syntax() -> Syntax:
    return Syntax.of(base())


@functools.cache
def _shape(rule: str) -> tuple[Term, tuple[Term, ...], tuple[str, ...]]:
    """(the conclusion of a rule, its premises, its variables)."""
    used = base().assertions[rule]
    premises = tuple(_syntax().read(h.symbols[1:]) for h in used.hypotheses if h.kind == "$e")
    variables = tuple(h.symbols[1] for h in used.hypotheses if h.kind == "$f")
    return _syntax().read(used.symbols[1:]), premises, variables


def _matched(pattern: Term, term: Term, found: dict[str, Term]) -> bool:
    """Whether the term is the pattern with formulas for its variables. The formulas are added to `found`."""
    if not isinstance(pattern, tuple):
        return found.setdefault(str(pattern), term) == term
    if not isinstance(term, tuple) or pattern[0] != term[0]:
        return False
    return all(_matched(a, b, found) for a, b in zip(pattern[1:], term[1:], strict=True))


def _put(pattern: Term, found: dict[str, Term]) -> Term:
    if not isinstance(pattern, tuple):
        return found[str(pattern)]
    return (pattern[0], *(_put(part, found) for part in pattern[1:]))


def _formula(generator: np.random.Generator, deep: int = 1) -> Term:
    draw = generator.random()
    if deep and draw < _COMPOUND:
        label = ("wi", "wi", "wa", "wo")[int(generator.integers(4))]
        return (label, _formula(generator, deep - 1), _formula(generator, deep - 1))
    if draw > 1 - _NEGATED:
        return ("wn", _formula(generator, 0))
    return VARIABLES[int(generator.integers(len(VARIABLES)))]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    while True:
        tree = _grown(generator, _formula(generator), level)
        leaves = list(dict.fromkeys(_leaves(tree))) if tree else []
        extra = _formula(generator) if level > 1 else None
        if tree is None or len(leaves) >= _MOST_HYPOTHESES:
            continue
        given = leaves + ([extra] if extra is not None and extra not in (*leaves, tree.said) else [])
        order = [given[i] for i in generator.permutation(len(given))]
        labels = {formula: HYPOTHESES[i] for i, formula in enumerate(order)}
        return {
            "hypotheses": [" ".join(_syntax().write(formula)) for formula in order],
            "goal": " ".join(_syntax().write(tree.said)),
            "witness": "".join(_row(tree, labels)),
        }


def _grown(generator: np.random.Generator, goal: Term, count: int) -> _Node | None:
    """A random proof of the goal with this many rules; None if a formula becomes too large or is its own premise."""
    node: _Node | None = _Node(goal)
    for _ in range(count):
        if node is None:
            return None
        places = _open(node)
        node = _extended(generator, node, places[int(generator.integers(len(places)))])
    return node


def _open(node: _Node, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """The paths to the leaves of a proof."""
    if not node.rule:
        return [path]
    return [place for i, premise in enumerate(node.premises) for place in _open(premise, (*path, i))]


def _extended(
    generator: np.random.Generator, node: _Node, path: tuple[int, ...], above: tuple[Term, ...] = ()
) -> _Node | None:
    """The proof with a random rule at the leaf that the path leads to."""
    above = (*above, node.said)
    if path:
        inner = _extended(generator, node.premises[path[0]], path[1:], above)
        if inner is None:
            return None
        premises = (*node.premises[: path[0]], inner, *node.premises[path[0] + 1 :])
        return _Node(node.said, node.rule, premises)
    for _ in range(_TRIES):
        rule, premises = _premises(generator, node.said)
        if not any(formula in above or len(_syntax().write(formula)) > _LARGEST for formula in premises):
            return _Node(node.said, rule, tuple(map(_Node, premises)))
    return None


def _premises(generator: np.random.Generator, goal: Term) -> tuple[str, tuple[Term, ...]]:
    """A random rule that concludes the goal, and what it concludes it from."""
    fitting = [rule for rule, weight in RULES.items() if _matched(_shape(rule)[0], goal, {}) for _ in range(weight)]
    rule = fitting[int(generator.integers(len(fitting)))]
    conclusion, premises, variables = _shape(rule)
    found: dict[str, Term] = {}
    _matched(conclusion, goal, found)
    for variable in variables:
        if variable not in found:
            found[variable] = _formula(generator)
    return rule, tuple(_put(premise, found) for premise in premises)


def _leaves(node: _Node) -> list[Term]:
    return [formula for premise in node.premises for formula in _leaves(premise)] if node.rule else [node.said]


def _row(node: _Node, labels: dict[Term, str]) -> list[str]:
    if not node.rule:
        return [labels[node.said]]
    return [label for premise in node.premises for label in _row(premise, labels)] + [node.rule]


def _canonical(spec: Spec) -> str:
    return f"{','.join(sorted(spec['hypotheses']))}:{spec['goal']}"


def _tight(formula: str) -> str:
    return formula.replace(" ", "")


def _compact(spec: Spec) -> str:
    return f"H {','.join(map(_tight, spec['hypotheses']))}:{_tight(spec['goal'])}"


@functools.cache
def _rules() -> str:
    lines = []
    for label, rule in base().assertions.items():
        if rule.symbols[0] == "|-":
            premises = " and ".join(" ".join(h.symbols[1:]) for h in rule.hypotheses if h.kind == "$e")
            lines.append(f"{label}  {f'from {premises} ' if premises else ''}infer {' '.join(rule.symbols[1:])}")
    return "\n".join(lines)


def _natural(spec: Spec) -> str:
    given = "\n".join(f"{label}  {formula}" for label, formula in zip(HYPOTHESES, spec["hypotheses"]))
    return (
        "Here are the rules of a Metamath database for propositional calculus, where > is implication, ~ negation, & "
        "conjunction and v disjunction. Each rule has a label of one character; p, q and r stand for any formulas.\n\n"
        f"{_rules()}\n\nThe hypotheses of a theorem have labels too:\n\n{given}\n\nProve {spec['goal']}. A proof is a "
        "row of labels, read from left to right: a hypothesis is put on a stack, and a rule takes its premises from "
        "the stack, in the order in which they are listed above, and puts its conclusion there. At the end the stack "
        "holds the goal alone. Leave out Metamath's steps of syntax. Give the row in \\boxed{...}, for example "
        "\\boxed{ABm}."
    )


def _solve(spec: Spec) -> Solution:
    """The proof, and as steps the conclusions of its rules in order. Of a theorem that was posed no proof is known."""
    if not spec["witness"]:
        return Solution("")
    said = concluded(base(), theorem(spec["hypotheses"], spec["goal"]), spec["witness"])
    steps = ",".join(_tight(" ".join(formula)) for _, formula in said)
    return Solution(spec["witness"], steps, "\n".join(f"By {label}: {' '.join(formula)}" for label, formula in said))


def verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses, of all theorems at once."""
    answers = [find_answer(text, problem.wording) for problem, text in pairs]
    marked = [i for i, answer in enumerate(answers) if answer is not None]
    verdicts = [Verdict.fail("format", "no marked answer")] * len(pairs)
    claims = [Claim.of(pairs[i][0].spec, answers[i] or "") for i in marked]
    for i, one in zip(marked, verify(claims), strict=True):
        verdicts[i] = one.verdict
    return verdicts


def judge_renamed(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: a proof must also prove the theorem with its variables renamed, to both kernels.

    A row of rules says nothing of variables, so it stays as it is; steps of syntax name them, and are renamed too.
    """
    turned = [
        (dataclasses.replace(problem, spec=_renamed(problem.spec)), _RENAMED.sub(_next, text))
        for problem, text in pairs
    ]
    return verify_all(turned)


_RENAMED = re.compile(rf"(?<![\w.-])w[{VARIABLES}](?![\w.-])")  # steps of syntax that name a variable
_NEXT = dict(zip(VARIABLES, VARIABLES[1:] + VARIABLES[0], strict=True))


def _next(step: re.Match[str]) -> str:
    return "w" + _NEXT[step[0][1]]


def _renamed(spec: Spec) -> Spec:
    turn = str.maketrans(_NEXT)
    return {**spec, "hypotheses": [h.translate(turn) for h in spec["hypotheses"]], "goal": spec["goal"].translate(turn)}


def _check(spec: Spec, text: str) -> Verdict:
    return verify([Claim.of(spec, text)])[0].verdict


METAMATH = Task(
    name="metamath",
    domain="proofs",
    summary="Prove a theorem of propositional calculus in Metamath; the level is the number of rules in a proof.",
    generator=Generator(levels=range(1, 7), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(
        check=_check, verify_many=verify_all, second=judge_renamed, externals=("metamath",), seconds=PROGRAM.deadline
    ),
    abilities=(
        OwnBase("proofs of one rule in Metamath", levels=(1,), num_steps=17, context=128, hidden=160),
        posing(_instance),
        PROVING,
    ),
)
