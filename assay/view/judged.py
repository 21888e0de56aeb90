"""Who judged: the name of the judge beside every score of an exam, in records of this version and of earlier ones.

Where rows have a reference answer the verifier stands first, and the reward functions of the user, if the run has some,
stand second. The estimates at the top of a record are those of its first judge.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import AssayError, DataError
from assay.scoring.bank import RESAMPLING, Bank, as_json, difference, powers
from assay.scoring.intervals import DRAWS, LEVEL, intervals
from assay.scoring.passk import pass_at_k
from assay.tasks import task
from assay.tasks.data import is_data
from assay.verifiers.functions.naming import names, parse

VERIFIER, SECOND = "verifier", "verifier and second oracle"
YOUR = "your "  # how the name of a judge begins that the user brought
COUNTS = ("n", "correct", "invalid")  # of a bank, that differ from judge to judge
Json = dict[str, Any]
Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Judged:
    """The scores of one exam by one judge: `Judged("your reward good", {"1": {"mean": 0.674, ...}}, problems=46)`."""

    judge: str
    passes: Mapping[str, Any]  # k -> the estimate of pass@k
    problems: int = 0  # with a verdict of this judge on every answer that counts
    invalid: int = 0  # answers on which the judge failed
    bank: Bank | None = None  # None: the counts were not kept
    digest: str = ""  # of what the judge is made of, for judges of one name in different runs

    def to_json(self) -> Json:
        return {"judge": self.judge, "problems": self.problems, "invalid": self.invalid, "pass": dict(self.passes)}


def name_of_rewards(functions: Sequence[str]) -> str:
    """The name of reward functions as a judge: `your reward good`, `your rewards good + short`."""
    return f"{YOUR}reward{'s' if len(functions) > 1 else ''} {' + '.join(functions)}"


def name_of_verifiers(tasks: Iterable[str]) -> str:
    """The name of the verifiers of these tasks as a judge: an exam asks the second oracle of a task too."""
    return SECOND if any(map(_has_second, tasks)) else VERIFIER


def _has_second(name: str) -> bool:
    try:
        return not is_data(name) and task(name).checker.second is not None
    except AssayError:  # a run of a task that is not installed here is still read
        return False


def trained_by(document: Record) -> str:
    """The name of the judge whose verdicts a run trains on, from its run.json."""
    rewards = _rewards(document)
    return name_of_rewards(rewards) if rewards else spoken(VERIFIER)


def spoken(judge: str) -> str:
    """The name within a sentence: `the verifier`, `your reward good`."""
    return judge if judge.startswith(YOUR) else f"the {judge}"


def _rewards(document: Record) -> tuple[str, ...]:
    """The names of a run's reward functions."""
    experiment = document.get("experiment")
    given = experiment.get("rewards") if isinstance(experiment, Mapping) else None
    return names([parse(str(text)) for text in given or ()])


def judge_of(record: Record, document: Record) -> str:
    """The first judge of an exam. Records of earlier versions do not name it: it follows from the run's rewards, which
    graded the rows of data files then, and from the tasks.
    """
    if record.get("judge"):
        return str(record["judge"])
    tasks = (record.get("bank") or {}).get("tasks") or record.get("tasks") or ()
    return name_of_one(dict.fromkeys(map(str, tasks)), _rewards(document))


def name_of_one(tasks: Iterable[str], functions: Sequence[str]) -> str:
    """The name of the one judge of answers to these tasks, where reward functions grade the rows of data files."""
    tasks = list(tasks)
    made = [name for name in tasks if not is_data(name)]
    if not functions or len(made) == len(tasks):
        return name_of_verifiers(made)
    own = name_of_rewards(functions)
    return f"{name_of_verifiers(made)}, of rows {own}" if made else own


def judged(record: Record, document: Record) -> list[Judged]:
    """The scores of an exam by each of its judges, the first judge first; none where nobody could judge."""
    if not record.get("pass"):
        return []
    bank = _bank(record)
    first, *others = record.get("judges") or [{}]
    counts = {name: int(record.get(name) or 0) for name in ("problems", "invalid")}
    counts["problems"] -= int(record.get("open") or 0)
    judge = judge_of(record, document)
    leading = Judged(judge, record["pass"], **counts, bank=bank, digest=str(first.get("digest", "")))
    return [leading, *(_other(one, bank) for one in others)]


def _bank(record: Record) -> Bank | None:
    """The counts of an exam; None where they were not kept, or cannot be read: the estimates still stand."""
    try:
        return Bank.from_json(record["bank"]) if "bank" in record else None
    except DataError:
        return None


def _other(one: Record, first: Bank | None) -> Judged:
    counts = {name: int(one.get(name) or 0) for name in ("problems", "invalid")}
    told: Mapping[str, Any] = one.get("counts") or {}
    bank = None
    if first is not None and set(COUNTS) <= set(told):
        columns = {name: np.asarray(told[name], dtype=np.int64) for name in COUNTS}
        bank = dataclasses.replace(first, **columns, open=None, answers=None, right=None)
    return Judged(str(one["judge"]), one.get("pass") or {}, **counts, bank=bank, digest=str(one.get("digest", "")))


def with_judges(
    record: Record,
    judge: str,
    others: Sequence[tuple[str, Bank]] = (),
    *,
    ks: Sequence[int] = (),
    digests: Mapping[str, str] | None = None,
) -> Json:
    """The record of an exam with the names of its judges, and the scores by each. `ks` as in the record, by default as
    many as a judge's verdicts allow. `digests` tell judges of one name apart: judge -> what it is made of.

    with_judges(entry(verified, step=0, set="test"), "verifier", [("your reward good", graded)])
    """
    leading = {"judge": judge, "problems": record["problems"] - record.get("open", 0), "invalid": record["invalid"]}
    rows = [leading | {"pass": record["pass"]}, *(_scored(name, bank, ks) for name, bank in others)]
    for row in rows:
        row |= {"digest": digests[row["judge"]]} if digests and row["judge"] in digests else {}
    return {**record, "judge": judge, "judges": rows}


def _scored(judge: str, bank: Bank, ks: Sequence[int]) -> Json:
    """The scores by a further judge, with the counts that they follow from."""
    part = bank.select(np.flatnonzero(bank.n >= (max(ks) if ks else 1)))
    ks = (list(ks) or powers(int(part.n.min()))) if len(part) else []
    passed = [pass_at_k(part.n, part.correct, k=k) for k in ks]
    estimates = intervals(np.stack(passed, axis=1), RESAMPLING, level=LEVEL, draws=DRAWS) if passed else []
    return {
        "judge": judge,
        "problems": len(part),
        "invalid": int(bank.invalid.sum()),
        "pass": {str(k): as_json(estimate) for k, estimate in zip(ks, estimates, strict=True)},
        "counts": {name: getattr(bank, name).tolist() for name in COUNTS},
    }


def metrics_of(record: Record) -> dict[str, float]:
    """The scores by the further judges under their metric names: `eval/<set>/your-reward-good/pass@1`."""
    return {
        metric_of(record["set"], one["judge"], k): value["mean"]
        for one in record.get("judges", ())[1:]
        for k, value in one["pass"].items()
    }


def metric_of(set: str, judge: str, k: int | str) -> str:
    """The name of pass@k by a judge that is not the first."""
    return f"eval/{set}/{judge.replace(' ', '-')}/pass@{k}"


def side_by_side(before: Record, after: Record | None, document: Record) -> list[Json]:
    """For each judge its scores before and after training, and their paired difference: {"judge", "before", "after",
    "difference"}, each k -> estimate. A judge that was not asked both times has no difference.
    """
    first = {one.judge: one for one in judged(before, document)}
    last = {one.judge: one for one in judged(after, document)} if after is not None else {}
    return [_beside(name, first.get(name), last.get(name)) for name in dict.fromkeys([*last, *first])]


def _beside(judge: str, first: Judged | None, last: Judged | None) -> Json:
    passes = {"before": first and dict(first.passes), "after": last and dict(last.passes)}
    moved = None
    if first and last and first.bank is not None and last.bank is not None:
        moved = _moved(first.bank, last.bank)
    one = last or first
    counts = {} if one is None else {"problems": one.problems, "invalid": one.invalid}
    return {"judge": judge, **counts, **passes, "difference": moved}


def _moved(first: Bank, last: Bank) -> Json | None:
    least = min((int(bank.n[bank.n > 0].min()) for bank in (first, last) if (bank.n > 0).any()), default=0)
    try:
        return difference(first, last, powers(least))["pass"] if least else None
    except DataError:  # no problem of both
        return None


def otherwise(before: Record, after: Record, document: Record) -> str:
    """Why the first scores of two exams are not compared: they are of different judges; '' if they are of one."""
    names = [one[0].judge if one else "" for one in (judged(before, document), judged(after, document))]
    if names[0] == names[1] or not all(names):
        return ""
    return f"no difference: the first exam was judged by {spoken(names[0])}, the last by {spoken(names[1])}"


def remarks(record: Record, rows: Sequence[Record]) -> list[str]:
    """The lines below a table that say where a judge did not judge all, or nothing; none where all judged."""
    lines = [
        f"{spoken(str(row['judge']))} failed on {row['invalid']} answers, which count for nothing, and judged "
        f"{row['problems']} problems"
        for row in rows
        if row.get("invalid")
    ]
    return [str(record["silent"]), *lines] if record.get("silent") else lines
