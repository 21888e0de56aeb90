"""What `make demo-real` promises, counted over the seeds of the study demo-real: that nearly every one learns, and that
a coin as the reward teaches next to nothing.

    python -m bench.real_seeds    # of the results that are there; `assay compare --study` runs what is missing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.lab.study import contrasts, queue, read
from assay.lab.study.results import Exam, Result
from assay.scoring.inference import Effect
from assay.scoring.intervals import LEVEL, Interval
from assay.view.text import change

STUDY = Path(__file__).resolve().parent / "studies" / "demo-real.toml"
REWARD, CHANCE = "dr-grpo", "coin"  # the arms
GAIN = 0.15  # of held-out pass@1 that a seed has to show, with an interval above zero
SHARE = 0.95  # of the seeds
QUARTER = 0.25  # of the reward's gain that the coin has to stay below


@dataclass(frozen=True)
class Counted:
    """What the seeds of the study show."""

    gains: dict[int, Interval]  # seed -> what the reward taught, over problems
    reward: Effect  # over seeds and problems
    coin: Effect | None  # None: fewer than two seeds are there
    beyond: Effect | None  # what the reward taught beyond worked examples
    seconds: tuple[float, ...]  # of the training of each seed

    @property
    def shown(self) -> int:
        """Seeds whose gain is large enough and surely above zero."""
        return sum(gain.mean >= GAIN and gain.low > 0 for gain in self.gains.values())

    @property
    def holds(self) -> bool:
        return self.shown >= SHARE * len(self.gains)

    @property
    def taught_by_chance(self) -> bool | None:
        """Whether the coin's gain may be a quarter of the reward's or more, by its interval."""
        return None if self.coin is None else self.coin.within(LEVEL).high >= QUARTER * self.reward.mean


def counted(results: Sequence[Result]) -> Counted | None:
    """None where fewer than two seeds of the reward are done."""
    of = {arm: [run for run in results if run.arm == arm] for arm in (REWARD, CHANCE)}
    reward = _gain(of[REWARD], [run.before for run in of[REWARD]])
    if reward is None:
        return None
    found = {run.seed: contrasts.over_problems_at(run.before, run.after, 1) for run in of[REWARD]}
    return Counted(
        gains={seed: one.within(LEVEL) for seed, one in sorted(found.items()) if one is not None},
        reward=reward,
        coin=_gain(of[CHANCE], [run.before for run in of[CHANCE]]),
        beyond=_gain(of[REWARD], [run.examples for run in of[REWARD]]),
        seconds=tuple(run.seconds for run in of[REWARD]),
    )


def _gain(runs: Sequence[Result], exams: Sequence[Exam | None]) -> Effect | None:
    """How far the exams after training are above these, at one sample."""
    if len(runs) < 2 or any(exam is None for exam in exams):
        return None
    return contrasts.differences_at(exams, [run.after for run in runs], 1)


def section(folder: Path) -> str:
    """What is known, for bench/RESULTS.md."""
    results = list(queue.stored(read(STUDY), STUDY.with_suffix("")).values())
    found = counted(results)
    if found is None:
        return ""
    told = [
        "## A real language model, over seeds",
        f"`make demo-real` in {len(found.gains)} seeds ([study](studies/demo-real/report.md)): held-out pass@1 rose by "
        f"{GAIN} or more, with an interval over problems above zero, in {found.shown}. {sentence(found)}",
        "| seed | gain |\n|---:|---:|\n"
        + "\n".join(f"| {seed} | {_told(gain)} |" for seed, gain in found.gains.items()),
    ]
    return "\n\n".join(told)


def sentence(found: Counted) -> str:
    """What the seeds say together."""
    told = [f"Over seeds and problems the gain is {_told(found.reward.within(LEVEL))}"]
    if found.beyond is not None:
        told.append(f", and {_told(found.beyond.within(LEVEL))} beyond the untrained model with worked examples")
    if found.coin is None:
        return "".join(told) + "."
    seeds = found.coin.seeds
    taught = (
        "may have taught a quarter of that or more" if found.taught_by_chance else "taught less than a quarter of that"
    )
    return (
        "".join(told)
        + f". A coin as the reward, in {seeds} of these seeds, {taught}: {_told(found.coin.within(LEVEL))}."
    )


def _told(one: Interval) -> str:
    return change({"mean": one.mean, "low": one.low, "high": one.high})


def main() -> None:
    results = list(queue.stored(read(STUDY), STUDY.with_suffix("")).values())
    found = counted(results)
    if found is None:
        raise SystemExit("fewer than two seeds are done: assay compare --study bench/studies/demo-real.toml")
    for seed, gain in found.gains.items():
        print(f"seed {seed:2}  {_told(gain)}")
    print(f"{found.shown} of {len(found.gains)} seeds gained {GAIN} or more, with an interval above zero")
    print(sentence(found))
    print(
        f"training took {np.median(found.seconds):.0f} s (median), {min(found.seconds):.0f} to {max(found.seconds):.0f}"
    )


if __name__ == "__main__":
    main()
