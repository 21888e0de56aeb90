"""The report of a study: one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.host import terminal
from assay.lab.study import analysis
from assay.lab.study.analysis import Findings
from assay.lab.study.charts import COLORS, Line, chart
from assay.lab.study.results import SERIES
from assay.record import disk
from assay.record.panel import duration
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
        "computed in": duration(sum(result.seconds for result in findings.results.values())),
    }
    return _template().render(
        name=name,
        css=styles(),
        facts=facts,
        findings=findings,
        expects=study.expects,
        arms=[(arm, COLORS[i % len(COLORS)]) for i, arm in enumerate(study.arms)],
        tasks=[(task, _rows(findings, task), _charts(findings, task)) for task in study.tasks],
    )


def _rows(findings: Findings, task: str) -> list[dict[str, Any]]:
    cells = [cell for cell in findings.cells if cell.task == task]
    columns = ("after", "difference", "p", "verdict")
    texts = {(row[0], row[1]): row for row in analysis.text(findings)[1:]}
    rows = []
    for cell in cells:
        row = texts[task, cell.arm]
        rows.append(
            {"arm": cell.arm, "seeds": row[2], "before": row[3], "tokens": row[8], "rate": f"{cell.rate:g}"}
            | dict(zip(columns, row[4:8], strict=True))
            | {"passes": {k: f"{v['mean']:.3f} [{v['low']:.3f}, {v['high']:.3f}]" for k, v in cell.passes.items()}}
            | {"time": duration(cell.seconds), "updates": f"{cell.spent.get('optimiser_steps', 0.0):,.0f}"}
        )
    return rows


def _charts(findings: Findings, task: str) -> list[tuple[str, Any]]:
    """(title, SVG) of all charts of a task."""
    arms = findings.study.arms
    of = {arm: [r for run, r in findings.results.items() if (run.arm, run.task) == (arm, task)] for arm in arms}
    tokens, made = "generated tokens", []
    held_out = [Line(arm, band([[(p[1], p[2]) for p in r.curve] for r in runs])) for arm, runs in of.items()]
    made.append(("held-out pass@1 in training", chart(held_out, x=tokens, y="pass@1")))
    passes = [
        Line(arm, tuple((k, v["mean"], v["low"], v["high"]) for k, v in findings.cell(arm, task).passes.items()))
        for arm in arms
    ]
    made.append(("pass@k after training", chart(passes, x="k", y="pass@k", log=True)))
    for name in SERIES:
        lines = [Line(arm, band([r.series.get(name, []) for r in runs])) for arm, runs in of.items()]
        made.append((TITLES[name], chart(lines, x=tokens, y=TITLES[name])))
    return [(title, trusted(svg)) for title, svg in made]


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


def table(findings: Findings) -> str:
    """The results as a table for a terminal."""
    rows = analysis.text(findings)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return terminal.plain("\n".join(lines))


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
