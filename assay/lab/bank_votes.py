"""`assay bank vote`: which answers of a bank a verifier would choose, and how often these are right.

The verifier is a model that says Yes or No to the question whether an answer is right, as `rl-v` and `heimdall` train
it. It reads each answer once; the chance of Yes stands for the mean of many verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask.yes_or_no import chances_right
from assay.errors import UsageError
from assay.forwards.agreement import ranked
from assay.rng import Key
from assay.types import Problem
from assay.verifiers.elections import best, majority, pessimistic, weighted

if TYPE_CHECKING:
    from assay.lab.bank_scores import Reader
    from assay.scoring.samples import SampleBank

DRAWS = 64  # sets of k answers that are drawn of each problem
Json = dict[str, Any]
Votes = Sequence[tuple[str | None, bool, float]]
"""(answer, whether it is right, chance of Yes) of each sample of a problem."""


def vote(bank: SampleBank, verifier: Reader, ks: Sequence[int], *, alpha: float, draws: int = DRAWS) -> Json:
    """How often the chosen one of k answers is right, by each rule: a mean over problems and over `draws` sets."""
    if wrong := [k for k in ks if k > bank.asked.samples]:
        raise UsageError(f"the bank has {bank.asked.samples} samples of each problem: --k {wrong[0]} is more.")
    problems = _votes(bank, verifier)
    rules = _rules(alpha)
    chosen: dict[str, dict[str, float]] = {name: {} for name in rules}
    for k in ks:
        sets = [(name, _drawn(votes, k, Key("bank", "vote", name, k), draws)) for name, votes in problems.items()]
        for name, rule in rules.items():
            chosen[name][str(k)] = float(
                np.mean([np.mean([_right(rule, drawn) for drawn in some]) for _, some in sets])
            )
    pairs = [
        ranked(np.array([chance for *_, chance in votes]), np.array([right for _, right, _ in votes], bool))
        for votes in problems.values()
    ]
    count = sum(number for _, number in pairs)
    return {
        "bank": bank.asked.model,
        "verifier": verifier.name,
        "problems": len(problems),
        "samples": bank.asked.samples,
        "alpha": alpha,
        "chosen": chosen,
        "auroc": sum(won for won, _ in pairs) / count if count else None,
    }


def _rules(alpha: float) -> dict[str, Callable[[Votes], str | None]]:
    return {
        "majority": lambda votes: majority([answer for answer, _, _ in votes]),
        "weighted": lambda votes: weighted([answer for answer, _, _ in votes], [chance for *_, chance in votes]),
        "best": lambda votes: best([answer for answer, _, _ in votes], [chance for *_, chance in votes]),
        "pessimistic": lambda votes: pessimistic(
            [answer for answer, _, _ in votes], [[chance] for *_, chance in votes], alpha=alpha
        ),
    }


def _votes(bank: SampleBank, verifier: Reader) -> dict[str, Votes]:
    """The verified samples of each problem. A sample that was cut gives no answer."""
    wording = bank.asked.pool.get("wording", "compact")
    rows = [row for row in bank.table.to_pylist() if row["status"] != "invalid"]
    asked = []
    for row in rows:
        prompt = bank.asked.problems[row["problem"]]["prompt"]
        said = prompt if isinstance(prompt, str) else tuple(prompt)
        asked.append((Problem(row["task"], said, {}, row["problem"], wording=wording), row["text"]))
    chances = chances_right(verifier.engine, asked, verifier.policy.codec)
    found: dict[str, list[tuple[str | None, bool, float]]] = {}
    for row, chance in zip(rows, chances.tolist(), strict=True):
        answer = None if row["finish"] == "length" else row["answer"]
        found.setdefault(row["problem"], []).append((answer, row["correct"], chance))
    return dict(found)


def _drawn(votes: Votes, k: int, key: Key, draws: int) -> list[Votes]:
    """Sets of k of these samples, without replacement; all of them once, where there are no more."""
    if k >= len(votes):
        return [votes]
    generator = key.generator()
    return [[votes[i] for i in generator.permutation(len(votes))[:k]] for _ in range(draws)]


def _right(rule: Callable[[Votes], str | None], votes: Votes) -> float:
    """The share of right samples among those with the chosen answer; 0 if none was chosen."""
    chosen = rule(votes)
    mine = [right for answer, right, _ in votes if chosen is not None and answer == chosen]
    return float(np.mean(mine)) if mine else 0.0
