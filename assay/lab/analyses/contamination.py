"""`contamination`: how much of a score, and of a gain, comes from problems that were seen before?

The problems of the banks are suspects, and each has a twin: a fresh problem of the same task and level. What the model
knows of suspects beyond twins it has seen. Templates are completed well in both, so that only the difference counts.
The causal version, which leaks problems into training on purpose, is a study. Whether a model prefers the order of a
file to others is asked of rows of a file, which have no twins, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.analyses.boundary import told
from assay.lab.analyses.measure import Cell, Measure, Plot, Reading, Sheet
from assay.lab.analyses.twins import Witness, twins_of, witness_of
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.boundary import Counts
from assay.scoring.intervals import DIFFERENCES, LEVEL, SHARES, Interval, interval
from assay.types import Problem

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

KEY = Key("contamination")
CUTS = (0.4, 0.6, 0.8)  # of the question that is shown
TOLD = 0.6  # the one that is told in words
PROBLEMS = 128  # suspects at the most
SAMPLES = 32  # answers to a twin
DRAWS = 2000
LEAST = 0.2  # of the tokens, the least likely ones, whose mean log-probability Min-K% is


def rouge_l(found: Sequence[int], wanted: Sequence[int]) -> float:
    """ROUGE-L: 2 L / (m + n), with L the longest common subsequence of m tokens found and n wanted."""
    row = [0] * (len(wanted) + 1)
    for token in found:
        before = 0
        for i, other in enumerate(wanted, start=1):
            before, row[i] = row[i], before + 1 if token == other else max(row[i], row[i - 1])
    return 2 * row[-1] / (len(found) + len(wanted)) if len(found) + len(wanted) else 1.0


def min_k(logp: np.ndarray, share: float = LEAST) -> float:
    """Min-K%: the mean of the ceil(share T) least log-probabilities of T tokens (2310.16789)."""
    count = max(1, int(np.ceil(share * len(logp))))
    return float(np.sort(np.asarray(logp, dtype=np.float64))[:count].mean())


def between(suspects: np.ndarray, twins: np.ndarray, *, bounds: tuple[float, float]) -> Interval:
    """The mean over suspects minus that over twins, two independent sets, with the interval of Newcombe:
    d - sqrt((m1 - l1)^2 + (u2 - m2)^2) to d + sqrt((u1 - m1)^2 + (m2 - l2)^2), of each mean with its bounds.
    """
    one, other = interval(suspects, KEY("suspects"), bounds=bounds), interval(twins, KEY("twins"), bounds=bounds)
    mean = one.mean - other.mean
    low = mean - float(np.hypot(one.mean - one.low, other.high - other.mean))
    return Interval(mean, low, mean + float(np.hypot(one.high - one.mean, other.mean - other.low)))


def ahead(suspects: np.ndarray, twins: np.ndarray) -> Interval:
    """The chance that a suspect has a larger value than a twin, where equal ones count one half: the area under the
    curve that tells the sets apart, 0.5 if nothing does. The interval draws both sets again.
    """
    table = (suspects[:, None] > twins[None, :]) + 0.5 * (suspects[:, None] == twins[None, :])
    generator = KEY("ahead", *table.shape).generator()
    weights = [generator.multinomial(n, np.full(n, 1 / n), size=DRAWS) / n for n in table.shape]
    drawn = ((weights[0] @ table) * weights[1]).sum(1)
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Interval(float(table.mean()), float(low), float(high))


@dataclass(frozen=True, eq=False)
class Recall:
    """What a model knows of some problems; arrays are float[M].

    remembered(witness, problems).exact[0.6].mean()
    """

    exact: dict[float, np.ndarray]  # whether the rest of the question is completed to the last token, by share shown
    alike: dict[float, np.ndarray]  # ROUGE-L of completion and rest
    blind: dict[float, np.ndarray]  # whether the problem is solved though the model has not read the rest
    rare: np.ndarray  # Min-K% of the question


def remembered(witness: Witness, problems: Sequence[Problem]) -> Recall:
    """Shows the first part of each question, lets the likeliest completion be written, and asks for an answer to the
    question as the model completed it, which is verified as an answer to the problem itself.
    """
    texts = [witness.text(problem) for problem in problems]
    memory = Recall({}, {}, {}, np.array([min_k(one) for one in witness.logp(texts)]))
    for share in CUTS:
        shown, rest = zip(*(one.cut(share) for one in texts), strict=True)
        made = witness.complete(shown, [len(one) for one in rest])
        memory.exact[share] = np.array([list(m) == list(r) for m, r in zip(made, rest, strict=True)], dtype=float)
        memory.alike[share] = np.array([rouge_l(list(m), list(r)) for m, r in zip(made, rest, strict=True)])
        asked = [np.concatenate([s[len(t.before) :], m]) for s, t, m in zip(shown, texts, made, strict=True)]
        memory.blind[share] = witness.solved(problems, asked).astype(float)
    return memory


@dataclass(frozen=True, eq=False)
class Gain:
    """pass@1 of both models on suspects and on twins, and what follows."""

    accuracy: dict[str, dict[str, float]]  # model -> set -> pass@1
    ahead: dict[str, Interval]  # model -> pass@1 on suspects minus that on twins
    change: dict[str, Interval]  # set -> the change of pass@1 from base to child
    adjusted: Interval  # the change on suspects minus that on twins


def gain(suspects: tuple[Counts, Counts], twins: tuple[Counts, Counts]) -> Gain:
    """The difference in differences, of (base, child) on suspects and on twins. Above 0: what was gained on suspects is
    in part no skill, for it does not show on twins.
    """
    sets = {"suspects": [one.c / one.n for one in suspects], "twins": [one.c / one.n for one in twins]}
    models = {"base": 0, "child": 1}
    changes = {name: child - base for name, (base, child) in sets.items()}
    return Gain(
        accuracy={who: {name: float(rows[i].mean()) for name, rows in sets.items()} for who, i in models.items()},
        ahead={who: between(sets["suspects"][i], sets["twins"][i], bounds=SHARES) for who, i in models.items()},
        change={name: interval(values, KEY(name), bounds=DIFFERENCES) for name, values in changes.items()},
        adjusted=between(changes["suspects"], changes["twins"], bounds=DIFFERENCES),
    )


def take(pair: Pair) -> Reading:
    names = pair.tallies[0].problems[:PROBLEMS]
    problems = {name: pair.problems[name] for name in names}
    fresh = twins_of(problems)
    witnesses = {
        name: witness_of(bank, side.policy)
        for name, bank, side in zip(("base", "child"), pair.banks, (pair.base, pair.child), strict=True)
    }
    return judged(witnesses, list(problems.values()), fresh, pair.counts)


def judged(
    witnesses: dict[str, Witness], suspects: Sequence[Problem], twins: Sequence[Problem], counts: tuple[Counts, Counts]
) -> Reading:
    """What `base` and `child` make of suspects and twins; `counts` are their right answers to suspects."""
    memories = {who: (remembered(witness, suspects), remembered(witness, twins)) for who, witness in witnesses.items()}
    fresh = [witness.right(twins, SAMPLES) for witness in witnesses.values()]
    rows = np.arange(len(suspects))
    gains = gain((counts[0].select(rows), counts[1].select(rows)), (fresh[0], fresh[1]))
    index = {
        who: {share: between(mine.exact[share], other.exact[share], bounds=SHARES) for share in CUTS}
        for who, (mine, other) in memories.items()
    }
    likely = {who: ahead(mine.rare, other.rare) for who, (mine, other) in memories.items()}
    return Reading(
        says=_said(memories["base"], index["base"][TOLD], gains),
        figures={
            "problems": len(suspects),
            "completed": {who: _figures(*pairs) for who, pairs in memories.items()},
            "index": {
                who: {str(share): _json(bounds) for share, bounds in each.items()} for who, each in index.items()
            },
            "min_k_ahead": {who: _json(bounds) for who, bounds in likely.items()},
            "accuracy": gains.accuracy,
            "ahead": {who: _json(bounds) for who, bounds in gains.ahead.items()},
            "change": {name: _json(bounds) for name, bounds in gains.change.items()},
            "adjusted": _json(gains.adjusted),
        },
        tables=(_completed(memories, index), _likely(likely), _gains(gains)),
        plots=(_plot(memories),),
        beware=(
            "What has one likely end is completed without having been seen: only the difference to twins counts.",
            "Problems are the same here where their canonical form is; a leak in other words is not seen.",
        ),
    )


def _json(one: Interval) -> list[float]:
    return [one.mean, one.low, one.high]


def _said(base: tuple[Recall, Recall], index: Interval, found: Gain) -> str:
    rates = [float(memory.exact[TOLD].mean()) for memory in base]
    seen = "it has seen them" if index.low > 0 else "nothing says that it has seen them"
    here, there, apart = (
        told(one, sign=True) for one in (found.change["suspects"], found.change["twins"], found.adjusted)
    )
    return (
        f"From {TOLD:.0%} of a question the base completes {rates[0]:.1%} of these problems and {rates[1]:.1%} of "
        f"fresh ones, {told(index, sign=True)}: {seen}. pass@1 changed by {here}, and by {there} on fresh ones: a "
        f"difference of {apart}."
    )


def _figures(mine: Recall, other: Recall) -> dict[str, object]:
    return {
        name: {
            field: {str(share): float(values.mean()) for share, values in getattr(memory, field).items()}
            for field in ("exact", "alike", "blind")
        }
        | {"min_k": float(memory.rare.mean())}
        for name, memory in (("suspects", mine), ("twins", other))
    }


def _completed(known: dict[str, tuple[Recall, Recall]], index: dict[str, dict[float, Interval]]) -> Sheet:
    columns = ("", "shown", "completed", "twins", "difference", "ROUGE-L", "twins", "solved unread", "twins")
    rows: list[tuple[Cell, ...]] = [
        (
            who,
            f"{share:.0%}",
            float(mine.exact[share].mean()),
            float(other.exact[share].mean()),
            told(index[who][share], sign=True),
            *(float(values[share].mean()) for values in (mine.alike, other.alike, mine.blind, other.blind)),
        )
        for who, (mine, other) in known.items()
        for share in CUTS
    ]
    return Sheet("Questions that are completed from their beginning", columns, tuple(rows))


def _likely(likely: dict[str, Interval]) -> Sheet:
    rows = tuple((who, told(one)) for who, one in likely.items())
    return Sheet("Chance that a question is likelier than a fresh one (Min-K%), 0.5 if unseen", ("", "chance"), rows)


def _gains(found: Gain) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        (f"pass@1 of the {who}", values["suspects"], values["twins"], told(found.ahead[who], sign=True))
        for who, values in found.accuracy.items()
    ]
    changes = (told(found.change[name], sign=True) for name in ("suspects", "twins"))
    rows.append(("change", *changes, told(found.adjusted, sign=True)))
    return Sheet("Scores here and on fresh problems", ("", "these problems", "fresh ones", "difference"), tuple(rows))


def _plot(known: dict[str, tuple[Recall, Recall]]) -> Plot:
    lines = []
    for who, memories in known.items():
        for name, memory in zip(("these problems", "fresh ones"), memories, strict=True):
            spread = {share: interval(memory.exact[share], KEY) for share in CUTS}
            points = tuple((share, one.mean, one.low, one.high) for share, one in spread.items())
            lines.append(Line(f"{who}, {name}", points))
    return Plot("Questions that are completed", tuple(lines), x="share that is shown", y="share completed")


CONTAMINATION = Measure(
    name="contamination",
    title="Seen before?",
    paper="2507.10532",
    asks="how much of the score and of the gain comes from problems that were seen before?",
    needs=("banks", "weights"),
    take=take,
)
