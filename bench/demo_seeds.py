"""Does the demo learn on every seed, and not when rewards say nothing? A line of results a run; only what is missing
runs.

    python bench/demo_seeds.py --seeds 20            # the demo's own settings
    python bench/demo_seeds.py --seeds 4 --shuffled  # the same with the rewards of a step dealt out at random
    python bench/demo_seeds.py --seeds 8 --engine native
    python bench/demo_seeds.py --equivalence         # do both engines learn the same? two one-sided tests
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from assay.known import add_part, recipe
from assay.lab import demo
from assay.part import Rewarding
from assay.rng import Key, digest
from assay.run import bases, session
from assay.types import Episode, Reward
from assay.view.results import outcome
from bench.equivalence import MARGIN, equivalence

RESULTS = Path(__file__).parent / "results" / "demo_seeds.jsonl"


def shuffled(episodes: Sequence[Episode], *, seed: int) -> list[Reward | None]:
    values = [float(e.verdict is not None and e.verdict.status == "ok") for e in episodes]
    order = Key(seed)("shuffle", *(e.request.id for e in episodes[:4])).generator().permutation(len(values))
    return [Reward("outcome", values[i]) for i in order]


class Shuffled(Rewarding):
    """The outcomes of a round, dealt out to its answers at random: as many rewards as before, none of the meaning."""

    seed: int = 0
    does = shuffled


def settings_of(is_shuffled: bool) -> dict[str, str]:
    settings = demo.SETTINGS | {"evaluation.every": "0", "machine.threads": "1"}
    return settings | ({"mechanism.reward": "shuffled"} if is_shuffled else {})


def run(seed: int, is_shuffled: bool, engine: str, key: str) -> dict:
    settings = settings_of(is_shuffled) | {"machine.engine": engine}
    experiment, _ = session.plan(
        recipe(demo.RECIPE), model=demo.BASE, pool=demo.POOL, seed=seed, steps=demo.STEPS, overrides=settings
    )
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        found = outcome(session.start(experiment, Path(scratch) / "run", quiet=True))
    change = found["difference"]["pass"]
    return {
        "key": key,
        "seed": seed,
        "shuffled": is_shuffled,
        "engine": engine,
        "before": found["before"]["pass"]["1"]["mean"],
        "after": found["after"]["pass"]["1"]["mean"],
        "difference": change["1"],
        "difference_at_16": change["16"],
        "seconds": round(time.monotonic() - began, 1),
        "generated_tokens": found["generated_tokens"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--engine", choices=["torch", "native"], default="torch")
    parser.add_argument("--equivalence", action="store_true", help="compare the engines on what is there")
    arguments = parser.parse_args()
    add_part(Shuffled)
    setting = json.dumps(settings_of(arguments.shuffled), sort_keys=True)
    key = digest("demo", demo.RECIPE, bases.base(demo.BASE).hash, demo.POOL, demo.STEPS, setting)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.touch()
    known = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    mine = [record for record in known if record["key"] == key]
    if arguments.equivalence:
        print(compared(mine))
        return
    done = {record["seed"]: record for record in mine if record.get("engine", "torch") == arguments.engine}
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        if seed not in done:
            done[seed] = run(seed, arguments.shuffled, arguments.engine, key)
            with RESULTS.open("a") as file:
                file.write(json.dumps(done[seed]) + "\n")
        show(done[seed])
    rises = [r["difference"]["mean"] >= 0.06 and r["difference"]["low"] > 0 for r in done.values()]
    print(f"{sum(rises)} of {len(rises)} seeds rise by at least 0.06 with the interval above zero")


def compared(records: Sequence[dict]) -> str:
    """Whether the mean final pass@1 of the engines is the same within the margin."""
    after = {
        engine: [r["after"] for r in records if r.get("engine", "torch") == engine] for engine in ("native", "torch")
    }
    found = equivalence(after["native"], after["torch"])
    if found is None:
        return "each engine needs two seeds at least"
    return (
        f"final pass@1: native {found.means[0]:.4f} ({found.counts[0]} seeds), torch {found.means[1]:.4f} "
        f"({found.counts[1]} seeds), difference {found.gap:+.4f} (standard error {found.error:.4f}); "
        f"equal within {MARGIN}: p = {found.p:.1e}"
    )


def show(record: dict) -> None:
    change = record["difference"]
    print(
        f"seed {record['seed']:2}  pass@1 {record['before']:.3f} -> {record['after']:.3f}  "
        f"{change['mean']:+.3f} [{change['low']:+.3f}, {change['high']:+.3f}]  {record['seconds']:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
