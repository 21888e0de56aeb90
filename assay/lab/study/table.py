"""The numbers of a study as texts: one form for the terminal, the page and the Markdown file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.host import terminal
from assay.lab.seeds import bounds
from assay.lab.study.analysis import Cell, Findings
from assay.lab.study.contrasts import Seen
from assay.lab.study.progress import PASSED
from assay.record.panel import duration
from assay.view.text import ABSENT, chance, change, columns, number, score

COLUMNS: Mapping[str, Callable[[Cell], str]] = {  # heading -> what a cell says below it
    "task": lambda cell: cell.task,
    "method": lambda cell: cell.arm,
    "seeds": lambda cell: str(len(cell.seeds)),
    "before": lambda cell: ABSENT if cell.before is None else f"{cell.before['mean']:.3f}",
    f"after, {PASSED}": lambda cell: score(cell.after),
    "gain": lambda cell: change(cell.gain),
    "difference": lambda cell: change(bounds(cell.claim.effect)),
    "p": lambda cell: chance(cell.claim.p),
    "verdict": lambda cell: cell.claim.verdict,
    "entropy": lambda cell: ABSENT if cell.entropy is None else f"{cell.entropy:.2f}",
    "length": lambda cell: ABSENT if cell.length is None else f"{cell.length:.1f}",
    "tokens": lambda cell: f"{cell.spent.get('generated_tokens', 0.0):,.0f}",
    "updates": lambda cell: f"{cell.spent.get('optimiser_steps', 0.0):,.0f}",
    "time": lambda cell: duration(cell.seconds),
}
WORDS = ("task", "method", "verdict")  # columns of words; all others hold numbers
ON_TERMINALS = ("task", "method", "seeds", "before", f"after, {PASSED}", "difference", "p", "verdict", "tokens", "time")
OF_A_TASK = tuple(name for name in COLUMNS if name != "task")


def texts(cell: Cell, headings: Sequence[str] = OF_A_TASK) -> list[str]:
    """What the columns say of this cell."""
    return [COLUMNS[heading](cell) for heading in headings]


def passes(findings: Findings, task: str) -> list[list[str]]:
    """A row for each k with the pass@k of each arm, and the headings before them."""
    cells = [cell for cell in findings.cells if cell.task == task]
    ks = sorted({k for cell in cells for k in cell.passes})
    return [
        ["k", *(cell.arm for cell in cells)],
        *([str(k), *(score(cell.passes.get(k)) for cell in cells)] for k in ks),
    ]


def collapses(findings: Findings, task: str) -> str:
    """Which arms collapsed, and when, as a sentence; nothing where no run was examined while it trained."""
    cells = [cell for cell in findings.cells if cell.task == task and cell.collapsed]
    if not cells:
        return ""
    fallen = [(cell, [step for step in cell.collapsed.values() if step is not None]) for cell in cells]
    told = [
        f"{cell.arm} in {len(steps)} of {len(cell.collapsed)} seeds, by step {_span(steps)}"
        for cell, steps in fallen
        if steps
    ]
    meaning = f"held-out {PASSED} stays below half of its best"
    return f"Collapsed ({meaning}): {'; '.join(told)}." if told else f"No run collapsed ({meaning})."


def _span(steps: Sequence[int]) -> str:
    least, most = min(steps), max(steps)
    return str(least) if least == most else f"{least} to {most}"


def expectation(seen: Seen) -> str:
    """What became of something that was expected, as a sentence."""
    one, (own, other) = seen.expected, seen.means
    gap = "" if seen.difference is None else f", {change(bounds(seen.difference))}"
    claim = f"{one.claim}: on {seen.task}, " if one.claim else f"On {seen.task}, "
    told = (
        f"{claim}{one.metric} goes {one.moves} in {one.arm} against {one.against} in {seen.agreeing} of "
        f"{seen.seeds} seeds: {number(own)} and {number(other)}{gap}"
    )
    if not one.least:
        return f"{told}."
    return f"{told}, where {one.least:g} counts; p {chance(seen.p)}: {seen.verdict}."


def table(findings: Findings) -> str:
    """The results as a table for a terminal."""
    rows = [list(ON_TERMINALS), *(texts(cell, ON_TERMINALS) for cell in findings.cells)]
    return terminal.plain("\n".join(columns(rows)))
