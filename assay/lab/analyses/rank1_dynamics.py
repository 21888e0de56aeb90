"""`rank1-dynamics`: whether one direction of each matrix carries the gain, and whether it moves along a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.lab.analyses.changes import Change, Weights, changed, changes, energy, first_direction, inner
from assay.lab.analyses.measure import Lacking, Measure, Plot, Reading, Sheet
from assay.lab.analyses.rank_one import (
    FITTED,
    KEY,
    Linear,
    aligned,
    energy_share,
    linear,
    log_odds,
    matched,
    random_direction,
    second,
    steps_of,
    straightness,
    truncated,
    turning,
)
from assay.lab.analyses.rebuilt import PROBLEMS, SAMPLES, Scores, scores, with_changes
from assay.lab.study.charts import Line

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

LEAST = 8  # checkpoints after the base: three to fit a line, and five to judge it
RATE = "policy/learning_rate"  # the metric of each step that tells it
ONE, RANDOM = "first direction, norm matched", "a random direction, norm matched"


@dataclass(frozen=True, eq=False)
class Track:
    """The first direction of one matrix at each checkpoint.

    Track("model.layers.0.mlp.up_proj.weight", steps, shares=(0.31, 0.4), steady=(0.9, 1.0), sizes=(0.1, 0.2))
    """

    name: str
    steps: np.ndarray  # products of the steps of z_t = sigma_1 u_1
    shares: tuple[float, ...]  # the part of the energy in the first direction
    steady: tuple[float, ...]  # |<v_1(t), v_1(T)>|: 1 where the other side of the direction stays
    sizes: tuple[float, ...]  # sigma_1


def tracked(name: str, deltas: Sequence[np.ndarray]) -> Track:
    """The path of the first direction over the changes of a matrix since the base, from the first to the last."""
    found = [first_direction(delta) for delta in deltas]
    signs = aligned([u for _, u, _ in found])
    series = [sign * size * u for sign, (size, u, _) in zip(signs, found, strict=True)]
    return Track(
        name=name,
        steps=steps_of(series),
        shares=tuple(size**2 / energy(delta) for (size, _, _), delta in zip(found, deltas, strict=True)),
        steady=tuple(abs(float(v @ found[-1][2])) for _, _, v in found),
        sizes=tuple(size for size, _, _ in found),
    )


def models(both: Sequence[Change], before: Weights) -> dict[str, Weights]:
    """The models that are examined: the base with what is named of the change of each matrix inside the network, while
    all other parameters stay.
    """
    matrices = inner(both)
    made = {
        "all of the matrices": {one.name: one.delta for one in matrices},
        ONE: {one.name: matched(one.delta) for one in matrices},
        "first direction as it is": {one.name: truncated(one.delta) for one in matrices},
        "second direction, norm matched": {one.name: second(one.delta) for one in matrices},
        RANDOM: {one.name: random_direction(one.delta, KEY("random", one.name)) for one in matrices},
    }
    whole: dict[str, Weights] = {name: with_changes(before, deltas) for name, deltas in made.items()}
    return whole | {"the whole change, twice": with_changes(before, {one.name: 2 * one.delta for one in both})}


def take(pair: Pair) -> Reading:
    both = changed(pair)
    inner(both)
    steps, tracks = _tracks(pair)
    told_by = _told_by(Path(pair.child.model), steps)
    lines = {name: linear([track.steps for track in tracks], np.array(y), KEY("walks")) for name, y in told_by.items()}
    share = float(np.mean([energy_share(change.delta) for change in inner(both)]))
    sat, lacking = _examined(pair, both, steps)
    return Reading(
        says=_said(share, *next(iter(lines.items())), sat),
        figures=_figures(steps, tracks, told_by, lines)
        | {
            "energy_share": share,
            "exam": None if sat is None else sat.figures(),
        },
        tables=(_lines(lines, tracks), *(() if sat is None else (_exam(sat),))),
        plots=(_plot(steps, tracks),),
        beware=_warnings(share, sat, lacking),
    )


def _checkpoints(pair: Pair) -> list[tuple[int, Path]]:
    """(step, folder) of each checkpoint in order."""
    return [(int(path.name.rpartition("-")[2]), path) for path in pair.child.checkpoints]


def _weights(path: Path) -> Mapping[str, np.ndarray]:
    from assay.lab.analyses.pair import Side

    return Side(path.name, model=str(path)).weights


def _tracks(pair: Pair) -> tuple[list[int], list[Track]]:
    """The steps of the checkpoints that differ from the base, and the path of each matrix that differs in them all."""
    base = pair.weights[0]
    folders = _checkpoints(pair)
    if len(folders) < LEAST:
        raise Lacking(_too_few(pair, len(folders)))
    steps, deltas = [], []
    for step, path in folders:
        since = {
            change.name: change.delta
            for change in changes(base, _weights(path))
            if change.inner and np.any(change.delta)
        }
        if since:
            steps.append(step)
            deltas.append(since)
    if len(steps) < LEAST:
        raise Lacking(_too_few(pair, len(steps)))
    names = [name for name in deltas[-1] if all(name in since for since in deltas)]
    if not names:
        raise Lacking(f"no matrix differs from {pair.base.name} in every checkpoint of {pair.child.name}.")
    return steps, [tracked(name, [since[name] for since in deltas]) for name in names]


def _too_few(pair: Pair, count: int) -> str:
    return (
        f"{pair.child.name} has {count} checkpoints after {pair.base.name}, and {LEAST} are the least: train with "
        "`--saving.every 5 --saving.keep 20`, or as many as your disk holds."
    )


def _told_by(run: Path, steps: Sequence[int]) -> dict[str, list[float]]:
    """What is read off the path, by name: the learning rate that was spent until each checkpoint, the step, and the
    log-odds of pass@1 in the run's own exams. The first stands in the sentence; what the run does not tell is left out.
    """
    from assay.record.folder import RunFolder

    folder = RunFolder.read_only(run)
    rates = {int(line["step"]): float(line[RATE]) for line in folder.read("metrics") if line.get(RATE) is not None}
    told: dict[str, list[float]] = {}
    if all(step in rates for step in range(1, steps[-1] + 1)):
        told["learning rate spent"] = [sum(rates[step] for step in range(1, until + 1)) for until in steps]
    told["step"] = [float(step) for step in steps]
    by_set: dict[str, dict[int, float]] = {}
    for entry in folder.read("evals"):
        if first := (entry.get("pass") or {}).get("1"):
            value = log_odds(first["mean"], entry["problems"] * entry["samples"])
            by_set.setdefault(str(entry["set"]), {})[int(entry["step"])] = value
    whole = [exams for exams in by_set.values() if all(step in exams for step in steps)]
    if whole:
        told["log-odds of pass@1"] = [whole[0][step] for step in steps]
    return {name: y for name, y in told.items() if len(set(y[max(3, round(FITTED * len(y))) :])) > 1}


def _examined(pair: Pair, both: Sequence[Change], steps: Sequence[int]) -> tuple[Scores | None, str]:
    """The exam of the rebuilt models; None and why not, where the pair does not say what to ask."""
    before = pair.weights[0]
    try:
        return scores(pair, models(both, before) | _ahead(pair, steps)), ""
    except Lacking as error:
        return None, f"No rebuilt model was examined: {error}"


def _ahead(pair: Pair, steps: Sequence[int]) -> dict[str, Weights]:
    """Models for the last step from the first `FITTED` of the checkpoints: by the lines of the first directions, and by
    the whole change times last step / step. Beside them the checkpoint from which they start.
    """
    import torch

    from assay.lab.extrapolate import extrapolated

    count = max(3, round(FITTED * len(steps)))
    folders = dict(_checkpoints(pair))
    later = [_weights(folders[step]) for step in steps[:count]]
    before, here, last = pair.weights[0], steps[count - 1], steps[-1]
    torched = [{name: torch.from_numpy(array) for name, array in weights.items()} for weights in (before, *later)]
    line, _ = extrapolated(torched[0], torched[1:], [float(step) for step in steps[:count]], float(last))
    longer = {change.name: change.delta * (last / here) for change in changes(before, later[-1])}
    return {
        f"checkpoint {here}": later[-1],
        f"first directions, from {here} to {last}": {name: tensor.numpy() for name, tensor in line.items()},
        f"whole change, from {here} to {last}": with_changes(before, longer),
    }


def _said(share: float, regressor: str, line: Linear, sat: Scores | None) -> str:
    parts = [
        f"The first direction of a matrix holds {share:.0%} of the energy of its change, so that matching norms "
        f"lengthens it {share**-0.5:.1f} times."
    ]
    if sat is not None and sat.resolved:
        first, other = sat.recovery(ONE), sat.recovery(RANDOM)
        parts.append(
            f"With it alone the base has {first.mean:.0%} of the gain ({first.low:.0%} to {first.high:.0%}), with a "
            f"random direction {other.mean:.0%} ({other.low:.0%} to {other.high:.0%})."
        )
    moves = "along a line" if line.holds else "no more along a line than random walks"
    parts.append(
        f"It moves {moves}: a fit to {FITTED:.0%} of the checkpoints tells the {regressor} of the later ones with R^2 "
        f"= {line.later:.2f}, better than {line.percentile:.0%} of walks with the same steps."
    )
    return " ".join(parts)


def _figures(
    steps: Sequence[int], tracks: Sequence[Track], told_by: Mapping[str, list[float]], found: Mapping[str, Linear]
) -> dict[str, Any]:
    return {
        "steps": list(steps),
        "told_by": dict(told_by),
        "linear": {name: asdict(line) | {"holds": line.holds} for name, line in found.items()},
        "straightness": float(np.median([straightness(track.steps) for track in tracks])),
        "turning": float(np.median([turning(track.steps) for track in tracks])),
        "matrices": {
            track.name: {
                "shares": list(track.shares),
                "steady": list(track.steady),
                "sizes": list(track.sizes),
                "straightness": straightness(track.steps),
            }
            for track in tracks
        },
    }


def _lines(found: Mapping[str, Linear], tracks: Sequence[Track]) -> Sheet:
    rows: list[tuple[str, float, float, float | None]] = []
    for name, one in found.items():
        rows.append((f"R^2 of the {name}, later checkpoints", one.later, one.chance_later, one.percentile))
        rows.append((f"R^2 of the {name}, all fitted", one.whole, one.chance_whole, None))
    count = len(tracks[0].steps)
    rows.append(
        ("straightness of the path", float(np.median([straightness(o.steps) for o in tracks])), count**-0.5, None)
    )
    rows.append(("cosine of a step and the next", float(np.median([turning(o.steps) for o in tracks])), 0.0, None))
    columns = ("medians over matrices", "path", "random walks", "percentile")
    return Sheet(f"How the first direction moves, fitted to {FITTED:.0%}; walks at their 95th", columns, tuple(rows))


def _exam(sat: Scores) -> Sheet:
    return Sheet(
        f"Rebuilt models, {len(sat.rates['base'])} problems x {sat.samples} answers",
        ("model", "pass@1", "share of the gain"),
        sat.rows(),
    )


def _plot(steps: Sequence[int], tracks: Sequence[Track]) -> Plot:
    def line(name: str, values: Sequence[Sequence[float]]) -> Line:
        quarters = np.quantile(np.array(values), (0.25, 0.5, 0.75), axis=0).T
        points = zip(steps, quarters.tolist(), strict=True)
        return Line(name, tuple((float(step), middle, low, high) for step, (low, middle, high) in points))

    lines = (
        line("energy in the first direction", [one.shares for one in tracks]),
        line("cosine of v_1 with the last one", [one.steady for one in tracks]),
    )
    return Plot("The first direction, by step; medians and quarters of matrices", lines, x="step", y="share")


def _warnings(share: float, sat: Scores | None, lacking: str) -> tuple[str, ...]:
    told = [
        f"A direction that holds {share:.0%} of the energy is made {share**-0.5:.1f} times as long where norms are "
        "matched; a small model has few directions, so that one is much of it. Judge beside the controls.",
        "Partial least squares finds a line in any drifting path if all checkpoints are fitted: R^2 on later ones "
        "counts. A learning rate that falls slows a path down, which lowers the R^2 of the step.",
    ]
    if lacking:
        told.append(lacking)
    elif sat is not None and not sat.resolved:
        told.append(
            f"On {len(sat.rates['base'])} problems the child is not shown to be better than the base: no share of the "
            "gain is told."
        )
    elif sat is not None:
        told.append(
            f"Rebuilt models were examined on {PROBLEMS} problems at the most, with {SAMPLES} answers each, asked "
            "as the run asks; embeddings, norms and biases stay at the base in those of directions."
        )
    return tuple(told)


RANK1_DYNAMICS = Measure(
    name="rank1-dynamics",
    title="One direction of each matrix, and its line",
    paper="2510.00553",
    asks="does the first direction of each matrix carry the gain, and does it move along a line?",
    needs=("weights", "checkpoints"),
    take=take,
)
