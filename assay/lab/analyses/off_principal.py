"""`off-principal`: where in its matrices an update lies, beside noise of the same size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.analyses.changes import Change, changed, energy, inner
from assay.lab.analyses.measure import Lacking, Measure, Plot, Reading, Sheet
from assay.lab.analyses.principal import (
    ALPHA,
    ETA,
    KEY,
    Directed,
    Spectrum,
    Turned,
    Visible,
    directed,
    mean_of,
    noise,
    precision,
    turned,
    turned_at_random,
    visible,
)
from assay.lab.study.charts import Line
from assay.rng import Key

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

HEADLINE = 32  # the rank of the sentence, where the matrices allow it
SMALL = 8  # the smaller side of a matrix must have so many rows, or it has no principal part to speak of


def take(pair: Pair) -> Reading:
    matrices = [change for change in inner(changed(pair)) if min(change.before.shape) >= SMALL]
    if not matrices:
        raise Lacking(f"no matrix has {SMALL} rows and columns: there are no principal directions.")
    spectra = [Spectrum.of(change.before) for change in matrices]
    deltas = [change.delta for change in matrices]
    ranks = sorted({rank for spectrum in spectra for rank in spectrum.ranks()})
    rank = max((k for k in ranks if k <= HEADLINE), default=ranks[0])
    real, *nulls = (_turned(spectra, fake, rank) for fake in (deltas, *_fakes(matrices)))
    energies = [directed(spectra, deltas, k) for k in ranks]
    seen = _seen(matrices)
    moved = sum(map(energy, deltas)) ** 0.5 / sum(energy(change.before) for change in matrices) ** 0.5
    stored = {name: precision(side) for name, side in zip(("base", "child"), pair.weights, strict=True)}
    share, gap = _decay(spectra, rank)
    return Reading(
        says=_said(energies[ranks.index(rank)], seen, real, nulls[0], stored),
        figures={
            "stored": stored,
            "unchanged": asdict(seen),
            "rank": rank,
            "moved": moved,
            "update": _figures(real, moved),
            "random_directions": _figures(nulls[0], moved),
            "noise": _figures(nulls[1], moved),
            "energy": [asdict(ratio) | {"word": ratio.word} for ratio in energies],
            "spectrum": {"energy_of_rank": share, "gap": gap},
            "matrices": _matrices(matrices, spectra, deltas, rank),
        },
        tables=(_shares(seen, stored), _beside((real, *nulls), moved, rank), _energies(energies)),
        plots=_plots(matrices, spectra, deltas, rank),
        beware=_warnings(share, gap, rank, stored),
    )


def _fakes(matrices: Sequence[Change]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The update in random directions, and Gaussian noise of its size, of each matrix."""
    kinds: tuple[Callable[[np.ndarray, Key], np.ndarray], ...] = (turned_at_random, noise)
    first, other = ([make(one.delta, KEY(make.__name__, one.name)) for one in matrices] for make in kinds)
    return first, other


def _turned(spectra: Sequence[Spectrum], deltas: Sequence[np.ndarray], rank: int) -> Turned:
    pairs = zip(spectra, deltas, strict=True)
    return mean_of([turned(one, one.matrix + delta, min(rank, one.ranks()[-1])) for one, delta in pairs])


def _seen(matrices: Sequence[Change]) -> Visible:
    """The shares over all weights of the matrices together."""
    parts = [visible(one.before, one.after) for one in matrices]
    sizes = [one.before.size for one in matrices]
    return Visible(
        **{name: float(np.average([getattr(p, name) for p in parts], weights=sizes)) for name in asdict(parts[0])}
    )


def _decay(spectra: Sequence[Spectrum], rank: int) -> tuple[float, float | None]:
    """(the part of ||W_0||^2 in its first k directions, sigma_k / sigma_{k+1}), the mean and the median over matrices;
    no gap where all lack a direction behind the k-th.
    """
    shares, gaps = [], []
    for one in spectra:
        k, squares = min(rank, one.ranks()[-1]), one.sizes**2
        shares.append(squares[:k].sum() / squares.sum())
        if one.sizes[k] > 0:
            gaps.append(one.sizes[k - 1] / one.sizes[k])
    return float(np.mean(shares)), float(np.median(gaps)) if gaps else None


def _matrices(
    matrices: Sequence[Change], spectra: Sequence[Spectrum], deltas: Sequence[np.ndarray], rank: int
) -> dict[str, float]:
    """The energy ratio of each matrix."""
    zipped = zip(matrices, spectra, deltas, strict=True)
    return {one.name: directed([spectrum], [delta], rank).ratio for one, spectrum, delta in zipped}


def _said(one: Directed, seen: Visible, real: Turned, null: Turned, stored: dict[str, str]) -> str:
    held = f"stored as {stored['child']}" if stored["base"] == stored["child"] else "stored in different formats"
    return (
        f"The update is {one.word}: the first {one.rank} directions of the base hold {one.ratio:.2f} times the energy "
        f"that random directions would put there ({one.low:.2f} to {one.high:.2f} by chance). Principal weights moved "
        f"{_times(real.magnitude)} as far as others, in random directions {_times(null.magnitude)}. bf16 shows "
        f"{seen.bf16:.0%} of the weights as unchanged, and {seen.exact:.0%} are the same numbers ({held})."
    )


def _times(ratio: float | None) -> str:
    return "without end" if ratio is None else f"{ratio:.2f} times"


def _figures(one: Turned, moved: float) -> dict[str, float | None]:
    return asdict(one) | {"magnitude": one.magnitude, "drift_per_move": one.drift / moved}


def _shares(seen: Visible, stored: dict[str, str]) -> Sheet:
    return Sheet(
        f"Unchanged weights; base stored as {stored['base']}, child as {stored['child']}",
        ("definition", "share"),
        (
            ("the same in bf16", seen.bf16),
            (f"within {ETA:g} of the larger", seen.relative),
            ("the same number", seen.exact),
        ),
    )


def _beside(parts: Sequence[Turned], moved: float, rank: int) -> Sheet:
    rows = (
        ("drift of singular values", *(f"{one.drift:.2e}" for one in parts)),
        ("drift over relative size of the update", *(one.drift / moved for one in parts)),
        ("largest angle, degrees", *(one.largest for one in parts)),
        ("mean angle, degrees", *(one.mean for one in parts)),
        (f"changed in bf16: principal (chance {ALPHA:g})", *(one.principal for one in parts)),
        (f"changed in bf16: of low magnitude (chance {ALPHA:g})", *(one.low for one in parts)),
        ("changed in bf16: principal and not low", *(one.neither for one in parts)),
        ("mean change, principal over others", *(one.magnitude for one in parts)),
        ("stable rank of the update", *(one.rank for one in parts)),
    )
    columns = ("", "update", "in random directions", "noise")
    return Sheet(f"The update and others of its size, with the first {rank} directions", columns, rows)


def _energies(energies: Sequence[Directed]) -> Sheet:
    rows = tuple((one.rank, one.ratio, f"{one.low:.3f} to {one.high:.3f}", one.word) for one in energies)
    return Sheet(
        "Energy in the first directions, over random directions", ("directions", "ratio", "by chance", "word"), rows
    )


def _plots(
    matrices: Sequence[Change], spectra: Sequence[Spectrum], deltas: Sequence[np.ndarray], rank: int
) -> tuple[Plot, ...]:
    ratios = _matrices(matrices, spectra, deltas, rank)
    kinds = dict.fromkeys(one.kind for one in matrices)
    lines = []
    for kind in kinds:
        of_kind = [(one.layer, ratios[one.name]) for one in matrices if one.kind == kind and one.layer is not None]
        if len(of_kind) > 1:
            lines.append(Line(kind, tuple((float(layer), ratio, ratio, ratio) for layer, ratio in of_kind)))
    if not lines:
        return ()
    return (Plot(f"Energy in the first {rank} directions over random ones", tuple(lines), x="layer", y="ratio"),)


def _warnings(share: float, gap: float | None, rank: int, stored: dict[str, str]) -> tuple[str, ...]:
    behind = "nothing behind them" if gap is None else f"a gap of {gap:.3f} behind them"
    told = [
        "Drift and angles grow with the size of the update, and a relative threshold shows changes of small weights "
        "first: judge both beside the other columns, and two trainings only at updates of equal size.",
        f"The first {rank} directions hold {share:.0%} of the base's energy, with {behind}; near 1, which directions "
        "are principal is a matter of chance.",
    ]
    if stored["child"] in ("fp32", "fp64"):
        told.append(
            "The weights are wider than bf16: that bf16 hides a change is a fact of the format, not of training."
        )
    return tuple(told)


OFF_PRINCIPAL = Measure(
    name="off-principal",
    title="Where in its matrices the update lies",
    paper="2511.08567",
    asks="does the update avoid the principal directions and weights of the base, or is it what noise would be?",
    needs=("weights",),
    take=take,
)
