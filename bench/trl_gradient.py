"""One step of TRL's trainer and one of ours on the same answers: are the gradients the same numbers?

    python -m bench.trl_gradient             # all cases, a table, results/trl_gradient.json

The base of countdown answers some prompts once. TRL's own trainer makes its inputs from these answers and rewards, and
its loss and gradient from the inputs; ours credits, packs and improves them by the parts of the recipes. Where the two
mean different things, the difference is a formula, and the gradient is taken once more with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from assay import bases
from assay.collect import generate
from assay.credit import CREDITS, GroupRelative, Lesson, credit
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.engine.torch_engine import TorchEngine
from assay.memory import Memory
from assay.models import Models
from assay.objective import AGGREGATES, Bounded, Clip, Geometric, Objective
from assay.objective.improve import improve
from assay.part import bind
from assay.policy import Policy, load_policy
from assay.recipe import Scale
from assay.recipes import recipe
from assay.rng import Key, digest
from assay.types import Batch, Episode, Request, Reward, Row
from bench import countdown_reward
from bench.pair import ROOT, System

RESULTS = Path(__file__).parent / "results" / "trl_gradient.json"
FOLDER = ROOT / "build" / "bench" / "trl_gradient"
TRL = System("trl", ".venv-trl", "bench.trl_loss")
PROMPTS, GROUP, MAX_NEW = 32, 8, 11  # a limit that cuts some answers
CLIP, LEARNING_RATE = 0.2, 1e-3  # a rate that leaves the clip's range within one update
GOAL = 1e-4  # of the gradient's norm
EPSILON = 1e-4  # TRL adds it to a standard deviation
CAP = 1.1  # of CISPO's weights, so that some are above it
RECIPES = {"grpo": "grpo", "dr_grpo": "dr-grpo", "bnpo": "dapo", "dapo": "dapo", "cispo": "cispo", "sapo": "sapo"}

Gradient = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """Settings of TRL, and the formula by which it differs from the recipe's parts."""

    loss_type: Literal["grpo", "dr_grpo", "bnpo", "dapo", "cispo", "sapo"]
    scale_rewards: Literal["group", "none", "batch"]
    parts: int = 1  # micro-batches of an update
    mask_truncated: bool = False
    iterations: int = 1
    trainer: Literal["GRPO", "GMPO"] = "GRPO"
    level: Literal["token", "sequence"] = "token"
    high: float = CLIP  # of the clip, or CISPO's cap

    @property
    def recipe(self) -> str:
        """Whose objective these settings mean."""
        if self.trainer == "GMPO":
            return "gmpo"
        return "gspo" if self.level == "sequence" else RECIPES[self.loss_type]

    @property
    def name(self) -> str:
        extra = [f"{self.parts} micro-batches"] * (self.parts > 1) + ["cut answers masked"] * self.mask_truncated
        kind = {"gmpo": "GMPO trainer", "gspo": "grpo of whole answers"}.get(self.recipe, self.loss_type)
        return ", ".join([kind, f"scale {self.scale_rewards}", *extra, *["2nd update"] * (self.iterations - 1)])

    @property
    def formulas(self) -> list[str]:
        found = []
        if self.scale_rewards == "group":
            found.append("A: (r - mean) / (s_g + 1e-4), ours 1e-6")
        if self.scale_rewards == "batch":
            found.append("A: (r - mean_g) / (s_B + 1e-4), s_B of all rewards, ddof 1; no part of ours, here dr-grpo's")
        if self.mask_truncated:
            rows = "in B" if self.loss_type in ("grpo", "dr_grpo") else "not in N"
            found.append(f"a cut answer stays in its group's mean and s_g, {rows}; ours leaves it out of all")
        if self.loss_type == "bnpo" and self.parts > 1:
            found.append("mean over K micro-batches of sum / N_k, ours sum / N")
        return found


SECOND = Case("dapo", "none", iterations=2)
CASES = (
    Case("grpo", "group"),
    Case("grpo", "none"),
    Case("grpo", "batch"),
    Case("dr_grpo", "none"),
    Case("dr_grpo", "group"),
    Case("bnpo", "group"),
    Case("dapo", "group"),
    Case("dapo", "none"),
    *(Case(kind, "none", parts=4) for kind in ("grpo", "dr_grpo", "bnpo", "dapo")),
    *(Case(kind, "none", mask_truncated=True) for kind in ("grpo", "dr_grpo", "dapo")),
    SECOND,
    Case("grpo", "none", iterations=2, level="sequence"),
    Case("cispo", "none", iterations=2, high=CAP),
    Case("sapo", "none", iterations=2),
    Case("grpo", "none", iterations=2, trainer="GMPO"),
)


def answers(policy: Policy) -> list[Episode]:
    """What the base says to prompts of its pool, with the reward of `countdown_reward`."""
    engine = TorchEngine(policy.transformer, end_ids=policy.end_ids, optimiser=None, precision="fp32")
    key = Key(0)("trl-gradient")
    pool = bases.base("countdown").pool
    asked = []
    for problem in (pool.problem(key("problem", i)) for i in range(PROMPTS)):
        context = policy.tokenizer.render(problem.prompt)
        asked += [Request(problem, context, problem.id, MAX_NEW, sample=i) for i in range(GROUP)]
    models = Models({"policy": engine}, {"policy": "policy"})
    made = generate(models, asked, key, policy.tokenizer)
    values = countdown_reward.score(
        [[{"content": episode.text}] for episode in made],
        [episode.request.problem.spec["numbers"] for episode in made],
        [episode.request.problem.spec["target"] for episode in made],
    )
    return [dataclasses.replace(e, rewards=(Reward("score", v),)) for e, v in zip(made, values, strict=True)]


def batch_of(case: Case, rows: Sequence[Row], *, theirs: bool) -> Batch:
    """The batch of these answers, as the recipe's parts make it or with TRL's formulas."""
    named = recipe("dr-grpo" if case.scale_rewards != "group" else "grpo").mechanism.credit
    assert isinstance(named, GroupRelative)
    if case.mask_truncated:
        counted = theirs and case.loss_type in ("grpo", "dr_grpo")
        marks = {"in_loss": False, "in_denominator": counted, "in_group": theirs}
        rows = [row.mark(**marks) if row.episode.finish == "length" else row for row in rows]
    part = dataclasses.replace(named, epsilon=EPSILON) if theirs else named
    (batch,) = credit(rows, Memory(0), lesson=lambda role: Lesson((partial(bind(CREDITS, part)),), role))
    if theirs and case.scale_rewards == "batch":
        spread = np.array([row.reward for row in rows]).std(ddof=1)
        batch = dataclasses.replace(batch, advantage=(batch.advantage / (spread + EPSILON)).astype(np.float32))
    return batch


def gradients(policy: Policy, batch: Batch, objective: Objective, *, updates: int = 1) -> tuple[Gradient, float]:
    """The gradient of the last of these updates on a batch, and the share of tokens that its gate shut."""
    engine = TorchEngine(load_policy(policy_folder()).transformer, end_ids=policy.end_ids, precision="fp32")
    if updates > 1:
        batch = dataclasses.replace(batch, old=scores_of(engine, batch))
    scale = Scale(PROMPTS, GROUP, MAX_NEW, LEARNING_RATE, num_steps=1, num_epochs=updates, clip_norm=None)
    found = kept_gradients(engine)
    stats = improve(engine, batch, objective=objective, scale=scale, key=Key(0), micro_tokens=2048)
    return found[-1], stats["policy/clip_fraction"] * updates


def scores_of(engine: LocalEngine, batch: Batch) -> np.ndarray:
    """The learner's log-probabilities of every token, before any update."""
    contexts = np.split(batch.context, batch.context_at[1:-1])
    spans = [Span(c, ids, 1.0) for c, ids in zip(contexts, np.split(batch.ids, batch.at[1:-1]), strict=True)]
    return np.concatenate([scores.logp for scores in engine.score(spans)])


def kept_gradients(engine: LocalEngine) -> list[Gradient]:
    """A list to which every step of this engine adds the gradient that it is about to use."""
    found: list[Gradient] = []
    step = engine.step

    def kept(*, lr: float, clip: float | None, moments: str = "") -> Any:
        engine.hand_out()
        found.append({name: p.grad.numpy().copy() for name, p in engine.model.named_parameters() if p.grad is not None})
        return step(lr=lr, clip=clip, moments=moments)

    engine.step = kept
    return found


def policy_folder() -> str:
    return bases.locate("countdown")


def objective_of(case: Case) -> Objective:
    """The recipe's ratio and aggregate under the bounds that TRL was told; no reference."""
    goal = recipe(case.recipe).mechanism.objective
    told = {"cispo": Bounded(least=0.0, most=case.high), "gmpo": Geometric(low=CLIP, high=case.high)}
    gate = goal.gate if case.recipe == "sapo" else told.get(case.recipe, Clip(low=CLIP, high=case.high))
    return Objective(ratio=goal.ratio, gate=gate, aggregate=goal.aggregate)


def our_gradient(case: Case, policy: Policy, rows: Sequence[Row], seen: dict[str, Any], *, theirs: bool) -> Gradient:
    """By the recipe's parts, or by TRL's formulas."""
    batch, objective = batch_of(case, rows, theirs=theirs), objective_of(case)
    if not theirs:
        return gradients(policy, batch, objective, updates=case.iterations)[0]
    found = [gradients(policy, part, objective, updates=case.iterations)[0] for part in split_of(case, batch, seen)]
    return {name: np.mean([one[name] for one in found], axis=0) for name in found[0]}


def split_of(case: Case, batch: Batch, seen: dict[str, Any]) -> list[Batch]:
    """The batches whose means TRL averages: its micro-batches for bnpo, else the whole."""
    if case.loss_type != "bnpo" or case.parts == 1:
        return [batch]
    return [batch.select(places) for places in places_of(batch, [part["rows"] for part in seen["parts"]])]


def places_of(batch: Batch, parts: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """The rows of our batch that are in each of TRL's micro-batches; which of equal rows it is does not matter."""
    waiting: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in range(len(batch)):
        context = batch.context[batch.context_at[row] : batch.context_at[row + 1]]
        answer = batch.ids[batch.at[row] : batch.at[row + 1]]
        waiting[tuple(int(token) for token in (*context, *answer))].append(row)
    return [[waiting[tuple(tokens)].pop() for tokens in part] for part in parts]


def loss_of(case: Case, batch: Batch) -> float:
    """TRL's loss where all ratios are 1: - sum of weight x advantage; ours is a sum of weight x advantage x log p."""
    weight = bind(AGGREGATES, objective_of(case).aggregate)(batch, max_new=MAX_NEW)
    return float(-(weight * batch.mask * batch.advantage).sum())


def our_loss(case: Case, rows: Sequence[Row], seen: dict[str, Any]) -> float | None:
    """By TRL's formulas; None in a second update, whose ratios are not 1."""
    if case.iterations > 1:
        return None
    parts = split_of(case, batch_of(case, rows, theirs=True), seen)
    return float(np.mean([loss_of(case, part) for part in parts]))


def compared(a: Gradient, b: Gradient) -> dict[str, float]:
    """|a - b| / |b| and the cosine, over all parameters."""
    if set(a) != set(b):
        raise ValueError(f"gradients of different parameters: {sorted(set(a) ^ set(b))[:4]}")
    x, y = (np.concatenate([side[name].ravel() for name in sorted(b)]).astype(np.float64) for side in (a, b))
    norms = np.linalg.norm(x), np.linalg.norm(y)
    return {"distance": float(np.linalg.norm(x - y) / norms[1]), "cosine": float(x @ y / (norms[0] * norms[1]))}


def ask_trl(made: Sequence[Episode]) -> Path:
    """The folder with TRL's gradients on these answers; cases that are there already are not run again."""
    job = {
        "model": policy_folder(),
        "prompts": [made[i].request.problem.prompt for i in range(0, len(made), GROUP)],
        "prompt_ids": [episode.request.context.tolist() for episode in made],
        "completion_ids": [episode.stream("ids").tolist() for episode in made],
        "rewards": [episode.reward for episode in made],
        "group": GROUP,
        "max_new": MAX_NEW,
        "clip": CLIP,
        "learning_rate": LEARNING_RATE,
    }
    folder = FOLDER / digest("trl-gradient", json.dumps(job))
    folder.mkdir(parents=True, exist_ok=True)
    if missing := [case for case in CASES if not (folder / f"{file_of(case)}.json").exists()]:
        TRL.check()
        named = [dataclasses.asdict(case) | {"name": file_of(case)} for case in missing]
        (folder / "job.json").write_text(json.dumps(job | {"cases": named}))
        command = [str(TRL.python), "-m", TRL.module, str(folder / "job.json"), str(folder)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


def file_of(case: Case) -> str:
    return digest("case", case.name)


def measure() -> dict[str, Any]:
    policy = load_policy(policy_folder())
    made = answers(policy)
    rows, folder = [Row(episode) for episode in made], ask_trl(made)
    cases, versions = [], {}
    for case in CASES:
        theirs = dict(np.load(folder / f"{file_of(case)}.npz"))
        seen = json.loads((folder / f"{file_of(case)}.json").read_text())
        versions = {name: seen[name] for name in ("trl", "transformers", "torch")}
        plain = our_gradient(case, policy, rows, seen, theirs=False)
        same = our_gradient(case, policy, rows, seen, theirs=True) if case.formulas else plain
        cases.append(
            {"case": case.name, "formulas": case.formulas}
            | {"plain": compared(plain, theirs), "with_formulas": compared(same, theirs)}
            | {"loss": sum(part["loss"] for part in seen["parts"])}
            | {"our_loss": our_loss(case, rows, seen)}
        )
    _, shut = gradients(policy, batch_of(SECOND, rows, theirs=False), objective_of(SECOND), updates=2)
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
