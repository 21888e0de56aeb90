"""How many tokens a model weighs at each place of its own answers, at temperature 1 and over the whole vocabulary."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.bank_scores import own_statistics, reading

if TYPE_CHECKING:
    from assay.policy import Policy
    from assay.scoring.samples import SampleBank

ANSWERS = 8  # of a problem, the first ones, that are read
DECILES = 10


@dataclass(frozen=True, eq=False)
class Widths:
    """The branching factor B of places of answers: the fewest tokens that have 95 % of the probability.

    widths_of(bank, policy).figures["branching"]
    """

    nucleus: np.ndarray  # B of every place of every answer, in a row
    entropy: np.ndarray  # of the distribution there, in nats
    place: np.ndarray  # where in its answer, in [0, 1)
    problem: np.ndarray  # int, the number of its problem
    problems: int  # how many there are

    @property
    def figures(self) -> dict[str, float]:
        """RBF, the mean of B over places, with its median, the share of places where B > 1, the mean entropy and the
        mean of exp(entropy). With small vocabularies the share says more than the mean, which lies between 1 and 3.
        """
        return {
            "branching": float(self.nucleus.mean()),
            "branching_median": float(np.median(self.nucleus)),
            "branching_share": float((self.nucleus > 1).mean()),
            "entropy": float(self.entropy.mean()),
            "effective": float(np.exp(self.entropy).mean()),
        }

    @property
    def along(self) -> list[float | None]:
        """The share of places where B > 1, in each tenth of an answer; None where no place falls into it."""
        tenth = np.minimum((self.place * DECILES).astype(int), DECILES - 1)
        return [float((self.nucleus[tenth == i] > 1).mean()) if (tenth == i).any() else None for i in range(DECILES)]

    @property
    def shares(self) -> np.ndarray:
        """float[M]: the share of places where B > 1 in the answers to each problem; NaN for one without a token."""
        wide, all_ = (
            np.bincount(self.problem, weights, self.problems)
            for weights in (self.nucleus > 1, np.ones(len(self.place)))
        )
        return np.divide(wide, all_, out=np.full(self.problems, np.nan), where=all_ > 0)


def of_answers(nucleus: Sequence[np.ndarray], entropy: Sequence[np.ndarray], problems: Sequence[int]) -> Widths:
    """The widths of answers that are given one by one, with the number of the problem of each; the place of token t of
    T is t / T.
    """
    places = [np.arange(len(one)) / max(1, len(one)) for one in nucleus]
    values = [np.concatenate([np.zeros(0), *map(np.float64, rows)]) for rows in (nucleus, entropy, places)]
    numbers = np.asarray(problems, dtype=int)
    problem = np.repeat(numbers, [len(one) for one in nucleus])
    return Widths(values[0], values[1], values[2], problem, int(numbers.max(initial=-1)) + 1)


def widths_of(bank: SampleBank, policy: Policy) -> Widths:
    """The widths of a policy in its own bank, of the first `ANSWERS` answers to each problem."""
    few = min(bank.asked.samples, ANSWERS)
    first = bank.table.take(np.flatnonzero(bank.table["sample"].to_numpy() < few))
    part = dataclasses.replace(bank, asked=dataclasses.replace(bank.asked, samples=few), table=first)
    found = own_statistics(part, reading(bank.asked.model, policy, bank.asked.system))
    number = {name: i for i, name in enumerate(bank.asked.problems)}
    problems = [number[name] for name, _ in found]
    return of_answers([one.nucleus for _, one in found], [one.entropy for _, one in found], problems)
