"""How long until the countdown base has learnt? Seconds to a held-out pass@1, of TRL and of ours, from one checkpoint.

    python -m bench.trl_seconds --seeds 5      # both sides in turn; only what is missing runs
    python -m bench.trl_seconds --table        # what is there

Both sides train as in `bench.trl_learning`: one file of problems, one reward function, the same values; ours computes
in the format that it chooses by itself. The clock starts with the command, so that imports and the loading of the model
count. Every tenth step is saved, and the saved models are examined afterwards on the same problems, until one reaches
the goal; the seconds to the goal lie on the line between it and the one before. A finished pair of runs is a line of
results/trl_seconds.jsonl.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from assay.run import bases
from assay.run.base_training import ready
from bench.kept import machine_key
from bench.machine import describe, load
from bench.trl_learning import FOLDER, SETTINGS, TRL, examine, our_command, said, write_data

RESULTS = Path(__file__).parent / "results" / "trl_seconds.jsonl"
GOAL = 0.17  # of held-out pass@1; the base has 0.12, and 100 steps give 0.17 to 0.18
EVERY = 10  # steps between two models that are examined

Saved = list[tuple[int, float, Path]]
"""(step, seconds since the command began, folder of the model), ascending."""


def ours(settings: Mapping[str, Any], model: str, seed: int, folder: Path) -> Saved:
    run = folder / f"seconds-ours-{seed}"
    shutil.rmtree(run, ignore_errors=True)  # left by a run that was stopped
    values = {**settings, "precision": "auto"}
    command = our_command(values, model=model, data=write_data(settings, folder), seed=seed, run=run)
    began = time.time()
    said([*command, "--saving.every", str(EVERY), "--saving.keep", str(settings["steps"])], 0)
    kept = sorted((run / "ckpt").glob("step-*"))
    found = [(int(path.name.split("-")[1]), path.stat().st_mtime - began, path / "policy") for path in kept]
    return [one for one in found if one[0] > 0]


def theirs(settings: Mapping[str, Any], model: str, seed: int, folder: Path) -> Saved:
    TRL.check()
    run = folder / f"seconds-trl-{seed}"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    job = {"settings": dict(settings), "model": model, "seed": seed, "threads": 0, "every": EVERY}
    job |= {"data": str(write_data(settings, folder)[0]), "save": str(run)}
    (run / "job.json").write_text(json.dumps(job))
    began = time.time()
    said([str(TRL.python), "-m", TRL.module, str(run / "job.json")], 0)
    kept = sorted(run.glob("step-*"), key=lambda path: int(path.name.split("-")[1]))
    return [(int(path.name.split("-")[1]), (path / "model.safetensors").stat().st_mtime - began, path) for path in kept]


def reached(points: Sequence[tuple[float, float]], goal: float) -> float | None:
    """Where the line through points (seconds, score) first reaches the goal; None if it does not."""
    for (before, low), (after, high) in zip(points, points[1:]):
        if high >= goal:
            return before + (after - before) * (goal - low) / (high - low)
    return None


def measure(side: str, model: str, start: float, seed: int, folder: Path) -> dict[str, Any]:
    saved = (ours if side == "ours" else theirs)(SETTINGS, model, seed, folder)
    points = [(0.0, start)]
    for _, seconds, path in saved:
        points.append((seconds, examine(SETTINGS, str(path), seed=seed, threads=0)["after"]))
        if points[-1][1] >= GOAL:
            break
    return {"seconds": reached(points, GOAL), "points": points, "whole": saved[-1][1]}


def read(key: str) -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [record for record in map(json.loads, lines) if record["key"] == key]


def table(records: Sequence[Mapping[str, Any]]) -> str:
    """Seconds to the goal by seed, and the median of the ratios."""
    lines = ["| seed | TRL, s | ours, s | TRL / ours | whole runs, TRL / ours |", "|" + "---|" * 5]
    ratios = []
    for record in sorted(records, key=lambda r: r["seed"]):
        trl, own = record["trl"], record["ours"]
        whole = f"{trl['whole'] / own['whole']:.1f}"
        cells = [f"{one['seconds']:.0f}" if one["seconds"] else "not reached" for one in (trl, own)]
        ratio = "-"
        if trl["seconds"] and own["seconds"]:
            ratios.append(trl["seconds"] / own["seconds"])
            ratio = f"{ratios[-1]:.1f}"
        lines.append(f"| {record['seed']} | {' | '.join(cells)} | {ratio} | {whole} |")
    if ratios:
        lines += ["", f"TRL / ours, median of {len(ratios)}: {statistics.median(ratios):.1f} "]
        lines[-1] += f"({min(ratios):.1f} to {max(ratios):.1f})."
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="show what is there")
    given = parser.parse_args(arguments)
    made, about = bases.base(SETTINGS["base"]), describe()
    key = f"{made.hash}--{machine_key(about)}"
    if not given.table:
        model, folder = ready(SETTINGS["base"]), FOLDER / key
        start = examine(SETTINGS, model, seed=0, threads=0)["after"]
        known = {record["seed"] for record in read(key)}
        for seed in sorted(set(range(given.seeds)) - known):
            sides = ("trl", "ours") if seed % 2 == 0 else ("ours", "trl")
            record: dict[str, Any] = {"key": key, "seed": seed, "measured": str(date.today()), "others": load()}
            record |= {side: measure(side, model, start, seed, folder) for side in sides}
            with RESULTS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(table([record]), flush=True)
    print(table(read(key)))


if __name__ == "__main__":
    main()
