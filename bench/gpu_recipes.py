"""Every recipe takes a few steps on a GPU, in 32 bits, and its first step is that of a processor.

    python -m bench.gpu_recipes --dry-run-on-cpu --out cpu            # on a processor; builds the bases that it needs
    python -m bench.gpu_recipes --against cpu.json                    # on the GPU
    python -m bench.gpu_recipes --only grpo ttrl --processes 4

Writes FILE.json with what each run came to. A recipe is trained on the first task that it names, or on countdown. One
that needs more than a task and its base, such as a judge, is refused by the program, and the refusal is told. A run
that ends in another way, or whose first step differs, is a failure, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

REFUSED = (2, 64, 78)  # exit statuses of `assay` for a line or data that it does not take
STEPS = 4
COMPARED = {"reward/mean": 1e-6, "length/mean": 1e-6, "policy/grad_norm": 1e-2}  # of a first step, relative
SIZES = {
    "scale.num-prompts": 8,
    "evaluation.every": 0,
    "evaluation.final-problems": 8,
    "evaluation.final-samples": 4,
    "machine.threads": 1,
    "machine.precision": "fp32",
}


@dataclass(frozen=True)
class Outcome:
    """What one recipe's run came to."""

    recipe: str
    code: int
    seconds: float
    said: str = ""  # the last lines of what a run that did not end wrote
    first: dict[str, float] = field(default_factory=dict)  # metrics of the first step
    differs: str = ""  # in what the first step is not that of the processor

    @property
    def how(self) -> str:
        return (
            "refused" if self.code in REFUSED else "FAILED" if self.code else "DIFFERS" if self.differs else "trained"
        )


def line_of(name: str, *, device: str, run: Path) -> list[str]:
    from assay.known import RECIPES

    values = SIZES | {"machine.device": device}
    more = [part for key, value in values.items() for part in (f"--{key}", str(value))]
    return ["train", name, "--task", RECIPES[name].usual_task, "--steps", str(STEPS), "--run", str(run), *more]


def attempt(name: str, device: str) -> Outcome:
    from assay.cli.main import main

    out, began = io.StringIO(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                code = main([*line_of(name, device=device, run=run), "--json"])
            except SystemExit as ended:
                code = int(ended.code or 0)
        seconds = round(time.monotonic() - began, 2)
        if code:
            return Outcome(name, code, seconds, "\n".join(out.getvalue().splitlines()[-30:]))
        lines = (run / "metrics.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) if lines else {}
    return Outcome(name, 0, seconds, first={key: first[key] for key in COMPARED if key in first})


def differences(one: Mapping[str, float], other: Mapping[str, float]) -> str:
    """The metrics of two first steps that are further apart than they may be, in words."""
    far = [
        f"{key} {one.get(key)} and {other.get(key)}"
        for key, bound in COMPARED.items()
        if (key in one) != (key in other)
        or (key in one and not math.isclose(one[key], other[key], rel_tol=bound, abs_tol=1e-9))
    ]
    return "; ".join(far)


def main(argv: Sequence[str] | None = None) -> int:
    from assay.known import RECIPES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run-on-cpu", action="store_true", help="on the processor")
    parser.add_argument("--only", nargs="+", default=sorted(RECIPES), metavar="RECIPE", help="default: all")
    parser.add_argument("--against", type=Path, metavar="FILE", help="a FILE.json of the same runs on a processor")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("gpu_recipes"), help="writes FILE.json")
    arguments = parser.parse_args(argv)
    device = "cpu" if arguments.dry_run_on_cpu else "cuda"
    told = json.loads(arguments.against.read_text()) if arguments.against else []
    before = {one["recipe"]: one["first"] for one in told if one["code"] == 0}
    found: list[Outcome] = []
    with ProcessPoolExecutor(arguments.processes, multiprocessing.get_context("spawn")) as pool:
        for job in [pool.submit(attempt, name, device) for name in arguments.only]:
            one = job.result()
            if one.code == 0 and one.recipe in before:
                one = replace(one, differs=differences(one.first, before[one.recipe]))
            print(f"{one.recipe}: {one.how} {one.seconds} s {one.differs}", file=sys.stderr, flush=True)
            found.append(one)
            arguments.out.with_suffix(".json").write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    for one in found:
        if one.code:
            print(f"--- {one.recipe}: {one.how}\n{one.said}")
    counts = Counter(one.how for one in found)
    print(", ".join(f"{count} {how}" for how, count in counts.items()))
    return int(bool(counts["FAILED"] or counts["DIFFERS"]))


if __name__ == "__main__":
    sys.exit(main())
