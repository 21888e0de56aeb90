"""Running a study: what is missing is run, and every finished run is a small file of its own.

    FOLDER/results/TASK/ARM/seed-0.json   what a run came to, keyed by what was asked of it: to be kept, and committed
    FOLDER/runs/TASK/ARM/seed-0/          the run itself, which only a run that is under way needs

A run that was killed goes on from its last checkpoint, a run whose result is there is not run again, and a study goes
on from its results on another machine.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from assay.errors import AssayError, Stopped, UsageError
from assay.host.terminal import say
from assay.lab.study.plan import TRIAL_SEED, Run, Study, check, check_runs
from assay.lab.study.results import Result, code, result_of
from assay.record import RunFolder
from assay.record.panel import duration
from assay.run import session

SPREAD = 0.02  # of differences between paired seeds, as on countdown and its like: what an outlook assumes
PILOT_STEPS = 5  # that show how many tokens a step generates
Tell = Callable[[str], None]
PASSED = "pass@1"

Json = dict[str, Any]


@dataclass(frozen=True)
class Progress:
    """How far a study is, for a line of progress."""

    done: int
    total: int
    began: float

    def told(self, run: Run, result: Result) -> str:
        left = (time.monotonic() - self.began) / max(1, self.done) * (self.total - self.done)
        rest = f", about {duration(left)} left" if self.done < self.total else ""
        score = "-" if result.final is None else f"{result.final:.3f}"
        return f"{self.done} of {self.total}  {told(run)}  {PASSED} {score}  {duration(result.seconds)}{rest}"


def told(run: Run) -> str:
    what = {"seed": f"seed {run.seed}", "trial": f"trial at {run.rate:g} x the learning rate", "pilot": "pilot"}
    return f"{run.arm} on {run.task}, {what[run.kind]}"


def fill(study: Study, folder: Path, *, again: bool = False, tell: Tell = say) -> dict[Run, Result]:
    """Runs what is missing of a study, and returns the results of all its runs. `again`: also what other code ran.
    `tell` is given a line for each run that is done.

    results = fill(study, Path("studies/first"))
    """
    check_runs(study)
    with _alone(folder):
        return _Queue(study, folder, runs=True, again=again, tell=tell).fill()


def stored(study: Study, folder: Path) -> dict[Run, Result]:
    """The results that are there, of the runs that the study asks for now."""
    return _Queue(study, folder, runs=False).fill()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Refuses a second process that fills the same study."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another process is at work on the study {folder}: wait for it, or end it.") from error
        yield


@dataclass(frozen=True)
class Outlook:
    """What a study takes before it starts: its runs, what is done of them, and what may come out.

    print(*outlook(study, Path("studies/first")).lines(), sep="\\n")
    """

    study: Study
    runs: int  # that are reported
    others: int  # pilots and trials
    done: int  # of the reported ones
    seconds: float | None  # of a run, from those that are done; None: nothing is known yet

    def lines(self) -> list[str]:
        study, left = self.study, self.runs - self.done
        seeds = len(study.seeds)
        cost = f"{study.budget.amount:,.0f} {study.budget.measure} each"
        trials = f", and {self.others} more to choose learning rates and steps" if self.others else ""
        time_left = "" if self.seconds is None else f", about {duration(self.seconds * left)}"
        shape = f"{len(study.arms)} methods x {len(study.tasks)} tasks x {seeds} seeds"
        lines = [
            f"{shape} = {self.runs} runs of {cost}{trials}",
            f"{self.done} are done, {left} are missing{time_left}",
        ]
        if (least := smallest_effect(seeds)) == math.inf:
            lines.append("warning: two seeds can hardly show any difference: take five at least")
        else:
            lines.append(
                f"{seeds} seeds show a difference of {least:.3f} of {PASSED} in four of five studies, if differences "
                f"between paired seeds spread by {SPREAD} (standard deviation)"
            )
        return lines

    def document(self) -> Json:
        least = smallest_effect(len(self.study.seeds))
        return {
            "runs": self.runs,
            "pilots_and_trials": self.others,
            "done": self.done,
            "seconds_a_run": self.seconds,
            "smallest_effect": None if least == math.inf else least,
        }


def smallest_effect(seeds: int, spread: float = SPREAD) -> float:
    """The smallest difference that so many seeds show in four of five studies, if differences between paired seeds have
    this standard deviation. It turns `assay.scoring.inference.seeds_needed` around.
    """
    if seeds <= 2:
        return math.inf
    normal = NormalDist()
    return (normal.inv_cdf(0.975) + normal.inv_cdf(0.8)) * spread / math.sqrt(seeds - 2)


def outlook(study: Study, folder: Path) -> Outlook:
    """What filling this study in this folder would take."""
    check(study)
    done = stored(study, folder)
    seconds = [result.seconds for result in done.values()]
    mean = statistics.mean(seconds) if seconds else None
    return Outlook(study, len(list(study.runs())), others(study), len(done), mean)


class _Queue:
    """The runs of a study in their order. `runs`: whether what is missing is run; else what is there is looked up."""

    def __init__(self, study: Study, folder: Path, *, runs: bool, again: bool = False, tell: Tell = say) -> None:
        self.study, self.folder, self.runs, self.again, self.tell = study, folder, runs, again, tell
        self.code = code()
        self.seen: set[Run] = set()
        self.began = time.monotonic()
        self.total = others(study) + len(list(study.runs()))

    def fill(self) -> dict[Run, Result]:
        """The results of all reported runs that are there in the end."""
        found: dict[Run, Result] = {}
        failed: dict[tuple[str, str], AssayError] = {}
        for asked in self.study.runs():
            if (asked.arm, asked.task) in failed:
                continue
            try:
                steps = self._steps(asked.arm, asked.task)
                rate = None if steps is None else self._rate(asked.arm, asked.task, steps)
                if steps is None or rate is None:
                    continue
                run = Run(asked.arm, asked.task, asked.seed, rate)
                if (result := self._get(run, steps)) is not None:
                    found[run] = result
            except Stopped:
                raise
            except AssayError as error:  # an arm that cannot run must not keep the others from running
                failed[asked.arm, asked.task] = error
                say(f"warning: {told(asked)}: {error}")
        if failed:
            (arm, task), first = next(iter(failed.items()))
            incomplete = AssayError(
                f"{arm} on {task}: {first} So {len(failed)} of {len(self.study.arms) * len(self.study.tasks)} arms are "
                "not done, all others are; the same command runs what is missing."
            )
            incomplete.exit_code = first.exit_code
            raise incomplete
        return found

    def _steps(self, arm: str, task: str) -> int | None:
        """How many steps the budget pays for: by the tokens that a step of the pilot generated."""
        if self.study.budget.measure == "steps":
            return int(self.study.budget.amount)
        pilot = self._get(Run(arm, task, TRIAL_SEED, kind="pilot"), PILOT_STEPS)
        return None if pilot is None else max(1, round(self.study.budget.amount / pilot.tokens * PILOT_STEPS))

    def _rate(self, arm: str, task: str, steps: int) -> float | None:
        """The factor of the arm's learning rate with the best held-out score in the trials; 1 without trials."""
        results = [self._get(Run(arm, task, TRIAL_SEED, rate, "trial"), steps) for rate in self.study.trials]
        known = [result for result in results if result is not None]
        if len(known) < len(results):
            return None
        best = max(known, key=lambda result: (result.final or 0.0, -result.rate), default=None)
        return 1.0 if best is None else best.rate

    def _get(self, run: Run, steps: int) -> Result | None:
        """The result of a run, if need be by running it."""
        self.seen.add(run)
        path, key = self.folder / "results" / run.place.with_name(f"{run.place.name}.json"), self.study.key(run, steps)
        if path.exists():
            result = Result.read(path)
            if result.key == key and (result.code == self.code or not self.again):
                return result
        if not self.runs:
            return None
        result = result_of(self._trained(run, steps, key), run, key, self.code)
        result.write(path)
        self.tell(Progress(len(self.seen), self.total, self.began).told(run, result))
        return result

    def _trained(self, run: Run, steps: int, key: str) -> RunFolder:
        """The folder of a run that is trained now, from its beginning or from where it was stopped."""
        path = self.folder / "runs" / run.place
        if not path.exists():
            session.start(self.study.experiment(run, steps), path, quiet=True, extra={"study": key})
        elif RunFolder.read_only(path).document.get("study") != key:
            raise UsageError(
                f"{path} was begun with other settings than the study has now: remove it, or take another folder."
            )
        else:
            session.resume(path, quiet=True)
        return RunFolder.read_only(path)


def others(study: Study) -> int:
    """How many runs are not reported: pilots, which show what a step costs, and trials of learning rates."""
    pilots = len(study.arms) * len(study.tasks) if study.budget.measure == "tokens" else 0
    return pilots + len(list(study.trial_runs()))
