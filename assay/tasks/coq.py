"""Small theorems in Coq: propositional logic, and equations of natural numbers. Many proofs are right.

Propositions are random formulas for which a small search finds a proof; the level follows the number of its tactics.
Equations of numbers ask for a number that solves them, which is shown by computation or by induction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.externals.coq import SECONDS
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.proofs.coq import Claim, fenced, verify

Formula = str | tuple[str, "Formula", "Formula"]
Given = tuple[tuple[str, Formula], ...]  # hypotheses: (name, formula)

_ATOMS = "PQR"
_EVERYWHERE = 0b11111111
_NAMES = "abcdefghijklmnop"
_LENGTHS = {1: (2, 3), 2: (4, 4), 3: (5, 6), 4: (7, 8)}  # level -> least and most tactics of a proof
_CONNECTIVES = {1: (1, 3), 2: (2, 3), 3: (3, 4), 4: (3, 5)}  # level -> least and most connectives of a formula
_INDUCE = ["induction n.", "reflexivity.", "simpl.", "simpl in IHn.", "rewrite IHn.", "reflexivity."]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    if level > len(_LENGTHS):
        return _equation(generator, by_induction=level == 6)
    least, most = _CONNECTIVES[level]
    shortest, longest = _LENGTHS[level]
    while True:
        formula = _formula(generator, int(generator.integers(least, most + 1)))
        if _truth(formula) != _EVERYWHERE:  # it is not even true, so that no search is needed
            continue
        for steps in range(1, longest + 1):
            proof = _proved((), formula, steps, 0)
            if proof is not None:
                break
        else:
            continue
        if len(proof) >= shortest:
            return {"statement": _stated(formula), "witness": [*_introduced(formula), *proof]}


def _formula(generator: np.random.Generator, connectives: int) -> Formula:
    if not connectives:
        return "False" if generator.random() < 0.08 else _ATOMS[int(generator.integers(len(_ATOMS)))]
    left = int(generator.integers(connectives))
    operator = ("->", "->", "->", "/\\", "\\/")[int(generator.integers(5))]
    return (operator, _formula(generator, left), _formula(generator, connectives - 1 - left))


def _truth(formula: Formula) -> int:
    """The truth table of a formula, a bit for each assignment to the three atoms."""
    if isinstance(formula, str):
        return {"P": 0b10101010, "Q": 0b11001100, "R": 0b11110000, "False": 0}[formula]
    one, two = _truth(formula[1]), _truth(formula[2])
    return {"/\\": one & two, "\\/": one | two, "->": (_EVERYWHERE ^ one) | two}[formula[0]]


def _atoms(formula: Formula) -> set[str]:
    return {formula} - {"False"} if isinstance(formula, str) else _atoms(formula[1]) | _atoms(formula[2])


def _written(formula: Formula, inside: str = "") -> str:
    if isinstance(formula, str):
        return formula
    text = f"{_written(formula[1], formula[0])}{formula[0]}{_written(formula[2])}"
    if isinstance(formula[2], tuple) and formula[0] != "->":
        text = f"{_written(formula[1], formula[0])}{formula[0]}({_written(formula[2])})"
    return f"({text})" if inside else text


def _introduced(formula: Formula) -> list[str]:
    return [f"intros {' '.join(sorted(_atoms(formula)))}."] if _atoms(formula) else []


def _stated(formula: Formula) -> str:
    atoms = sorted(_atoms(formula))
    return f"forall {' '.join(atoms)}:Prop, {_written(formula)}" if atoms else _written(formula)


def _proved(given: Given, goal: Formula, steps: int, named: int) -> list[str] | None:
    """The first proof of the goal with at most so many tactics; None if the search finds none."""
    if steps < 1:
        return None
    for name, formula in given:
        if formula == goal:
            return [f"exact {name}."]
        if formula == "False":
            return [f"destruct {name}."]
    if isinstance(goal, tuple) and goal[0] == "->":
        return _after(f"intro {_NAMES[named]}.", [((*given, (_NAMES[named], goal[1])), goal[2])], steps, named + 1)
    for name, formula in given:
        if isinstance(formula, tuple) and formula[0] != "->":
            return _taken_apart(given, name, formula, goal, steps, named)
    ways: list[tuple[str, list[tuple[Given, Formula]]]] = []
    if isinstance(goal, tuple) and goal[0] == "/\\":
        ways.append(("split.", [(given, goal[1]), (given, goal[2])]))
    if isinstance(goal, tuple) and goal[0] == "\\/":
        ways += [("left.", [(given, goal[1])]), ("right.", [(given, goal[2])])]
    for name, formula in given:
        premises: list[tuple[Given, Formula]] = []
        while isinstance(formula, tuple) and formula[0] == "->":
            premises.append((given, formula[1]))
            formula = formula[2]
            if formula == goal:
                ways.append((f"apply {name}.", list(premises)))
    proofs = (_after(tactic, goals, steps, named) for tactic, goals in ways)
    return min((proof for proof in proofs if proof is not None), key=len, default=None)


def _taken_apart(
    given: Given, name: str, formula: tuple[str, Formula, Formula], goal: Formula, steps: int, named: int
) -> list[str] | None:
    """The proof that begins by taking a conjunction or disjunction of the hypotheses apart."""
    rest = tuple(one for one in given if one[0] != name)
    one, two = _NAMES[named : named + 2]
    if formula[0] == "/\\":
        both = (*rest, (one, formula[1]), (two, formula[2]))
        return _after(f"destruct {name} as [{one} {two}].", [(both, goal)], steps, named + 2)
    goals = [((*rest, (one, part)), goal) for part in formula[1:]]
    return _after(f"destruct {name} as [{one}|{one}].", goals, steps, named + 1)


def _after(tactic: str, goals: list[tuple[Given, Formula]], steps: int, named: int) -> list[str] | None:
    """The tactic with proofs of the goals that it leaves, of at most so many tactics together."""
    proof = [tactic]
    for given, goal in goals:
        if named + 2 >= len(_NAMES):
            return None
        inner = _proved(given, goal, steps - len(proof), named)
        if inner is None:
            return None
        proof += inner
    return proof


def _equation(generator: np.random.Generator, *, by_induction: bool) -> Spec:
    """A number that solves an equation: a constant, or one that depends on n, which induction shows."""
    factor, found = int(generator.integers(1, 5)), int(generator.integers(0, 10))
    if not by_induction:
        added = int(generator.integers(0, 10))
        product = f"{factor}*n" if factor > 1 else "n"
        statement = f"exists n:nat, {added}+{product}={added + factor * found}"
        return {"statement": statement, "witness": [f"exists {found}.", "reflexivity."]}
    before, after, least = int(generator.integers(0, 6)), int(generator.integers(0, 6)), int(generator.integers(1, 6))
    total = before + after + least
    left = f"{before}+n+{total - before}" if before else f"n+{total}"
    # If both sides compute to the same, there is nothing to rewrite.
    right = f"{least}+m" if generator.random() < 0.5 and before != least else f"m+{least}"
    steps = ["intro n.", f"exists (n+{total - least}).", *_INDUCE]
    return {"statement": f"forall n:nat, exists m:nat, {left}={right}", "witness": steps}


def _canonical(spec: Spec) -> str:
    return spec["statement"]


def _compact(spec: Spec) -> str:
    return f"N {spec['statement'].removeprefix('forall ').replace(':Prop', '').replace(':nat', '')}"


def _natural(spec: Spec) -> str:
    return (
        f"Prove this theorem in Coq, with the standard prelude only:\n\nTheorem t : {spec['statement']}.\n\nWrite the "
        "tactics that stand between `Proof.` and `Qed.`, each ended by a full stop. Other commands, axioms, `admit` "
        "and comments are not allowed. Give the tactics in a code block that begins with ```coq, or in \\boxed{...}, "
        "for example \\boxed{intros P H. exact H.}."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(" ".join(spec["witness"]))


def verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses, by the persistent session."""
    return _verified(pairs, strict=False)


def judge_strictly(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses: what the session accepts is compiled and checked too."""
    return _verified(pairs, strict=True)


def answer_in(problem: Problem, text: str) -> str | None:
    """The tactics that a response marks; None if it marks none."""
    return (fenced(text) if problem.wording == "natural" else None) or find_answer(text, problem.wording)


def _verified(pairs: Sequence[tuple[Problem, str]], *, strict: bool) -> list[Verdict]:
    answers = [answer_in(problem, text) for problem, text in pairs]
    verdicts = [Verdict.fail("format", "no marked answer")] * len(pairs)
    marked = [i for i, answer in enumerate(answers) if answer is not None]
    claims = [claim_of(pairs[i][0].spec, answers[i] or "", strict=strict) for i in marked]
    for i, one in zip(marked, verify(claims), strict=True):
        verdicts[i] = one.verdict
    return verdicts


def claim_of(spec: Spec, tactics: str, *, strict: bool = False) -> Claim:
    """The claim that these tactics prove the theorem of an instance, with what it has loaded."""
    return Claim(spec["statement"], tactics, strict=strict, preamble=spec.get("preamble", ""))


def check(spec: Spec, text: str) -> Verdict:
    return verify([claim_of(spec, text)])[0].verdict


COQ = Task(
    name="coq",
    domain="proofs",
    summary=(
        "Prove a small theorem in Coq; levels 1 to 4 in propositional logic by the length of a proof, 5 and 6 "
        "by solving equations of numbers, the latter with induction."
    ),
    generator=Generator(levels=range(1, 7), first=3, instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=check, verify_many=verify_all, second=judge_strictly, externals=("coq",), seconds=SECONDS),
    abilities=(OwnBase("proofs of propositions in Coq", levels=(3,), num_steps=250, context=224, hidden=160),),
)
