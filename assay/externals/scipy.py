"""SciPy: the constants of a formula that fit points best, by least squares from fixed beginnings.

A formula comes as a row of steps, arguments first. The beginnings are the same for every formula, so that a fit depends
on nothing but the formula and the points: their number and the solver's limits are parts of the verifier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.externals.external import External
from assay.externals.versions import of_package

Json = Any

BEGINNINGS = 16  # all ones, then numbers by chance that are always the same
EVALUATIONS = 60  # of the formula, from each beginning
GOOD = 1e-8  # a mean square error below this share of the points' own mean square needs no further beginning
AGREED = 3  # so many beginnings that end at the same error are enough
_LARGE = 1e9  # stands for a residual that is larger, or no number
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
}


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"formulas": [{"steps": [...], "constants": [name, ...]}, ...], "x", "y", "held_x", "held_y"} -> for each formula
    its "constants", its "square" (mean square error) and "error" (mean relative error) at the points, and the relative
    error "held" at those held back; None where a value is no number.
    """
    x, y, held_x, held_y = (np.array(job[name], float) for name in ("x", "y", "held_x", "held_y"))
    found = []
    with np.errstate(all="ignore"):
        for formula in job["formulas"]:
            steps, names = formula["steps"], formula["constants"]
            square, constants = fitted(steps, names, x, y)
            named = dict(zip(names, constants, strict=True))
            error, held = (relative(value(steps, at, named), to) for at, to in ((x, y), (held_x, held_y)))
            found.append({"constants": named, "square": _number(square), "error": error, "held": held})
    return found


def fitted(steps: Sequence[Any], names: Sequence[str], x: np.ndarray, y: np.ndarray) -> tuple[float, Sequence[float]]:
    """(the least mean square error that was found, the constants that have it)."""
    from scipy.optimize import least_squares

    def residual(constants: Sequence[float]) -> np.ndarray:
        away = value(steps, x, dict(zip(names, constants, strict=True))) - y
        return np.clip(np.nan_to_num(away, nan=_LARGE, posinf=_LARGE, neginf=-_LARGE), -_LARGE, _LARGE)

    if not names:
        return float(np.mean(residual(()) ** 2)), ()
    ends: list[tuple[float, Sequence[float]]] = []
    chance = np.random.default_rng(0)
    for number in range(BEGINNINGS):
        begin = chance.normal(size=len(names)) * (1.0, 3.0, 0.3)[number % 3] if number else np.ones(len(names))
        end = least_squares(residual, begin, max_nfev=EVALUATIONS)
        ends.append((float(np.mean(residual(end.x) ** 2)), end.x.tolist()))
        best, _ = min(ends)
        if best < GOOD * float(np.mean(y**2)) or sum(square <= best * (1 + 1e-4) for square, _ in ends) >= AGREED:
            break
    return min(ends)


def value(steps: Sequence[Any], x: np.ndarray, constants: dict[str, float]) -> np.ndarray:
    """The formula at these places."""
    stack: list[Any] = []
    for step in steps:
        if isinstance(step, (int, float)):
            stack.append(np.float64(step))
        elif step == "x":
            stack.append(x)
        elif step in constants:
            stack.append(np.float64(constants[step]))
        elif step in _UNARY:
            stack.append(_UNARY[step](stack.pop()))
        else:
            right = stack.pop()
            stack.append(_BINARY[step](stack.pop(), right))
    (only,) = stack
    return np.broadcast_to(only, x.shape)


def relative(got: np.ndarray, wanted: np.ndarray) -> float | None:
    """The mean of |got - wanted| / |wanted|, where that is not zero; None if it is no number."""
    some = wanted != 0
    return _number(float(np.mean(np.abs(got[some] - wanted[some]) / np.abs(wanted[some]))))


def _number(number: float) -> float | None:
    return number if math.isfinite(number) else None


_POINTS = {"x": [1.0, 2.0, 3.0], "y": [3.0, 5.0, 7.0], "held_x": [4.0], "held_y": [9.0]}
SCIPY = External(
    name="scipy",
    purpose="fits the constants of formulas",
    install="pip install 'assay-rl[externals]'",
    version=lambda: of_package("scipy"),
    answer="assay.externals.scipy:answer",
    loads=("scipy.optimize",),
    passes={"formulas": [{"steps": ["c0", "x", "*", "c1", "+"], "constants": ["c0", "c1"]}], **_POINTS},
    fails={"formulas": [{"steps": ["c0", "x", "x", "*", "*"], "constants": ["c0"]}], **_POINTS},
    accepts=lambda result: result[0]["held"] is not None and result[0]["held"] < 1e-6,
    deadline=5.0,
)
