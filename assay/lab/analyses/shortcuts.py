"""`seq-shortcuts`: does the child find the sequence, or only how long it is?

Each problem of the tasks of `sequences.KINDS` has one best sequence. They ask for the sequence alone, so that the
answer as a number is its length. What needs training, the five rewards and sequences of other lengths, is a study.
Twins of a problem that were changed a little would have to be asked anew, and are left out: rules stand in their place,
which answer as a shortcut would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.lab.analyses.boundary import told
from assay.lab.analyses.fidelity import KEY, Fidelity, answered, fidelity
from assay.lab.analyses.measure import Cell, Lacking, Measure, Reading, Sheet
from assay.lab.analyses.sequences import KINDS, puzzle
from assay.scoring.intervals import DIFFERENCES, Interval, interval

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

WORTH = 0.02  # the smallest change of a gap that is told in words


def take(pair: Pair) -> Reading:
    names = [name for name in pair.tallies[0].problems if pair.problems[name].task in KINDS]
    problems = {name: pair.problems[name] for name in names}
    tasks = [name for name in KINDS if sum(problem.task == name for problem in problems.values()) > 1]
    if not tasks:
        raise Lacking(f"there are no problems with one best sequence: ask for --task {' or --task '.join(KINDS)}.")
    sentences, figures, tables = [], {}, []
    for name in tasks:
        mine = {key: problem for key, problem in problems.items() if problem.task == name}
        puzzles = [puzzle(problem) for problem in mine.values()]
        base, child = (
            fidelity(answered(bank, mine, puzzles), list(mine.values()), puzzles, name) for bank in pair.banks
        )
        gap = interval((child.length - child.ids) - (base.length - base.ids), KEY, bounds=DIFFERENCES)
        sentences.append(_said(name, base, child, gap))
        figures[name] = {"base": _figures(base), "child": _figures(child), "gap_change": _json(gap)}
        tables += [_numbers(name, base, child, gap), _rules(name, base, child), _probes(name, base, child)]
    return Reading(
        says=" ".join(sentences),
        figures=figures,
        tables=tuple(tables),
        beware=(
            "Lengths take few values, so many are right by luck: `by luck` is what they would score on other problems.",
            "The tasks ask for a sequence and no number: a length is right where the sequence that is told has it.",
        ),
    )


def _said(name: str, base: Fidelity, child: Fidelity, gap: Interval) -> str:
    word = "closer than" if gap.high < -WORTH else "further apart than" if gap.low > WORTH else "about as far apart as"
    rows = [(one.numbers["right length"], one.numbers["right sequence"]) for one in (base, child)]
    lengths, ids = ((a.mean, b.mean) for a, b in zip(*((r for r in row if r is not None) for row in rows), strict=True))
    return (
        f"{name}: right lengths {lengths[0]:.1%} before and {lengths[1]:.1%} after, right sequences {ids[0]:.1%} and "
        f"{ids[1]:.1%}: they are {word} before ({told(gap, sign=True)})."
    )


def _json(one: Interval | None) -> list[float] | None:
    return None if one is None else [one.mean, one.low, one.high]


def _figures(one: Fidelity) -> dict[str, object]:
    return {
        **{name: _json(value) for name, value in one.numbers.items()},
        "length_by_luck": one.luck,
        "majority": dict(one.majority),
        "pass": {mark: {str(k): value for k, value in curve.items()} for mark, curve in one.reach.items()},
        "rules": {name: dict(rule) for name, rule in one.rules.items()},
        "procedure": dict(one.procedures),
        "probe": None if one.probe is None else dict(one.probe),
    }


def _numbers(name: str, base: Fidelity, child: Fidelity, gap: Interval) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (row, *("-" if (value := one.numbers[row]) is None else told(value) for one in (base, child)))
        for row in base.numbers
    ]
    rows.append(("right length by luck", base.luck, child.luck))
    rows.append(("change of the gap", None, told(gap, sign=True)))
    for mark, word in (("length", "length"), ("ids", "sequence")):
        rows.append((f"majority, right {word}", base.majority[mark], child.majority[mark]))
        for k in base.reach[mark]:
            rows.append((f"pass@{k}, right {word}", base.reach[mark][k], child.reach[mark].get(k)))
    return Sheet(f"{name}: lengths and sequences", ("", "base", "child"), tuple(rows))


def _rules(name: str, base: Fidelity, child: Fidelity) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (rule, of["right"], of["problems"], of["followed"], child.rules[rule]["followed"])
        for rule, of in base.rules.items()
    ]
    columns = (
        "rule",
        "right length",
        "right",
        "problems where it is wrong",
        "base says it there",
        "child says it there",
    )
    return Sheet(f"{name}: cheap rules", columns, tuple(rows))


def _probes(name: str, base: Fidelity, child: Fidelity) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (f"R2 of the length told: {row}", *(None if one.probe is None else one.probe[row] for one in (base, child)))
        for row in ("features", "truth", "features beyond the truth", "the last by luck")
    ]
    rows += [(f"order, {row}", base.procedures[row], child.procedures[row]) for row in base.procedures]
    return Sheet(f"{name}: what the length follows, and the order written down", ("", "base", "child"), tuple(rows))


SEQ_SHORTCUTS = Measure(
    name="seq-shortcuts",
    title="Sequence or shortcut",
    paper="2510.27044",
    asks="does the child find the best sequence, or only how long it is?",
    needs=("banks",),
    take=take,
)
