"""`assay compare`: several runs side by side, with their scores, their cost and the differences between them.

Runs that differ in their seed alone are runs of one method (`assay.lab.seeds`), and methods are compared over seeds and
problems. With one run of each method the comparison holds for these checkpoints and not for the methods: the intervals
are over problems, not over seeds.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from assay.errors import DataError, UsageError
from assay.host import terminal
from assay.lab.compared_exams import asked_alike, judged_otherwise, judges_of, score_of
from assay.lab.seeds import Method, methods, recipe_of
from assay.record import RunFolder
from assay.record.panel import duration, number
from assay.scoring.bank import Bank, paired_passes
from assay.scoring.bank import as_json as interval_json
from assay.scoring.conclusion import Conclusion, Family, Stated, Word, conclude
from assay.view.judged import Judged
from assay.view.text import chance, change, score

if TYPE_CHECKING:
    from rich.table import Table

Json = dict[str, Any]
Estimate = Mapping[str, Any]  # mean, low, high

FINAL = "final pass@1"
FINAL_SET = "test"  # the scores on this set are compared, because no checkpoint was chosen by them
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SPENT = {  # measures of cost -> their names in tables and plots
    "steps": "steps",
    "generated_tokens": "generated tokens",
    "verified_answers": "verified answers",
    "update_tokens": "trained tokens",
    "optimiser_steps": "optimiser steps",
}
Spent = Mapping[str, float | None]
STYLES: Mapping[Word | None, str] = {"BETTER": "green", "WORSE": "red"}
SEEDS = (
    "Intervals of scores are 95 % each, over seeds and problems; differences are paired by both. One family of {}: "
    "their intervals hold together at 95 %. Tokens and time are those of all seeds together."
)
CAVEAT = (
    "Intervals of scores are 95 % each, over problems. One family of {}: their intervals hold together at 95 %. One "
    "run is one seed: this compares checkpoints, not methods. The best score is the highest of several, and therefore "
    "on average too high."
)


@dataclass(frozen=True)
class Point:
    """A held-out score during training, and the cost up to then."""

    step: int
    spent: Spent
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Arm:
    """One run of a comparison."""

    run: str
    label: str
    task: str
    recipe: str
    steps: int
    set: str | None  # the evaluation set of `final`
    judge: str | None  # who found the answers of `final` right
    final: Estimate | None
    others: Mapping[str, Estimate | None]  # `final` by each further judge
    best: Json | None  # the highest score during training, with its step and set
    difference: Estimate | None  # of `final` from that of the first run on this task; intervals hold together at 95 %
    shared_problems: int  # problems on which both runs were evaluated
    word: Word | None  # None of the first run, and where there is no difference
    verdict: str  # the word with what it lacks; "first", or the reason why there is no difference
    spent: Spent
    scores: tuple[Point, ...]  # during training
    rewards: tuple[tuple[Spent, float], ...]  # (cost, mean reward) of each step


@dataclass(frozen=True)
class Comparison:
    """Several runs, each compared with the first on its task. `methods` takes runs with different seeds together, and
    is empty if every method has one run.

    compare_runs(["runs/grpo", "runs/dapo"]).arms[1].verdict
    """

    arms: tuple[Arm, ...]
    methods: tuple[Method, ...] = ()
    family: str = ""  # the differences that are decided together
    verified_otherwise: tuple[str, ...] = ()  # verifiers and programs that checked these runs in several versions
    one_task: tuple[str, ...] = ()  # sentences on files that hold the same rows under other names


def compare_runs(paths: Sequence[Path | str]) -> Comparison:
    """Compares all runs with the first on their task, on the problems on which both were evaluated.

    show(compare_runs(["runs/grpo-countdown-1", "runs/dapo-countdown-1"]))
    """
    if not paths:
        raise UsageError("there is nothing to compare: name at least one run.")
    if len({Path(path).resolve() for path in paths}) < len(paths):
        raise UsageError("a run is named twice: name different runs.")
    runs = [RunFolder.read_only(path) for path in paths]
    evals = [_evals(run) for run in runs]
    set_name = _common_set(evals)
    finals = [_last(entries, set_name) for entries in evals]
    tasks, one_task = asked_alike(runs, finals)
    judges = [judges_of(run, final) for run, final in zip(runs, finals, strict=True)]
    labels = _labels([recipe_of(run) for run in runs], tasks, [Path(path).name for path in paths])
    firsts = [tasks.index(task) for task in tasks]
    family = Family("differences between runs", len(runs) - len(set(firsts)))
    claims = [
        _Claim("first")
        if position == first
        else _Claim(why)
        if (why := judged_otherwise(judges[first], judges[position]))
        else _claim(finals[first], finals[position], family)
        for position, first in enumerate(firsts)
    ]
    arms = tuple(map(_arm, runs, labels, tasks, evals, finals, judges, claims))
    by_method = methods(runs, finals, tasks)
    together = by_method[0].family if by_method else str(family)
    return Comparison(arms, by_method, together, verified_otherwise(runs), one_task)


def verified_otherwise(runs: Sequence[RunFolder]) -> tuple[str, ...]:
    """The verifiers and externals that checked the runs, or one of them, in more than one version."""
    seen: dict[str, set[str]] = {}
    for run in runs:
        for kind in ("verifiers", "externals"):
            for name, versions in _mapping(run.document.get(kind)).items():
                seen.setdefault(terminal.plain(str(name)), set()).update(map(str, versions))
    return tuple(name for name, versions in seen.items() if len(versions) > 1)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _evals(run: RunFolder) -> list[Json]:
    path = run.path / "evals.jsonl"
    return [entry for entry in run.read("evals") if entry.get("pass")] if path.exists() else []


def _common_set(evals: Sequence[Sequence[Json]]) -> str | None:
    """The final set if every run was evaluated on it, else the first set that all runs have."""
    names = [dict.fromkeys(str(entry["set"]) for entry in entries) for entries in evals]
    shared = [name for name in names[0] if all(name in other for other in names)]
    return FINAL_SET if FINAL_SET in shared else next(iter(shared), None)


def _last(entries: Sequence[Json], name: str | None) -> Json | None:
    return next((entry for entry in reversed(entries) if name is None or entry["set"] == name), None)


def _labels(recipes: Sequence[str], tasks: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names of the recipes if they differ on each task, else recipe and folder of each run."""
    if len(set(zip(recipes, tasks, strict=True))) == len(recipes) and all(recipes):
        return list(recipes)
    return [f"{recipe} {name}".strip() for recipe, name in zip(recipes, names)]


def _arm(
    run: RunFolder,
    label: str,
    task: str,
    entries: Sequence[Json],
    final: Json | None,
    judges: Sequence[Judged],
    claim: _Claim,
) -> Arm:
    metrics = run.read("metrics", skip_damaged=True)
    spent: dict[int, Spent] = {0: dict.fromkeys(SPENT, 0.0)}
    spent |= {record["step"]: _until(record) for record in metrics}
    watched = _watched(entries)
    scores = tuple(Point(e["step"], spent.get(e["step"], {}), **_estimate(e)) for e in watched)
    top = max(scores, key=lambda point: point.mean, default=None)
    return Arm(
        run=str(run.path),
        label=label,
        task=task,
        recipe=recipe_of(run),
        steps=len(metrics),
        set=None if final is None else str(final["set"]),
        judge=judges[0].judge if judges else None,
        final=None if final is None else _estimate(final),
        others={by.judge: score_of(by) for by in judges[1:]},
        best=None if top is None else {"set": watched[0]["set"], **vars(top)},
        difference=claim.conclusion and interval_json(claim.conclusion.found),
        shared_problems=claim.problems,
        word=claim.conclusion and claim.conclusion.word,
        verdict=str(claim.conclusion) if claim.conclusion else claim.reason,
        spent=_spent(metrics),
        scores=scores,
        rewards=tuple((spent[r["step"]], r["reward/mean"]) for r in metrics if "reward/mean" in r),
    )


def _estimate(entry: Json) -> Json:
    return {name: entry["pass"]["1"][name] for name in ("mean", "low", "high")}


def _watched(entries: Sequence[Json]) -> list[Json]:
    """The evaluations during training: those on the set with the most evaluations."""
    counts: dict[str, list[Json]] = {}
    for entry in entries:
        counts.setdefault(str(entry["set"]), []).append(entry)
    return max(counts.values(), key=len, default=[])


@dataclass(frozen=True)
class _Claim:
    """How a run differs from the first one on its task, or the reason why nothing can be said."""

    reason: str = ""
    conclusion: Conclusion | None = None
    problems: int = 0  # on which both runs were evaluated


def _claim(reference: Json | None, final: Json | None, family: Family) -> _Claim:
    if reference is None or final is None:
        return _Claim("not evaluated")
    if reference["set"] != final["set"]:
        return _Claim("other evaluation sets")
    if "bank" not in reference or "bank" not in final:
        return _Claim("answers of the evaluations were not saved")
    before, after = Bank.from_json(reference["bank"]), Bank.from_json(final["bank"])
    if (before.max_new, before.temperature) != (after.max_new, after.temperature):
        return _Claim("evaluated with other lengths or temperatures")
    try:
        (found,) = paired_passes(before, after, [1])
    except DataError:
        return _Claim("no shared problems")
    return _Claim("", conclude(found, Stated(), family), len(found.values))


def _spent(metrics: Sequence[Json]) -> dict[str, float | None]:
    # A resumed run counts its total time anew, so seconds are summed over the steps.
    seconds = [record["time/step"] for record in metrics if record.get("time/step") is not None]
    return {**_until(metrics[-1] if metrics else {}), "seconds": sum(seconds) if seconds else None}


def _until(record: Json) -> Spent:
    """The cost of the run up to this step, from the metrics of the step."""
    return {"steps": record.get("step")} | {name: record.get(f"budget/{name}") for name in SPENT if name != "steps"}


def as_json(comparison: Comparison) -> Json:
    """The comparison as JSON data, without the curves."""
    arms = [dataclasses.asdict(arm) for arm in comparison.arms]
    about = {
        "runs": [{name: value for name, value in arm.items() if name not in ("scores", "rewards")} for arm in arms]
    }
    if comparison.methods:
        about["methods"] = [dataclasses.asdict(method) for method in comparison.methods]
    said = {"family": comparison.family, "note": _note(comparison)}
    told = {"judged_otherwise": list(comparison.verified_otherwise), "one_task": list(comparison.one_task)}
    return {**about, **said, **told}


def _note(comparison: Comparison) -> str:
    return (SEEDS if comparison.methods else CAVEAT).format(comparison.family)


def render(comparison: Comparison) -> Table:
    """The comparison as a table for a terminal: of methods, if some have several seeds, else of runs."""
    return _table_of_methods(comparison) if comparison.methods else _table_of_runs(comparison)


def _table_of_methods(comparison: Comparison) -> Table:
    from rich.table import Table
    from rich.text import Text

    by_run = {arm.run: arm for arm in comparison.arms}
    table = Table(caption=_note(comparison), caption_justify="left", title_justify="left")
    table.add_column("task")
    table.add_column("method")
    final, further = _judges(comparison.methods)
    for heading in ("seeds", final, "difference", "p", *(f"by {name}" for name in further), "tokens", "time"):
        table.add_column(heading, justify="right", no_wrap=heading in ("seeds", "p", "tokens", "time"))
    for method in comparison.methods:
        spent = [by_run[run].spent for run in method.runs]
        claim = method.verdict if method.difference is None else f"{change(method.difference)} {method.verdict}"
        table.add_row(
            Text(terminal.plain(method.task)),
            Text(terminal.plain(method.label)),
            str(len(method.seeds)),
            Text(_scored(method, final)),
            Text(claim, style=STYLES.get(method.word, "")),
            chance(method.p),
            *(Text(score(method.others.get(name))) for name in further),
            *(_total(spent, name, shown) for name, shown in (("generated_tokens", _amount), ("seconds", duration))),
        )
    return table


def _total(spent: Sequence[Spent], name: str, shown: Callable[[float], str]) -> str:
    """The cost of all runs of a method together."""
    known = [cost for one in spent if (cost := one.get(name)) is not None]
    return shown(sum(known)) if known else "-"


def _table_of_runs(comparison: Comparison) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(caption=_note(comparison), caption_justify="left", title_justify="left")
    table.add_column("task")
    table.add_column("run")
    final, further = _judges(comparison.arms)
    counted = ("steps", "best", "tokens", "verified", "trained", "updates", "time")
    for heading in ("steps", final, "difference", *(f"by {name}" for name in further), *counted[1:]):
        table.add_column(heading, justify="right", no_wrap=heading in counted)
    for arm in comparison.arms:
        style = STYLES.get(arm.word, "")
        claim = arm.verdict if arm.difference is None else f"{change(arm.difference)} {arm.verdict}"
        table.add_row(
            Text(terminal.plain(arm.task)),
            Text(terminal.plain(arm.label)),
            str(arm.steps),
            Text(_scored(arm, final)),
            Text(claim, style=style),
            *(Text(score(arm.others.get(name))) for name in further),
            "-" if arm.best is None else f"{arm.best['mean']:.3f} @ {arm.best['step']}",
            *(_amount(arm.spent[name]) for name in SPENT if name != "steps"),
            "-" if arm.spent["seconds"] is None else duration(arm.spent["seconds"]),
        )
    return table


def show(comparison: Comparison, *, stream: TextIO | None = None) -> None:
    """Prints the table; a file gets wide lines, so that no row is broken."""
    from rich.console import Console

    out = sys.stdout if stream is None else stream
    Console(file=out, width=None if out.isatty() else 140).print(render(comparison))
    for sentence in comparison.one_task:
        terminal.write(out, f"{sentence}\n")
    if comparison.verified_otherwise:
        named = ", ".join(comparison.verified_otherwise)
        terminal.write(out, f"verified in more than one version: {named}; scores may differ by that\n")


def _judges(rows: Sequence[Arm | Method]) -> tuple[str, list[str]]:
    """(the heading of the final scores, which names their judge if it is one for all, the further judges)."""
    judges = {row.judge for row in rows if row.final is not None}
    heading = f"{FINAL} by {judges.pop()}" if len(judges) == 1 and None not in judges else FINAL
    return heading, list(dict.fromkeys(name for row in rows for name in row.others))


def _scored(row: Arm | Method, heading: str) -> str:
    """The final score; with its judge, where the heading does not name one for all."""
    judge = "" if row.final is None or heading != FINAL else f" by {row.judge or 'several judges'}"
    return f"{score(row.final)}{judge}"


def _amount(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1e6:.2f}M" if value >= 1e6 else number(value)


def plot(comparison: Comparison, path: Path | str) -> list[Path]:
    """Draws reward and held-out pass@1 over each measure of cost, two rows for each task; scores of all tasks have one
    axis. Returns the paths of the PNG and the SVG file.
    """
    import matplotlib
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(arm.task for arm in comparison.arms))
    figure = Figure(figsize=(4 * len(SPENT), 6.4 * len(tasks)), layout="constrained")
    axes = figure.subplots(2 * len(tasks), len(SPENT), sharex="col", sharey="row")
    scores = axes[1::2]
    for row in scores[1:]:
        row[0].sharey(scores[0][0])
    names: dict[str, Any] = {}
    for arm, label, color in _colored(comparison):
        rewards, held_out = axes[2 * tasks.index(arm.task) :][:2]
        for column, measure in enumerate(SPENT):
            names |= {label: _draw_rewards(rewards[column], arm, color, measure)} if label else {}
            _draw_scores(held_out[column], arm, color, measure)
    for index, row in enumerate(axes):
        title = "reward" if index % 2 == 0 else "held-out pass@1, 95 % over problems"
        row[0].set_ylabel(f"{tasks[index // 2]}: {title}" if len(tasks) > 1 else title)
        for axis in row:
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
    for axis, title in zip(axes[-1], SPENT.values()):
        axis.set_xlabel(title)
    columns = min(4, len(names) or 1)
    figure.legend(list(names.values()), list(names), loc="outside upper center", ncols=columns, frameon=False)
    stem = Path(path)
    stem = stem.with_suffix("") if stem.suffix in (".png", ".svg") else stem
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    # The SVG has no date and no random ids, so that equal runs give equal files.
    with matplotlib.rc_context({"svg.hashsalt": "assay"}):
        figure.savefig(files[0], dpi=150)
        figure.savefig(files[1], metadata={"Date": None})
    return files


def _colored(comparison: Comparison) -> Iterator[tuple[Arm, str | None, str]]:
    """Each run, its name in the legend, and its color. Runs of a method share a color, also on several tasks."""
    groups = [(method.label, method.runs) for method in comparison.methods]
    groups = groups or [(arm.label, (arm.run,)) for arm in comparison.arms]
    by_run = {arm.run: arm for arm in comparison.arms}
    colors = dict(zip(dict.fromkeys(label for label, _ in groups), itertools.cycle(COLORS)))
    for label, runs in groups:
        for run in runs:
            yield by_run[run], label if run == runs[0] else None, colors[label]


def _draw_rewards(axis: Any, arm: Arm, color: str, measure: str) -> Any:
    """Draws the rewards of the steps and their running mean, whose line is returned for the legend."""
    points = [(spent.get(measure), reward) for spent, reward in arm.rewards]
    known = [(x, y) for x, y in points if x is not None]
    axis.plot([x for x, _ in known], [y for _, y in known], color=color, alpha=0.25, linewidth=1)
    window = max(1, len(known) // 20)
    means = [sum(y for _, y in known[max(0, i - window + 1) : i + 1]) / min(window, i + 1) for i in range(len(known))]
    (line,) = axis.plot([x for x, _ in known], means, color=color, linewidth=2)
    return line


def _draw_scores(axis: Any, arm: Arm, color: str, measure: str) -> None:
    points = [(point.spent.get(measure), point) for point in arm.scores]
    known = [(x, point) for x, point in points if x is not None]
    xs = [x for x, _ in known]
    axis.plot(xs, [p.mean for _, p in known], color=color, marker="o", markersize=4, linewidth=2)
    if all(p.low is not None and p.high is not None for _, p in known):
        axis.fill_between(
            xs, [p.low for _, p in known], [p.high for _, p in known], color=color, alpha=0.15, linewidth=0
        )
