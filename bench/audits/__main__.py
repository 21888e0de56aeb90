"""Error rates of verifiers on labelled answers that they did not make.

python -m bench.audits                      # every set, whole; some minutes
python -m bench.audits calls mathematics --show
python -m bench.audits --write FOLDER       # the sets, for `assay verify audit FOLDER/calls.jsonl --by calls`
python -m bench.audits --keep [SET]         # into results/audits.json and RESULTS.md; other sets stay as they were
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.verifiers.audit import audit, table
from bench import machine
from bench.audits.sets import KEPT, SEED, SETS, render, written


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SET", help=f"which; default all: {', '.join(SETS)}")
    parser.add_argument("--seed", type=int, default=SEED, help=f"default {SEED}")
    parser.add_argument("--show", action="store_true", help="the whole table of each audit")
    parser.add_argument(
        "--write", metavar="FOLDER", type=Path, help="write the sets into this folder, and judge nothing"
    )
    parser.add_argument("--keep", action="store_true", help="write results/audits.json and RESULTS.md")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(SETS):
        parser.error(f"no set named {', '.join(sorted(unknown))}; these are: {', '.join(SETS)}")
    if options.write:
        for name in options.names or SETS:
            sys.stdout.write(f"{written(name, options.write, options.seed)}\n")
        return 0
    found = {name: _audited(name, options.seed, show=options.show) for name in options.names or SETS}
    result = {"machine": machine.describe(), "seed": options.seed, "sets": found}
    sys.stdout.write(render(result))
    if options.keep:
        from bench import rendering

        if KEPT.exists() and (kept := json.loads(KEPT.read_text()))["seed"] == options.seed:
            result["sets"] = {name: one for name, one in (kept["sets"] | found).items() if name in SETS}
        KEPT.write_text(json.dumps(result, indent=1) + "\n")
        rendering.render()
    return int(any(one["shares"]["false_positives"]["count"] for one in found.values()))


def _audited(name: str, seed: int, *, show: bool) -> dict[str, Any]:
    began = time.monotonic()
    found = audit(list(SETS[name].rows(SETS[name].count, seed)), SETS[name].by)
    if show:
        sys.stdout.write(f"{name}\n{table(found)}\n\n")
    kept = ("verifier", "rows", "right", "wrong", "invalid", "shares", "confusion")
    return {key: found[key] for key in kept} | {
        "measured": time.strftime("%Y-%m-%d"),
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    raise SystemExit(main())
