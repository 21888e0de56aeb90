"""What a pretrained model solves before any training, of each task in everyday words: which levels leave room to learn.

    assay get smollm2 && python -m bench.base_rates     # a few minutes; docs/tasks.md has the table
    python -m bench.base_rates words:5 sums:1           # some levels anew, beside what is kept of the others
    python -m bench.base_rates --table                  # what is kept, as the table of docs/tasks.md

Held-out problems in natural wording, 16 answers to each at temperature 0.7. An answer that was cut is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from assay.lab.sample import examine
from assay.run.pretrained import PRETRAINED
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.versions import version_of
from bench.kept import machine_key
from bench.machine import describe

MODEL = "smollm2"
RESULT = Path(__file__).resolve().parent / "results" / f"base-rates-{MODEL}.json"
PROBLEMS, SAMPLES, TEMPERATURE = 32, 16, 0.7
ROOM = (0.05, 0.5)
"""Pass@1 of a level from which a policy learns: it is rewarded now and then, and has much to gain."""
SHORT = {"words": 24, "times": 24, "sums": 24}
LONGEST = 48  # tokens of an answer, where SHORT does not say
ROWS = (
    *(f"words:{level}" for level in ("1", "2", "3", "4", "5", "1,2,3,4,5")),
    *(f"sentence:{level}" for level in (2, 3, 4)),
    *(f"sentence-strict:{level}" for level in (2, 3)),
    *(f"object:{level}" for level in (2, 3, 4)),
    *(f"times:{level}" for level in (1, 2)),
    *(f"sums:{level}" for level in (1, 2)),
    *("gym:number_sequence", "gym:syllogism"),
)


def measure(row: str) -> dict[str, Any]:
    share = Share.parse(row)
    found = examine(
        MODEL,
        Pool((share,), wording="natural"),
        problems=PROBLEMS,
        samples=SAMPLES,
        ks=(1, SAMPLES),
        temperature=TEMPERATURE,
        max_new=SHORT.get(share.task, LONGEST),
        seed=0,
    )
    return {
        "task": row,
        **{name: found[name] for name in ("max_new", "problems", "pass", "truncated", "length")},
        "verifier": version_of(task(share.task)),
        "machine": machine_key(describe()),
        "measured": str(date.today()),
    }


def keep(row: Mapping[str, Any]) -> None:
    """Puts a row in place of an older one of its name."""
    kept = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
    rows = {one["task"]: one for one in (*kept, row)}
    result = {
        "model": MODEL,
        "fingerprint": PRETRAINED[MODEL].fingerprint,
        "samples": SAMPLES,
        "temperature": TEMPERATURE,
        "rows": [rows[name] for name in ROWS if name in rows],
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def fits(row: Mapping[str, Any]) -> bool:
    """Whether a policy can learn from these problems: pass@1 within ROOM, and twice as much with all samples."""
    one, many = (row["pass"][str(k)]["mean"] for k in (1, SAMPLES))
    return ROOM[0] <= one <= ROOM[1] and many >= 2 * one


def shown(row: Mapping[str, Any]) -> str:
    one, many = ("{mean:.2f} [{low:.2f}, {high:.2f}]".format(**row["pass"][str(k)]) for k in (1, SAMPLES))
    cells = (
        f"`{row['task']}`",
        row["problems"],
        row["max_new"],
        one,
        many,
        f"{row['truncated']:.0%}".replace("%", " %"),
    )
    return "| " + " | ".join(map(str, (*cells, f"{row['length']:.0f}", "yes" if fits(row) else "no"))) + " |"


def table(result: Mapping[str, Any]) -> str:
    """The rows of a result, as a table of Markdown."""
    head = f"| task | problems | limit | pass@1 | pass@{SAMPLES} | cut | tokens | room to learn |"
    return "\n".join([head, "|" + " --- |" * 8, *map(shown, result["rows"])])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="TASK:LEVELS", help="none: all")
    parser.add_argument("--table", action="store_true", help="print what is kept, and measure nothing")
    given = parser.parse_args(arguments)
    if given.table:
        print(table(json.loads(RESULT.read_text())))
        return
    for name in given.rows or ROWS:
        row = measure(name)
        keep(row)
        print(shown(row), flush=True)


if __name__ == "__main__":
    main()
