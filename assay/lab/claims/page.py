"""The outcomes of the gate, as one HTML file that needs no network, no script and no other file, and as a table."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from assay.host import terminal
from assay.lab.claims.card import Card, Outcome
from assay.lab.claims.estimators import COVERED
from assay.lab.claims.gate import Record, told
from assay.lab.study.charts import Line, chart
from assay.lab.study.page import STATIC, styles, trusted
from assay.record import disk
from assay.record.panel import duration
from assay.scoring.intervals import LEVEL

if TYPE_CHECKING:
    import jinja2


COVERAGE = "intervals-over-seeds"  # the check whose shares are drawn


def conclusion(record: Record) -> str:
    """One sentence: what may be relied on, and what not."""
    holds = [one.name for one in record.outcomes if one.holds]
    parts = [f"{len(holds)} of {len(record.outcomes)} checks hold"]
    parts += [f"{', '.join(record.failed)} {_do(record.failed, 'does', 'do')} not hold"] if record.failed else []
    parts += [f"{', '.join(record.missing)} {_do(record.missing, 'was', 'were')} not run"] if record.missing else []
    refused = " Cards that need what does not hold, or was not run, are refused." if len(parts) > 1 else ""
    return f"{'; '.join(parts)}.{refused}"


def _do(names: list[str], one: str, several: str) -> str:
    return one if len(names) == 1 else several


def write(card: Card, record: Record, path: Path) -> Path:
    """Writes the page beside the record and returns its path."""
    target = path.with_suffix(".html")
    with disk.storage_errors(f"writing {target}"):
        disk.replace(target, page(card, record).encode(), point="claims")
    return target


def page(card: Card, record: Record) -> str:
    """The HTML of the page."""
    return _template().render(
        card=card,
        css=styles(),
        facts={
            "measured": record.measured,
            "on": record.machine,
            "code": record.code,
            "computed in": duration(record.seconds),
        },
        conclusion=conclusion(record),
        rows=[(one, told(one), duration(one.seconds)) for one in record.outcomes],
        charts=[(title, trusted(svg)) for title, svg in _charts(record)],
    )


def _charts(record: Record) -> list[tuple[str, str]]:
    """(title, SVG): how often intervals hold the truth, by seeds, over the band in which they may."""
    outcome = record.outcome(COVERAGE)
    shares = {float(name.removeprefix("S=")): share for name, share in (outcome.figures if outcome else {}).items()}
    if not shares:
        return []
    lines = [
        Line(COVERAGE, tuple((at, share, share, share) for at, share in sorted(shares.items()))),
        Line("allowed", tuple((at, LEVEL, *COVERED) for at in sorted(shares))),
    ]
    return [("95 % intervals that hold 0", chart(lines, x="seeds", y="share"))]


def table(outcomes: tuple[Outcome, ...]) -> str:
    """The outcomes as a table for a terminal: one line for each check, and below it what was expected and what came."""
    width = max(len(one.name) for one in outcomes)
    lines = []
    for one in outcomes:
        lines.append(f"{one.name:{width}}  {told(one):13}  {duration(one.seconds)}")
        lines += [f"  expected  {one.expected}", f"  came      {one.came}"]
    return terminal.plain("\n".join(lines))


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((STATIC / "claim.html").read_text(encoding="utf-8"))
