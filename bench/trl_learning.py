"""Do TRL and this engine learn the same? One checkpoint, one file of problems, one reward function, the same values.

    python -m bench.trl_learning --seeds 8               # both sides; only what is missing runs
    python -m bench.trl_learning --seeds 2 --side trl
    python -m bench.trl_learning --equivalence           # two one-sided tests on what is there

Ours goes by the command line: `assay train dr-grpo --data ... --reward bench/countdown_reward.py:score`. The models of
both sides are examined by `assay eval` on the same held-out problems. A finished run is a line of
results/trl_learning.jsonl.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from assay.rng import Key, digest
from assay.run import bases
from assay.run.base_training import ready
from assay.types import Problem
from bench.equivalence import MARGIN, equivalence
from bench.pair import ROOT, System

RESULTS = Path(__file__).parent / "results" / "trl_learning.jsonl"
FOLDER = ROOT / "build" / "bench" / "trl_learning"
REWARD = Path(__file__).parent / "countdown_reward.py"
TRL = System("trl", ".venv-trl", "bench.trl_train")
Side = Literal["base", "ours", "trl"]

SETTINGS: dict[str, Any] = {
    "base": "countdown",
    "task": "countdown:3,4",
    "loss": "dr_grpo",  # sum over tokens / (rows x limit), rewards less their group's mean
    "steps": 100,
    "prompts": 32,
    "group": 8,
    "max_new": 22,
    "temperature": 1.0,
    "learning_rate": 1e-4,
    "schedule": "linear",
    "clip": 0.2,
    "beta1": 0.9,
    "beta2": 0.999,
    "weight_decay": 0.0,
    "clip_norm": 1.0,
    "precision": "fp32",
    "problems": 512,
    "samples": 16,
}


def key_of(settings: Mapping[str, Any], base: str, weights: str) -> str:
    """Runs of one key may be compared: the same settings, on a base of the same making and the same bytes."""
    return digest("trl-learning", json.dumps(dict(settings), sort_keys=True), base, weights)


def problems(settings: Mapping[str, Any]) -> tuple[list[Problem], list[Problem]]:
    """As many different ones to train on as the run asks for, and those that `assay eval` asks of its models."""
    pool = bases.base(settings["base"]).pool
    train = pool.held_out(Key(0)("trl-learning"), settings["steps"] * settings["prompts"], "train")
    return train, pool.held_out(Key("exam", "test"), settings["problems"], "test")


def row_of(problem: Problem) -> dict[str, Any]:
    """A row as both sides read it: messages, so that both ask through the template of the checkpoint."""
    columns = {name: problem.spec[name] for name in ("numbers", "target")}
    return {"prompt": [{"role": "user", "content": problem.prompt}], **columns}


def write_data(settings: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "train.jsonl", folder / "held_out.jsonl"
    for path, items in zip(paths, problems(settings), strict=True):
        path.write_text("".join(json.dumps(row_of(problem)) + "\n" for problem in items))
    return paths


def our_command(settings: Mapping[str, Any], *, model: str, data: tuple[Path, Path], seed: int, run: Path) -> list[str]:
    """The command line of a run of ours, every value said aloud."""
    scale = {
        "num-prompts": settings["prompts"],
        "group-size": settings["group"],
        "max-new": settings["max_new"],
        "learning-rate": settings["learning_rate"],
        "schedule": settings["schedule"],
        "temperature": settings["temperature"],
        "warmup-steps": 0,
        "num-minibatches": 1,
        "oversample": 1,
        "weight-decay": settings["weight_decay"],
        "beta1": settings["beta1"],
        "beta2": settings["beta2"],
        "clip-norm": settings["clip_norm"],
    }
    values = {f"scale.{name}": value for name, value in scale.items()}
    values |= {f"mechanism.objective.gate.{side}": settings["clip"] for side in ("low", "high")}
    values |= {"evaluation.every": 0, "evaluation.final-problems": 16, "evaluation.final-samples": 1}
    values["machine.precision"] = settings["precision"]
    return [
        *assay("train", "dr-grpo", "--data", str(data[0]), "--eval-data", str(data[1])),
        *("--reward", f"{REWARD}:score", "--model", model, "--steps", str(settings["steps"]), "--seed", str(seed)),
        *("--run", str(run), "--quiet", "--json"),
        *(item for name, value in values.items() for item in (f"--{name}", str(value))),
    ]


def assay(*words: str) -> list[str]:
    return [sys.executable, "-m", "assay", *words]


def said(command: Sequence[str], threads: int) -> str:
    """Runs a command from the repository's root and returns what it printed; its complaints are ours."""
    environment = dict(os.environ) | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def examine(settings: Mapping[str, Any], model: str, *, seed: int, threads: int) -> dict[str, Any]:
    words = ("--task", settings["task"], "--problems", str(settings["problems"]), "--n", str(settings["samples"]))
    asked = ("--max-new", str(settings["max_new"]), "--seed", str(seed), "--wording", "compact", "--json")
    found = json.loads(said(assay("eval", model, *words, *asked), threads))["pass"]
    return {"after": found["1"]["mean"], "interval": [found["1"]["low"], found["1"]["high"]]} | {
        f"pass@{k}": found[k]["mean"] for k in found if k != "1"
    }


def train(
    side: Side, settings: Mapping[str, Any], *, model: str, seed: int, threads: int, folder: Path
) -> tuple[str, dict[str, Any]]:
    """The trained model, and what its run says: the mean reward of each step, the versions."""
    data = write_data(settings, folder)
    run = folder / f"{side}-{seed}"
    shutil.rmtree(run, ignore_errors=True)  # left by a run that was stopped
    if side == "base":
        return model, {}
    if side == "ours":
        command = our_command(settings, model=model, data=data, seed=seed, run=run)
        said([*command, *(("--machine.threads", str(threads)) if threads else ())], threads)
        steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return str(run), {"rewards": [step["reward/mean"] for step in steps]}
    TRL.check()
    run.mkdir()
    job = {"settings": dict(settings), "model": model, "seed": seed, "threads": threads}
    job |= {"data": str(data[0]), "save": str(run)}
    (run / "job.json").write_text(json.dumps(job))
    said([str(TRL.python), "-m", TRL.module, str(run / "job.json")], threads)
    return str(run), json.loads((run / "run.jsonl").read_text())


def measure(
    side: Side, settings: Mapping[str, Any], *, key: str, model: str, seed: int, threads: int
) -> dict[str, Any]:
    folder = FOLDER / key
    began = time.monotonic()
    trained, seen = train(side, settings, model=model, seed=seed, threads=threads, folder=folder)
    ended = time.monotonic()
    found = examine(settings, trained, seed=seed, threads=threads)
    rewards = seen.get("rewards", [])
    return {
        "key": key,
        "side": side,
        "seed": seed,
        **found,
        "reward_first": round(statistics.fmean(rewards[:10]), 4) if rewards else None,
        "reward_last": round(statistics.fmean(rewards[-10:]), 4) if rewards else None,
        "seconds": round(ended - began, 1),
        "versions": seen.get("versions", {}),
        "settings": dict(settings),
    }


def read(path: Path, key: str) -> dict[tuple[str, int], dict[str, Any]]:
    """The finished runs of this key by side and seed; the last of a pair counts."""
    lines = path.read_text().splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines if line.strip()]
    return {(record["side"], record["seed"]): record for record in records if record["key"] == key}


def missing(
    known: Mapping[tuple[str, int], Any], sides: Sequence[Side], seeds: Sequence[int]
) -> list[tuple[Side, int]]:
    """What is still to run: the base's examination once, then the sides in turn seed by seed."""
    wanted: list[tuple[Side, int]] = [("base", 0), *((side, seed) for seed in seeds for side in sides)]
    return [pair for pair in wanted if pair not in known]


def paragraph(known: Mapping[tuple[str, int], Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """What the finished runs say, for results/notes.md."""
    sides = {
        side: [record["after"] for (name, _), record in sorted(known.items()) if name == side]
        for side in ("ours", "trl")
    }
    lines = ["| seed | TRL | ours |", "|---|---|---|"]
    for seed in sorted({seed for side, seed in known if side != "base"}):
        cells = [known.get((side, seed)) for side in ("trl", "ours")]
        lines.append("| " + " | ".join([str(seed), *("-" if c is None else f"{c['after']:.3f}" for c in cells)]) + " |")
    found = equivalence(sides["ours"], sides["trl"])
    if found is None:
        return "\n".join([*lines, "", "each side needs two seeds at least"])
    begun = known.get(("base", 0))
    start = f"The base has pass@1 {begun['after']:.3f}. " if begun else ""
    verdict = "equal" if found.p < 0.05 else "not shown to be equal"
    setting = (
        f"{settings['steps']} steps of {settings['prompts']} x {settings['group']} answers, {settings['loss']}, "
        f"learning rate {settings['learning_rate']:g} ({settings['schedule']}), "
        f"{settings['problems']} held-out problems x {settings['samples']} samples."
    )
    text = (
        f"{setting} {start}Final pass@1: ours {found.means[0]:.4f} ({found.counts[0]} seeds), TRL {found.means[1]:.4f} "
        f"({found.counts[1]} seeds), difference {found.gap:+.4f} with a standard error of {found.error:.4f}: {verdict} "
        f"within {MARGIN} by two one-sided Welch tests, p = {found.p:.1e}."
    )
    return "\n".join([*lines, "", text])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--side", choices=["ours", "trl"], help="default: both, in turn")
    parser.add_argument("--steps", type=int, default=SETTINGS["steps"], help="fewer for a trial; runs of another key")
    parser.add_argument("--threads", type=int, default=0, help="of either side; default: what each takes by itself")
    parser.add_argument("--equivalence", action="store_true", help="judge what is there")
    arguments = parser.parse_args()
    settings = SETTINGS | {"steps": arguments.steps}
    model = ready(settings["base"])
    weights = hashlib.sha256((Path(model) / "model.safetensors").read_bytes()).hexdigest()
    key = key_of(settings, bases.base(settings["base"]).hash, weights)
    known = read(RESULTS, key)
    if arguments.equivalence:
        print(paragraph(known, settings))
        return
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    for side, seed in missing(known, [arguments.side] if arguments.side else ["trl", "ours"], seeds):
        record = measure(side, settings, key=key, model=model, seed=seed, threads=arguments.threads)
        with RESULTS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{side:4} seed {seed:2}  pass@1 {record['after']:.4f}  {record['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
