"""Where models grow too large for the core: core and torch in turn, each run in a process of its own.

    python -m bench.crossing [30M 60M 110M 250M 500M] [--rounds 3] [--lora 16] [--json]

Each process runs `bench.micro_engine` on a short step (2048 sampled tokens), where what the core pays once a step, the
packing of its weights, weighs most. Ratios are of runs one after the other: above 1 the core is faster. Shown are the
median of the rounds, the smallest and the largest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

from assay.policy.config import parameters
from bench.micro_engine import SHAPES, config_of

NAMES = ("30M", "60M", "110M", "250M", "500M")


def run(name: str, engine: str, lora: int) -> dict[str, float]:
    line = [sys.executable, "-m", "bench.micro_engine", name, "--engine", engine, "--repeats", "2", "--json"]
    done = subprocess.run([*line, "--lora", str(lora)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench.crossing: {name} on {engine} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def seconds(result: dict[str, float]) -> dict[str, float]:
    """Seconds a token: of sampling, of training, and of both."""
    decode, train = 1 / result["decode_tokens_per_s"], 1 / result["train_tokens_per_s"]
    return {"decode": decode, "train": train, "step": decode + train}


def rounds(name: str, count: int, lora: int) -> Iterator[dict[str, float]]:
    """torch's seconds over the core's, by phase, and the peak memory of both in GB."""
    for _ in range(count):
        core, torch = run(name, "native", lora), run(name, "torch", lora)
        ours, theirs = seconds(core), seconds(torch)
        yield {phase: theirs[phase] / ours[phase] for phase in ours} | {
            "core_gb": core["peak_gb"],
            "torch_gb": torch["peak_gb"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(NAMES), choices=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters; 0: all weights are trained")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for name in options.names:
        found = list(rounds(name, options.rounds, options.lora))
        table = {key: sorted(each[key] for each in found) for key in found[0]}
        size = parameters(config_of(SHAPES[name]))
        if options.json:
            sys.stdout.write(json.dumps({"shape": name, "parameters": size, "lora": options.lora, **table}) + "\n")
        else:
            ratios = [f"{k} {statistics.median(v):.2f} ({v[0]:.2f} to {v[-1]:.2f})" for k, v in table.items()]
            sys.stdout.write(f"{name} ({size / 1e6:.0f} million)  " + "  ".join(ratios) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
