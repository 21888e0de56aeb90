"""Banks: how a model answered a fixed set of problems, n times each. All estimates are computed from banks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask import Codec, Sampling
from assay.collect import played
from assay.errors import AssayError, DataError
from assay.models import Models
from assay.rng import Key
from assay.scoring.intervals import (
    DIFFERENCES,
    DRAWS,
    LEVEL,
    Interval,
    OverProblems,
    interval,
    intervals,
    over_problems,
    paired,
)
from assay.scoring.passk import maj_at_k, pass_at_k
from assay.tasks import task as task_of
from assay.types import Episode, Problem, Request, Verdict

if TYPE_CHECKING:
    from assay.engine.interface import Engine

Verify = Callable[[Sequence[Episode]], Sequence[Verdict | None]]
"""Episodes -> a verdict on each; None on an answer to an open problem, which nothing can call right or wrong."""
Rewarded = Callable[[Sequence[Episode]], list[Episode]]
Json = dict[str, Any]

RESAMPLING = Key("evaluation intervals")
"""Intervals with this key resample the same problems, whatever they are intervals of."""


@dataclass(frozen=True, eq=False)
class Bank:
    """The counts of an evaluation on M problems. A sample without a verdict is counted in `invalid` only.

    before = evaluate(engine, problems, samples=16, key=Key(0), sampling=sampling, codec=codec, verify=verify)
    print(summary(before, [1, 16])["pass"]["1"]["mean"])
    """

    problems: tuple[str, ...]  # ids of the problems
    tasks: tuple[str, ...]  # task of each problem
    levels: np.ndarray  # int64[M] level of each problem
    n: np.ndarray  # int64[M] valid samples
    correct: np.ndarray  # int64[M] right ones among the valid samples
    invalid: np.ndarray  # int64[M] samples without a verdict, because the sampler or the verifier failed
    truncated: np.ndarray  # int64[M] valid samples cut at max_new
    tokens: np.ndarray  # int64[M] tokens of the valid samples
    max_new: int
    temperature: float = 1.0
    answers: tuple[tuple[str | None, ...], ...] | None = None  # the answer of each valid sample in canonical form
    right: tuple[tuple[bool, ...], ...] | None = None  # whether each of `answers` is right
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Reward -> float64[M], its mean over a problem's samples; NaN where it had nothing to say of any of them."""
    open: np.ndarray | None = None  # bool[M] problems without a verifier: no sample of theirs is right or wrong

    def __len__(self) -> int:
        return len(self.problems)

    def select(self, rows: Sequence[int] | np.ndarray) -> Bank:
        """The bank of these problems, in this order."""
        rows = np.asarray(rows, dtype=np.int64)
        return Bank(
            problems=tuple(self.problems[i] for i in rows),
            tasks=tuple(self.tasks[i] for i in rows),
            **{name: getattr(self, name)[rows] for name in _COUNTS},
            max_new=self.max_new,
            temperature=self.temperature,
            answers=None if self.answers is None else tuple(self.answers[i] for i in rows),
            right=None if self.right is None else tuple(self.right[i] for i in rows),
            scores={name: values[rows] for name, values in self.scores.items()},
            open=None if self.open is None else self.open[rows],
        )

    def closed(self) -> Bank:
        """The bank of the problems that a verifier checks."""
        return self if self.open is None or not self.open.any() else self.select(np.flatnonzero(~self.open))

    def to_json(self) -> Json:
        counts = {name: getattr(self, name).tolist() for name in _COUNTS}
        record = {"problems": list(self.problems), "tasks": list(self.tasks), **counts}
        record |= {"max_new": self.max_new, "temperature": self.temperature}
        if self.answers is not None and self.right is not None:
            record |= {"answers": [list(row) for row in self.answers], "right": [list(row) for row in self.right]}
        if self.scores:
            record["scores"] = {name: [_number(v) for v in values] for name, values in self.scores.items()}
        if self.open is not None and self.open.any():
            record["open"] = self.open.tolist()
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Bank:
        missing = sorted({"problems", "tasks", "max_new", *_COUNTS} - set(record))
        if missing:
            raise DataError(f"a stored evaluation lacks {', '.join(missing)}: it was written by another version.")
        try:
            return cls._from_json(record)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"a stored evaluation cannot be read: {error}.") from error

    @classmethod
    def _from_json(cls, record: Mapping[str, Any]) -> Bank:
        answers, right = record.get("answers"), record.get("right")
        return cls(
            problems=tuple(record["problems"]),
            tasks=tuple(record["tasks"]),
            **{name: np.asarray(record[name], dtype=np.int64) for name in _COUNTS},
            max_new=int(record["max_new"]),
            temperature=float(record.get("temperature", 1.0)),
            answers=None if answers is None else tuple(tuple(row) for row in answers),
            right=None if right is None else tuple(tuple(row) for row in right),
            scores={
                name: np.array([math.nan if v is None else v for v in values], dtype=np.float64)
                for name, values in record.get("scores", {}).items()
            },
            open=None if "open" not in record else np.asarray(record["open"], dtype=bool),
        )


_COUNTS = ("levels", "n", "correct", "invalid", "truncated", "tokens")


def evaluate(
    engine: Engine,
    problems: Sequence[Problem],
    *,
    samples: int,
    key: Key,
    sampling: Sampling,
    codec: Codec,
    verify: Verify,
    answers: bool = False,
    asked: Callable[[list[Request]], list[Request]] = list,
    rewarded: Rewarded = list,
) -> Bank:
    """Samples `samples` answers to every problem, verifies them, and counts them in a bank.

    With the same key every model is sampled with the same random numbers, for paired comparison. `asked` may change the
    requests, for example add to their prompts what the recipe adds in training; `rewarded` gives answers to open
    problems the rewards of a recipe.
    """
    requests = questions(problems, samples=samples, sampling=sampling, codec=codec)
    episodes = rewarded(answer(engine, asked(requests), key=key, codec=codec, verify=verify))
    return bank(episodes, answers=answers)


def questions(problems: Sequence[Problem], *, samples: int, sampling: Sampling, codec: Codec) -> list[Request]:
    """`samples` requests for every problem. What is random in an answer depends on its problem and its number alone."""
    if samples < 1 or sampling.max_new < 1:
        raise DataError(f"an evaluation needs samples >= 1 and max_new >= 1, not {samples} and {sampling.max_new}.")
    _refuse_repeats(problems)
    return [
        Request(problem, context, problem.id, sample=sample, tag="evaluate", **sampling.of(problem))
        for problem, context in ((problem, codec.render(problem.prompt)) for problem in problems)
        for sample in range(samples)
    ]


def answer(
    engine: Engine,
    requests: Sequence[Request],
    *,
    key: Key,
    codec: Codec,
    verify: Verify,
    players: Mapping[str, Engine] | None = None,
) -> list[Episode]:
    """One verified episode for each request, in order. Episodes of an evaluation have a verdict and no reward.

    `players` play the roles of other seats, where the requests have a world of several; the engine plays those that it
    does not name.
    """
    beside = dict(players or {})
    worlds = [task_of(name).world for name in dict.fromkeys(request.problem.task for request in requests)]
    roles = {seat.role: "policy" for world in worlds if world is not None for seat in world.seats}
    models = Models({"policy": engine, **beside}, {**roles, **{role: role for role in beside}, "policy": "policy"})
    episodes = played(models, requests, key, codec)
    return [
        episode if episode.finish == "error" else replace(episode, verdict=verdict)
        for episode, verdict in zip(episodes, verify(episodes), strict=True)
    ]


def _refuse_repeats(problems: Sequence[Problem]) -> None:
    if not problems:
        raise DataError("there is nothing to evaluate: the set of problems is empty.")
    seen: set[str] = set()
    for problem in problems:
        if problem.id in seen:
            raise DataError(f"problem {problem.id} ({problem.canonical[:60]!r}) is twice in the evaluation set.")
        seen.add(problem.id)


def bank(episodes: Iterable[Episode], *, answers: bool = False) -> Bank:
    """Counts verified episodes by problem. The problems are in the order of their first episodes."""
    samples: dict[str, list[Episode]] = {}
    for episode in episodes:
        if episode.verdict is None and not episode.request.problem.open:
            raise DataError(f"request {episode.request.id} was never verified; a bank counts verdicts.")
        samples.setdefault(episode.request.problem.id, []).append(episode)
    if not samples:
        raise DataError("a bank needs samples; there are none.")
    valid = [[e for e in group if not e.verdict or e.verdict.status != "invalid"] for group in samples.values()]
    right = tuple(tuple(e.right for e in group) for group in valid)
    first = [group[0].request for group in samples.values()]
    canonical = tuple(tuple(e.verdict.answer if e.verdict else None for e in group) for group in valid)

    def count(values: Iterable[int]) -> np.ndarray:
        return np.array(list(values), dtype=np.int64)

    return Bank(
        problems=tuple(samples),
        tasks=tuple(request.problem.task for request in first),
        levels=count(request.problem.level for request in first),
        n=count(len(group) for group in valid),
        correct=count(sum(group) for group in right),
        invalid=count(len(group) - len(kept) for group, kept in zip(samples.values(), valid)),
        truncated=count(sum(e.finish == "length" for e in group) for group in valid),
        tokens=count(sum(len(e) for e in group) for group in valid),
        max_new=first[0].max_new,
        temperature=first[0].temperature,
        answers=canonical if answers else None,
        right=right if answers else None,
        scores=_scores(valid),
        open=np.array([all(e.verdict is None for e in group) and bool(group) for group in valid], dtype=bool),
    )


def _scores(groups: Sequence[Sequence[Episode]]) -> dict[str, np.ndarray]:
    """Reward -> its mean over the samples of each problem; samples without a score do not count."""
    said = [[scores_of(episode) for episode in group] for group in groups]
    names = dict.fromkeys(name for group in said for one in group for name in one)
    scores = {name: [[s for one in group if (s := one.get(name)) is not None] for group in said] for name in names}
    return {name: np.array([np.mean(one) if one else math.nan for one in rows]) for name, rows in scores.items()}


def scores_of(episode: Episode) -> dict[str, float | None]:
    """The scores of an answer: from reward functions and, for an answer to an open problem, from the rewards of a
    recipe; if these are several, `reward` is their sum.
    """
    said = dict(episode.verdict.scores) if episode.verdict else {}
    paid = {part.name: part.value for part in episode.rewards if not part.invalid and not part.unread}
    return paid | said | ({"reward": episode.reward} if len(episode.rewards) > 1 else {})


def summary(bank: Bank, ks: Sequence[int], *, key: Key = RESAMPLING, level: float = LEVEL, draws: int = DRAWS) -> Json:
    """pass@k and other estimates with intervals over problems: overall, by task, and by task and level.

    The result is JSON data; a bound that is unknown is None.
    """
    tasks: Json = {}
    for task in dict.fromkeys(bank.tasks):
        rows = np.array([i for i, name in enumerate(bank.tasks) if name == task])
        part = bank.select(rows)
        tasks[task] = _estimates(part, ks, key, level, draws)
        difficulties = np.unique(part.levels)
        tasks[task]["levels"] = {
            str(difficulty): _estimates(part.select(np.flatnonzero(part.levels == difficulty)), ks, key, level, draws)
            for difficulty in difficulties
        }
    return {**_estimates(bank, ks, key, level, draws), "temperature": bank.temperature, "tasks": tasks}


def examined(bank: Bank, ks: Sequence[int]) -> Json:
    """The summary of the problems with as many verdicts as the largest k needs.

    Where the verifier failed, a problem has fewer: it enters no estimate and is counted in `unjudged`, so that one lost
    verdict does not cost an evaluation. `invalid` counts the lost verdicts of all problems.
    """
    enough, lost = np.flatnonzero(bank.n >= max(ks)), int(bank.invalid.sum())
    if not len(enough):
        raise DataError(
            f"pass@{max(ks)} needs {max(ks)} answers to a problem with a verdict, and no problem has so many: the "
            f"verifier failed on {lost} of {lost + int(bank.n.sum())} answers. Ask for a smaller --k, draw more "
            "samples (--n), or try the verifier alone on one answer with `assay verify explain`."
        )
    counts = {"invalid": lost, "unjudged": len(bank) - len(enough)}
    return {**summary(bank.select(enough), ks), **counts}


def _estimates(bank: Bank, ks: Sequence[int], key: Key, level: float, draws: int) -> Json:
    closed = bank.closed()
    valid = max(int(bank.n.sum()), 1)
    record: Json = {
        "problems": len(bank),
        "samples": int(bank.n.min()),
        "invalid": int(bank.invalid.sum()),
        "truncated": float(bank.truncated.sum() / valid),
        "length": float(bank.tokens.sum() / valid),
        "pass": {},
    }
    if len(closed):
        passes = np.stack([pass_at_k(closed.n, closed.correct, k=k) for k in ks], axis=1)
        record["pass"] = {str(k): as_json(i) for k, i in zip(ks, intervals(passes, key, level=level, draws=draws))}
    if len(closed) < len(bank):
        record["open"] = len(bank) - len(closed)
    if verified := {name: v[~np.isnan(v)] for name, v in bank.scores.items() if not np.isnan(v).all()}:
        record["scores"] = {
            name: as_json(interval(v, key, level=level, draws=draws, bounds=(float(v.min()), float(v.max()))))
            for name, v in verified.items()
        }
    if len(closed) and closed.answers is not None and closed.right is not None:
        record["maj"] = {
            str(k): as_json(interval(_majorities(closed, k), key, level=level, draws=draws)) for k in ks if k > 2
        }
    return record


def _majorities(bank: Bank, k: int) -> np.ndarray:
    assert bank.answers is not None and bank.right is not None
    votes = zip(bank.problems, bank.answers, bank.right)
    return np.array([maj_at_k(answers, right, k=k, key=RESAMPLING(problem)) for problem, answers, right in votes])


def difference(
    before: Bank, after: Bank, ks: Sequence[int], *, key: Key = RESAMPLING, level: float = LEVEL, draws: int = DRAWS
) -> Json:
    """The paired difference `after` - `before` on the M problems of both: {"problems": M, "pass": {k: interval}}, and
    of open problems {"scores": {reward: interval}}.
    """
    before, after = common(*(bank.select(np.flatnonzero(bank.n > 0)) for bank in (before, after)))
    settings: dict[str, Any] = {"level": level, "draws": draws}
    old, new = before.closed(), after.closed()
    pairs = {k: (pass_at_k(old.n, old.correct, k=k), pass_at_k(new.n, new.correct, k=k)) for k in ks}
    document: Json = {"problems": len(before), "pass": {}}
    if len(old):
        document["pass"] = {str(k): as_json(paired(*pair, key, **settings)) for k, pair in pairs.items()}
    if len(old) < len(before):
        both = {n: (before.scores[n], after.scores[n]) for n in before.scores.keys() & after.scores.keys()}
        scored = {n: ~(np.isnan(first) | np.isnan(then)) for n, (first, then) in both.items()}
        document["scores"] = {
            n: as_json(_change(first[scored[n]], then[scored[n]], key, settings))
            for n, (first, then) in sorted(both.items())
            if scored[n].any()
        }
    return document


def paired_passes(before: Bank, after: Bank, ks: Sequence[int], *, key: Key = RESAMPLING) -> list[OverProblems]:
    """The difference of pass@k, `after` - `before`, for each k, on the problems of both banks. A problem needs valid
    samples in both, and a verifier that can call answers right.
    """
    pair = [bank.closed() for bank in common(*(bank.select(np.flatnonzero(bank.n > 0)) for bank in (before, after)))]
    if not len(pair[0]):
        raise DataError("the two evaluations share no problem with a right answer, so no pass@k can be compared.")
    passed = [np.stack([pass_at_k(bank.n, bank.correct, k=k) for k in ks], axis=1) for bank in pair]
    return over_problems(passed[1] - passed[0], key, bounds=DIFFERENCES)


def _change(before: np.ndarray, after: np.ndarray, key: Key, settings: Mapping[str, Any]) -> Interval:
    """The interval for the mean change of a reward, bounded by the range of the values that were seen."""
    widest = float(np.ptp(np.concatenate([before, after])))
    return interval(after - before, key, **settings, bounds=(-widest, widest))


def common(before: Bank, after: Bank) -> tuple[Bank, Bank]:
    """Both banks restricted to the problems that they share, in the order of the first bank."""
    place = {problem: i for i, problem in enumerate(after.problems)}
    rows = [i for i, problem in enumerate(before.problems) if problem in place]
    if not rows:
        raise DataError("the two evaluations share no problem, so no difference between them can be claimed.")
    return before.select(rows), after.select([place[before.problems[i]] for i in rows])


def entry(bank: Bank, *, step: int, set: str, ks: Sequence[int] | None = None) -> Json:
    """One line of evals.jsonl: the step, the set, the estimates, and the bank from which they were computed.

    `ks` are by default the powers of two up to the fewest valid samples of a problem. A problem without any valid
    sample enters no estimate and is counted in `unjudged`; the bank still holds it.
    """
    verified = np.flatnonzero(bank.n > 0)
    if not len(verified):
        raise AssayError(
            f"the verifier failed on all {int(bank.invalid.sum())} samples of '{set}'. Try it alone on one answer, "
            "for example with `assay verify explain`."
        )
    part = bank.select(verified)
    estimates = summary(part, powers(int(part.n.min())) if ks is None else ks)
    counts = {"invalid": int(bank.invalid.sum()), "unjudged": len(bank) - len(verified)}
    return {"step": step, "set": set, **estimates, **counts, "bank": bank.to_json()}


def scores(entry: Mapping[str, Any]) -> dict[str, float]:
    """The estimates of an entry under their metric names: `eval/<set>/pass@1`, ..., `eval/<set>/length`."""
    name = f"eval/{entry['set']}"
    return {f"{name}/pass@{k}": value["mean"] for k, value in entry["pass"].items()} | {
        f"{name}/length": entry["length"],
        f"{name}/truncated": entry["truncated"],
        f"{name}/invalid": float(entry["invalid"]),
        **{f"{name}/reward/{function}": value["mean"] for function, value in entry.get("scores", {}).items()},
    }


def powers(samples: int) -> list[int]:
    """1, 2, 4, ... up to the number of samples: the k of a pass@k curve."""
    return [2**i for i in range(samples.bit_length())]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def as_json(interval: Interval) -> Json:
    bound = {"low": interval.low, "high": interval.high}
    return {"mean": interval.mean} | {name: None if math.isnan(value) else value for name, value in bound.items()}
