"""Equations: a formula for points of a curve, whose constants a solver fits. Many formulas are right.

Half of the points are shown; the others are held back. A policy proposes formulas and is told how far each is from the
points that are shown. The one that is nearest to these is then measured at the points held back, so that a formula
which follows the shown points alone earns little. The score follows the logarithm of the error (SR-Scientist,
2510.11661).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.externals import workers_of
from assay.externals.scipy import SCIPY, value
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.formulas import FUNCTIONS, MOST_CHARACTERS, MOST_CONSTANTS, NoFormula, Step, constants_of, steps_of
from assay.verifiers.unfinished import unfinished
from assay.worlds.enclosed import Enclosed, in_line, refused
from assay.worlds.tools import Scene, ToolError, takes_text, tools

Fit = Mapping[str, Any]
"""What the solver says of a formula."""

SPEECH = Enclosed("]")
ACCURACY = "accuracy"
"""The name of the score: 0 for a mean relative error of 100 %, 1 for one of 0.1 % or less, on a scale of logarithms."""
ERROR = "error"
"""The name of the mean relative error itself, which an answer without a formula does not have."""
GOAL = 1e-3  # the mean relative error of a formula that is right
TRIES = 6  # formulas of a play
SHOWN, HELD = (1, 3, 5, 7, 9), (2, 4, 6, 8)  # where points are shown, and where they are held back
TRIED = "tried"  # in the state of a scene: each formula that was fitted, with its error
_TERMS = ("x", "x^2", "1/x", "sqrt(x)", "log(x)", "x^3", "exp(0-x)", "sin(x)")
_SHAPES = (  # of level 1: no formula of three constants fits more than one in five, so that the points must be read
    *("x^2", "1/x", "1/(1+x^2)", "abs(x-5)", "log(x)^2", "log(x)/x", "x*log(x)", "exp(0-x)", "x*exp(0-x)"),
    *("sin(x)", "cos(x)", "x*sin(x)", "x*cos(x)", "sin(x)/x", "cos(x)/x", "sin(x)*cos(x)", "sqrt(x)*sin(x)"),
    *("log(x)*sin(x)", "log(x)*cos(x)", "abs(sin(x))", "abs(cos(x))", "exp(sin(x))", "exp(cos(x))"),
    *("sin(sqrt(x))", "cos(sqrt(x))", "sin(log(x))"),
)
_CURVES = {"exp(c1*x)": (-0.4, 0.3), "x^c1": (-1.5, 2.5), "1/(x+c1)": (0.5, 4.0), "log(x+c1)": (0.5, 6.0)}
_SMALLEST, _RANGE = 0.1, 20.0  # of values: least squares see nothing of those that are small beside others


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A formula with constants by chance, and its values at all points, to five digits."""
    while True:
        formula, constants = _formula(generator, level)
        every = np.array(sorted((*SHOWN, *HELD)), float)
        with np.errstate(all="ignore"):
            values = value(steps_of(formula), every, constants)
        least, most = np.abs(values).min(), np.abs(values).max()
        if not (np.isfinite(values).all() and least > _SMALLEST and most < _RANGE * least):
            continue
        if np.ptp(values) < 0.2 * most:  # a constant would fit almost as well
            continue
        said = {int(place): float(f"{number:.5g}") for place, number in zip(every, values, strict=True)}
        return {"formula": formula, "shown": [said[at] for at in SHOWN], "held": [said[at] for at in HELD]}


def _formula(generator: np.random.Generator, level: int) -> tuple[str, dict[str, float]]:
    def number(low: float, high: float) -> float:
        return round(float(generator.uniform(low, high)), 2)

    def factor() -> float:
        return number(0.5, 5.0) * (1 if generator.random() < 0.7 else -1)

    if level == 1:
        shape = _SHAPES[int(generator.integers(len(_SHAPES)))]
        return f"c0*{shape}+c1", {"c0": factor(), "c1": factor()}
    if level == 2:
        one, two = (_TERMS[i] for i in generator.permutation(len(_TERMS))[:2])
        return f"c0*{one}+c1*{two}", {"c0": factor(), "c1": factor()}
    curve = tuple(_CURVES)[int(generator.integers(len(_CURVES)))]
    return f"c0*{curve}+c2", {"c0": factor(), "c1": number(*_CURVES[curve]), "c2": factor()}


def _job(spec: Spec, formulas: Sequence[str]) -> dict[str, Any]:
    """The job of the solver. Raises NoFormula."""
    read = [steps_of(formula) for formula in formulas]
    points = {"x": SHOWN, "y": spec["shown"], "held_x": HELD, "held_y": spec["held"]}
    return {"formulas": [{"steps": steps, "constants": constants_of(steps)} for steps in read], **points}


def _fit(scene: Scene, formula: str) -> str:
    """How far a formula is from the points that are shown. Ends the play if that is near enough, or at the last try."""
    scene.over = scene.calls >= TRIES
    try:
        job = _job(scene.spec, [formula])
    except NoFormula as trouble:
        raise ToolError(str(trouble)) from None
    (outcome,) = workers_of("scipy").map([job])
    if (verdict := unfinished(outcome, "scipy")) is not None:
        if verdict.status == "invalid":
            raise RuntimeError(verdict.detail)
        raise ToolError(verdict.detail)
    error = outcome.result[0]["error"]
    if error is None:
        raise ToolError("its values are no numbers")
    scene.over |= error <= GOAL
    scene.state.setdefault(TRIED, []).append([in_line(formula, MOST_CHARACTERS), error])
    return in_line(in_percent(error), 20)


def in_percent(error: float) -> str:
    """A relative error as a policy reads it: `in_percent(0.0812)` is "8.1%"."""
    return f"{100 * error:.2g}%"


def formulas_of(text: str) -> list[str]:
    """The formulas that an answer proposes and that can be read; a text without calls is a formula itself."""
    calls = [formula for formula, _ in SPEECH.inputs(text)][:TRIES]
    return [formula.strip() for formula in calls if _is_formula(formula)] if calls else [text.strip()]


def _is_formula(text: str) -> bool:
    try:
        constants_of(steps_of(text))
    except NoFormula:
        return False
    return True


@dataclass(frozen=True)
class _Asked:
    spec: Spec
    formulas: Sequence[str]


def _verified(asked: Sequence[_Asked]) -> list[Verdict]:
    """The verdict on the formula of each that is nearest to the points that are shown."""
    return [one if isinstance(one, Verdict) else _measured(*one) for one in _fits(asked)]


def _fits(asked: Sequence[_Asked]) -> list[Verdict | tuple[str, Fit]]:
    """The best formula of each answer with its fit, or the verdict on an answer that has none."""
    jobs: dict[int, Any] = {}
    fits: dict[int, Verdict | tuple[str, Fit]] = {}
    for number, asking in enumerate(asked):
        try:
            if not asking.formulas:
                raise NoFormula("no formula that can be read")
            jobs[number] = _job(asking.spec, asking.formulas)
        except NoFormula as trouble:
            fits[number] = Verdict("fail", "format", str(trouble), scores={ACCURACY: 0.0})
    outcomes = workers_of("scipy").map(list(jobs.values())) if jobs else []
    for number, outcome in zip(jobs, outcomes, strict=True):
        if (verdict := unfinished(outcome, "scipy")) is not None:
            fits[number] = verdict
            continue
        squares = [math.inf if fit["square"] is None else fit["square"] for fit in outcome.result]
        best = squares.index(min(squares))
        fits[number] = asked[number].formulas[best], outcome.result[best]
    return [fits[number] for number in range(len(asked))]


def _measured(formula: str, fit: Fit) -> Verdict:
    error = fit["held"]
    if error is None:
        return Verdict("fail", "wrong", "its values are no numbers", formula, {ACCURACY: 0.0})
    scores = {ACCURACY: accuracy(error), ERROR: error}
    if error <= GOAL:
        return Verdict("ok", answer=formula, scores=scores)
    return Verdict("fail", "wrong", f"{100 * error:.2g}% away from the points held back", formula, scores)


def _again(asked: _Asked, found: Verdict | tuple[str, Fit]) -> Verdict:
    """The verdict by arithmetic of Python's own on the formula with the constants that the solver found."""
    if isinstance(found, Verdict):
        return found
    formula, fit = found
    try:
        away = [
            abs(by_hand(steps_of(formula), at, fit["constants"]) - right) / abs(right)
            for at, right in zip(HELD, asked.spec["held"], strict=True)
        ]
    except (ArithmeticError, ValueError, TypeError):  # of a power of a negative number, which is complex
        return Verdict.fail("wrong", "its values are no numbers", formula)
    if sum(away) / len(away) <= GOAL * (1 + 1e-6):
        return Verdict.ok(formula)
    return Verdict.fail("wrong", "away from the points held back", formula)


def by_hand(steps: Sequence[Step], x: float, constants: Mapping[str, float]) -> float:
    """The formula at one place: `by_hand(("c0", "x", "*"), 2.0, {"c0": 3.0})` is 6."""
    stack: list[float] = []
    for step in steps:
        match step:
            case float() | int():
                stack.append(step)
            case "x":
                stack.append(float(x))
            case _ if step in constants:
                stack.append(constants[step])
            case "neg":
                stack.append(-stack.pop())
            case "abs":
                stack.append(abs(stack.pop()))
            case _ if step in FUNCTIONS:
                stack.append(getattr(math, step)(stack.pop()))
            case _:
                right, left = stack.pop(), stack.pop()
                stack.append(_ARITHMETIC[step](left, right))
    return stack[0]


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
}


def accuracy(error: float) -> float:
    """clip(-log10(error) / 3, 0, 1) of a mean relative error."""
    return 1.0 if error <= GOAL else max(0.0, math.log10(error) / math.log10(GOAL))


# The task


def _canonical(spec: Spec) -> str:
    return " ".join(f"{number:.5g}" for number in [*spec["shown"], *spec["held"]])


def _compact(spec: Spec) -> str:
    return f"f {' '.join(f'{number:.5g}' for number in spec['shown'])}"


def question(shown: Sequence[float]) -> str:
    """The question about points with these values, as language models read it."""
    points = ", ".join(f"y({at}) = {number:.5g}" for at, number in zip(SHOWN, shown, strict=True))
    names = ", ".join(f"c{i}" for i in range(MOST_CONSTANTS))
    return (
        f"A curve goes through these points: {points}. Find a formula for it that is right at other points too. A "
        f"formula has numbers, x, + - * / ^, brackets, {', '.join(FUNCTIONS)}, and at most {MOST_CONSTANTS} constants "
        f"{names}, which are fitted to the points. Write a formula in square brackets, like [c0*x+c1]: the reply "
        "follows at once, and is its mean relative error at these points, or ! and what is wrong with it. You have "
        f"{TRIES} tries; the formula with the least error counts. One that needs no replies may stand in "
        "\\boxed{...} instead."
    )


def _asked(problem: Problem, text: str) -> _Asked:
    if any(True for _ in SPEECH.inputs(text)):
        return _Asked(problem.spec, formulas_of(text))
    marked = find_answer(text, problem.wording)
    return _Asked(problem.spec, [marked] if marked else [])


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return _verified([_asked(problem, text) for problem, text in pairs])


def _verify_again(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: the formula, with the constants that the solver found, is calculated again without the solver
    and its library.
    """
    asked = [_asked(problem, text) for problem, text in pairs]
    return [_again(one, found) for one, found in zip(asked, _fits(asked), strict=True)]


def _check(spec: Spec, text: str) -> Verdict:
    return _verified([_Asked(spec, formulas_of(text))])[0]


EQUATION = Task(
    name="equation",
    domain="science",
    summary=(
        "Find a formula for points of a curve, with a solver that fits its constants; level 1 has one term of 26, 2 "
        "two of eight, 3 a constant within a function."
    ),
    generator=Generator(levels=range(1, 4), instance=_instance, canonical=_canonical),
    wordings=Wordings(
        compact=_compact,
        natural=lambda spec: question(spec["shown"]),
        solve=lambda spec: Solution(f"[{spec['formula']}]"),
        called=True,
    ),
    checker=Checker(
        check=_check, verify_many=_verify_all, second=_verify_again, externals=("scipy",), seconds=SCIPY.deadline
    ),
    abilities=(OwnBase("formulas of one term", levels=(1,), num_steps=60, context=192),),
    world=tools((takes_text("fit", "formula"), _fit), speech=SPEECH, explain=refused, apart=True),
)
