"""The numbers of a study as texts: one form for the terminal, the page and the Markdown file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.host import terminal
from assay.lab.seeds import as_dict
from assay.lab.study.analysis import Cell, Findings
from assay.lab.study.contrasts import Seen
from assay.lab.study.progress import PASSED
from assay.record.panel import duration
from assay.scoring.conclusion import Conclusion
from assay.view.judged import VERIFIER
from assay.view.text import ABSENT, chance, change, columns, number, score

COLUMNS: Mapping[str, Callable[[Cell], str]] = {  # heading -> the text of a cell below it
    "task": lambda cell: cell.task,
    "method": lambda cell: cell.arm,
    "seeds": lambda cell: str(len(cell.seeds)),
    "judge": lambda cell: cell.judge or VERIFIER,
    "before": lambda cell: ABSENT if cell.before is None else f"{cell.before['mean']:.3f}",
    f"after, {PASSED}": lambda cell: score(cell.after),
    "gain": lambda cell: change(cell.gain),
    "difference": lambda cell: change(cell.claim.difference),
    "p": lambda cell: chance(cell.claim.p),
    "verdict": lambda cell: cell.claim.verdict,
    "entropy": lambda cell: ABSENT if cell.entropy is None else f"{cell.entropy:.2f}",
    "length": lambda cell: ABSENT if cell.length is None else f"{cell.length:.1f}",
    "tokens": lambda cell: f"{cell.spent.get('generated_tokens', 0.0):,.0f}",
    "updates": lambda cell: f"{cell.spent.get('optimiser_steps', 0.0):,.0f}",
    "time": lambda cell: duration(cell.seconds),
}
DIFFER = 24  # settings of a contrast that a report names, at most
BASE, GUESSER = "base", "guesser"  # the columns of the untrained model, and of a blind guesser
SHOWN = "base with examples"  # the column of the untrained model with worked examples before each question
WORDS = ("task", "method", "judge", "verdict")  # columns of words; all others hold numbers
ON_TERMINALS = (
    *("task", "method", "seeds", "judge", "before", f"after, {PASSED}"),
    *("difference", "p", "verdict", "tokens", "time"),
)
OF_A_TASK = tuple(name for name in COLUMNS if name != "task")


def texts(cell: Cell, headings: Sequence[str] = OF_A_TASK) -> list[str]:
    """The texts of this cell in the columns."""
    return [COLUMNS[heading](cell) for heading in headings]


def passes(findings: Findings, task: str) -> list[list[str]]:
    """The headings, and a row for each k with the pass@k of a blind guesser, of the base and of each arm."""
    cells = [cell for cell in findings.cells if cell.task == task]
    before = {BASE: findings.bases[task], SHOWN: findings.examples[task]}
    known = {name: of for name, of in before.items() if of} | {cell.arm: cell.passes for cell in cells}
    guessed = findings.guesses.get(task, {})
    ks = sorted({k for of in known.values() for k in of})
    beside = [GUESSER] if guessed and ks else []
    return [
        ["k", *beside, *known],
        *([str(k), *(_guess(guessed, k) for _ in beside), *(score(of.get(k)) for of in known.values())] for k in ks),
    ]


def _guess(guessed: Mapping[int, float], k: int) -> str:
    return f"{guessed[k]:.3f}" if k in guessed else ABSENT


def changes(findings: Findings, task: str) -> list[list[str]]:
    """A row for each arm with its change of pass@k, from its base and from the base with examples, at the least and the
    largest k; none if the exams of the base are not known.
    """
    cells = [cell for cell in findings.cells if cell.task == task and cell.changes]
    beside = [(BASE, k, {cell.arm: cell.changes.get(k) for cell in cells}) for k in _ks(cell.changes for cell in cells)]
    beside += [(SHOWN, k, {cell.arm: cell.beyond.get(k) for cell in cells}) for k in _ks(cell.beyond for cell in cells)]
    if not cells:
        return []
    headings = [text for name, k, _ in beside for text in (f"pass@{k} from the {name}", f"word at {k}")]
    rows = [[cell.arm, *(text for *_, of in beside for text in _changed(of[cell.arm]))] for cell in cells]
    return [["method", *headings], *rows]


def _ks(of: Iterable[Mapping[int, Conclusion]]) -> list[int]:
    return sorted({k for changes in of for k in changes})


def _changed(one: Conclusion | None) -> tuple[str, str]:
    return (ABSENT, "") if one is None else (change(as_dict(one.found)), str(one))


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


def judged_too(findings: Findings, task: str) -> str:
    """The scores after training by each further judge, as a sentence; nothing where there is none."""
    cells = [cell for cell in findings.cells if cell.task == task]
    told = [
        f"{PASSED} after training by {judge} is {', '.join(f'{c.arm} {score(c.others.get(judge))}' for c in cells)}"
        for judge in dict.fromkeys(judge for cell in cells for judge in cell.others)
    ]
    return f"Beside the first judge: {'; '.join(told)}." if told else ""


def expectation(seen: Seen) -> str:
    """The outcome of an expectation, as a sentence."""
    one, (own, other) = seen.expected, seen.means
    gap = f", {change(as_dict(seen.conclusion.found))}"
    claim = f"{one.claim}: on {seen.task}, " if one.claim else f"On {seen.task}, "
    told = (
        f"{claim}{one.metric} goes {one.moves} in {one.arm} against {one.against} in {seen.agreeing} of "
        f"{seen.seeds} seeds: {number(own)} and {number(other)}{gap}"
    )
    counts = f", where {one.least:g} counts" if one.least else ""
    p = f"; p {chance(seen.conclusion.p)}" if seen.conclusion.p is not None else ""
    differ = f" {_apart(seen)}" if seen.apart else ""
    return f"{told}{counts}{p}: {seen.conclusion}.{differ}"


def _apart(seen: Seen) -> str:
    """Other possible causes of the difference, as a sentence."""
    shown, more = seen.apart[:DIFFER], len(seen.apart) - DIFFER
    rest = f"; and {more} more, which `assay show` lists" if more > 0 else ""
    return (
        f"The recipe of {seen.expected.arm} differs from that of {seen.expected.against} in: {'; '.join(shown)}{rest}."
    )


def table(findings: Findings) -> str:
    """The results as a table for a terminal."""
    rows = [list(ON_TERMINALS), *(texts(cell, ON_TERMINALS) for cell in findings.cells)]
    beside = {task: judged_too(findings, task) for task in findings.study.tasks}
    lines = [f"{task}. {sentence}" for task, sentence in beside.items() if sentence]
    return terminal.plain("\n".join([*columns(rows), *lines]))
