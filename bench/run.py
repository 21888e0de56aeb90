"""Side by side against TRL and vLLM: `python -m bench.run --all` measures everything and writes bench/RESULTS.md."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import checkpoints, kept, machine, summary
from bench.pair import Broken, Missing, System, Worker, paired
from bench.rendering import RESULTS, render
from bench.tuning import tune
from bench.workload import ENDINGS, MEASURED, SHAPES, Ending, Shape

WARMUP = 2


@dataclass(frozen=True)
class Comparison:
    """Another system and ours on the same work."""

    theirs: System
    ours: System
    train: bool


COMPARISONS = {
    "trl": Comparison(
        System(
            "trl",
            ".venv-trl",
            "bench.trl_step",
            axes={
                "dtype": ("fp32", "autocast", "bf16"),
                "parts": (4, 1, 16),
                "attention": ("sdpa", "eager"),
                "cache": (None, "static"),
            },
        ),
        System("ours-step", ".venv", "bench.ours_step"),
        train=True,
    ),
    "vllm": Comparison(
        System(
            "vllm",
            ".venv-vllm",
            "bench.vllm_sample",
            preload="lib/libiomp5.so",
            axes={
                "dtype": ("float32", "bfloat16"),
                "eager": (True, False),
                "prefix_caching": (True, False),
                "isolated": (False, True),
            },
        ),
        System("ours-sample", ".venv", "bench.ours_sample"),
        train=False,
    ),
}
TUNE_ON = {"S3": "S1"}  # S3 takes the settings that won on S1: choosing on it would take an hour


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def started(system: System, shape: Shape, ending: Ending, *, steps: int, options: Mapping[str, Any]) -> Worker:
    line = ["--shape", shape.name, "--ending", ending, "--steps", str(steps), "--options", json.dumps(options)]
    return Worker(system, line, log=f"{system.name}-{shape.name}-{ending}")


def tuned(system: System, shape: Shape, ending: Ending, processor: str, *, again: bool) -> dict[str, Any]:
    """The fastest settings of a system on this machine and shape."""

    def start(options: Mapping[str, Any], steps: int) -> Worker:
        return started(system, shape, ending, steps=steps, options=options)

    return tune("/".join((processor, system.name, shape.name, ending)), system.axes, start, again=again, say=say)


def compare(
    name: str, shape: Shape, ending: Ending, *, engine: str, pairs: int, warmup: int, again: bool, about: dict
) -> dict:
    comparison = COMPARISONS[name]
    comparison.theirs.check()
    checkpoints.build(shape, ending)
    options = tuned(
        comparison.theirs,
        SHAPES[TUNE_ON.get(shape.name, shape.name)],
        ending,
        about["processor"],
        again=again,
    )
    busy = machine.load()
    steps = warmup + pairs
    with (
        started(comparison.theirs, shape, ending, steps=steps, options=options) as theirs,
        started(comparison.ours, shape, ending, steps=steps, options={"engine": engine}) as ours,
    ):
        sides = {"theirs": (theirs, options), "ours": (ours, {"engine": engine})}
        settings = {side: {"facts": w.facts, "options": o} for side, (w, o) in sides.items()}
        pairs_kept = paired(theirs, ours, warmup=warmup, pairs=pairs, heard=lambda text: say(f"    {text}"))
    peak = max(about["ceilings_gflops"].values())
    return {
        "name": f"{name}-{shape.name}-{ending}-{engine}",
        "measured": time.strftime("%Y-%m-%d"),
        "pairs": pairs,
        "warmup": warmup,
        "busy": max(busy, machine.load()) >= 1,
        "machine": about,
        "settings": settings,
        "summary": summary.summarise(*pairs_kept, shape=shape, train=comparison.train, peak=peak),
        "steps": {"theirs": pairs_kept[0], "ours": pairs_kept[1]},
    }


def about_machine() -> dict[str, Any]:
    about = machine.describe()
    running = machine.load()
    if running >= 1:
        say(f"warning: {running:.0f} other processes want the cores; the numbers will be marked busy")
    about["ceilings_gflops"] = {dtype: round(machine.ceiling(dtype), 1) for dtype in ("float32", "bfloat16")}
    return about


def measure(names: Sequence[str], shapes: Sequence[str], endings: Sequence[Ending], options: argparse.Namespace) -> int:
    """Every asked-for comparison; a count of those that could not be made."""
    about, made, failed = about_machine(), 0, 0
    for name in names:
        try:
            COMPARISONS[name].theirs.check()
        except Missing as missing:
            say(f"SKIPPED {name}: {missing}")
            failed += 1
            continue
        for shape in shapes:
            for ending, engine in itertools.product(endings, options.engines):
                say(f"{name} on {shape}-{ending}, our engine {engine}")
                pairs = options.pairs if shape != "S3" else min(options.pairs, options.long_pairs)
                try:
                    result = compare(
                        name,
                        SHAPES[shape],
                        ending,
                        engine=engine,
                        pairs=pairs,
                        warmup=options.warmup if shape != "S3" else min(1, options.warmup),
                        again=options.retune,
                        about=about,
                    )
                except Broken as error:
                    say(f"FAILED {name} on {shape}-{ending}: {error}")
                    failed += 1
                    continue
                kept.keep(RESULTS, result["name"], result)
                say(summary.line(result))
                made += 1
    if made:
        render()
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every comparison, shape and ending")
    parser.add_argument("--against", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["S1", "S2"])
    parser.add_argument("--endings", nargs="+", choices=ENDINGS, default=list(ENDINGS))
    parser.add_argument("--engines", nargs="+", choices=["native", "torch"], default=["native", "torch"])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--long-pairs", type=int, default=3, help="pairs on S3, where a step of TRL takes a minute")
    parser.add_argument("--warmup", type=int, default=WARMUP)
    parser.add_argument("--retune", action="store_true", help="choose the other systems' settings again")
    parser.add_argument("--render", action="store_true", help="only write RESULTS.md from the stored results")
    options = parser.parse_args()
    if options.render:
        render()
        return
    shapes = list(MEASURED) if options.all else options.shapes
    raise SystemExit(1 if measure(options.against, shapes, options.endings, options) else 0)


if __name__ == "__main__":
    main()
