"""From numbers to words: the one rule by which anything is said of a difference, wherever it is said.

Hypotheses that are decided together are one family, named and counted before the numbers are there. With m of them each
has its interval [L, U] at 1 - 5 % / m, so that all of these hold the truth together in 95 of 100 studies. The word
follows from [L, U] alone; w is the smallest effect worth knowing.

    NO EVIDENCE       the measure says nothing, and why (`void`)
    NOT ENOUGH SEEDS  of fewer than five, where methods are compared
    EQUAL             -w < L and U < w, where no size was stated; it comes before the other words

    nothing was stated        BETTER if L > 0, WORSE if U < 0
    a direction               SUPPORTED if L > 0, REFUTED if U < w
    a direction and a size s  SUPPORTED if L > s, REFUTED if U < s

    UNDECIDED         otherwise, with the seeds or problems that would show w in four of five studies

A difference that was stated to go down is decided with its sign turned. REFUTED with U < 0 means that the opposite was
seen. p belongs to the word: the least chance of a false word in the family at which it would still be said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from assay.errors import UsageError
from assay.scoring.intervals import Interval, Needed

Word = Literal["BETTER", "WORSE", "EQUAL", "SUPPORTED", "REFUTED", "UNDECIDED", "NOT ENOUGH SEEDS", "NO EVIDENCE"]
SILENT: tuple[Word, ...] = ("NOT ENOUGH SEEDS", "NO EVIDENCE")  # words that say nothing of a difference
Moves = Literal["", "up", "down"]
ALPHA = 0.05  # the chance of any false word in a family, at most
WORTH = 0.02  # the smallest difference of a share worth knowing
LEAST_SEEDS = 5  # with fewer nothing is said of methods
CARD_SEEDS = 6  # of a claim card


class Estimate(Protocol):
    """A mean that was measured, and how sure one may be of it: `inference.Effect` over seeds, `intervals.OverProblems`
    over problems.
    """

    @property
    def mean(self) -> float: ...
    @property
    def seeds(self) -> int | None: ...  # None where two checkpoints are compared
    def within(self, level: float) -> Interval: ...
    def chance(self, truth: float) -> float: ...
    def power(self, size: float, level: float) -> float | None: ...
    def needed(self, size: float, level: float) -> Needed | None: ...


@dataclass(frozen=True)
class Stated:
    """A claim about a difference, stated before the difference is seen; by default there is none.

    Stated(moves="up", size=0.05)  # whether it is larger than 0.05
    """

    worth: float = WORTH  # the smallest effect worth knowing; 0 where none can be named, and nothing is called equal
    moves: Moves = ""
    size: float | None = None  # the stated size

    def __post_init__(self) -> None:
        if not 0 <= self.worth < math.inf:
            raise UsageError(f"the smallest effect worth knowing is 0 or more, not {self.worth}: 0.02, for example.")
        if self.size is not None and not (self.moves and 0 < self.size < math.inf):
            raise UsageError(f"a size is a positive number, of what goes up or down, not {self.size}.")

    @property
    def sign(self) -> float:
        return -1.0 if self.moves == "down" else 1.0

    @property
    def least(self) -> float:
        """The bound above which a claim is SUPPORTED."""
        return self.size or 0.0

    @property
    def most(self) -> float:
        """The bound below which a claim is REFUTED."""
        return self.worth if self.size is None else self.size


@dataclass(frozen=True)
class Family:
    """Hypotheses that are decided together.

    Family("differences from grpo", 8).level  # 1 - 0.05 / 8
    """

    name: str
    size: int

    @property
    def level(self) -> float:
        """The level of the interval of each hypothesis."""
        return 1 - ALPHA / max(self.size, 1)

    def __str__(self) -> str:
        return f"{self.size} {self.name}"


@dataclass(frozen=True)
class Conclusion:
    """A word, and the numbers that it follows from.

    conclude(effect(after - before, bounds=(-1.0, 1.0)), Stated(), Family("differences", 3)).word
    """

    word: Word
    found: Interval  # one of a family whose intervals hold together
    stated: Stated
    estimate: Estimate
    family: Family
    void: str = ""  # why the measure is no evidence

    @cached_property
    def p(self) -> float | None:
        """The p of the word; None if the word says nothing of the difference."""
        if self.word in SILENT:
            return None
        return min(1.0, max(self.family.size, 1) * _chance(self.estimate, self.stated))

    @property
    def step(self) -> float:
        """The unit of difference for `needed` and `power`; 0 where none is known."""
        return self.stated.worth or self.stated.least

    @cached_property
    def needed(self) -> Needed | None:
        """For an undecided claim, the seeds or problems that would show one step."""
        return self.estimate.needed(self.step, self.family.level) if self._lacks else None

    @cached_property
    def power(self) -> float | None:
        """For an undecided claim, the chance that a comparison like this one shows two steps."""
        return self.estimate.power(2 * self.step, self.family.level) if self._lacks else None

    @property
    def _lacks(self) -> bool:
        return self.word == "UNDECIDED" and self.step > 0 and not math.isnan(self.found.low)

    @property
    def opposite(self) -> bool:
        """Whether the difference goes the other way than was stated."""
        high = self.found.high if self.stated.moves == "up" else -self.found.low
        return self.word == "REFUTED" and high < 0

    @property
    def numbers(self) -> str:
        """`+0.050 [+0.020, +0.080]`"""
        return f"{self.found.mean:+.3f} [{self.found.low:+.3f}, {self.found.high:+.3f}]"

    def __str__(self) -> str:
        """The word, with what a reader needs beside it."""
        if self.word == "NO EVIDENCE":
            return f"{self.word}: {self.void}"
        if self.word == "NOT ENOUGH SEEDS":
            return f"{self.word}: {self.estimate.seeds} of {LEAST_SEEDS} at least"
        if self.word == "EQUAL":
            return f"{self.word} within {self.stated.worth:g}"
        return f"{self.word}, the opposite" if self.opposite else f"{self.word}{self.lacking}"

    @property
    def lacking(self) -> str:
        """What an undecided claim lacks: `; 14 seeds would show 0.02, and 0.04 is seen in 35 % of ...`."""
        if self.power is None:
            return ""
        beyond = f" beyond {self.stated.size:g}" if self.stated.size else ""
        return (
            f"; {self.needed or 'no number of seeds and problems'} would show {self.step:g}{beyond}, and "
            f"{2 * self.step:g}{beyond} is seen in {self.power:.0%} of comparisons like this"
        )


def word_of(found: Interval, stated: Stated) -> Word:
    """The word that follows from the bounds of an interval.

    word_of(Interval(0.05, 0.02, 0.08), Stated())  # "BETTER"
    """
    if math.isnan(found.low) or math.isnan(found.high):
        return "UNDECIDED"  # a single problem has no interval
    if stated.size is None and -stated.worth < found.low and found.high < stated.worth:
        return "EQUAL"
    if not stated.moves:
        return "BETTER" if found.low > 0 else "WORSE" if found.high < 0 else "UNDECIDED"
    low, high = (found.low, found.high) if stated.moves == "up" else (-found.high, -found.low)
    return "SUPPORTED" if low > stated.least else "REFUTED" if high < stated.most else "UNDECIDED"


def conclude(estimate: Estimate, stated: Stated, family: Family, *, void: str = "") -> Conclusion:
    """The conclusion from an estimate that is one of a family; NO EVIDENCE if the measure is `void`."""
    found = estimate.within(family.level)
    few = estimate.seeds is not None and estimate.seeds < LEAST_SEEDS
    word: Word = "NO EVIDENCE" if void else "NOT ENOUGH SEEDS" if few else word_of(found, stated)
    return Conclusion(word, found, stated, estimate, family, void)


def _chance(estimate: Estimate, stated: Stated) -> float:
    """The least chance at which one of the words would be said of this estimate alone."""
    worth, mean = stated.worth, stated.sign * estimate.mean
    ways = []
    if stated.size is None and abs(mean) < worth:
        ways.append(max(estimate.chance(worth), estimate.chance(-worth)))
    if not stated.moves:
        ways.append(estimate.chance(0.0))
    elif mean > stated.least:
        ways.append(estimate.chance(stated.sign * stated.least))
    if stated.moves and mean < stated.most:
        ways.append(estimate.chance(stated.sign * stated.most))
    return min(ways, default=1.0)


def together(words: Sequence[Word]) -> Word:
    """The word of a claim with several conditions, which all stand in one family: SUPPORTED if all of them are, REFUTED
    if one is, else UNDECIDED.
    """
    if words and all(word == "SUPPORTED" for word in words):
        return "SUPPORTED"
    return "REFUTED" if "REFUTED" in words else "UNDECIDED"
