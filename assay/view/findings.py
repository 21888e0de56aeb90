"""The content of a run's report as JSON data: scores before and after training, curves, and alarms."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import DataError
from assay.record.panel import FAULTS
from assay.scoring.bank import Bank, difference
from assay.view.elicited import EXAMPLES, beside_examples, read_beside
from assay.view.judged import judge_of, judged, otherwise, remarks, side_by_side, trained_by
from assay.view.plays import faults_of, play_rows

Json = dict[str, Any]
Record = Mapping[str, Any]

REFUSED_SHARE = 0.005  # of the answers at which a second oracle looked
JUMP_HISTORY, JUMP_DEVIATIONS = 50, 5.0  # steps before a jump of the accuracy, and how large it is
MAX_POINTS = 600  # points of a curve; a longer curve is averaged over equal shares of the steps


@dataclass(frozen=True)
class Chart:
    """Metrics that are drawn in one chart: `Chart("Length", "tokens of an answer", (("length/mean", "all"),))`."""

    title: str
    meaning: str
    lines: tuple[tuple[str, str], ...]  # (metric, label) of each curve
    unit: str = ""
    exact: bool = False  # the curve is what was set, or rare events: smoothing would show what never was


JUDGE = "JUDGE"  # in a label, in place of the judge whose verdicts the run trains on
CHARTS = (
    Chart(
        "Reward",
        "mean over the answers of a step",
        (("reward/mean", "reward"), ("reward/accuracy", f"share right by {JUDGE}")),
    ),
    Chart("Entropy", "of the policy over the next token, in nats", (("policy/entropy", "entropy"),)),
    Chart(
        "Length",
        "tokens of an answer",
        (("length/mean", "all"), ("length/right", "right"), ("length/wrong", "wrong")),
    ),
    Chart(
        "Replies",
        "of the world, in an answer",
        (("replies/mean", "all"), ("replies/right", "in right answers")),
    ),
    Chart(
        "Failed replies",
        "share of replies that tell of an error of the policy",
        (("replies/failed", "all"), ("replies/failed_right", "in right answers")),
        "%",
    ),
    Chart("Truncated", "share of answers cut at the limit", (("length/truncated", "truncated"),), "%", exact=True),
    Chart(
        "Groups without signal",
        "share of groups whose answers all earned the same",
        (("group/uniform_fraction", "uniform"), ("group/all_right", "all right"), ("group/all_wrong", "all wrong")),
        "%",
    ),
    Chart("Gradient norm", "before clipping", (("policy/grad_norm", "norm"),)),
    Chart("Clip fraction", "share of tokens whose ratio was clipped", (("policy/clip_fraction", "clipped"),), "%"),
    Chart(
        "Sampler mismatch",
        "|log-prob of the sampler - of the learner|",
        (("policy/sampler_mismatch", "mean"), ("policy/sampler_mismatch_max", "largest")),
    ),
    Chart("Learning rate", "at the last update of a step", (("policy/learning_rate", "rate"),), exact=True),
    Chart("Speed", "generated tokens per second", (("perf/tokens_per_s", "tokens/s"),)),
)


def curves(metrics: Sequence[Record], document: Record) -> Json:
    """The steps, every metric as a thinned series, the charts with at least one metric, and a chart for each other.
    `document` is the run's run.json, which says whose verdicts the run trains on.
    """
    names = list(dict.fromkeys(name for record in metrics for name in record))
    shown = [name for name in names if name != "step" and not name.startswith("eval/")]
    series = {name: [_number(record.get(name)) for record in metrics] for name in shown}
    series = {name: thin(values) for name, values in series.items() if any(value is not None for value in values)}
    steps = thin([_number(record.get("step")) for record in metrics])
    charts = [
        {"title": chart.title, "meaning": chart.meaning, "unit": chart.unit, "lines": lines, "exact": chart.exact}
        for chart in CHARTS
        if (lines := _lines(chart, series, document))
    ]
    charted = {name for chart in CHARTS for name, _ in chart.lines}
    others = [
        {"title": name, "meaning": "", "unit": "", "lines": [[name, name]], "exact": False}
        for name in series
        if name not in charted
    ]
    return {"steps": steps, "series": series, "charts": charts, "others": others}


def _lines(chart: Chart, series: Mapping[str, Any], document: Record) -> list[list[str]]:
    """The curves of a chart that the run has; of equal ones, which would hide each other, one with both labels."""
    judge, lines = trained_by(document), list[list[str]]()
    for name, label in [(name, label.replace(JUDGE, judge)) for name, label in chart.lines if name in series]:
        if equal := next((line for line in lines if series[line[0]] == series[name]), None):
            equal[1] += f" = {label}"
        else:
            lines.append([name, label])
    return lines


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def thin(values: Sequence[float | None], points: int = MAX_POINTS) -> list[float | None]:
    """At most `points` values with six digits, each the mean of an equal share of the series."""
    count = min(points, len(values))
    edges = [i * len(values) // count for i in range(count + 1)] if count else []
    shares = ([v for v in values[low:high] if v is not None] for low, high in itertools.pairwise(edges))
    return [float(f"{sum(share) / len(share):.6g}") if share else None for share in shares]


def results(evals: Sequence[Record], document: Record) -> list[Json]:
    """For each evaluation set: its first and its last evaluation, their paired difference, and pass@1 over the steps,
    by each judge. `document` is the run's run.json.

    The set with the most samples comes first.
    """
    sets: dict[str, list[Record]] = {}
    for entry in evals:
        if isinstance(entry.get("pass"), Mapping) and entry["pass"] and entry.get("set") != EXAMPLES:
            sets.setdefault(str(entry.get("set", "held out")), []).append(entry)
    found = [_result(name, entries, evals, document) for name, entries in sets.items()]
    return sorted(found, key=lambda result: -result["before"]["samples"] * result["before"]["problems"])


def _result(name: str, entries: Sequence[Record], evals: Sequence[Record], document: Record) -> Json:
    before, after = entries[0], entries[-1] if len(entries) > 1 else None
    paired, reason = None, ""
    if after is not None:
        paired, reason = _difference(before, after, document)
    judges = side_by_side(before, after, document)
    return {
        "set": name,
        "judge": judge_of(after or before, document),
        "judges": judges,
        "plays": play_rows(before, after),
        "remarks": remarks(after or before, judges[1:]),
        "before": _brief(before),
        "after": None if after is None else _brief(after),
        "difference": paired,
        "no_difference": reason,
        "examples": beside_examples(evals, document) if name == "test" else None,
        "read": read_beside(evals) if name == "test" else [],
        "history": _histories(entries, document),
    }


def _histories(entries: Sequence[Record], document: Record) -> list[Json]:
    """For each judge its pass@1 over the steps."""
    histories: dict[str, list[Json]] = {}
    for record in entries:
        for one in judged(record, document):
            if "1" in one.passes:
                histories.setdefault(one.judge, []).append({"step": record["step"], **one.passes["1"]})
    return [{"judge": judge, "points": points} for judge, points in histories.items()]


def _brief(entry: Record) -> Json:
    return {
        "problems": 0,
        "samples": 0,
        **{name: value for name, value in entry.items() if name not in ("bank", "read", "judges")},
    }


def _difference(before: Record, after: Record, document: Record) -> tuple[Json | None, str]:
    if why := otherwise(before, after, document):
        return None, f"{why[0].upper()}{why[1:]}."
    if "bank" not in before or "bank" not in after:
        return None, "The answers of the evaluations were not saved, so the difference has no interval."
    ks = [int(k) for k in before["pass"] if k in after["pass"]]
    try:
        return difference(Bank.from_json(before["bank"]), Bank.from_json(after["bank"]), ks), ""
    except DataError as error:
        return None, f"No difference is claimed: {error}"


def alarms(metrics: Sequence[Record], evals: Sequence[Record], *, total_steps: int | None) -> list[Json]:
    """The alarms that a reader must know before trusting the curves, as sentences; errors come before warnings."""
    rules: tuple[Callable[[Sequence[Record], Sequence[Record], int | None], Json | None], ...] = (
        _failed_verifier,
        _failed_world,
        _second_oracle,
        _invalid_evaluation,
        _skipped_updates,
        _stopped_early,
        _truncation,
        _no_signal,
        _collapse,
        _mismatch,
        _jump,
    )
    raised = [alarm for rule in rules if (alarm := rule(metrics, evals, total_steps))]
    return sorted(raised, key=lambda alarm: alarm["level"] != "error")


def _values(metrics: Sequence[Record], name: str) -> list[float]:
    return [value for record in metrics if (value := _number(record.get(name))) is not None]


def _late(metrics: Sequence[Record], name: str) -> float | None:
    """The mean of a metric over the last quarter of the steps; None if the run does not have it."""
    values = _values(metrics, name)
    last = values[-max(1, len(values) // 4) :]
    return sum(last) / len(last) if last else None


def _error(text: str) -> Json:
    return {"level": "error", "text": text}


def _warning(text: str) -> Json:
    return {"level": "warning", "text": text}


def _failed_verifier(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    count = sum(_values(metrics, "reward/verifier_failed")) - sum(_values(metrics, FAULTS))
    return (
        _error(f"The verifier failed on {count:.0f} answers. They got no reward and were not trained on.")
        if count > 0
        else None
    )


def _failed_world(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    count = sum(_values(metrics, FAULTS))
    why = "by errors of its own: they got no reward and were not trained on."
    return _error(f"The world failed in {count:.0f} answers, {why}") if count else None


def _second_oracle(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    looked, refused = (sum(_values(metrics, f"second_look/{name}")) for name in ("answers", "refused"))
    if not refused or refused < REFUSED_SHARE * looked:
        return None
    return _error(
        f"A second oracle looked at {looked:.0f} rewarded answers and refused {refused:.0f} of them: the verifier "
        "accepts answers that are wrong, and the policy may have learnt to write them."
    )


def _jump(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    """Warns of a sudden rise of the share of right answers: a policy that exploits its verifier looks like this."""
    steps = [record for record in metrics if _number(record.get("reward/accuracy")) is not None]
    values = _values(metrics, "reward/accuracy")
    for index in range(JUMP_HISTORY, len(values)):
        history, now = values[index - JUMP_HISTORY : index], values[index]
        mean, answers = statistics.fmean(history), max(1.0, _number(steps[index].get("rollouts")) or 1.0)
        chance = math.sqrt(now * (1 - now) / answers)  # what the number of answers alone makes the share vary
        deviation = max(statistics.stdev(history), chance, 1 / answers)
        if now - mean > JUMP_DEVIATIONS * deviation:
            return _warning(
                f"The share of right answers jumped from about {mean:.0%} to {now:.0%} within a step, "
                f"{(now - mean) / deviation:.1f} standard deviations of the {JUMP_HISTORY} steps before. Read some of "
                "the answers: a policy that deceives its verifier looks like this."
            )
    return None


def _invalid_evaluation(_: Sequence[Record], evals: Sequence[Record], __: int | None) -> Json | None:
    world = sum(map(faults_of, evals))
    count = sum(int(entry.get("invalid", 0)) for entry in evals)
    if not count:
        return None
    who = "the world" if world >= count else "the verifier or the world" if world else "the verifier"
    return _error(f"{count} evaluation samples are left out because {who} failed on them.")


def _skipped_updates(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    count = sum(_values(metrics, "update/skipped"))
    return _error(f"{count:.0f} updates were skipped because their gradient was not finite.") if count else None


def _stopped_early(metrics: Sequence[Record], _: Sequence[Record], total: int | None) -> Json | None:
    if total is None or len(metrics) >= total:
        return None
    return _warning(f"The run has done {len(metrics)} of {total} steps; `assay resume` continues it.")


def _truncation(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    share = _late(metrics, "length/truncated")
    if share is None or share < 0.3:
        return None
    return _warning(
        f"{share:.0%} of the answers in the last quarter were cut at the length limit, which may hold the score down."
    )


def _no_signal(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    share = _late(metrics, "group/uniform_fraction")
    if share is None or share < 0.8:
        return None
    return _warning(
        f"{share:.0%} of the groups in the last quarter taught nothing: all answers of a group earned the same."
    )


def _collapse(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    values, late = _values(metrics, "policy/entropy"), _late(metrics, "policy/entropy")
    if late is None or late > 0.1 * values[0]:
        return None
    return _warning(f"Entropy fell from {values[0]:.3g} to {late:.3g}: the policy hardly explores any more.")


def _mismatch(metrics: Sequence[Record], _: Sequence[Record], __: int | None) -> Json | None:
    worst = max(_values(metrics, "policy/sampler_mismatch"), default=0.0)
    if worst < 0.05:
        return None
    return _warning(f"Sampler and learner disagree by up to {worst:.3g} nats a token on average over a step.")
