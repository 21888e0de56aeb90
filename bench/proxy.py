"""Proxy experiments: a method against its baseline and against itself without its new piece, at equal generated tokens.

    python -m bench.proxy                  # what there is, what is done, what is missing
    python -m bench.proxy cure rlve        # runs what is missing of these, three seeds an arm
    python -m bench.proxy --all --least    # of each: its own arm, the one without its new piece, the baseline
    python -m bench.proxy --render         # PROXIES.md from what is done, whatever the outcome

Every finished run is a line of `results/proxies/METHOD.jsonl`, keyed by the experiment, the seed and the code that
computed it. What other code ran is shown with its mark and stands until `--again` puts a newer run in its place.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import pkgutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import stats

import assay
from assay.known import recipe
from assay.record.folder import RunFolder
from assay.rng import digest
from assay.run import bases, session
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.scoring.bank import Bank, powers, summary
from assay.source import Pool
from bench import bases as _unfinished  # noqa: F401 - registers them
from bench import kept, machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "proxies"
TABLE = HERE / "PROXIES.md"
SEEDS = (0, 1, 2)
SETTINGS = {
    "scale.learning-rate": "1e-4",  # with so few prompts, 2e-4 is at the edge of what these bases bear
    "scale.schedule": "constant",  # arms of different length are compared where they have spent the same
    "evaluation.every": "15",
    "evaluation.num-problems": "128",
    "evaluation.num-samples": "8",
    "evaluation.final-problems": "64",
    "machine.threads": "1",
    "saving.rollouts-every": "0",
}
COMPUTES = ("forwards", "ask", "collect", "credit", "curate", "engine", "memory", "objective", "policy", "reward")
COMPUTES += ("externals", "methods", "sandbox", "source", "tasks", "verifiers")
COMPUTES += ("assemble.py", "loop.py", "rng.py", "streams.py", "types.py")


@dataclass(frozen=True)
class Arm:
    """A recipe and what is changed of it, as on the command line."""

    recipe: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Proxy:
    """One question to a method, with the answer that its entry expects."""

    method: str
    expects: str
    model: str  # a base
    pool: Pool
    arms: Mapping[str, Arm]  # the method's own arm bears its name
    steps: int
    diagnostic: str  # a metric of every step: its mean over the run is to move ...
    direction: Literal["up", "down"]
    against: str  # ... against this arm
    notes: tuple[str, ...] = ()  # where this departs from the entry, and what explains what came out
    final_samples: int = 16  # before and after, to each held-out problem

    @property
    def least(self) -> tuple[str, ...]:
        """The arms without which there is no verdict."""
        return tuple(arm for arm in self.arms if arm in (self.method, self.against, "off", "baseline"))

    def experiment(self, arm: str, seed: int) -> Experiment:
        wanted = self.arms[arm]
        made, _ = session.plan(
            recipe(wanted.recipe),
            model=self.model,
            pool=self.pool,
            seed=seed,
            steps=int(wanted.settings.get("scale.num-steps", self.steps)),
            overrides={
                **SETTINGS,
                "evaluation.final-samples": str(self.final_samples),
                **{k: v for k, v in wanted.settings.items() if k != "scale.num-steps"},
            },
        )
        return made

    def key(self, arm: str, seed: int) -> str:
        """Of the experiment as it is written here; the code is noted beside it."""
        wanted = self.arms[arm]
        said = {**SETTINGS, "final": self.final_samples, "steps": self.steps, **wanted.settings}
        place = (bases.base(self.model).hash, wanted.recipe, json.dumps(to_data(self.pool)))
        return digest("proxy", *place, json.dumps(said, sort_keys=True), seed)


def code() -> str:
    """Eight digits of everything that decides what a run computes."""
    root, total = Path(assay.__file__).parent, hashlib.sha256()
    if missing := [name for name in COMPUTES if not (root / name).exists()]:
        raise FileNotFoundError(f"COMPUTES names {', '.join(missing)}, and {root} has no such file or folder.")
    files = [p for name in COMPUTES for p in ([root / name] if name.endswith(".py") else (root / name).rglob("*"))]
    for path in sorted(p for p in files if p.suffix in (".py", ".h", ".cpp")):
        total.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return total.hexdigest()[:8]


def proxies() -> dict[str, Proxy]:
    names = sorted(module.name for module in pkgutil.iter_modules([str(HERE / "proxies")]))
    found = [importlib.import_module(f"bench.proxies.{name}").PROXY for name in names]
    return {proxy.method: proxy for proxy in found}


def done(method: str, folder: Path = RESULTS) -> list[dict[str, Any]]:
    path = folder / f"{method}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(proxy: Proxy, arm: str, seed: int) -> dict[str, Any]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder.read_only(session.start(proxy.experiment(arm, seed), Path(scratch) / "run", quiet=True))
        metrics, evals = folder.read("metrics"), folder.read("evals")
    spent = {record["step"]: record["budget/generated_tokens"] for record in metrics} | {0: 0.0}
    curve = [[spent[entry["step"]], _pass(entry["bank"], 1)["mean"]] for entry in evals if entry["set"] == "valid"]
    tests = [entry["bank"] for entry in evals if entry["set"] == "test"]
    values = [record[proxy.diagnostic] for record in metrics if proxy.diagnostic in record]
    last = metrics[-1]
    return {
        "key": proxy.key(arm, seed),
        "code": code(),
        "arm": arm,
        "seed": seed,
        "curve": curve,
        "before": {str(k): _pass(tests[0], k)["mean"] for k in (1, proxy.final_samples)},
        "after": {str(k): _pass(tests[-1], k)["mean"] for k in (1, proxy.final_samples)},
        "diagnostic": float(np.mean(values)) if values else None,
        "spent": {k.removeprefix("budget/"): v for k, v in last.items() if k.startswith("budget/")},
        "length": last["length/mean"],
        "entropy": last.get("policy/entropy"),
        "seconds": round(time.monotonic() - began, 1),
        "machine": kept.machine_key(machine.describe()),
        "measured": datetime.now(UTC).date().isoformat(),
    }


def _pass(bank: Mapping[str, Any], k: int) -> Mapping[str, float]:
    read = Bank.from_json(bank)
    k = min(k, int(read.n.min()))
    return summary(read, sorted({*powers(int(read.n.min())), k}))["pass"][str(k)]


def fill(
    proxy: Proxy, arms: Sequence[str], seeds: Sequence[int], *, again: bool = False, folder: Path = RESULTS
) -> None:
    """Runs what is missing, and `again` what other code ran; a line is written as soon as its run is over."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for arm in arms:
            known = [r for r in done(proxy.method, folder) if r["key"] == proxy.key(arm, seed)]
            if any(r["code"] == code() or not again for r in known):
                continue
            record = run(proxy, arm, seed)
            others = [r for r in done(proxy.method, folder) if (r["arm"], r["seed"]) != (arm, seed)]
            lines = sorted([*others, record], key=lambda r: (r["seed"], list(proxy.arms).index(r["arm"])))
            (folder / f"{proxy.method}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lines))
            print(
                f"{proxy.method:12} {arm:14} seed {seed}  pass@1 {record['before']['1']:.3f} -> "
                f"{record['after']['1']:.3f}  {proxy.diagnostic} {record['diagnostic']}  {record['seconds']:.0f} s",
                flush=True,
            )


def at(curve: Sequence[Sequence[float]], tokens: float) -> float:
    """The held-out score where so many tokens were generated, between two examinations on the line between them."""
    spent, score = zip(*curve, strict=True)
    return float(np.interp(tokens, spent, score))


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95 % interval of a mean over seeds (Student's t)."""
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2:
        return float(x.mean()), float("nan"), float("nan")
    half = stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return float(x.mean()), float(x.mean() - half), float(x.mean() + half)


def render(found: Mapping[str, Proxy]) -> str:
    parts = [
        "# Proxy experiments\n\n"
        "Made by `python -m bench.proxy`; `bench/README.md` says how. Scores are held-out pass@1 where the arms of a\n"
        "seed have generated equally many tokens; differences are of the method's arm minus another, with 95 %\n"
        "intervals over seeds (Student's t: with three seeds they are wide, and that is what three seeds say). The\n"
        "diagnostic is the mean of a metric over the steps of a run.\n"
    ]
    for name, proxy in found.items():
        records = [r for r in done(name) if r["arm"] in proxy.arms and r["key"] == proxy.key(r["arm"], r["seed"])]
        by = {(r["arm"], r["seed"]): r for r in records}
        seeds = sorted({r["seed"] for r in records if all((arm, r["seed"]) in by for arm in proxy.least)})
        arms = [arm for arm in proxy.arms if all((arm, seed) in by for seed in seeds)]
        parts.append(_section(proxy, by, arms, seeds))
    return "\n".join(parts)


def _section(
    proxy: Proxy, by: Mapping[tuple[str, int], Mapping[str, Any]], arms: Sequence[str], seeds: Sequence[int]
) -> str:
    tasks = ", ".join(f"{s.task} {','.join(map(str, s.levels))}" for s in proxy.pool.shares)
    lines = [f"\n## {proxy.method}\n", f"Expected: {proxy.expects}.", f"\nBase `{proxy.model}`, task {tasks}.\n"]
    lines += [f"{note}\n" for note in proxy.notes]
    if not seeds:
        return "\n".join([*lines, "Not run yet.\n"])
    budget = {s: min(by[arm, s]["curve"][-1][0] for arm in arms) for s in seeds}
    score = {arm: [at(by[arm, s]["curve"], budget[s]) for s in seeds] for arm in arms}
    lines += [
        f"| arm | pass@1 at {np.mean(list(budget.values())):,.0f} tokens | pass@1, pass@{proxy.final_samples} at its "
        f"end | {proxy.diagnostic} | entropy | length | tokens | updates |",
        "|" + "---|" * 8,
    ]
    for arm in arms:
        mine = [by[arm, s] for s in seeds]

        def mean(*path: str, mine: Sequence[Mapping[str, Any]] = mine) -> str:
            values = [v for record in mine if (v := _dig(record, path)) is not None]
            return "-" if len(values) < len(mine) else f"{np.mean(values):,.3f}".rstrip("0").rstrip(".")

        tokens, updates = (np.mean([r["spent"][k] for r in mine]) for k in ("generated_tokens", "optimiser_steps"))
        lines.append(
            f"| {arm} | {np.mean(score[arm]):.3f} | {mean('after', '1')}, {mean('after', str(proxy.final_samples))} "
            f"| {mean('diagnostic')} | {mean('entropy')} | {mean('length')} "
            f"| {tokens:,.0f} | {updates:,.0f} |"
        )
    own = score[proxy.method]
    for arm in arms:
        if arm != proxy.method:
            middle, low, high = interval([a - b for a, b in zip(own, score[arm], strict=True)])
            lines.append(f"\n{proxy.method} - {arm}: {middle:+.3f} [{low:+.3f}, {high:+.3f}] over {len(seeds)} seeds.")
    moved = [
        by[proxy.method, s]["diagnostic"] is not None
        and by[proxy.against, s]["diagnostic"] is not None
        and (by[proxy.method, s]["diagnostic"] > by[proxy.against, s]["diagnostic"]) == (proxy.direction == "up")
        for s in seeds
    ]
    marks = sorted({r["code"] for (arm, s), r in by.items() if s in seeds and arm in arms})
    lines.append(
        f"\n`{proxy.diagnostic}` goes {proxy.direction} against {proxy.against} in {sum(moved)} of {len(seeds)} seeds. "
        f"Code {', '.join(marks)}.\n"
    )
    return "\n".join(lines)


def _dig(record: Mapping[str, Any], path: Sequence[str]) -> float | None:
    value: Any = record
    for name in path:
        value = value[name]
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--least", action="store_true", help="only the arms that a verdict needs")
    parser.add_argument("--again", action="store_true", help="also what was run by other code")
    parser.add_argument("--render", action="store_true")
    arguments = parser.parse_args()
    found = proxies()
    if missing := sorted(set(arguments.methods) - set(found)):
        parser.error(f"no proxy for {', '.join(missing)}; there are: {', '.join(found)}")
    chosen = found if arguments.all else {name: found[name] for name in arguments.methods}
    for proxy in chosen.values():
        fill(
            proxy, proxy.least if arguments.least else tuple(proxy.arms), range(arguments.seeds), again=arguments.again
        )
    if arguments.render or chosen:
        TABLE.write_text(render(found))
    if not chosen and not arguments.render:
        for name, proxy in found.items():
            runs = [r for r in done(name) if r["arm"] in proxy.arms]
            there = {(r["arm"], r["seed"]) for r in runs if r["key"] == proxy.key(r["arm"], r["seed"])}
            print(f"{name:12} {len(there)} of {len(proxy.arms) * len(SEEDS)} runs; arms {', '.join(proxy.arms)}")


if __name__ == "__main__":
    main()
