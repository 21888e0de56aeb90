"""`weight-change`: which parameters moved, how much, and which of them carry what was gained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.analyses.changes import ATTENTION, MLP, Change, changed, changes, energy, gini
from assay.lab.analyses.measure import Lacking, Measure, Plot, Reading, Sheet
from assay.lab.analyses.rebuilt import PROBLEMS, SAMPLES, Scores, scores, with_changes
from assay.lab.study.charts import Line

if TYPE_CHECKING:
    from assay.lab.analyses.changes import Weights
    from assay.lab.analyses.pair import Pair

ORDER = (*ATTENTION, *MLP, "matrix", "embedding", "vector")
MOST = 1.2  # q and k "move most" if their root mean square is so many times that of the other matrices of a layer
EVEN = 0.05  # the largest excess of a kind that still counts as an even spread
PARTS = {"attention": ATTENTION, "MLP": MLP, "all others": ("matrix", "embedding", "vector")}


@dataclass(frozen=True)
class Moved:
    """How far some parameters moved together.

    Moved("q", numbers=65536, change=0.21, start=23.1, energy_share=0.04, number_share=0.07, along=0.001)
    """

    name: str
    numbers: int  # how many there are
    change: float  # ||Delta W||_F
    start: float  # ||W_0||_F
    energy_share: float  # their part of sum ||Delta W||_F^2 over the whole model
    number_share: float  # their part of all numbers: the energy share if all moved alike
    along: float  # the part of ||Delta W||_F^2 along W_0, which weight decay makes, and which turns nothing

    @property
    def rms(self) -> float:
        """||Delta W||_F / sqrt(n), the root mean square of a change."""
        return self.change / self.numbers**0.5

    @property
    def relative(self) -> float | None:
        """||Delta W||_F / ||W_0||_F; None for what began as zero."""
        return self.change / self.start if self.start > 0 else None

    @property
    def excess(self) -> float:
        """Energy share minus share of the numbers: above 0, the update is concentrated here."""
        return self.energy_share - self.number_share


def moved(name: str, part: Sequence[Change], whole: Sequence[Change]) -> Moved:
    """How far a part of all changes moved. `along` is sum <Delta W, W_0>^2 / ||W_0||^2 over sum ||Delta W||^2."""
    total, numbers = sum(energy(change.delta) for change in whole), sum(change.before.size for change in whole)
    mine, count = sum(energy(change.delta) for change in part), sum(change.before.size for change in part)
    start = sum(energy(change.before) for change in part)
    aligned = sum(
        float(np.vdot(change.delta, change.before)) ** 2 / squared
        for change in part
        if (squared := energy(change.before)) > 0
    )
    return Moved(
        name=name,
        numbers=count,
        change=mine**0.5,
        start=start**0.5,
        energy_share=mine / total if total > 0 else 0.0,
        number_share=count / numbers,
        along=aligned / mine if mine > 0 else 0.0,
    )


def by_kind(both: Sequence[Change]) -> list[Moved]:
    """How far the parameters of each kind moved, the kinds in the order of a layer."""
    return [moved(kind, part, both) for kind in ORDER if (part := [change for change in both if change.kind == kind])]


def by_layer(both: Sequence[Change]) -> list[Moved]:
    """How far the parameters of each layer moved, from the first to the last; those in no layer stand in none."""
    layers = sorted({change.layer for change in both if change.layer is not None})
    return [moved(str(layer), [one for one in both if one.layer == layer], both) for layer in layers]


def query_ratios(both: Iterable[Change]) -> list[float]:
    """For each layer, RMS(q, k) / RMS(v, o, gate, up, down), each over all numbers of its matrices. Empty where a model
    has no such matrices.
    """
    squares: dict[int, dict[bool, list[float]]] = defaultdict(lambda: {True: [0.0, 0.0], False: [0.0, 0.0]})
    for one in both:
        if one.layer is not None and one.kind in (*ATTENTION, *MLP):
            entry = squares[one.layer][one.kind in ("q", "k")]
            entry[0] += energy(one.delta)
            entry[1] += one.before.size
    halves = [(of[True], of[False]) for _, of in sorted(squares.items())]
    return [((a / n) / (b / m)) ** 0.5 for (a, n), (b, m) in halves if n and m and b > 0]


def inequality(both: Sequence[Change]) -> float:
    """The Gini coefficient of the mean squared change over all matrices, each counted once."""
    return gini([energy(one.delta) / one.before.size for one in both if one.before.ndim == 2])


def transplants(both: Sequence[Change], before: Weights) -> dict[str, Weights]:
    """For each part of the model two models: the base with the change of this part alone, and with all changes but
    those of this part. A part that the model lacks, or that is all of it, gives none.
    """
    models: dict[str, Weights] = {}
    deltas = {change.name: change.delta for change in both}
    for part, kinds in PARTS.items():
        mine = {change.name: change.delta for change in both if change.kind in kinds}
        if not mine or len(mine) == len(deltas):
            continue
        models[f"{part} alone"] = with_changes(before, mine)
        models[f"without {part}"] = with_changes(before, {n: delta for n, delta in deltas.items() if n not in mine})
    return models


def take(pair: Pair) -> Reading:
    both = changed(pair)
    kinds, layers, ratios = by_kind(both), by_layer(both), query_ratios(both)
    series, unequal, whole = _series(pair), inequality(both), moved("all", both, both)
    sat, lacking = _examined(pair, both)
    figures = {
        "kinds": {part.name: _figures(part) for part in kinds},
        "layers": {part.name: _figures(part) for part in layers},
        "whole": _figures(whole),
        "gini": unequal,
        "query_ratios": ratios,
        "matrices": {
            change.name: _figures(moved(change.name, [change], both)) for change in both if change.before.ndim == 2
        },
        "series": [{"step": step, **{part.name: part.rms for part in rows}} for step, rows in series],
        "transplants": None if sat is None else sat.figures(),
    }
    tables = (_table("By kind", "kind", kinds), *((_table("By layer", "layer", layers),) if layers else ()))
    return Reading(
        says=_said(whole, kinds, ratios, sat),
        figures=figures,
        tables=tables if sat is None else (*tables, _transplanted(sat)),
        plots=(*((_of_layers(both),) if len(layers) > 1 else ()), *((_of_steps(series),) if len(series) > 1 else ())),
        beware=(*_warnings(whole), *((lacking,) if lacking else ()), *_about(sat)),
    )


def _examined(pair: Pair, both: Sequence[Change]) -> tuple[Scores | None, str]:
    """The exam of the transplants; None and why not, where the pair does not say what to ask."""
    models = transplants(both, pair.weights[0])
    if not models:
        return None, "The model has one part alone: nothing could be transplanted."
    try:
        return scores(pair, models), ""
    except Lacking as error:
        return None, f"No transplant was examined: {error}"


def _series(pair: Pair) -> list[tuple[int, list[Moved]]]:
    """(step, how far each kind moved since the base) of each checkpoint."""
    from assay.lab.analyses.pair import Side

    found = []
    for path in pair.child.checkpoints:
        later = Side(path.name, model=str(path)).weights
        found.append((int(path.name.rpartition("-")[2]), by_kind(changes(pair.weights[0], later))))
    return found


def _said(whole: Moved, kinds: Sequence[Moved], ratios: Sequence[float], sat: Scores | None) -> str:
    most = max(kinds, key=lambda one: one.excess)
    shares = f"{most.name} has {most.energy_share:.0%} of the energy and {most.number_share:.0%} of the numbers"
    spread = "is concentrated" if most.excess > EVEN else "is spread nearly evenly over the kinds"
    parts = [f"Weights moved by {whole.relative or 0.0:.2%} of their norm. The change {spread}: {shares}."]
    if ratios:
        above = sum(ratio > MOST for ratio in ratios)
        parts.append(
            f"q and k moved {np.median(ratios):.2f} times as far as the other matrices of their layer (the median), "
            f"more than {MOST} times in {above} of {len(ratios)} layers."
        )
    if sat is not None and sat.resolved:
        alone = {name: sat.recovery(name) for name in sat.rates if name.endswith(" alone")}
        best = max(alone, key=lambda name: alone[name].mean)
        share = alone[best]
        parts.append(f"{best} carries most of the gain: {share.mean:.0%} ({share.low:.0%} to {share.high:.0%}).")
    return " ".join(parts)


def _figures(one: Moved) -> dict[str, float | None]:
    return {
        "numbers": one.numbers,
        "change": one.change,
        "rms": one.rms,
        "relative": one.relative,
        "energy_share": one.energy_share,
        "number_share": one.number_share,
        "excess": one.excess,
        "along": one.along,
    }


def _table(title: str, unit: str, rows: Sequence[Moved]) -> Sheet:
    columns = (unit, "norm", "root mean square", "relative", "share of energy", "of numbers", "excess", "along W_0")
    return Sheet(
        title,
        columns,
        tuple(
            (
                row.name,
                row.change,
                f"{row.rms:.2e}",
                row.relative,
                row.energy_share,
                row.number_share,
                row.excess,
                row.along,
            )
            for row in rows
        ),
    )


def _transplanted(sat: Scores) -> Sheet:
    return Sheet(
        f"The base with a part of the change, {len(sat.rates['base'])} problems x {sat.samples} answers",
        ("model", "pass@1", "share of the gain"),
        sat.rows(),
    )


def _of_layers(both: Sequence[Change]) -> Plot:
    places: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for one in both:
        if one.layer is not None and one.before.ndim == 2:
            rms = (energy(one.delta) / one.before.size) ** 0.5
            places[one.kind].append((float(one.layer), rms, rms, rms))
    lines = tuple(Line(kind, tuple(places[kind])) for kind in ORDER if kind in places)
    return Plot("Root mean square of the change, by layer", lines, x="layer", y="change")


def _of_steps(series: Sequence[tuple[int, Sequence[Moved]]]) -> Plot:
    points: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for step, rows in series:
        for one in rows:
            points[one.name].append((float(step), one.rms, one.rms, one.rms))
    lines = tuple(Line(kind, tuple(line)) for kind, line in points.items())
    return Plot("Root mean square of the change, by step", lines, x="step", y="change")


def _warnings(whole: Moved) -> tuple[str, ...]:
    shrunk = f" Here {whole.along:.1%} of the energy lies along W_0." if whole.along > 0.01 else ""
    return (
        "Early steps of Adam move all numbers alike, so that the root mean square tells how steady the gradient was. "
        "The relative norm is large where a matrix began small.",
        f"Weight decay shrinks weights along W_0, which is no learning.{shrunk}",
        "What supervised training would have moved is not known from one pair: compare two children of one base.",
    )


def _about(sat: Scores | None) -> tuple[str, ...]:
    if sat is None:
        return ()
    if not sat.resolved:
        return (
            f"On {len(sat.rates['base'])} problems the child is not shown to be better than the base, so that no part "
            "carries a share of a gain.",
        )
    return (
        f"Parts were examined on {PROBLEMS} problems at the most, with {SAMPLES} answers each. Shares need not add to "
        "one: a part alone tells what suffices, the change without it what is needed.",
    )


WEIGHT_CHANGE = Measure(
    name="weight-change",
    title="Which weights moved",
    paper="2507.10616",
    asks="which matrices and layers moved, how far, and which of them carry what was gained?",
    needs=("weights",),
    take=take,
)
