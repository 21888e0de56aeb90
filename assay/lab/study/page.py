"""The report of a study: one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.lab.study.analysis import Bounds, Findings
from assay.lab.study.charts import Line, Range, chart, look
from assay.lab.study.contrasts import Seen, measure_of
from assay.lab.study.forest import Stem, forest
from assay.lab.study.progress import PASSED
from assay.lab.study.results import SERIES
from assay.lab.study.table import (
    BASE,
    GUESSER,
    OF_A_TASK,
    SHOWN,
    WORDS,
    changes,
    collapses,
    expectation,
    judged_too,
    passes,
    texts,
)
from assay.record import disk
from assay.record.panel import duration
from assay.scoring.conclusion import WORTH
from assay.scoring.inference import student_quantile

if TYPE_CHECKING:
    import jinja2

STATIC = Path(__file__).parents[2] / "view" / "static"
NAME = "report.html"
GRID = 25  # points of a curve over tokens
TITLES = {"reward": "reward in training", "entropy": "entropy of a token", "length": "tokens of an answer"}


def write(findings: Findings, folder: Path) -> Path:
    """Writes FOLDER/report.html and returns its path."""
    path = folder / NAME
    with disk.storage_errors(f"writing the report of {folder}"):
        disk.replace(path, page(findings, folder.name).encode(), point="report")
    return path


def page(findings: Findings, name: str) -> str:
    """The HTML of the report."""
    study = findings.study
    facts = {
        "methods": ", ".join(study.arms),
        "tasks": ", ".join(study.tasks),
        "seeds": str(len(study.seeds)),
        "budget of a run": str(study.budget),
        "computed in": duration(math.fsum(result.seconds for result in findings.results.values())),
    }
    return _template().render(
        name=name,
        css=styles(),
        facts=facts,
        findings=findings,
        headings=OF_A_TASK,
        words=WORDS,
        expectations=[expectation(seen) for seen in findings.seen],
        arms=[(arm, *look(i)) for i, arm in enumerate(study.arms)],
        beside=[
            (name, *look(len(study.arms) + i))
            for i, name in enumerate((BASE, SHOWN, GUESSER))
            if name != SHOWN or any(findings.examples.values())
        ],
        tasks=[
            (
                *(task, _rows(findings, task), _said(findings, task), passes(findings, task)),
                *(changes(findings, task), _forests(findings, task), _charts(findings, task)),
            )
            for task in study.tasks
        ],
    )


def _said(findings: Findings, task: str) -> list[str]:
    """The sentences below the table of a task."""
    return [sentence for sentence in (judged_too(findings, task), collapses(findings, task)) if sentence]


def _rows(findings: Findings, task: str) -> list[list[str]]:
    return [texts(cell) for cell in findings.cells if cell.task == task]


def _forests(findings: Findings, task: str) -> list[tuple[str, Any]]:
    """(title, SVG): how every arm differs from the first, and what was declared of pass@k."""
    first = next(iter(findings.study.arms))
    arms = [_stem(findings, task, cell.arm, first) for cell in findings.cells if cell.task == task]
    seen = [one for one in findings.seen if one.task == task and one.expected.metric.startswith("pass@")]
    declared = [_declared(findings, one) for one in seen]
    made = [
        (
            f"Differences from {first}",
            forest([stem for stem in arms if stem], x="difference of the score", worth=WORTH),
        ),
        ("Declared contrasts", forest(declared, x="difference of pass@k")),
    ]
    return [(title, trusted(svg)) for title, svg in made if svg]


def _stem(findings: Findings, task: str, arm: str, first: str) -> Stem | None:
    """How an arm differs from the first; None where nothing can be said of it."""
    conclusion = findings.cell(arm, task).claim.conclusion
    if conclusion is None:
        return None
    points = _by_seed(findings, task, arm, first, "pass@1") if findings.study.scores == "exam" else ()
    return Stem(arm, conclusion.found.mean, conclusion.found.low, conclusion.found.high, points, conclusion.word)


def _declared(findings: Findings, one: Seen) -> Stem:
    expected, bounds = one.expected, one.conclusion.found
    points = _by_seed(findings, one.task, expected.arm, expected.against, expected.metric)
    named = f"{expected.metric}, {expected.arm} - {expected.against}"
    return Stem(named, bounds.mean, bounds.low, bounds.high, points, one.conclusion.word)


def _by_seed(findings: Findings, task: str, arm: str, other: str, metric: str) -> tuple[float, ...]:
    """The difference of each seed that both arms have."""
    measure = measure_of(metric)
    own, beside = ({run.seed: measure(run) for run in findings.of(name, task)} for name in (arm, other))
    pairs = [(own[seed], beside.get(seed)) for seed in own]
    return tuple(a - b for a, b in pairs if a is not None and b is not None)


def _charts(findings: Findings, task: str) -> list[tuple[str, Any]]:
    """(title, SVG) of all charts of a task. Charts over tokens share their horizontal axis, those of pass@k both axes
    with the other tasks.
    """
    held_out = _held_out(findings, task)
    own = {name: _series(findings, task, name) for name in SERIES}
    across = _range([x for lines in (held_out, *own.values()) for line in lines for x, *_ in line.points])
    curves = [_curve(arm, findings.cell(arm, task).passes) for arm in findings.study.arms]
    curves += [_curve(BASE, findings.bases[task]), _curve(SHOWN, findings.examples[task])]
    curves += [Line(GUESSER, tuple((k, p, p, p) for k, p in findings.guesses.get(task, {}).items()))]
    made = [
        ("held-out pass@1 in training", chart(held_out, x="tokens", y=PASSED, across=across)),
        ("pass@k after training", chart(curves, x="k", y="pass@k", log=True, up=(0.0, 1.0))),
        *((TITLES[name], chart(lines, x="tokens", y=TITLES[name], across=across)) for name, lines in own.items()),
    ]
    return [(title, trusted(svg)) for title, svg in made]


def _curve(name: str, passes: Mapping[int, Bounds]) -> Line:
    return Line(name, tuple((k, v["mean"], v["low"], v["high"]) for k, v in passes.items()))


def _held_out(findings: Findings, task: str) -> list[Line]:
    runs = {arm: findings.of(arm, task) for arm in findings.study.arms}
    return [Line(arm, band([[(p[1], p[2]) for p in result.curve] for result in of])) for arm, of in runs.items()]


def _series(findings: Findings, task: str, name: str) -> list[Line]:
    runs = {arm: findings.of(arm, task) for arm in findings.study.arms}
    return [Line(arm, band([result.series.get(name, []) for result in of])) for arm, of in runs.items()]


def _range(values: Sequence[float]) -> Range | None:
    known = [value for value in values if math.isfinite(value)]
    return (min(known), max(known)) if known else None


def band(curves: Sequence[Sequence[Sequence[float]]]) -> tuple[tuple[float, float, float, float], ...]:
    """Mean and 95 % interval over seeds (Student's t) of curves, each a list of (x, y), where all of them have values.
    One curve alone has no band.
    """
    known = [curve for curve in curves if len(curve) > 0]
    if not known:
        return ()
    first, last = max(c[0][0] for c in known), min(c[-1][0] for c in known)
    xs = np.linspace(first, last, GRID) if last > first else np.array([first])
    values = np.array([np.interp(xs, [p[0] for p in curve], [p[1] for p in curve]) for curve in known])
    means, half = values.mean(0), np.zeros(len(xs))
    if len(known) > 1:
        half = student_quantile(0.975, len(known) - 1) * values.std(0, ddof=1) / math.sqrt(len(known))
    return tuple(zip(xs.tolist(), means.tolist(), (means - half).tolist(), (means + half).tolist(), strict=True))


def styles() -> Any:
    """The style sheet of reports, with its dark colors where the reader's system is dark."""
    sheet = (STATIC / "report.css").read_text(encoding="utf-8")
    dark = sheet[sheet.index(':root[data-theme="dark"]') :]
    block = dark[dark.index("{") : dark.index("}") + 1]
    return trusted(f"{sheet}\n@media (prefers-color-scheme: dark) {{ :root {block} }}")


def trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((STATIC / "study.html").read_text(encoding="utf-8"))
