"""Verdicts on programs that a model wrote, against a gold program.

A solver solves the candidate. Its status and its objective decide nothing by themselves: the point that it returns is
checked here, in exact fractions, against the gold program. One equal optimum is not yet the same program, because a
candidate could hold the optimum fixed that it guessed. So the verdict asks for equality. The candidate is solved
towards every row and bound of the gold that it does not state itself, as far beyond as it can come: if even these
points hold in the gold, all its points do. The gold is solved towards the rows and bounds of the candidate in the same
way, and towards the difference of the two objectives, which must be 0 at both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.explained import Explained
from assay.verifiers.optimisation.checks import Point, equal, point_of, violation, worth
from assay.verifiers.optimisation.program import Linear, Program, Unreadable, boxed, read, shown, towards, write
from assay.verifiers.unfinished import unfinished

NAME = "highs"
BOX = 10_000  # half the side of the box in which programs are compared
SCORES = ("ran", "agrees", "overlap", "optimum", "maximises", "binaries", "integers")
"""The scores of a candidate, in `Verdict.scores`: whether it was solved, whether its optimum is the gold's, the share
of variables with the gold's value; then its attributes: its optimum, its direction, its numbers of binary and of other
integer variables."""


@dataclass(frozen=True)
class Solved:
    """A program with the points that a solver found: for its own objective, then for others.

    solved.points[0]  # {"a": Fraction(3), "b": Fraction(1)}
    """

    program: Program
    points: tuple[Point, ...] = ()
    trouble: str = ""  # why there are no points: infeasible, unbounded, time, ...
    ours: str = ""  # the kind of an invalid verdict, if the trouble is no fault of the program


def verify(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses to problems whose spec has the gold `program`."""
    answers = [find_answer(text, problem.wording) for problem, text in pairs]
    golds = [str(problem.spec.get("program", "")) for problem, _ in pairs]
    return [one.verdict for one in explain(list(zip(golds, answers, strict=True)))]


def explain(pairs: Sequence[tuple[str, str | None]]) -> list[Explained]:
    """Judges pairs of a gold program and a candidate."""
    golds = _golds_of([gold for gold, _ in pairs])
    candidates = [_read(answer) for _, answer in pairs]
    ready = [
        i
        for i, ((gold, _), candidate) in enumerate(zip(pairs, candidates, strict=True))
        if isinstance(candidate, Program)
        and golds[gold].points
        and candidate.variables == golds[gold].program.variables
    ]
    asked: list[Asked] = []
    for i in ready:
        gold, candidate = golds[pairs[i][0]].program, candidates[i]
        assert isinstance(candidate, Program)
        asked += [(candidate, edges(gold, candidate)), (gold, [*edges(candidate, gold), *difference(gold, candidate)])]
    solved = iter(_solve(asked))
    both = {i: (next(solved), next(solved)) for i in ready}
    return [_explained(golds[gold], gold, answer, both.get(i, candidates[i])) for i, (gold, answer) in enumerate(pairs)]


Asked = tuple[Program, Sequence[Linear]]
"""A program, and the objectives beside its own that it is solved towards."""


def _read(text: str | None) -> Program | str:
    """The program of a text, or why it is none."""
    if text is None:
        return "no marked answer"
    try:
        return read(text)
    except Unreadable as why:
        return str(why)


def edges(program: Program, other: Program) -> list[Linear]:
    """The objectives whose maximum over the other program lies furthest beyond each row and bound of this one.

    A row or bound that the other program states too needs no question.
    """
    found: list[Linear] = []
    for row in program.rows:
        if row not in other.rows:
            found += [row.terms] if row.comparison != ">=" else []
            found += [_negative(row.terms)] if row.comparison != "<=" else []
    for name in program.variables:
        (low, high), (below, above) = program.range_of(name), other.range_of(name)
        found += [{name: Fraction(-1)}] if low is not None and (below is None or below < low) else []
        found += [{name: Fraction(1)}] if high is not None and (above is None or above > high) else []
    return found


def difference(gold: Program, one: Program) -> list[Linear]:
    """The objectives along which the worth of two programs differs, forth and back; none if it does nowhere."""
    turned = _turned(gold, one)
    terms = {n: gold.objective.get(n, Fraction(0)) - turned * one.objective.get(n, Fraction(0)) for n in gold.variables}
    return [terms, _negative(terms)] if any(terms.values()) else []


def _turned(gold: Program, one: Program) -> int:
    """-1 if one program maximises what the other minimises."""
    return 1 if gold.maximises == one.maximises else -1


def _negative(terms: Linear) -> Linear:
    return {name: -value for name, value in terms.items()}


_golds: dict[str, Solved] = {}
_MOST_GOLDS = 16_384


def _golds_of(texts: Sequence[str]) -> dict[str, Solved]:
    """The gold programs with their points. They are kept, unless a process was lost."""
    new = {text: _read(text) for text in dict.fromkeys(texts) if text not in _golds}
    programs = {text: one for text, one in new.items() if isinstance(one, Program)}
    solved = [_near(one) for one in _solve([(one, []) for one in programs.values()])]
    found = dict(zip(programs, solved, strict=True))
    found |= {text: Solved(Program(True, {}), trouble=one) for text, one in new.items() if isinstance(one, str)}
    found |= {text: _golds[text] for text in texts if text in _golds}
    for text in [text for text in new if found[text].ours != "worker_lost"]:
        if len(_golds) >= _MOST_GOLDS:
            _golds.pop(next(iter(_golds)))
        _golds[text] = found[text]
    return found


def _near(gold: Solved) -> Solved:
    """The solved gold, refused if its optimum lies outside the box in which programs are compared."""
    far = any(abs(value) > BOX for point in gold.points for value in point.values())
    return replace(gold, points=(), trouble=f"its optimum is beyond {BOX}") if far else gold


def _solve(asked: Sequence[Asked]) -> list[Solved]:
    """Programs with the solver's points for their own objective and for others."""
    if not asked:
        return []
    jobs = []
    for program, others in asked:
        box = boxed(program, BOX)
        jobs.append({"texts": [write(program), *(write(towards(box, other)) for other in others)]})
    outcomes = workers_of(NAME).map(jobs)
    return [_solved(program, outcome) for (program, _), outcome in zip(asked, outcomes, strict=True)]


def _solved(program: Program, outcome: Outcome) -> Solved:
    if (ended := unfinished(outcome, NAME)) is not None:
        ours = ended.status == "invalid"
        return Solved(program, trouble=ended.detail if ours else ended.kind, ours=ended.kind if ours else "")
    answers: list[dict[str, Any]] = outcome.result["answers"]
    if (first := answers[0]["status"]) != "optimal":
        return Solved(program, trouble=first, ours="bug" if first == "unread" else "")
    if any(answer["status"] != "optimal" for answer in answers):
        return Solved(program, trouble=f"no point within {BOX} of zero")
    points = [point_of(answer["values"], program) for answer in answers]
    if wrong := [point for point in points if isinstance(point, str)]:
        return Solved(program, trouble=wrong[0])
    return Solved(program, tuple(point for point in points if not isinstance(point, str)))


def _explained(gold: Solved, text: str, answer: str | None, found: tuple[Solved, Solved] | Program | str) -> Explained:
    """The verdict on a candidate: solved, with the gold solved towards it; or only read; or why it cannot be read."""
    if gold.trouble:
        kind = "worker_lost" if gold.ours == "worker_lost" else "bad_gold"
        verdict, layer = Verdict.invalid(kind, f"{gold.trouble}: {text[:80]}"), "gold"
    elif answer is not None and not answer.strip():
        verdict, layer = Verdict.fail("empty"), "text"
    elif isinstance(found, str):
        verdict, layer = Verdict.fail("format", found), "text"
    elif isinstance(found, Program):
        wanted, came = ", ".join(gold.program.variables), ", ".join(found.variables)
        verdict, layer = Verdict.fail("format", f"the variables are {wanted}, not {came}"), "text"
    else:
        verdict, layer = _decided(gold, *found)
    why = verdict.detail or verdict.kind or "an optimal point, and the same program"
    return Explained(verdict, text, answer, "", layer, why)


def _decided(gold: Solved, found: Solved, probed: Solved) -> tuple[Verdict, str]:
    """The verdict on a candidate that the solver was asked about, and the layer that decided."""
    for one in (found, probed):
        if one.ours:
            return Verdict.invalid(one.ours, one.trouble), "solver"
        if one.trouble:
            kind = one.trouble if one.trouble in ("time", "memory", "undecided") else "runtime"
            none: dict[str, float | None] = {"ran": 0.0, "agrees": 0.0, "overlap": 0.0}
            return replace(Verdict.fail(kind, one.trouble, shown(found.program)), scores=none), "solver"
    why, layer = compared(gold, found, probed)
    verdict = Verdict.fail("wrong", why) if why else Verdict.ok()
    return replace(verdict, answer=shown(found.program), scores=scores(gold, found)), layer


def compared(gold: Solved, found: Solved, probed: Solved) -> tuple[str, str]:
    """(why a candidate is another program than the gold, "" if it is the same; the check that decided).

    `probed` is the gold, solved towards the edges of the candidate.
    """
    own, best = found.points[0], gold.points[0]
    if why := violation(found.program, own):
        return f"the solver's point is none of the program's: {why}", "solver"
    if why := violation(gold.program, own):
        return f"its optimum is not feasible: {why}", "point"
    if not equal(worth(gold.program, best), worth(gold.program, own)):
        return "its optimum is not the best point", "point"
    if found.program.integers != gold.program.integers:
        return "other variables are whole numbers", "region"
    for point in found.points:
        if why := violation(gold.program, point):
            return f"it allows points that are not allowed: {why}", "region"
    if any(violation(found.program, point) for point in probed.points):
        return "it forbids points that are allowed", "region"
    turned = _turned(gold.program, found.program)
    points = (*found.points, *probed.points)
    if not all(equal(worth(gold.program, x), turned * worth(found.program, x)) for x in points):
        return "its objective is another one", "objective"
    return "", "region"


def scores(gold: Solved, found: Solved) -> dict[str, float]:
    """The numbers of `SCORES` for a candidate that was solved."""
    own, best, program = found.points[0], gold.points[0], found.program
    value = worth(program, own) * _turned(gold.program, program)
    named = [name for name in best if round(own[name], 3) or round(best[name], 3)]
    same = sum(round(own[name], 3) == round(best[name], 3) for name in named)
    return {
        "ran": 1.0,
        "agrees": float(equal(worth(gold.program, best), value)),
        "overlap": same / len(named) if named else 1.0,
        "optimum": float(worth(program, own)),
        "maximises": float(program.maximises),
        "binaries": float(len(program.binaries)),
        "integers": float(len(program.integers - program.binaries)),
    }
