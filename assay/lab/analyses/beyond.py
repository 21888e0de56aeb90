"""`math-beyond`: of the problems that the base does not solve in n tries, how many does the child?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.lab.analyses.measure import Lacking, Measure, Plot, Reading, Sheet
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.boundary import Counts, Expansion, expansion
from assay.scoring.discovery import FEWEST_ZERO
from assay.scoring.intervals import LEVEL, Interval

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

KEY = Key("math-beyond")
DRAWS = 1000


def above_floor(base: Counts, child: Counts, n: int) -> Interval:
    """What the child solves of the zero set of n samples, beyond what n more samples of the base would, with its
    interval over problems.
    """
    generator = KEY("above", len(base), n).generator()
    drawn = [generator.integers(len(base), size=len(base)) for _ in range(DRAWS)]
    values = np.array([_above(base.select(rows), child.select(rows), n) for rows in drawn])
    low, high = np.quantile(values, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Interval(expansion(base, child, n=n).above, float(low), float(high))


def _above(base: Counts, child: Counts, n: int) -> float:
    """0 where problems that were drawn have no zero set."""
    try:
        return expansion(base, child, n=n).above
    except DataError:
        return 0.0


def take(pair: Pair) -> Reading:
    base, child = pair.counts
    most = min(base.samples // 2, child.samples)
    if most < 1:
        raise Lacking("half of the base's samples choose the problems: two are the least.")
    if not (base.c == 0).any():
        raise Lacking(f"the base solves every problem in {base.samples} samples: take harder ones.")
    ns = sorted({*(2**i for i in range(most.bit_length())), most})
    rates = [expansion(base, child, n=n) for n in ns]
    last, beyond = rates[-1], above_floor(base, child, most)
    return Reading(
        says=(
            f"Of {last.problems:.0f} problems that {most} samples of the base do not solve, as many samples of the "
            f"child solve {last.rate:.1%}; fresh samples of the base {last.floor:.1%}. Beyond that: {beyond.mean:+.3f} "
            f"[{beyond.low:+.3f}, {beyond.high:+.3f}]."
        ),
        figures={
            "rates": {str(n): vars(rate) | {"above": rate.above} for n, rate in zip(ns, rates, strict=True)},
            "above": [beyond.mean, beyond.low, beyond.high],
        },
        tables=(_rates(ns, rates),),
        plots=(_plot(ns, rates),),
        beware=_warnings(last),
    )


def _warnings(last: Expansion) -> tuple[str, ...]:
    said = ["A zero among n samples is no zero chance: the floor is what the base itself would solve when asked again."]
    if last.problems < FEWEST_ZERO:
        said.append(f"{last.problems:.0f} unsolved problems are fewer than {FEWEST_ZERO}: nothing can be said of them.")
    return tuple(said)


def _rates(ns: Sequence[int], found: Sequence[Expansion]) -> Sheet:
    rows = tuple((n, one.problems, one.rate, one.floor, one.above) for n, one in zip(ns, found, strict=True))
    return Sheet(
        "Problems that n samples of the base do not solve", ("n", "problems", "child", "base anew", "above"), rows
    )


def _plot(ns: Sequence[int], found: Sequence[Expansion]) -> Plot:
    lines = tuple(
        Line(name, tuple((float(n), *(getattr(one, field),) * 3) for n, one in zip(ns, found, strict=True)))
        for name, field in (("child", "rate"), ("base anew", "floor"))
    )
    return Plot("Of what the base does not solve", lines, x="samples", y="share solved", log=True)


MATH_BEYOND = Measure(
    name="math-beyond",
    title="Beyond the zero set of the base",
    paper="2510.11653",
    asks="of the problems that the base does not solve in n tries, how many does the child?",
    needs=("banks",),
    take=take,
)
