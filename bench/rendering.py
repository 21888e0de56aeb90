"""bench/RESULTS.md out of what is kept in results/: sections in their order, each from its own files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench import (
    again,
    bases,
    endless,
    judging,
    real_seeds,
    real_turns,
    shared_prefix,
    startup,
    summary,
    update_table,
    verifier,
    waiting,
)
from bench.audits import sets

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "bench" / "RESULTS.md"


def notes(folder: Path) -> str:
    """What was written by hand about the tables."""
    path = folder / "notes.md"
    return path.read_text() if path.exists() else ""


# Each is given the folder of results and gives its text, or nothing where nothing of it is kept. A further section of
# the page is a further line here.
SECTIONS: tuple[Callable[[Path], str], ...] = (
    summary.comparisons,
    summary.memory,
    real_turns.section,
    again.section,
    shared_prefix.section,
    real_seeds.section,
    update_table.section,
    verifier.section,
    sets.section,
    bases.section,
    startup.section,
    judging.section,
    endless.section,
    waiting.section,
    notes,
)


def render(folder: Path = RESULTS, page: Path = PAGE) -> None:
    """Writes the page anew; the same results give the same bytes."""
    told = (section(folder).strip("\n") for section in SECTIONS)
    page.write_text("\n\n".join(text for text in told if text) + "\n")
