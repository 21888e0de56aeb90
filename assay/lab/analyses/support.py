"""`support-dynamics`: which problems and solutions were kept, gained and lost, and how many answers are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.lab.analyses.boundary import told
from assay.lab.analyses.measure import Lacking, Measure, Plot, Reading, Sheet
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.boundary import Support, support
from assay.scoring.intervals import Interval, interval

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair
    from assay.scoring.bank import Bank

KEY = Key("support-dynamics")
MOST = 20.0  # nats: more than any bank can hold
NONE = "<none>"  # the class of all samples that gave no answer


def entropy(answers: Sequence[str | None]) -> float:
    """The entropy of the answers to a problem, in nats: -sum p log p of their frequencies, with the correction of
    Miller and Madow, (kinds - 1) / (2 N). Samples without an answer are one kind.
    """
    counts = np.array(list(Counter(NONE if answer is None else answer for answer in answers).values()), dtype=float)
    if not len(counts):
        return 0.0
    p = counts / counts.sum()
    return float(-(p * np.log(p)).sum() + (len(counts) - 1) / (2 * counts.sum()))


@dataclass(frozen=True)
class Solutions:
    """Pairs of a problem and a right answer to it that samples of base and child contain.

    `null` pairs are in one half of the base's samples and not in the other: so many seem gained, and lost, by luck.
    """

    both: int
    gained: int  # in samples of the child alone
    lost: int  # in samples of the base alone
    null: float  # of halves of the base
    gained_in_halves: float  # between a half of the base and a half of the child
    lost_in_halves: float

    @property
    def net(self) -> float:
        """E' - S' = (E - null) - (S - null), between halves."""
        return self.gained_in_halves - self.lost_in_halves


def solutions(base: Bank, child: Bank) -> Solutions:
    """Counts of right answers, and those between halves of each bank: its even and its odd samples."""
    whole = [_right(bank, slice(None)) for bank in (base, child)]
    even, odd = ([_right(bank, part) for bank in (base, child)] for part in (slice(0, None, 2), slice(1, None, 2)))
    crossed = [(even[0], odd[1]), (odd[0], even[1])]
    return Solutions(
        both=len(whole[0] & whole[1]),
        gained=len(whole[1] - whole[0]),
        lost=len(whole[0] - whole[1]),
        null=(len(even[0] - odd[0]) + len(odd[0] - even[0])) / 2,
        gained_in_halves=float(np.mean([len(after - before) for before, after in crossed])),
        lost_in_halves=float(np.mean([len(before - after) for before, after in crossed])),
    )


def _right(bank: Bank, part: slice) -> set[tuple[str, str]]:
    if bank.answers is None or bank.right is None:
        raise Lacking("the banks hold no answers, of which solutions are counted.")
    return {
        (name, answer)
        for name, answers, right in zip(bank.problems, bank.answers, bank.right, strict=True)
        for answer, good in zip(answers[part], right[part], strict=True)
        if good and answer is not None
    }


def unseen(bank: Bank) -> float:
    """The share of right samples that would be solutions not seen yet, by Good and Turing: solutions that were seen
    once over right samples.
    """
    if bank.answers is None or bank.right is None:
        raise Lacking("the banks hold no answers, of which solutions are counted.")
    seen = Counter(
        (name, answer)
        for name, answers, right in zip(bank.problems, bank.answers, bank.right, strict=True)
        for answer, good in zip(answers, right, strict=True)
        if good
    )
    return sum(count == 1 for count in seen.values()) / max(1, seen.total())


def take(pair: Pair) -> Reading:
    before, after = pair.tallies
    base, child = pair.counts
    if before.answers is None or after.answers is None:
        raise Lacking("the banks hold no answers.")
    if base.samples < 2:
        raise DataError("halves of a bank need two samples or more of each problem.")
    most = min(base.samples // 2, child.samples)
    ks = sorted({*(2**i for i in range(most.bit_length())), most})
    problems = [support(base, child, k) for k in ks]
    pairs = solutions(before, after)
    spread = {
        name: interval(np.array([entropy(answers) for answers in bank.answers or ()]), KEY, bounds=(0.0, MOST))
        for name, bank in (("base", before), ("child", after))
    }
    last = problems[-1]
    return Reading(
        says=_said(last, pairs, spread),
        figures={
            "problems": {str(count.k): _figures(count) for count in problems},
            "solutions": {**vars(pairs), "net": pairs.net},
            "answer_entropy": {name: [each.mean, each.low, each.high] for name, each in spread.items()},
            "unseen": {"base": unseen(before), "child": unseen(after)},
        },
        tables=(_problems(problems), _solutions(pairs), _answers(spread, before, after)),
        plots=(_plot(problems),),
        beware=(
            "A problem is in the support of a model if one of k samples solves it: chances below 3 / k are not seen.",
            "`by luck` is what two banks of the base itself would show as gained, and as lost.",
        ),
    )


def _said(last: Support, pairs: Solutions, spread: dict[str, Interval]) -> str:
    return (
        f"With {last.k} samples the child solves {last.gained:.1f} problems that the base does not, and "
        f"{last.lost:.1f} are lost; by luck it would be {last.null:.1f} each. Of solutions "
        f"{pairs.gained_in_halves:.0f} are gained and {pairs.lost_in_halves:.0f} lost between halves of the banks, "
        f"{pairs.null:.0f} by luck. Answers have an entropy of {told(spread['base'])} before and "
        f"{told(spread['child'])} after."
    )


def _figures(one: Support) -> dict[str, float | None]:
    ratios = {"retention": one.retention, "discovery": one.discovery, "net_change": one.net_change}
    return vars(one) | ratios | {"score": _score(one)}


def _score(one: Support) -> float | None:
    """SDS, the harmonic mean of retention and discovery."""
    kept, new = one.retention, one.discovery
    return 2 * kept * new / (kept + new) if kept and new else None


def _problems(found: Sequence[Support]) -> Sheet:
    columns = ("k", "kept", "gained", "lost", "neither", "by luck", "retention", "discovery", "net change")
    rows = tuple(
        (one.k, one.both, one.gained, one.lost, one.neither, one.null, one.retention, one.discovery, one.net_change)
        for one in found
    )
    return Sheet("Problems, as expected counts over draws of k samples", columns, rows)


def _solutions(pairs: Solutions) -> Sheet:
    return Sheet(
        "Right answers, each with its problem",
        ("", "kept", "gained", "lost", "by luck"),
        (
            ("all samples", pairs.both, pairs.gained, pairs.lost, None),
            ("between halves", None, pairs.gained_in_halves, pairs.lost_in_halves, pairs.null),
        ),
    )


def _answers(spread: dict[str, Interval], before: Bank, after: Bank) -> Sheet:
    rows = tuple(
        (name, told(spread[name]), float(np.exp(spread[name].mean)), unseen(bank))
        for name, bank in (("base", before), ("child", after))
    )
    return Sheet("Answers to a problem", ("", "entropy", "effective number", "unseen share of right ones"), rows)


def _plot(found: Sequence[Support]) -> Plot:
    lines = tuple(
        Line(name, tuple((float(one.k), *(getattr(one, field),) * 3) for one in found))
        for name, field in (("gained", "gained"), ("lost", "lost"), ("by luck", "null"))
    )
    return Plot("Problems gained and lost", lines, x="samples", y="problems", log=True)


SUPPORT_DYNAMICS = Measure(
    name="support-dynamics",
    title="What was kept, gained and lost",
    paper="2507.14843",
    asks="which problems and solutions can the child still find, which are new, and how many answers does it give?",
    needs=("banks",),
    take=take,
)
