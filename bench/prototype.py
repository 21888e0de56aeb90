"""The compiled core beside a throw-away prototype that shows what the processor gives, and beside an older core.

    python -m bench.prototype [S1 S2 S3] [--prototype FOLDER] [--old COMMIT] [--threads 2] [--rounds 5]
                              [--precision fp32] [--json]

All sides do the same work (the same shape, rows and full-length answers), each in a process of its own, and take turns
phase by phase, so that other load on the machine disturbs all alike. A line shows, for each phase, the core's tokens a
second divided by the other side's: the median over the rounds and, in brackets, the least and the greatest; then the
same by processor time, which other processes disturb less. `ended` are answers that end by a token drawn by chance;
`update` is the optimiser's step with the packing of weights. A ratio above 1 means that the core is faster.

`decode floor`: what the keys and values of a token's row and its share of the weights would take at the bandwidth that
this machine reads with, as a share of the time that the core took. The prototype needs a processor with avx512_bf16.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from assay.engine.footprint import native_slots, row_bytes
from assay.engine.precision import Precision
from bench.micro_engine import SHAPES, Shape, engine_of

ROOT = Path(__file__).resolve().parent.parent
SIDES = Path(__file__).with_name("prototype_sides.py")
FOLDER = "ASSAY_PROTOTYPE"  # the environment variable that names the prototype's folder
PHASES = ("decode", "ended", "train", "update")
WARM = 1  # rounds that do not count

Took = Mapping[str, float]  # tokens, seconds and processor seconds of a phase


class Side:
    """A live process that does a phase of a step when it is told to."""

    def __init__(self, side: str, arguments: list[str], *, folder: Path, package: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, str(SIDES), side, *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.name = side
        self.process = subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes)  # type: ignore[call-overload]

    def take(self, phase: str) -> Took:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(phase + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of the {self.name} ended in the phase {phase}; its last words are above")
        return json.loads(line)

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def built(folder: Path, scratch: Path) -> Path:
    """A copy of the prototype with its library."""
    if not (folder / "seg.cpp").exists():
        raise SystemExit(
            f"{folder} does not hold the prototype (seg.cpp is missing). Name its folder with --prototype or {FOLDER}, "
            "or compare with an older core alone: --prototype none --old COMMIT"
        )
    place = scratch / "prototype"
    shutil.copytree(folder, place)
    command = ["g++", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "seg.cpp", "-o", "seg.so"]
    subprocess.run(command, cwd=place, check=True)
    return place


@contextmanager
def checkout(commit: str, scratch: Path) -> Iterator[Path]:
    """A working tree of an older commit."""
    place = scratch / "old"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(place), commit], check=True)
    try:
        yield place
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True)


def bandwidth(threads: int) -> float:
    """Bytes a second that the threads read from main memory together: the best of several."""
    torch.set_num_threads(threads)
    data, best = torch.ones(1 << 27), float("inf")
    for _ in range(5):
        start = time.perf_counter()
        data.sum()
        best = min(best, time.perf_counter() - start)
    return 4 * data.numel() / best


def bytes_of_token(shape: Shape, threads: int, precision: Precision) -> float:
    """Bytes that decoding one token reads on average: keys and values of its row, and its share of the weights."""
    engine = engine_of(shape, "native", precision)
    config, size = engine.model.config, 2 if engine.compute == torch.bfloat16 else 4
    length, count = shape.prompt + shape.answer, shape.prompts * shape.samples
    settings = {"memory_bytes": engine.memory_bytes, "threads": threads, "itemsize": size}
    rows = native_slots(config, length=length, count=count, group=shape.samples, **settings)
    weights = size * sum(p.numel() for p in engine.model.parameters())
    return row_bytes(config, 1, size) * (shape.prompt + shape.answer / 2) + weights / rows


def measure(name: str, others: Mapping[str, tuple[Path, Path]], options: argparse.Namespace) -> dict[str, Any]:
    """Ratios of the core to the other sides, which run in these folders with these packages."""
    arguments = [name, str(options.threads), str(options.tokens), options.precision]
    with ExitStack() as stack:
        sides = {"core": Side("core", arguments, folder=ROOT, package=ROOT)}
        for other, (folder, package) in others.items():
            side = "prototype" if other == "prototype" else "core"
            sides[other] = Side(side, arguments, folder=folder, package=package)
        for side in sides.values():
            stack.callback(side.end)
        taken: dict[str, dict[str, list[Took]]] = {side: {phase: [] for phase in PHASES} for side in sides}
        for round in range(WARM + options.rounds):
            for phase in PHASES:
                order = list(sides) if round % 2 else list(sides)[::-1]
                for side in order:
                    took = sides[side].take(phase)
                    if round >= WARM:
                        taken[side][phase].append(took)
    best = {phase: max(t["tokens"] / t["seconds"] for t in taken["core"][phase]) for phase in PHASES}
    ratios = {
        other: {phase: {how: ratio(taken, other, phase, how) for how in ("seconds", "processor")} for phase in PHASES}
        for other in others
    }
    floor = bytes_of_token(SHAPES[name], options.threads, options.precision) / bandwidth(options.threads)
    ended = statistics.median(
        (e["processor"] / e["tokens"]) / (d["processor"] / d["tokens"])
        for e, d in zip(taken["core"]["ended"], taken["core"]["decode"])
    )
    extra = {"decode_floor": floor * best["decode"], "ended_token_cost": ended}
    return {"shape": name, "threads": options.threads, "tokens_per_s": best, "ratios": ratios, **extra}


def ratio(taken: Mapping[str, Mapping[str, list[Took]]], other: str, phase: str, how: str) -> list[float]:
    """Median, least and greatest of the core's speed over the other's."""
    pairs = zip(taken["core"][phase], taken[other][phase])
    found = [(c["tokens"] / c[how]) / (o["tokens"] / o[how]) for c, o in pairs]
    return [statistics.median(found), min(found), max(found)]


def told(result: Mapping[str, Any]) -> str:
    """A result as lines of text."""
    speeds = ", ".join(f"{phase} {result['tokens_per_s'][phase]:,.0f}" for phase in PHASES if phase != "update")
    lines = [f"{result['shape']}, {result['threads']} threads; the core's tokens a second at best: {speeds}"]
    floor, ended = result["decode_floor"], result["ended_token_cost"]
    lines.append(f"  decode floor {floor:.2f}, a token of ended answers {ended:.2f}")
    for other, phases in result["ratios"].items():
        for phase, how in phases.items():
            clock, processor = ("{:.2f} [{:.2f} {:.2f}]".format(*how[key]) for key in ("seconds", "processor"))
            lines.append(f"  core / {other:10} {phase:7} {clock}   by processor time {processor}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=["S1", "S2", "S3"])
    default = os.environ.get(FOLDER, "../shared/prototype")
    parser.add_argument("--prototype", default=default, help=f"its folder ({FOLDER}, else {default}), or none")
    parser.add_argument("--old", metavar="COMMIT", help="an older core takes turns too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="that count, after one to warm up")
    parser.add_argument("--tokens", type=int, default=2048, help="inputs in a chunk of the core's learner")
    parser.add_argument("--precision", default="auto", choices=["auto", "fp32", "bf16"], help="of the cores")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.precision == "fp32" and options.prototype != "none":
        raise SystemExit("the prototype computes in bf16 alone: fp32 is compared with --prototype none --old COMMIT")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        others: dict[str, tuple[Path, Path]] = {}
        if options.prototype != "none":
            others["prototype"] = (built(Path(options.prototype), scratch), ROOT)
        if options.old:
            place = stack.enter_context(checkout(options.old, scratch))
            others["old core"] = (place, place)
        for name in options.shapes:
            result = measure(name, others, options)
            sys.stdout.write((json.dumps(result) if options.json else told(result)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
