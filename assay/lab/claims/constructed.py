"""The gate's constructed cases: pairs of a base and a child; whether the child was taught anything is known.

    sharpened   the best of four samples of the base: exactly compression, p' = 1 - (1 - p)^4
    taught      the base after imitation of worked solutions at a level that it cannot do
    resampled   the base itself, with other random numbers

The base is that of countdown, which learnt expressions of three and four numbers; level 5 is new to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.ask import Sampling
from assay.errors import DataError
from assay.known import recipe
from assay.lab.claims.card import Finding, Work, key_of
from assay.lab.sample import open_engine
from assay.record import disk
from assay.rng import Key
from assay.run import session
from assay.run.experiment import Experiment
from assay.scoring import bank
from assay.scoring.boundary import Counts
from assay.scoring.discovery import Boundary, sharpen_or_discover
from assay.source import Pool, Share
from assay.tasks.verifying import verify_twice
from assay.types import Problem

BOOTSTRAPS, RIGHT = 40, 0.95  # resampled sets of problems, and the share of them that must be called rightly
AT_ONCE = 32  # problems that are sampled together
BEST_OF = 4
Protocol = Callable[..., Boundary]


@dataclass(frozen=True)
class Cases:
    """The models and problems of the cases.

    CASES.levels  # level -> problems
    """

    model: str
    levels: dict[int, int]  # level of countdown -> problems
    n: int  # samples that say what a model reaches
    tries: int  # samples of a child for each problem: several times n, so that chance weighs less
    settings: dict[str, str]  # of the imitation
    steps: int

    @property
    def pool(self) -> Pool:
        return Pool((Share("countdown", tuple(self.levels)),))

    def experiment(self) -> Experiment:
        """The imitation that teaches."""
        made, _ = session.plan(
            recipe("sft"),
            model=self.model,
            pool=self.pool,
            profile="laptop",
            steps=self.steps,
            overrides=self.settings,
        )
        return made

    def problems(self) -> list[Problem]:
        """Held-out problems, the same in every run."""
        return [
            problem
            for level, count in self.levels.items()
            for problem in Pool((Share("countdown", (level,)),)).held_out(Key("exam", "test"), count, "test")
        ]


CASES = Cases(
    model="countdown",
    levels={3: 64, 4: 800, 5: 672},
    n=48,
    tries=192,
    settings={
        "scale.learning-rate": "1e-3",
        "scale.num-prompts": "64",
        "evaluation.every": "0",
        "evaluation.final-problems": "8",
        "evaluation.final-samples": "1",
        "machine.probe": "0",
        "saving.rollouts-every": "0",
    },
    steps=300,
)
CALLED = {"sharpened": "sharpening", "taught": "discovery", "resampled": "undetermined"}


def recognised(
    case: str, *, cases: Cases = CASES, protocol: Protocol = sharpen_or_discover, bootstraps: int = BOOTSTRAPS
) -> Callable[[Work], Finding]:
    """The check that the protocol calls this case by its name."""

    def measure(work: Work) -> Finding:
        base, child = pair(case, cases, work)
        return calls(case, base, child, n=cases.n, protocol=protocol, bootstraps=bootstraps)

    return measure


def calls(case: str, base: Counts, child: Counts, *, n: int, protocol: Protocol, bootstraps: int) -> Finding:
    """The protocol's word for a pair, and how often it gives the right word when the problems are resampled."""
    whole, words = protocol(base, child, n=n), []
    for r in range(bootstraps):
        rows = key_of(case)(r).generator().integers(0, len(base), len(base))
        words.append(protocol(base.select(rows), child.select(rows), n=n, draws=500).word)
    share = words.count(CALLED[case]) / bootstraps
    zero = whole.zero.found.mean if whole.zero else float("nan")
    came = (
        f"{whole.word}, as {share:.0%} of {bootstraps} bootstraps say; a sample of the child is worth "
        f"{whole.times.mean:.2f} of the base, pass@1 {whole.first.found.mean:+.3f}, beyond the base's reach at {n} "
        f"{whole.reach.found.mean:+.3f}, on its zero set {zero:+.3f}"
    )
    figures = {
        "share": share,
        "times": whole.times.mean,
        "pass@1": whole.first.found.mean,
        "reach": whole.reach.found.mean,
        "zero": zero,
        "zero problems": whole.zero_problems,
    }
    finite = {name: value for name, value in figures.items() if np.isfinite(value)}
    return Finding(came, whole.word == CALLED[case] and share >= RIGHT, finite)


def pair(case: str, cases: Cases, work: Work) -> tuple[Counts, Counts]:
    """The counts of the base, with more samples than it needs to be as good as the best of four, and of the child."""
    base = kept("base", cases, work, samples=2 * BEST_OF * cases.n, model=lambda: cases.model)
    if case == "taught":
        child = kept("taught", cases, work, samples=cases.tries, model=lambda: str(taught(cases, work)))
    elif case == "sharpened":
        child = kept("sharpened", cases, work, samples=cases.tries, model=lambda: cases.model, best_of=BEST_OF)
    elif case == "resampled":
        child = kept("resampled", cases, work, samples=cases.tries, model=lambda: cases.model)
    else:
        raise DataError(f"no case is named {case!r}: {', '.join(CALLED)}.")
    return base, child


def kept(name: str, cases: Cases, work: Work, *, samples: int, model: Callable[[], str], best_of: int = 1) -> Counts:
    """The counts of a bank, from its file or sampled now. Each name has random numbers of its own."""
    path = work.folder / "banks" / f"{name}.json"
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Counts(np.array(stored["n"]), np.array(stored["c"]))
    work.tell(f"  {name}: {samples * best_of} samples of each of {sum(cases.levels.values())} problems")
    counts = sampled(model(), cases, samples, key_of("banks")(name), best_of)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"n": counts.n.tolist(), "c": counts.c.tolist()}, separators=(",", ":"))
    with disk.storage_errors(f"writing {path}"):
        disk.replace(path, f"{text}\n".encode(), point="claims")
    return counts


def sampled(model: str, cases: Cases, samples: int, key: Key, best_of: int) -> Counts:
    """The counts of the model's samples; `best_of` samples count as one, which is right if any of them is."""
    policy, engine = open_engine(model)
    sampling = Sampling(cases.experiment().recipe.scale.max_new, 1.0)
    problems, n, c = cases.problems(), [], []
    for start in range(0, len(problems), AT_ONCE):
        answered = bank.evaluate(
            engine,
            problems[start : start + AT_ONCE],
            samples=samples * best_of,
            key=key,
            sampling=sampling,
            codec=policy.codec,
            verify=verify_twice,
            answers=True,
        )
        assert answered.right is not None
        for row in answered.right:
            groups = len(row) // best_of
            n.append(groups)
            c.append(sum(any(row[i * best_of : (i + 1) * best_of]) for i in range(groups)))
    return Counts(np.array(n), np.array(c))


def taught(cases: Cases, work: Work) -> Path:
    """The run that taught the base; it goes on where it was stopped."""
    path = work.folder / "imitation"
    if path.exists():
        session.resume(path, quiet=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        session.start(cases.experiment(), path, quiet=True)
    return path
