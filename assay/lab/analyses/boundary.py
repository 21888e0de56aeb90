"""`rlvr-boundary`: what base and child reach with many samples, where the base catches up, and who solves what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.analyses.measure import Measure, Plot, Reading, Sheet
from assay.lab.analyses.pair import pool_of
from assay.lab.guesser import blind
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.boundary import Counts, crossover, crossover_bounds, misses, multiplier, support
from assay.scoring.intervals import DIFFERENCES, Interval, intervals
from assay.tasks import task
from assay.types import Problem

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair
    from assay.scoring.samples import SampleBank

KEY = Key("rlvr-boundary")
BINS = np.linspace(0.0, 1.0, 11)
SHOWN = (1, 4, 16, 64, 256, 1024)


def reach(base: Counts, child: Counts) -> tuple[list[int], dict[str, list[Interval]]]:
    """pass@k of both and their difference, child minus base, at 1, 2, 4, ... samples and at all that both have."""
    most = min(base.samples, child.samples)
    ks = sorted({*(2**i for i in range(most.bit_length())), most})
    passes = {"base": 1 - misses(base, ks), "child": 1 - misses(child, ks)}
    found = {name: intervals(values, KEY) for name, values in passes.items()}
    return ks, found | {"difference": intervals(passes["child"] - passes["base"], KEY, bounds=DIFFERENCES)}


def quadrants(base: Counts, child: Counts) -> dict[str, int]:
    """How many problems each of the two solved at least once. What luck gives stands beside, by halves of the base."""
    a, b = base.c > 0, child.c > 0
    return {
        "both": int((a & b).sum()),
        "base alone": int((a & ~b).sum()),
        "child alone": int((~a & b).sum()),
        "neither": int((~a & ~b).sum()),
    }


def histogram(counts: Counts) -> dict[str, int]:
    """Problems by their share of right answers: ten equal bins, and those with none and with all apart."""
    share = counts.c / counts.n
    inner = share[(counts.c > 0) & (counts.c < counts.n)]
    heights, _ = np.histogram(inner, BINS)
    named = {f"{low:.1f}-{high:.1f}": int(n) for low, high, n in zip(BINS[:-1], BINS[1:], heights, strict=True)}
    return {"0": int((counts.c == 0).sum()), **named, "1": int((counts.c == counts.n).sum())}


def derived(bank: SampleBank, problems: Mapping[str, Problem]) -> Counts | None:
    """Answers that are right by right steps alone (CoT-pass@k); None where a task verifies no steps."""
    if any(task(one.task).checker.steps is None for one in problems.values()):
        return None
    rows = bank.table.select(["problem", "text", "correct", "status"]).to_pylist()
    right, total = (dict.fromkeys(bank.asked.problems, 0) for _ in range(2))
    for row in rows:
        name = row["problem"]
        total[name] += row["status"] != "invalid"
        right[name] += bool(row["correct"]) and _sound(problems[name], row["text"])
    return Counts(np.array(list(total.values())), np.array(list(right.values())))


def _sound(problem: Problem, text: str) -> bool:
    chain = task(problem.task).chain(problem, text)
    return chain is not None and bool(chain.steps) and chain.share("valid") == 1.0


def take(pair: Pair) -> Reading:
    base, child = pair.counts
    ks, curves = reach(base, child)
    most, cells, half = ks[-1], quadrants(base, child), ks[-1] // 2
    crossed, bounds = crossover(base, child), crossover_bounds(base, child, KEY)
    luck = support(base, child, half).null if half and base.samples >= 2 * half else None
    guesses = blind(pool_of(pair.banks[0]), list(pair.problems.values())).passes(ks)
    shares = {"base": histogram(base), "child": histogram(child)}
    sound = tuple(counts for bank in pair.banks if (counts := derived(bank, pair.problems)) is not None)
    figures = {
        "samples": most,
        "problems": len(base),
        "pass": {str(k): {name: _json(each[i]) for name, each in curves.items()} for i, k in enumerate(ks)},
        "guesser": {str(k): value for k, value in guesses.items()},
        "crossover": _finite(crossed),
        "crossover_interval": [_finite(bound) for bound in bounds],
        "multiplier": _finite(multiplier(base, child)),
        "quadrants": cells,
        "changed_by_luck": luck,
        "sampling_gap": curves["base"][-1].mean - curves["child"][0].mean,
        "shares": shares,
    }
    tables = [_passes(ks, curves, guesses), _squares(most, cells), _heights(shares)]
    if len(sound) == 2:
        ks_sound, derivations = reach(*sound)
        figures["derived"] = {
            str(k): {name: _json(each[i]) for name, each in derivations.items()} for i, k in enumerate(ks_sound)
        }
        tables.insert(1, _passes(ks_sound, derivations, {}, title="Right by right steps alone (CoT-pass@k)"))
    return Reading(
        says=_said(crossed, most, curves, cells),
        figures=figures,
        tables=tuple(tables),
        plots=(plot_of(ks, curves, guesses),),
        beware=_warnings(ks, curves, guesses, luck),
    )


def _said(crossed: float, most: int, curves: dict[str, list[Interval]], cells: dict[str, int]) -> str:
    first, last = curves["difference"][0], curves["difference"][-1]
    where = f"the base catches up at {crossed:.0f} samples" if np.isfinite(crossed) else f"no crossing up to {most}"
    return (
        f"At one sample the child is {first.mean:+.3f} [{first.low:+.3f}, {first.high:+.3f}] from its base, at {most} "
        f"{last.mean:+.3f} [{last.low:+.3f}, {last.high:+.3f}]: {where}. The child alone solves "
        f"{cells['child alone']} problems, the base alone {cells['base alone']}."
    )


def _warnings(
    ks: Sequence[int], curves: dict[str, list[Interval]], guesses: Mapping[int, float], luck: float | None
) -> tuple[str, ...]:
    most = ks[-1]
    said = [f"{most} wrong samples do not exclude a chance below {3 / most:.2g}."]
    if luck is not None:
        said.append(f"Halves of the base alone, {most // 2} samples each, gain and lose {luck:.1f} problems by luck.")
    void = [k for i, k in enumerate(ks) if k in guesses and guesses[k] >= curves["base"][i].low]
    if void:
        said.append(f"From k = {void[0]} on the base is no better than a blind guesser: nothing is shown there.")
    return tuple(said)


def _passes(
    ks: Sequence[int], curves: dict[str, list[Interval]], guesses: Mapping[int, float], *, title: str = "pass@k"
) -> Sheet:
    shown = [i for i, k in enumerate(ks) if k in SHOWN or k == ks[-1]]
    rows = [
        (ks[i], *(told(curves[name][i], sign=name == "difference") for name in ("base", "child", "difference")))
        for i in shown
    ]
    if guesses:
        rows = [(*row, guesses[ks[i]]) for row, i in zip(rows, shown, strict=True)]
    return Sheet(title, ("k", "base", "child", "difference", *("blind guesser",) * bool(guesses)), tuple(rows))


def _squares(most: int, cells: Mapping[str, int]) -> Sheet:
    rows = (
        ("child solves", cells["both"], cells["child alone"]),
        ("child does not", cells["base alone"], cells["neither"]),
    )
    return Sheet(f"Problems that {most} samples solve", ("", "base solves", "base does not"), rows)


def _heights(shares: Mapping[str, Mapping[str, int]]) -> Sheet:
    rows = tuple((name, count, shares["child"][name]) for name, count in shares["base"].items())
    return Sheet("Problems by their share of right answers", ("share", "base", "child"), rows)


def told(found: Interval, *, sign: bool = False) -> str:
    """An estimate with its interval, as tables show it."""
    form = "+.3f" if sign else ".3f"
    return f"{found.mean:{form}} [{found.low:{form}}, {found.high:{form}}]"


def plot_of(ks: Sequence[int], curves: dict[str, list[Interval]], guesses: Mapping[int, float]) -> Plot:
    lines = [
        Line(name, tuple((float(k), one.mean, one.low, one.high) for k, one in zip(ks, curves[name], strict=True)))
        for name in ("base", "child")
    ]
    flat = tuple((float(k), value, value, value) for k, value in guesses.items())
    lines += [Line("blind guesser", flat)] * bool(flat)
    return Plot("What more samples reach", tuple(lines), x="samples", y="pass@k", log=True)


def _json(found: Interval) -> dict[str, float]:
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _finite(value: float) -> float | None:
    """JSON knows no infinity: None says that the samples do not show it."""
    return value if np.isfinite(value) else None


RLVR_BOUNDARY = Measure(
    name="rlvr-boundary",
    title="Does reinforcement reach beyond the base?",
    paper="2504.13837",
    asks="does the base catch up with more samples, and which problems does each of the two solve?",
    needs=("banks",),
    take=take,
)
