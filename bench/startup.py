"""What it takes until `assay --help` and `assay list recipes` have answered, beside an interpreter that does nothing.

    python -m bench.startup                    # ten rounds; RESULTS.md has the figures afterwards
    python -m bench.startup --rounds 3 --dry   # only prints

The commands take turns, a process each, after one round that writes their bytecode as an installation does. Seconds are
of the clock, and of the processor, which other work disturbs less. The dearest imports of the second are printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bench import kept
from bench.machine import describe, load

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
NAME = "startup"
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "python -c 'import numpy'": ("-c", "import numpy"),
    "assay --help": ("-m", "assay", "--help"),
    "assay list recipes": ("-m", "assay", "list", "recipes"),
}
GOALS = {"assay --help": 0.15, "assay list recipes": 0.4}  # seconds of the clock on an idle machine
SHOWN = 20


def started(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds of the clock and of the processor until a process has ended."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spread(values: Sequence[float]) -> list[float]:
    """Quartiles, the median between them."""
    return [round(value, 4) for value in statistics.quantiles(values, n=4, method="inclusive")]


def measure(rounds: int, environment: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for number in range(rounds + 1):
        for name, command in COMMANDS.items():
            took = started(command, environment)
            if number:
                found[name].append(took)
    columns = {name: list(zip(*pairs, strict=True)) for name, pairs in found.items()}
    return {name: {"clock": spread(clock), "processor": spread(busy)} for name, (clock, busy) in columns.items()}


def dearest(command: Sequence[str], environment: Mapping[str, str]) -> list[tuple[float, str]]:
    """Milliseconds that modules took by themselves, what they import aside, and their names; the dearest first."""
    line = [sys.executable, "-X", "importtime", *command]
    done = subprocess.run(line, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = (row.removeprefix("import time:").split("|") for row in done.stderr.splitlines() if row.count("|") == 2)
    return sorted(((int(own) / 1000, name.strip()) for own, _, name in rows if own.strip().isdigit()), reverse=True)


def section(folder: Path = RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = ["## Start-up", "", "`python -m bench.startup`: a process each, in turns; medians, quartiles in brackets."]
    lines += [f"Goals, idle: {', '.join(f'`{name}` {goal:g} s' for name, goal in GOALS.items())}."]
    for run in runs:
        busy = f", {run['others']:.0f} other processes wanted a core" if run["others"] else ""
        lines += ["", f"{kept.title(run['machine'])}, {run['measured']}, {run['rounds']} rounds{busy}:", ""]
        lines += ["| command | seconds | of the processor |", "|---|---|---|"]
        for name, took in run["seconds"].items():
            cells = (
                f"{middle:.2f} [{low:.2f}, {high:.2f}]" for low, middle, high in (took["clock"], took["processor"])
            )
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    given = parser.parse_args(arguments)
    others = load()
    with tempfile.TemporaryDirectory() as bytecode:
        kinds = {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": bytecode}
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | kinds
        seconds = measure(given.rounds, environment)
        imports = dearest(COMMANDS["assay list recipes"], environment)
    for name, took in seconds.items():
        low, middle, high = took["clock"]
        print(f"{name:<26} {middle:.3f} s [{low:.3f}, {high:.3f}], of the processor {took['processor'][1]:.3f} s")
    print(f"\nthe dearest of {len(imports)} imports of `assay list recipes`, ms by themselves:")
    for own, name in imports[:SHOWN]:
        print(f"{own:8.1f}  {name}")
    if not given.dry:
        result: dict[str, Any] = {"machine": describe(), "measured": str(date.today()), "others": others}
        kept.keep(RESULTS, NAME, result | {"rounds": given.rounds, "seconds": seconds})
        from bench.rendering import render

        render()


if __name__ == "__main__":
    main()
