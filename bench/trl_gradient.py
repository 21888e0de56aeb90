"""One step of TRL's trainers and one of ours on the same answers: are the gradients the same numbers?

    python -m bench.trl_gradient             # all cases, a table, results/trl_gradient.json

The base of countdown answers some prompts once; the reference is the base with noise. TRL's own trainers make their
inputs from these answers and rewards, and loss and gradient from the inputs; ours credits, packs and improves them by
the parts of the recipes. Where the two mean different things, the difference is a formula, and the gradient is taken
once more with it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.policy import load_policy
from assay.rng import digest
from assay.run import bases
from assay.types import Row
from bench.pair import ROOT, System
from bench.trl_ours import (
    GROUP,
    LEARNING_RATE,
    NOISE,
    answers,
    compared,
    fresh,
    gradient_of,
    gradients,
    policy_folder,
    write_reference,
)
from bench.trl_preferences import Paired, Unpaired
from bench.trl_rollouts import CAP, LeaveOneOut, Rollout, batch_of, objective_of

RESULTS = Path(__file__).parent / "results" / "trl_gradient.json"
FOLDER = ROOT / "build" / "bench" / "trl_gradient"
TRL = System("trl", ".venv-trl", "bench.trl_loss")
GOAL = 1e-4  # of the gradient's norm

Case = Rollout | LeaveOneOut | Paired | Unpaired

SECOND = Rollout("dapo", "none", iterations=2)
CASES: tuple[Case, ...] = (
    Rollout("grpo", "group"),
    Rollout("grpo", "none"),
    Rollout("grpo", "batch"),
    Rollout("dr_grpo", "none"),
    Rollout("dr_grpo", "group"),
    Rollout("bnpo", "group"),
    Rollout("dapo", "group"),
    Rollout("dapo", "none"),
    *(Rollout(kind, "none", parts=4) for kind in ("grpo", "dr_grpo", "bnpo", "dapo")),
    *(Rollout(kind, "none", mask_truncated=True) for kind in ("grpo", "dr_grpo", "dapo")),
    SECOND,
    Rollout("grpo", "none", iterations=2, level="sequence"),
    Rollout("cispo", "none", iterations=2, high=CAP),
    Rollout("sapo", "none", iterations=2),
    Rollout("grpo", "none", iterations=2, trainer="GMPO"),
    LeaveOneOut(penalised=False),
    LeaveOneOut(),
    LeaveOneOut(iterations=2),
    Paired("dpo"),
    Paired("dpo", iterations=2),
    Paired("ipo"),
    Paired("ipo", iterations=2),
    Paired("iter-dpo"),
    Unpaired(),
    Unpaired(iterations=2),
    Unpaired(balanced=False),
    Unpaired(mixed=False),
)


def ask_trl(rows: Sequence[Row]) -> Path:
    """The folder with TRL's gradients on these answers; cases that are there already are not run again."""
    made = [row.episode for row in rows]
    job = {
        "model": policy_folder(),
        "noise": NOISE,
        "prompts": [made[i].request.problem.prompt for i in range(0, len(made), GROUP)],
        "prompt_ids": [episode.request.context.tolist() for episode in made],
        "completion_ids": [episode.stream("ids").tolist() for episode in made],
        "rewards": [episode.reward for episode in made],
        "group": GROUP,
        "learning_rate": LEARNING_RATE,
    }
    folder = FOLDER / digest("trl-gradient", json.dumps(job))
    folder.mkdir(parents=True, exist_ok=True)
    write_reference(folder / "reference")
    if missing := [case for case in CASES if not (folder / f"{file_of(case, rows)}.json").exists()]:
        TRL.check()
        told = {"reference": str(folder / "reference"), "cases": [told_of(case, rows) for case in missing]}
        (folder / "job.json").write_text(json.dumps(job | told))
        command = [str(TRL.python), "-m", TRL.module, str(folder / "job.json"), str(folder)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


def told_of(case: Case, rows: Sequence[Row]) -> dict[str, Any]:
    """What TRL's side is to do."""
    plain = {name: getattr(case, name) for name in ("trainer", "parts", "iterations")}
    return plain | {"file": file_of(case, rows), "options": case.options(rows), "data": case.data(rows)}


def file_of(case: Case, rows: Sequence[Row]) -> str:
    return digest("case", case.name, json.dumps([case.options(rows), case.data(rows)]))


def measure() -> dict[str, Any]:
    rows = answers(load_policy(policy_folder()))
    folder = ask_trl(rows)
    reference = fresh(folder / "reference")
    cases, versions = [], {}
    for case in CASES:
        theirs = dict(np.load(folder / f"{file_of(case, rows)}.npz"))
        seen = json.loads((folder / f"{file_of(case, rows)}.json").read_text())
        versions = {name: seen[name] for name in ("trl", "transformers", "torch")}
        ours = gradient_of(case.taught(rows, reference, seen, theirs=False), updates=case.iterations)
        same = case.taught(rows, reference, seen, theirs=True)
        told = gradient_of(same, updates=case.iterations) if case.formulas else ours
        cases.append(
            {"case": case.name, "recipe": case.recipe, "formulas": case.formulas}
            | {"plain": compared(ours, theirs), "with_formulas": compared(told, theirs)}
            | {"loss": sum(part["loss"] for part in seen["parts"])}
            | {"our_loss": case.loss(same), "kl": seen["parts"][-1]["kl"]}
        )
    _, shut = gradients(batch_of(SECOND, rows, theirs=False), objective_of(SECOND), updates=2)
    made = [row.episode for row in rows]
    rewards = np.array([row.reward for row in rows]).reshape(-1, GROUP)
    return {
        "base": bases.base("countdown").hash,
        "versions": versions | {"our torch": torch.__version__},
        "rows": len(rows),
        "lengths": [min(map(len, made)), max(map(len, made))],
        "cut": sum(episode.finish == "length" for episode in made),
        "right": int(rewards.sum()),
        "uniform_groups": int((np.ptp(rewards, axis=1) == 0).sum()),
        "groups": len(rewards),
        "clip_fraction_2nd_update": shut,
        "cases": cases,
    }


def table(found: dict[str, Any]) -> str:
    lines = [
        f"{found['rows']} answers of {found['lengths'][0]} to {found['lengths'][1]} tokens, {found['cut']} cut by the "
        f"limit, {found['right']} right, {found['uniform_groups']} of {found['groups']} groups uniform; before the "
        f"second update the clip shuts {found['clip_fraction_2nd_update']:.0%} of the tokens. fp32, TRL "
        f"{found['versions']['trl']}.",
        "",
        "| TRL's settings | distance by our parts | what differs | distance with it | 1 - cosine | loss: TRL, ours |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["cases"]:
        same, loss = row["with_formulas"], row["our_loss"]
        losses = f"{row['loss']:+.6f}, " + ("-" if loss is None else f"{loss:+.6f}")
        lines.append(
            f"| {row['case']} | {row['plain']['distance']:.1e} | {'; '.join(row['formulas']) or 'nothing'} | "
            f"{same['distance']:.1e} | {1 - same['cosine']:.0e} | {losses} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="the table of what was measured last")
    if not parser.parse_args().show:
        RESULTS.write_text(json.dumps(measure(), indent=1) + "\n")
    found = json.loads(RESULTS.read_text())
    print(table(found))
    if far := [row["case"] for row in found["cases"] if row["with_formulas"]["distance"] > GOAL]:
        raise SystemExit(f"further than {GOAL:g} from TRL's gradient: {'; '.join(far)}")


if __name__ == "__main__":
    main()
