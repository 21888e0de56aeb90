"""Every learning test over twenty seeds on every set of torch's kernels: do they hold, and by what margin?

Tests that are marked `learning` run `--seeds` times on each variant, in one process after the other, niced; what they
measure (`shown`) goes to `bench/results/seeds-of-learning.json`, beside the bound that it must pass. Tests that the
file knows in so many seeds are not run again (`--again` runs them), so that a fresh clone goes on where another ended.

    nice -n 10 python tests/seeds_of_learning.py tests/methods/judges/cloud
    python tests/seeds_of_learning.py --table

The table has a line for each number: in how many runs it held, the worst margin, its quantiles, and its bound. Learning
tests compute with torch; what differs between processors is which of its kernels run (`ATEN_CPU_CAPABILITY`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "bench/results/seeds-of-learning.json"
PART = 16  # tests after which what was found is written down
KERNELS = ("avx512", "avx2", "default")

Found = dict[str, dict[str, list[dict[str, Any]]]]  # kernels -> test -> runs


def kernels() -> list[str]:
    """The sets of kernels that torch has for this processor; it runs the best that it knows where one is not."""
    import torch

    best = torch.backends.cpu.get_cpu_capability().lower()
    return list(KERNELS[KERNELS.index(best) :]) if best in KERNELS else ["default"]


def ran(name: str, tests: list[str], seeds: int) -> dict[str, list[dict[str, Any]]]:
    """What these tests measured with these kernels."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "found"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", "-m", "learning"]
        only = Path(folder) / "only"  # by name: a name with its seed, as pytest would want it, is not known before
        only.write_text("\n".join(tests))
        command += ["--learning-seeds", str(seeds), "--learning-to", str(kept), "--learning-only", str(only)]
        command += ["--all-recipes", *{test.partition("::")[0]: None for test in tests}]
        settings = {"ATEN_CPU_CAPABILITY": name, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False)
        lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        found.setdefault(line.pop("test"), []).append(line)
    return found


def known_runs() -> Found:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def written(found: Found) -> str:
    """As JSON, with a line for each test."""
    kinds = []
    for name, tests in sorted(found.items()):
        lines = [
            f"{json.dumps(test)}: {json.dumps(runs, separators=(',', ':'))}" for test, runs in sorted(tests.items())
        ]
        kinds.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def named(tests: list[str]) -> list[list[str]]:
    """The learning tests in these files and folders, in parts after which what was found is written down."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "-m", "learning"]
    told = subprocess.run([*command, "--all-recipes", *tests], cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in told.stdout.splitlines() if line.startswith("tests/")]
    return [found[at : at + PART] for at in range(0, len(found), PART)]


def table(found: Found) -> list[str]:
    """A line for each number of each test, over all seeds and kernels; the least margin first."""
    held: dict[str, list[bool]] = {}
    values: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for tests in found.values():
        for test, runs in tests.items():
            for one in runs:
                held.setdefault(test, []).append(one["held"])
                for what, value, bound in one["measured"]:
                    values.setdefault((test, what), []).append((value, bound))
    lines = [f"{sum(fine)} of {len(fine)} runs held: {test}" for test, fine in held.items()]
    for (test, what), pairs in values.items():
        found_, bounds = np.array(pairs).T
        margin = np.abs(found_ - bounds).min()
        quantiles = ", ".join(f"{q:.3g}" for q in np.quantile(found_, [0, 0.1, 0.5, 0.9, 1]))
        lines.append(
            f"  {test.rpartition('::')[2]}: {what}: {quantiles}; bound {bounds.max():.3g}, nearest {margin:.3g}"
        )
    return lines


def main() -> int:
    reads = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reads.add_argument("tests", nargs="*", default=["tests"])
    reads.add_argument("--seeds", type=int, default=20)
    reads.add_argument("--kernels", choices=KERNELS, nargs="+", help="these sets alone")
    reads.add_argument("--again", action="store_true", help="also what the file knows already")
    reads.add_argument("--table", action="store_true", help="prints what the file knows, and runs nothing")
    asked = reads.parse_args()
    found = known_runs()
    for tests, name in itertools.product([] if asked.table else named(asked.tests), asked.kernels or kernels()):
        known = {} if asked.again else found.get(name, {})
        lacking = [test for test in tests if len(known.get(test, [])) < asked.seeds]
        if lacking:
            made = ran(name, lacking, asked.seeds)
            found = known_runs()  # another process may have added to it
            found.setdefault(name, {}).update(made)
            KEPT.write_text(written(found))
    print("\n".join(table(found)))
    return 0 if all(one["held"] for tests in found.values() for runs in tests.values() for one in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
