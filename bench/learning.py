"""Learning with foreign programs as judges: does a small model gain, and does nothing gain if verdicts are shuffled?

    python -m bench.learning               # what is done, what is missing
    python -m bench.learning --all         # the queue: runs what is missing, one run after the other
    python -m bench.learning sql coq       # only these
    python -m bench.learning --render      # LEARNING.md from what is done

Each task has a base that imitated worked solutions from scratch and was stopped early. GRPO trains it with the verdicts
of the task's external, and held-out problems are judged by both the verifier and the task's second oracle. A finished
run is a line of `results/learning/NAME.jsonl`. A stopped queue continues with the runs that have no line yet.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.source import Pool, Share
from bench.proxy import SEEDS, Arm, Proxy, done, fill, interval

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "learning"
TABLE = HERE / "LEARNING.md"
SCALE = {
    "scale.num-prompts": "16",
    "scale.group-size": "8",
    "scale.learning-rate": "3e-4",
    "evaluation.every": "0",  # only before and after
}
STEPS = 20  # with 128 answers each
LONGER = {"programs": 120, "coq": 120}  # which gain more slowly
GENTLER = {"coq": {"scale.num-prompts": "32", "scale.learning-rate": "1.5e-4"}}  # twice that rate soon stops to gain
SAMPLES = 8  # to each of 64 held-out problems, before and after
GAIN = 0.10  # of pass@1, that each task is to gain
SHUFFLED = {"mechanism.reward": "shuffled"}


def grpo(settings: Mapping[str, str] | None = None) -> Arm:
    return Arm("grpo", {**SCALE, **(settings or {})})


def misjudged(**shares: float) -> Arm:
    """GRPO with a verifier that errs this often: `misjudged(accepts=0.05)`."""
    chosen = {f"mechanism.reward.0.{name}": str(share) for name, share in shares.items()}
    return grpo({"mechanism.reward": "misjudged", **chosen})


def proof(task: str, levels: tuple[int, ...], **more: Arm) -> Proxy:
    gentler = GENTLER.get(task, {})
    return Proxy(
        method=task,
        expects="pass@1 gains at least 0.10 with true verdicts, and nothing with verdicts that are shuffled",
        model=task,
        pool=Pool((Share(task, levels),)),
        arms={task: grpo(gentler), "shuffled": grpo({**gentler, **SHUFFLED}), **more},
        steps=LONGER.get(task, STEPS),
        final_samples=SAMPLES,
        diagnostic="reward/accuracy",
        direction="up",
        against="shuffled",
    )


BONUS = {"of": "outcome,scored", "of.1.name": "maximises", "of.1.weight": "2"}
"""The planted exploit: two points for every program that maximises, whatever the problem asks for."""
ERRORS = {
    "accepts": misjudged(accepts=0.05),
    "refuses": misjudged(refuses=0.2),
    "masked": misjudged(fails=0.2),
}
PROOFS = {
    one.method: one
    for one in (
        proof("linear-program", (2, 3), **ERRORS),
        proof("sql", (2, 3)),
        proof("programs", (2, 3)),
        proof("coq", (3,)),
        proof("metamath", (1,)),
        proof("verilog", (5,)),
    )
}
VETO = Proxy(
    method="veto",
    expects="the bonus is farmed without a veto, and with one the policy learns the task",
    model="linear-program",
    pool=PROOFS["linear-program"].pool,
    arms={
        "veto": grpo(
            {
                "mechanism.reward": "veto",
                "mechanism.reward.0.of": "sum",
                **{f"mechanism.reward.0.of.{k}": v for k, v in BONUS.items()},
            }
        ),
        "exploit": grpo({"mechanism.reward": "sum", **{f"mechanism.reward.0.{k}": v for k, v in BONUS.items()}}),
    },
    steps=STEPS,
    final_samples=SAMPLES,
    diagnostic="reward/maximises/mean",
    direction="down",
    against="exploit",
)
TRAINED_BY = {"sirl": "linear-program", "sql-rlvr": "sql", "codev-r1": "verilog", "rstar-coder": "programs"}
"""Recipes of papers whose answers foreign programs judge, and the task that each trains on."""
RECIPES = {
    recipe: dataclasses.replace(
        PROOFS[task],
        method=recipe,
        expects="pass@1 gains",
        arms={recipe: Arm(recipe, SCALE)},
        against=recipe,
    )
    for recipe, task in TRAINED_BY.items()
}
QUEUE = {**PROOFS, "veto": VETO, **RECIPES}


def least(proxy: Proxy) -> tuple[str, ...]:
    """The arms that the claim needs; those of experiments come after them."""
    return tuple(arm for arm in proxy.arms if arm not in ERRORS)


def run(names: Sequence[str], *, again: bool = False) -> None:
    """The queue: first what the claims need, of one task after the other, then the experiments."""
    chosen = [QUEUE[name] for name in names]
    for proxy in chosen:
        fill(proxy, least(proxy), SEEDS, again=again, folder=RESULTS)
    for proxy in chosen:
        fill(proxy, tuple(proxy.arms), SEEDS, again=again, folder=RESULTS)


def records(proxy: Proxy) -> dict[str, list[dict[str, Any]]]:
    """What is done of each arm, in the order of the seeds."""
    found = [r for r in done(proxy.method, RESULTS) if r["arm"] in proxy.arms]
    mine = [r for r in found if r["key"] == proxy.key(r["arm"], r["seed"])]
    return {arm: sorted((r for r in mine if r["arm"] == arm), key=lambda r: r["seed"]) for arm in proxy.arms}


def gains(runs: Sequence[Mapping[str, Any]]) -> list[float]:
    """By how much pass@1 of held-out problems rose in each run."""
    return [run["after"]["1"] - run["before"]["1"] for run in runs]


def shown(values: Sequence[float]) -> str:
    """A mean with its 95 % interval over seeds: `+0.210 [+0.150, +0.270]`."""
    if len(values) < 2:
        return f"{values[0]:+.3f} (one seed)" if values else "not run yet"
    middle, low, high = interval(values)
    return f"{middle:+.3f} [{low:+.3f}, {high:+.3f}]"


def verdict(true: Sequence[float], shuffled: Sequence[float]) -> str:
    """Whether the goals are met: a gain of 0.10 beyond doubt that it is one, and none with shuffled verdicts."""
    if min(len(true), len(shuffled)) < len(SEEDS):
        return "open"
    middle, low, _ = interval(true)
    gained, without = middle >= GAIN and low > 0, interval(shuffled)[1] > 0
    return "met" if gained and not without else "gain missed" if not gained else "shuffled verdicts gain too"


def mean(runs: Sequence[Mapping[str, Any]], when: str, k: int) -> str:
    return f"{np.mean([run[when][str(k)] for run in runs]):.3f}" if runs else "-"


def proved() -> list[str]:
    lines = [
        "| task, levels | base: pass@1, pass@k | after, true verdicts | gain | after, shuffled | gain | time | goal |",
        "|" + "---|" * 8,
    ]
    for name, proxy in PROOFS.items():
        runs, k = records(proxy), proxy.final_samples
        true, dealt = runs[name], runs["shuffled"]
        levels = ",".join(map(str, proxy.pool.shares[0].levels))
        took = f"{np.mean([run['seconds'] for run in (*true, *dealt)]):.0f}" if true else "-"
        lines.append(
            f"| {name} {levels} | {mean(true, 'before', 1)}, {mean(true, 'before', k)} (k = {k}) "
            f"| {mean(true, 'after', 1)}, {mean(true, 'after', k)} | {shown(gains(true))} "
            f"| {mean(dealt, 'after', 1)}, {mean(dealt, 'after', k)} | {shown(gains(dealt))} "
            f"| {took} s | {verdict(gains(true), gains(dealt))} |"
        )
    return lines


def paired(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> list[float]:
    """Differences of final pass@1 between two arms, of the seeds that both have."""
    final = {run["seed"]: run["after"]["1"] for run in other}
    return [run["after"]["1"] - final[run["seed"]] for run in one if run["seed"] in final]


def compared(name: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Final pass@1 of each arm of an experiment, and the differences between these pairs of arms."""
    runs, proxy = records(QUEUE[name]), QUEUE[name]
    lines = [f"| arm | pass@1 before, after | gain | {proxy.diagnostic} |", "|---|---|---|---|"]
    for arm in dict.fromkeys(arm for pair in pairs for arm in pair):
        found = runs[arm]
        metric = f"{np.mean([run['diagnostic'] for run in found]):.3f}" if found else "-"
        after = f"{mean(found, 'before', 1)}, {mean(found, 'after', 1)}"
        lines.append(f"| {arm} | {after} | {shown(gains(found))} | {metric} |")
    return [*lines, "", *(f"Final pass@1, {a} less {b}: {shown(paired(runs[a], runs[b]))}.\n" for a, b in pairs)]


def trained() -> list[str]:
    """What recipes of papers gain from the bases of these tasks, beside GRPO with the same seeds."""
    lines = ["| recipe | task | seeds | pass@1 before, after | gain | GRPO's gain |", "|" + "---|" * 6]
    for recipe, task in TRAINED_BY.items():
        found, plain = records(QUEUE[recipe])[recipe], records(PROOFS[task])[task]
        same = [run for run in plain if run["seed"] in {own["seed"] for own in found}]
        scores = f"{mean(found, 'before', 1)}, {mean(found, 'after', 1)}"
        lines.append(f"| {recipe} | {task} | {len(found)} | {scores} | {shown(gains(found))} | {shown(gains(same))} |")
    return lines


def render() -> str:
    exact = "linear-program"
    every = [run for proxy in QUEUE.values() for runs in records(proxy).values() for run in runs]
    ran = ", ".join(sorted({f"{run['machine']} on {run['measured']}" for run in every}))
    parts = [
        "# Learning with foreign programs as judges\n",
        "Made by `python -m bench.learning`; `bench/README.md` says how. Scores are of held-out problems, judged",
        "by the verifier and by the task's second oracle; 95 % intervals over three seeds (Student's t).\n",
        *proved(),
        "\n## Two kinds of error, and faults of ours\n",
        "`accepts`: 5 % of the wrong answers are rewarded. `refuses`: 20 % of the right answers are not. A verifier",
        "that fails on 20 % of all answers and counts its faults as zero does just that. `masked`: the same share of",
        "faults leaves an answer without a reward, and it does not train.\n",
        *compared(exact, [("accepts", exact), ("refuses", exact), ("accepts", "refuses"), ("masked", "refuses")]),
        "\n## A veto on a planted exploit\n",
        "The reward has a planted hole: two points for every program that maximises, whatever the problem asks for;",
        "half of the problems minimise. The veto takes all points from an answer that the verifier refuses.\n",
        *compared("veto", [("veto", "exploit")]),
        "\n## Recipes of papers on these tasks\n",
        "With the values of GRPO's runs: the same steps, answers a step and learning rate.\n",
        *trained(),
        f"\nRun on one thread each: {ran or 'nothing yet'}.",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--again", action="store_true", help="also what was run by other code")
    parser.add_argument("--render", action="store_true")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(QUEUE)):
        parser.error(f"nothing is called {', '.join(unknown)}; there are: {', '.join(QUEUE)}")
    names = list(QUEUE) if arguments.all else arguments.names
    run(names, again=arguments.again)
    if names or arguments.render:
        TABLE.write_text(render())
    else:
        for name, proxy in QUEUE.items():
            counts = ", ".join(f"{arm} {len(runs)}" for arm, runs in records(proxy).items())
            print(f"{name:16} of {len(SEEDS)} runs each: {counts}")


if __name__ == "__main__":
    main()
