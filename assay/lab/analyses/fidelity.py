"""What answers to problems with one best sequence get right: its length, the sequence itself, and on which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assay.lab.analyses.probes import beyond_truth
from assay.lab.analyses.sequences import Puzzle, procedure_of, sequence_of
from assay.rng import Key
from assay.scoring.boundary import Counts, misses
from assay.scoring.intervals import LEVEL, Interval, interval

if TYPE_CHECKING:
    from assay.scoring.samples import SampleBank
    from assay.types import Problem

KEY = Key("seq-shortcuts")
DRAWS = 2000
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Answered:
    """The answers of a bank to the problems of one task, S in all to M problems.

    answered(bank, problems).share("ids")
    """

    problem: np.ndarray  # int[S], the number of the problem
    length: np.ndarray  # int[S], of the sequence that was told; -1 where none was
    marks: Mapping[
        str, np.ndarray
    ]  # bool[S]: length right, sequence right, allowed, an order written down, it is right
    told: Sequence[tuple[int, ...] | None]
    problems: int  # M

    def share(self, name: str) -> np.ndarray:
        """float[M]: the share of the answers to each problem that have the mark."""
        return np.bincount(self.problem, self.marks[name], self.problems) / self.counts

    def right(self, name: str) -> Counts:
        """The answers with the mark as counts of right ones."""
        return Counts(self.counts, np.bincount(self.problem, self.marks[name], self.problems).astype(int))

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.problem, minlength=self.problems)


def answered(bank: SampleBank, problems: Mapping[str, Problem], puzzles: Sequence[Puzzle]) -> Answered:
    """The answers of a bank to these problems. Answers without a verdict do not count."""
    number = {name: i for i, name in enumerate(problems)}
    rows = [
        row
        for row in bank.table.select(["problem", "text", "answer", "status"]).to_pylist()
        if row["problem"] in number and row["status"] != "invalid"
    ]
    numbers = np.array([number[row["problem"]] for row in rows], dtype=int)
    given = [sequence_of(problems[row["problem"]], row["answer"]) for row in rows]
    asked = [puzzles[i] for i in numbers]
    orders = [procedure_of(problems[row["problem"]], row["text"]) for row in rows]
    marks = {
        "length": [ids is not None and len(ids) == len(p.best) for ids, p in zip(given, asked, strict=True)],
        "ids": [ids == p.best for ids, p in zip(given, asked, strict=True)],
        "allowed": [ids is not None and p.allowed(ids) for ids, p in zip(given, asked, strict=True)],
        "order": [bool(order) for order in orders],
        "right order": [bool(order) and order == p.procedure for order, p in zip(orders, asked, strict=True)],
    }
    length = np.array([-1 if ids is None else len(ids) for ids in given], dtype=int)
    return Answered(numbers, length, {n: np.array(v, dtype=bool) for n, v in marks.items()}, given, len(problems))


def ratio(over: np.ndarray, under: np.ndarray) -> Interval | None:
    """sum over / sum under over problems, with its interval over problems drawn again; None where `under` is 0."""
    if not under.sum():
        return None
    generator = KEY("ratio", len(over)).generator()
    weights = generator.multinomial(len(over), np.full(len(over), 1 / len(over)), size=DRAWS)
    below = weights @ under
    drawn = (weights @ over)[below > 0] / below[below > 0]
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Interval(float(over.sum() / under.sum()), float(low), float(high))


def length_by_luck(found: Answered, best: np.ndarray, groups: np.ndarray) -> float:
    """How often the length that was told is that of another problem of the same group (task and level): the share of
    right lengths of a model that knows how lengths are distributed and does not look at the problem. `best` and
    `groups` are int[M]. A problem that is alone in its group counts with its own length.
    """
    hits = []
    for group in np.unique(groups):
        mine = np.flatnonzero(groups == group)
        others = found.length[np.isin(found.problem, mine)]
        owner = found.problem[np.isin(found.problem, mine)]
        equal = (others[:, None] == best[mine][None, :]).sum(1) - (others == best[owner]) * (len(mine) > 1)
        hits.append(equal / max(1, len(mine) - 1))
    return float(np.concatenate(hits).mean())


def majority(found: Answered, puzzles: Sequence[Puzzle]) -> dict[str, float]:
    """The share of problems where the most frequent length, and the most frequent sequence, is right; equally frequent
    ones share the point. Answers that tell no sequence have no vote.
    """
    points: dict[str, list[float]] = {"length": [], "ids": []}
    for i, one in enumerate(puzzles):
        told_here = [found.told[int(j)] for j in np.flatnonzero(found.problem == i)]
        given = [ids for ids in told_here if ids is not None]
        points["length"].append(_vote([len(ids) for ids in given], len(one.best)))
        points["ids"].append(_vote(given, one.best))
    return {name: float(np.mean(values)) for name, values in points.items()}


def _vote(given: Sequence[T], truth: T) -> float:
    counts = {value: given.count(value) for value in set(given)}
    top = [value for value, count in counts.items() if count == max(counts.values())]
    return (truth in top) / len(top) if top else 0.0


def followed(found: Answered, puzzles: Sequence[Puzzle]) -> dict[str, dict[str, float | int | None]]:
    """For each rule: how often it is right itself, and how often an answer is what the rule says where the rule is
    wrong, so that no solver would say it; None where it is always right.
    """
    rules = {}
    for name in puzzles[0].rules:
        wrong = [one.rules[name] != one.best for one in puzzles]
        told_there = [found.told[j] == puzzles[i].rules[name] for j, i in enumerate(found.problem) if wrong[i]]
        rules[name] = {
            "right": 1.0 - float(np.mean(wrong)),
            "problems": sum(wrong),
            "followed": float(np.mean(told_there)) if told_there else None,
        }
    return rules


def procedures(found: Answered) -> dict[str, float | None]:
    """How often an order is written down, how often it is right, and the right sequences after each of the two."""
    order, right, ids = (found.marks[name] for name in ("order", "right order", "ids"))
    return {
        "written": float(order.mean()),
        "right": float(right.sum() / order.sum()) if order.any() else None,
        "ids after a right one": float(ids[right].mean()) if right.any() else None,
        "ids after a wrong one": float(ids[order & ~right].mean()) if (order & ~right).any() else None,
    }


@dataclass(frozen=True, eq=False)
class Fidelity:
    """What one bank says of a task: intervals are over problems."""

    length: np.ndarray  # float[M], the share of right lengths
    ids: np.ndarray  # float[M], the share of right sequences
    numbers: Mapping[str, Interval | None]
    luck: float
    majority: Mapping[str, float]
    reach: Mapping[str, Mapping[int, float]]  # pass@k
    rules: Mapping[str, Mapping[str, float | int | None]]
    procedures: Mapping[str, float | None]
    probe: Mapping[str, float] | None


def fidelity(found: Answered, problems: Sequence[Problem], puzzles: Sequence[Puzzle], name: str) -> Fidelity:
    """Acc_ans (right length), Acc_ids (right sequence), their gap, Acc_ids given a right length, allowed sequences, and
    best ones among the allowed; pass@k, majorities, rules and probes.
    """
    length, ids, allowed = (found.share(mark) for mark in ("length", "ids", "allowed"))
    best = np.array([len(each.best) for each in puzzles])
    levels = np.array([problem.level for problem in problems])
    most = found.right("ids").samples
    ks = sorted({*(4**i for i in range(8) if 4**i <= most), most})
    reach = {mark: 1 - misses(found.right(mark), ks).mean(axis=0) for mark in ("length", "ids")}
    features = np.array([list(each.features.values()) for each in puzzles])
    return Fidelity(
        length=length,
        ids=ids,
        numbers={
            "right length": interval(length, KEY),
            "right sequence": interval(ids, KEY),
            "gap": interval(length - ids, KEY, bounds=(0.0, 1.0)),
            "right sequence, of right lengths": ratio(ids, length),
            "allowed": interval(allowed, KEY),
            "best, of allowed": ratio(ids, allowed),
        },
        luck=length_by_luck(found, best, levels),
        majority=majority(found, puzzles),
        reach={mark: {k: float(v) for k, v in zip(ks, curve, strict=True)} for mark, curve in reach.items()},
        rules=followed(found, puzzles),
        procedures=procedures(found),
        probe=beyond_truth(_mean_lengths(found), best, features, KEY("probe", name)),
    )


def _mean_lengths(found: Answered) -> np.ndarray:
    """float[M]: the mean length of the sequences told to each problem; NaN where none was."""
    said = found.length >= 0
    counts = np.bincount(found.problem, said, found.problems)
    sums = np.bincount(found.problem, np.where(said, found.length, 0), found.problems)
    return np.divide(sums, counts, out=np.full(found.problems, np.nan), where=counts > 0)
