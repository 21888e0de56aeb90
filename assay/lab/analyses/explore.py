"""`explore-metrics`: what a policy explores: the problems that it never solves, how many tokens it weighs at each
place, and how unlike its answers are.

All is measured of the two banks. Series of these numbers over training, and training on answers that were chosen by
them, are studies and no measures of a pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.lab.analyses.boundary import told
from assay.lab.analyses.measure import Cell, Lacking, Measure, Plot, Reading, Sheet
from assay.lab.analyses.spread import rarefied, unlike
from assay.lab.analyses.support import NONE
from assay.lab.analyses.widths import DECILES, Widths, widths_of
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.boundary import Counts, misses, support
from assay.scoring.intervals import Interval, interval
from assay.scoring.zeros import Never, never_solved, still_solvable

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair, Side
    from assay.scoring.bank import Bank
    from assay.scoring.samples import SampleBank

KEY = Key("explore-metrics")
RIGHT = 4  # right answers to a problem, among which different ones are counted


def unsolved(base: Counts, child: Counts) -> list[dict[str, float | None]]:
    """The k-rollouts-unsolvable sets U_k: problems without a right answer among k samples, as expected counts over all
    draws of k: sum (1 - p)^k. `base alone` is U_k(base) \\ U_k(child); `by luck` is how many two banks of the base
    itself would show there, None where the base has fewer than 2 k samples.
    """
    most = min(base.samples, child.samples)
    ks = sorted({*(2**i for i in range(most.bit_length())), most})
    before, after = misses(base, ks), misses(child, ks)
    return [
        {
            "k": k,
            "base": float(before[:, i].sum()),
            "child": float(after[:, i].sum()),
            "base alone": float((before[:, i] * (1 - after[:, i])).sum()),
            "child alone": float((after[:, i] * (1 - before[:, i])).sum()),
            "by luck": support(base, child, k).null if 2 * k <= base.samples else None,
        }
        for i, k in enumerate(ks)
    ]


def kinds(bank: Bank, m: int, *, right: bool = False) -> np.ndarray:
    """float[M]: the expected number of different answers among m samples of each problem, or among m of its right ones.
    NaN for a problem with fewer. Samples without an answer are one kind.
    """
    if bank.answers is None or bank.right is None:
        raise Lacking("the banks hold no answers.")
    found = []
    for answers, good in zip(bank.answers, bank.right, strict=True):
        counted = [NONE if a is None else a for a, g in zip(answers, good, strict=True) if g or not right]
        found.append(rarefied(list(Counter(counted).values()), m) if len(counted) >= m else np.nan)
    return np.array(found)


def compared(before: np.ndarray, after: np.ndarray) -> dict[str, Interval] | None:
    """The means of both and of their difference, over the problems where both are numbers; None for less than two."""
    rows = np.flatnonzero(~np.isnan(before) & ~np.isnan(after))
    if len(rows) < 2:
        return None
    before, after = before[rows], after[rows]
    widest = float(max(before.max(), after.max())) or 1.0
    own = (0.0, widest)
    return {
        "base": interval(before, KEY, bounds=own),
        "child": interval(after, KEY, bounds=own),
        "difference": interval(after - before, KEY, bounds=(-widest, widest)),
    }


def diversity(base: SampleBank, child: SampleBank, tallies: tuple[Bank, Bank]) -> dict[str, dict[str, Interval] | None]:
    """How unlike the answers of each are: different answers among as many samples as both have, different right ones
    among `RIGHT` right ones, and the edit distance of two answers over the length of the longer one.
    """
    m = int(min(bank.n.min() for bank in tallies))
    before, after = tallies
    return {
        f"answers among {m}": compared(kinds(before, m), kinds(after, m)),
        f"right ones among {RIGHT}": compared(kinds(before, RIGHT, right=True), kinds(after, RIGHT, right=True)),
        "edit distance": compared(unlike(base, KEY("pairs")), unlike(child, KEY("pairs"))),
    }


def take(pair: Pair) -> Reading:
    base, child = pair.counts
    if base.samples < 2:
        raise DataError("halves of a bank need two samples or more of each problem.")
    series = unsolved(base, child)
    never = {"base": never_solved(base), "child": never_solved(child)}
    least = {"base": still_solvable(base), "child": still_solvable(child)}
    spread = diversity(*pair.banks, pair.tallies)
    widths, why = _widths(pair)
    if widths:
        spread["share of places with a choice"] = compared(widths["base"].shares, widths["child"].shares)
    tables = [_unsolved(series), _never(never, least, len(base)), _spread(spread)]
    plots = [_plot(series)]
    if widths:
        tables.append(_places(widths))
        plots.append(_along(widths))
    return Reading(
        says=_said(series[-1], never, spread, widths),
        figures={
            "unsolved": series,
            "never": {name: vars(share) for name, share in never.items()},
            "solvable_of_unsolved": least,
            "diversity": {
                name: None if each is None else {who: _json(share) for who, share in each.items()}
                for name, each in spread.items()
            },
            "branching": {name: share.figures for name, share in widths.items()},
        },
        tables=tuple(tables),
        plots=tuple(plots),
        beware=(
            "A share of problems without any chance cannot be told from chances that heap up at zero: read its bounds.",
            "Each model is read on its own answers: a width also changes because other places are reached.",
            *([why] if why else []),
        ),
    )


def _widths(pair: Pair) -> tuple[dict[str, Widths], str]:
    """How many tokens each model weighs, with its own answers; or why it is not known."""
    sides: tuple[tuple[str, Side, SampleBank], ...] = (
        ("base", pair.base, pair.banks[0]),
        ("child", pair.child, pair.banks[1]),
    )
    try:
        return {name: widths_of(bank, side.policy) for name, side, bank in sides}, ""
    except (Lacking, DataError) as error:
        return {}, f"Branching is not measured: {error}"


def _json(one: Interval) -> list[float]:
    return [one.mean, one.low, one.high]


def _said(
    last: Mapping[str, float | None],
    never: Mapping[str, Never],
    spread: Mapping[str, dict[str, Interval] | None],
    widths: Mapping[str, Widths],
) -> str:
    apart = next(iter(spread.values()))
    lines = [
        f"{last['k']} samples leave {last['base']:.0f} problems unsolved by the base and {last['child']:.0f} by the "
        f"child; without any chance are {_bounds(never['base'])} and {_bounds(never['child'])} of all."
    ]
    if apart is not None:
        lines.append(f"Different {next(iter(spread))}: {told(apart['base'])} before, {told(apart['child'])} after.")
    if widths:
        shares = [widths[name].figures["branching_share"] for name in ("base", "child")]
        lines.append(
            f"More than one token is weighed at {shares[0]:.1%} of the places before, at {shares[1]:.1%} after."
        )
    return " ".join(lines)


def _bounds(one: Never) -> str:
    return f"{one.share:.1%} [{one.low:.1%}, {one.high:.1%}]"


def _unsolved(series: Sequence[Mapping[str, float | None]]) -> Sheet:
    columns = tuple(series[0])
    rows: tuple[tuple[Cell, ...], ...] = tuple(tuple(row.values()) for row in series)
    return Sheet("Problems that k samples do not solve", columns, rows)


def _never(never: Mapping[str, Never], least: Mapping[str, float], problems: int) -> Sheet:
    columns = ("", "problems without any chance", "interval", "unsolved, and solvable at least")
    rows = tuple(
        (name, one.share * problems, f"[{one.low * problems:.0f}, {one.high * problems:.0f}]", least[name])
        for name, one in never.items()
    )
    return Sheet("Problems that no number of samples solves", columns, rows)


def _spread(spread: Mapping[str, dict[str, Interval] | None]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for name, each in spread.items():
        if each is None:
            rows.append((name, "too few problems", None, None))
        else:
            rows.append((name, told(each["base"]), told(each["child"]), told(each["difference"], sign=True)))
    return Sheet("How unlike the answers to a problem are", ("different", "base", "child", "difference"), tuple(rows))


def _places(widths: Mapping[str, Widths]) -> Sheet:
    names = {
        "branching": "mean branching factor",
        "branching_median": "median",
        "branching_share": "share of places with more than one token",
        "entropy": "mean entropy",
        "effective": "mean of exp(entropy)",
    }
    rows = tuple((said, *(one.figures[name] for one in widths.values())) for name, said in names.items())
    return Sheet("Tokens that are weighed at a place of an answer", ("", *widths), rows)


def _plot(series: Sequence[Mapping[str, float | None]]) -> Plot:
    names = ("base", "child", "by luck")
    lines = tuple(
        Line(
            name,
            tuple((float(row["k"] or 0), value, value, value) for row in series if (value := row[name]) is not None),
        )
        for name in names
    )
    return Plot("Problems that k samples do not solve", lines, x="samples", y="problems", log=True)


def _along(widths: Mapping[str, Widths]) -> Plot:
    lines = tuple(
        Line(
            name,
            tuple(((i + 0.5) / DECILES, value, value, value) for i, value in enumerate(one.along) if value is not None),
        )
        for name, one in widths.items()
    )
    return Plot("Branching within an answer", lines, x="place in the answer", y="share of places with a choice")


EXPLORE_METRICS = Measure(
    name="explore-metrics",
    title="What is explored",
    paper="2508.07534",
    asks="which problems are never solved, how many tokens are weighed at a place, and how unlike are the answers?",
    needs=("banks",),
    take=take,
)
