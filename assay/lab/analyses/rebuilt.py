"""Exams of models whose weights a measure has rebuilt: all are asked the same few problems as the child's run asks."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.lab.analyses.measure import Cell, Lacking
from assay.rng import Key
from assay.scoring.intervals import LEVEL, Interval, Resampled, paired

if TYPE_CHECKING:
    from assay.lab.analyses.changes import Weights
    from assay.lab.analyses.pair import Pair
    from assay.policy import Policy
    from assay.run.ancestry import ParentRun
    from assay.scoring.bank import Bank
    from assay.source import Pool
    from assay.types import Problem

PROBLEMS, SAMPLES = 64, 16  # of an exam, unless the banks of a pair hold fewer problems
PAIR = ("base", "child")
DRAWS = 2000  # sets of problems drawn again for an interval
KEY = Key("rebuilt weights")


@dataclass(frozen=True, eq=False)
class Scores:
    """The share of right samples of each model on each problem, and whether training gained anything on them.

    Scores({"base": np.array([0.1, 0.0]), "child": np.array([0.5, 0.2])})
    """

    rates: Mapping[str, np.ndarray]  # model -> float[M]; `base` and `child` are among them
    samples: int = SAMPLES

    @property
    def gain(self) -> Interval:
        """pass@1 of the child minus that of the base."""
        return paired(self.rates["base"], self.rates["child"], KEY)

    @property
    def resolved(self) -> bool:
        """Whether so few problems show that the child is better; else no share of a gain means anything."""
        return bool(self.gain.low > 0)

    def recovery(self, name: str) -> Interval:
        """(acc(model) - acc(base)) / (acc(child) - acc(base)), with the interval of problems drawn again. It means
        something where the gain is `resolved`, and is not asked elsewhere.
        """
        base, child, other = (self.rates[one] for one in ("base", "child", name))
        M = len(base)
        picked = KEY("draws").generator().integers(0, M, size=(DRAWS, M))
        over, under = (other - base)[picked].mean(1), (child - base)[picked].mean(1)
        share = float((other - base).mean() / (child - base).mean())
        return Resampled(share, np.divide(over, under, out=np.zeros(DRAWS), where=under != 0)).within(LEVEL)

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """(model, pass@1, share of the gain) of each model; no share of base and child, or where nothing was gained."""
        return tuple(
            (name, float(rates.mean()), _share(self.recovery(name)) if self.resolved and name not in PAIR else None)
            for name, rates in self.rates.items()
        )

    def figures(self) -> dict[str, Any]:
        """Every number, as JSON data."""
        rebuilt_ones = [name for name in self.rates if name not in PAIR] if self.resolved else []
        return {
            "problems": len(self.rates["base"]),
            "samples": self.samples,
            "pass_1": {name: float(rates.mean()) for name, rates in self.rates.items()},
            "gain": dataclasses.asdict(self.gain),
            "resolved": self.resolved,
            "recovery": {name: dataclasses.asdict(self.recovery(name)) for name in rebuilt_ones} or None,
        }


def _share(share: Interval) -> str:
    return f"{share.mean:.2f} ({share.low:.2f} to {share.high:.2f})"


def with_changes(before: Weights, deltas: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """W_0 + Delta for the parameters that have a Delta; all others are those of the base."""
    return {name: array + deltas[name] if name in deltas else array for name, array in before.items()}


def scores(pair: Pair, models: Mapping[str, Weights]) -> Scores:
    """The scores of base, child and these models, in an exam of at most `PROBLEMS` problems with `SAMPLES` answers
    each.

    All are asked as the run of the child asks in its exams, with the same random numbers. `Lacking` where it is not
    known which problems to ask.
    """
    ask = examiner(pair)
    weights = {"base": pair.weights[0], "child": pair.weights[1], **models}
    rates = {name: ask(arrays) for name, arrays in weights.items()}
    judged = np.all([np.isfinite(one) for one in rates.values()], axis=0)
    if judged.sum() < 2:
        raise Lacking("the verifiers of the child's tasks gave no verdicts on answers of rebuilt models.")
    return Scores({name: one[judged] for name, one in rates.items()})


def examiner(pair: Pair) -> Callable[[Weights], np.ndarray]:
    """What gives weights the share of right samples of each problem; NaN where there are no verdicts. The problems are
    those of the banks, or those that the run of the child is examined on.
    """
    from assay.lab.analyses.pair import pool_of
    from assay.lab.sample import exam
    from assay.run.ancestry import origin
    from assay.run.own_tools import has_tools

    banked = pair.base.bank is not None and pair.child.bank is not None
    model = pair.child.model or (pair.banks[1].asked.model if banked else "")
    run = origin(model) if model else None
    if run is not None and has_tools(run.experiment):
        raise Lacking(f"{pair.child.name} answers with tools of its own, which exams of rebuilt weights do not have.")
    if banked:
        pool, problems = pool_of(pair.banks[0]), list(pair.problems.values())[:PROBLEMS]
    elif run is not None:
        pool = run.experiment.pool
        problems, _ = exam(model, pool, pair.child.policy, count=PROBLEMS, split="test", max_new=None)
    else:
        raise Lacking(f"{pair.child.name} is no run and there are no banks: which problems to ask is not known.")
    return _asking(pair, model, run, pool, problems)


def _asking(
    pair: Pair, model: str, run: ParentRun | None, pool: Pool, problems: Sequence[Problem]
) -> Callable[[Weights], np.ndarray]:
    from assay.engine.choose import frozen_engine
    from assay.host.space import device_of
    from assay.lab.sample import answer_length, asked_with, sampling_of
    from assay.run.grader import Grader
    from assay.run.judged_exams import examine

    asked = pair.banks[1].asked if pair.child.bank is not None else None
    temperature = asked.temperature if asked else run.experiment.evaluation.temperature if run else 1.0
    max_new = asked.max_new if asked else answer_length(model, pool)
    system = asked.system if asked else run.system if run else ""
    start = pair.child.policy.told(system) if system else pair.child.policy

    def ask(weights: Weights) -> np.ndarray:
        policy = rebuilt(start, weights)
        sat = examine(
            frozen_engine(policy, device=device_of("auto"), precision="auto"),
            problems,
            grader=Grader(),
            samples=SAMPLES,
            key=KEY("exam"),
            sampling=sampling_of(model, policy.codec, max_new, temperature),
            codec=policy.codec,
            asked=asked_with(model, policy.codec),
        )
        return _rates(sat.bank, problems)

    return ask


def _rates(bank: Bank, problems: Sequence[Problem]) -> np.ndarray:
    counts = dict(zip(bank.problems, zip(bank.correct, bank.n, strict=True), strict=True))
    right = np.array([counts.get(problem.id, (0, 0)) for problem in problems], dtype=float)
    return np.divide(right[:, 0], right[:, 1], out=np.full(len(right), np.nan), where=right[:, 1] > 0)


def rebuilt(policy: Policy, weights: Weights) -> Policy:
    """A copy of a policy with these weights."""
    import torch

    network = copy.deepcopy(policy.network)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(weights[name])))
    return dataclasses.replace(policy, network=network)
