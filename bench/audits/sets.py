"""The sets of labelled answers by name, and how their rates are told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.verifiers.audit import Labelled
from bench.audits import (
    circuits,
    clocked,
    edits,
    linear,
    mathematics,
    plain,
    programs,
    proofs,
    queries,
    terms,
    texts,
    theorems,
)

KEPT = Path(__file__).parents[1] / "results" / "audits.json"
SEED = 1
Rows = Callable[[int, int], Iterator[Labelled]]
"""(how many, seed) -> labelled answers."""


@dataclass(frozen=True)
class Set:
    by: str  # the verifier
    rows: Rows
    count: int  # of the whole set
    of: str  # what is in it


SETS: dict[str, Set] = {
    "programs": Set("programs", programs.programs, 900, "solutions by hand, their mutants, planted tricks"),
    "calls": Set("calls", plain.calls, 1000, "calls rewritten, changed in one place, or broken"),
    "patches": Set("patches", edits.patches, 1000, "edits of a line, with others around it, or spoiled"),
    "repairs": Set("repairs", edits.repairs, 1000, "edits of programs that Python runs"),
    "constraints": Set("constraints", texts.constraints, 1000, "texts built to counts, and fillings without words"),
    "formats": Set("formats", plain.formats, 1000, "thoughts and answers between marks, and hidden marks"),
    "mathematics, right": Set(
        "mathematics", mathematics.right, 3000, "golds of 18 kinds as careless models write them"
    ),
    "mathematics, wrong": Set("mathematics", mathematics.wrong, 3000, "neighbours of golds, hedges and traps"),
    "smt": Set("smt", terms.smt, 900, "terms rewritten by laws or changed in a place, values, invariants"),
    "optimisation": Set("optimisation", linear.optimisation, 450, "linear programs rewritten, changed or broken"),
    "sql": Set("sql", queries.sql, 500, "queries by laws, changed in one place, or broken"),
    "metamath": Set("metamath", proofs.metamath, 500, "proofs in rows of labels, drawn, changed or broken"),
    "coq": Set("coq", theorems.coq, 300, "small proofs by tactics, changed or broken; coqc labels the mutants"),
    "clocked": Set("verilog", clocked.clocked, 600, "circuits with a clock, rewritten, or spoiled in one place"),
    "verilog": Set("verilog", circuits.verilog, 400, "circuits by laws, by heart, changed in a place, or broken"),
}


def written(name: str, folder: Path, seed: int = SEED, count: int | None = None) -> Path:
    """Writes a set as a file for `assay verify audit`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace(', ', '_')}.jsonl"
    rows = (dataclasses.asdict(row) for row in SETS[name].rows(count or SETS[name].count, seed))
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "line"}) + "\n" for row in rows))
    return path


def render(result: dict[str, Any]) -> str:
    """The section of RESULTS.md."""
    text = [
        "## Error rates of verifiers",
        "",
        f"`python -m bench.audits --keep` (seed {result['seed']}): labelled answers that the verifiers did not make.",
        "Shares have Wilson's intervals of 95 %; (< x) is the exact bound where none was seen.",
        "",
        "| set | right | refused | wrong | accepted | what is in it |",
        "|" + "---|" * 6,
    ]
    for name, one in result["sets"].items():
        shares = one["shares"]
        cells = [name, one["right"], _told(shares["false_negatives"]), one["wrong"], _told(shares["false_positives"])]
        text.append(f"| {' | '.join(map(str, [*cells, SETS[name].of]))} |")
    return "\n".join(text) + "\n"


def _told(share: dict[str, Any]) -> str:
    if share["share"] is None:
        return "-"
    if "bound" in share:
        return f"0 (< {share['bound']:.2%})"
    return f"{share['count']}: {share['share']:.2%} [{share['low']:.2%}, {share['high']:.2%}]"


def section(folder: Path) -> str:
    """What was kept, for RESULTS.md."""
    kept = folder / KEPT.name
    return render(json.loads(kept.read_text())) if kept.exists() else ""
