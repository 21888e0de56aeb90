"""Running a study: missing runs are done, and every finished run leaves a small file of its own.

    FOLDER/results/TASK/ARM/seed-0.json   the result of a run, keyed by its settings: to be kept, and committed
    FOLDER/runs/TASK/ARM/seed-0/          the run itself, needed only while it is under way

A run that was killed goes on from its last checkpoint, a run whose result is there is not run again, and a study goes
on from its results on another machine. Several processes may fill one study: each takes runs that no other one has
begun.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, Stopped, UsageError
from assay.known import recipe
from assay.lab.study.declared import check_runs
from assay.lab.study.plan import TRIAL_SEED, Study, StudyRun
from assay.lab.study.progress import PASSED, Progress, Tell, progress, told
from assay.lab.study.results import Result, code, result_of
from assay.record import RunFolder
from assay.record.panel import duration
from assay.run import session
from assay.scoring.conclusion import LEAST_SEEDS
from assay.scoring.inference import smallest_effect

SPREAD = 0.02  # of differences between paired seeds, as on countdown and its like; outlooks assume it
PILOT_STEPS = 5  # steps that show how many tokens a step generates
ROOM = 2.0  # times the steps that a budget of tokens seems to pay for, within which the tokens end a run
Json = dict[str, Any]


def fill(
    study: Study, folder: Path, *, again: bool = False, quiet: bool = False, tell: Tell | None = None
) -> dict[StudyRun, Result]:
    """Does the missing runs of a study, and returns the results of all its runs. `again`: runs that other code did
    count as missing. `tell` is given the lines of progress, if they are not shown on a terminal.

    results = fill(study, Path("studies/first"))
    """
    check_runs(study)
    ahead = _Queue(study, folder)
    with progress(ahead.total(), quiet=quiet, tell=tell) as shown:
        return _Queue(study, folder, shown, again=again).fill()


def stored(study: Study, folder: Path) -> dict[StudyRun, Result]:
    """The stored results of the runs that the study asks for now."""
    return _Queue(study, folder).fill()


def adopt(study: Study, folder: Path) -> int:
    """Accepts the stored results for the study as it is written now, and returns their number. This is for a study with
    the same meaning in other words, for example after a setting was renamed.
    """
    runs = [*study.pilots(), *study.trial_runs(), *study.runs()]
    taken = 0
    for run in runs:
        if (path := place_of(folder, run)).exists():
            result = Result.read(path)
            run = dataclasses.replace(run, rate=result.rate)
            dataclasses.replace(result, key=study.key(run, result.planned)).write(path)
            taken += 1
    return taken


def place_of(folder: Path, run: StudyRun) -> Path:
    """The file with the result of a run."""
    return folder / "results" / run.place.with_name(f"{run.place.name}.json")


@contextmanager
def _claimed(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether this process may do the run of this lock: not while another one does it. `wait`: waits until it may."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@dataclass(frozen=True)
class Outlook:
    """A forecast of a study before it starts: its runs, how many are done, and the smallest difference that they can
    show.

    print(*outlook(study, Path("studies/first")).lines(), sep="\\n")
    """

    study: Study
    runs: int  # that are reported
    others: int  # pilots and trials
    done: int  # of the reported ones
    seconds: float | None  # of a run, from those that are done; None: nothing is known yet

    def lines(self) -> list[str]:
        study, left = self.study, self.runs - self.done
        seeds, fewer = len(study.seeds), {name: arm.seeds for name, arm in study.arms.items() if arm.seeds is not None}
        cost = f"{study.budget.amount:,.0f} {study.budget.measure} each"
        trials = f", and {self.others} more to choose learning rates and steps" if self.others else ""
        time_left = "" if self.seconds is None else f", about {duration(self.seconds * left)}"
        shape = f"{len(study.arms)} methods x {len(study.tasks)} tasks x {seeds} seeds"
        shape += "".join(f", {name} with {few} of them" for name, few in fewer.items())
        lines = [
            f"{shape} = {self.runs} runs of {cost}{trials}",
            f"{self.done} are done, {left} are missing{time_left}",
        ]
        if seeds < LEAST_SEEDS:
            lines.append(f"warning: {seeds} seeds are not enough for a word about methods: take {LEAST_SEEDS} at least")
        else:
            lines.append(
                f"{seeds} seeds show a difference of {self.smallest:.3f} of {PASSED} in four of five studies, if "
                f"differences between paired seeds spread by {SPREAD} (standard deviation); one family of "
                f"{study.family}"
            )
        return lines

    @property
    def smallest(self) -> float:
        """The smallest difference that the seeds show in four of five studies, as one of the study's family."""
        return smallest_effect(len(self.study.seeds), SPREAD, level=self.study.family.level)

    def document(self) -> Json:
        return {
            "runs": self.runs,
            "pilots_and_trials": self.others,
            "done": self.done,
            "seconds_a_run": self.seconds,
            "family": self.study.family.size,
            "smallest_effect": self.smallest if len(self.study.seeds) >= LEAST_SEEDS else None,
        }


def outlook(study: Study, folder: Path) -> Outlook:
    """The outlook on filling this study in this folder."""
    queue = _Queue(study, folder)
    done = queue.fill()
    seconds = [result.seconds for result in done.values()]
    mean = statistics.mean(seconds) if seconds else None
    runs = len(list(study.runs()))
    return Outlook(study, runs, queue.total() - runs, len(done), mean)


class _Queue:
    """The runs of a study in their order. With `shown`, missing runs are done; else stored results are looked up."""

    def __init__(self, study: Study, folder: Path, shown: Progress | None = None, *, again: bool = False) -> None:
        self.study, self.folder, self.shown, self.again = study, folder, shown, again
        self.code = code()
        self.seen: set[StudyRun] = set()
        self.failed: dict[tuple[str, str], AssayError] = {}
        self.elsewhere: list[Path] = []  # the locks of runs that another process was at work on

    def total(self) -> int:
        """The number of runs that the study takes: reported ones, trials, and pilots for arms whose steps are not
        known.
        """
        pilots = [run for run in self.study.pilots() if self._known(run.arm, run.task) is None]
        return len(pilots) + len(list(self.study.trial_runs())) + len(list(self.study.runs()))

    def fill(self) -> dict[StudyRun, Result]:
        """The results of all reported runs. A run that another process has begun is left to it until nothing else
        remains to do; if that process ends without a result, the run is done here.
        """
        while True:
            self.elsewhere, before = [], len(self.seen)
            results = self._round()
            if not self.elsewhere:
                break
            if len(self.seen) == before and self.shown is not None:
                self.shown.note(f"waiting for a run of another process: {self.elsewhere[0].with_suffix('')}")
                with _claimed(self.elsewhere[0], wait=True):
                    pass
        if self.failed:
            (arm, task), first = next(iter(self.failed.items()))
            incomplete = AssayError(
                f"{arm} on {task}: {first} So {len(self.failed)} of {len(self.study.arms) * len(self.study.tasks)} "
                "arms are not done, all others are; the same command runs what is missing."
            )
            incomplete.exit_code = first.exit_code
            raise incomplete
        return results

    def _round(self) -> dict[StudyRun, Result]:
        """The results of the runs that no other process has begun, by running what is missing of them."""
        results: dict[StudyRun, Result] = {}
        for asked in self.study.runs():
            if (asked.arm, asked.task) in self.failed:
                continue
            try:
                steps = self._steps(asked.arm, asked.task)
                rate = None if steps is None else self._rate(asked.arm, asked.task, steps)
                if steps is None or rate is None:
                    continue
                run = StudyRun(asked.arm, asked.task, asked.seed, rate)
                if (result := self._get(run, steps)) is not None:
                    results[run] = result
            except Stopped as stopped:
                told_again = f"{str(stopped).split(';')[0]}; the same command goes on with the study from there."
                raise Stopped(told_again) from stopped
            except AssayError as error:  # an arm that cannot run must not keep the others from running
                self.failed[asked.arm, asked.task] = error
                if self.shown is not None:
                    self.shown.note(f"warning: {told(asked)}: {error}")
        return results

    def _steps(self, arm: str, task: str) -> int | None:
        """The planned steps of a run; None while the pilot that tells them is not done. A budget in steps names the
        number. With a budget in tokens, a finished run of this arm and task gives it; without one, a pilot of a few
        steps shows what a step costs. The plan then has more steps than the tokens seem to pay for, because later steps
        may generate fewer tokens, and the tokens end the run. The stages of a recipe are shares of the steps, so that a
        recipe with several stages gets no such extra steps.
        """
        budget = self.study.budget_of(arm)
        if budget.measure == "steps":
            return int(budget.amount)
        if (steps := self._known(arm, task)) is not None:
            return steps
        pilot = self._get(StudyRun(arm, task, TRIAL_SEED, kind="pilot"), PILOT_STEPS)
        if pilot is None:
            return None
        if not pilot.tokens:
            raise UsageError(
                f"the first {PILOT_STEPS} steps of {arm} on {task} generated nothing and trained on nothing, so nobody "
                f'can say how many steps {budget} pays for. Give the arm budget = "steps=N", or another task.'
            )
        room = ROOM if len(recipe(self.study.arms[arm].recipe).stages) == 1 else 1.0
        return max(1, math.ceil(room * budget.amount / pilot.tokens * PILOT_STEPS))

    def _known(self, arm: str, task: str) -> int | None:
        """The steps of a finished run with this budget, with which all other seeds are run too; None if there is no
        such run.
        """
        for run in self.study.runs():
            if (run.arm, run.task) == (arm, task) and (path := place_of(self.folder, run)).exists():
                result = Result.read(path)
                asked = dataclasses.replace(run, rate=result.rate)
                if result.key == self.study.key(asked, result.planned):
                    return result.planned
        return None

    def _rate(self, arm: str, task: str, steps: int) -> float | None:
        """The factor of the arm's learning rate with the best held-out score in the trials; 1 without trials."""
        results = [self._get(StudyRun(arm, task, TRIAL_SEED, rate, "trial"), steps) for rate in self.study.trials]
        known = [result for result in results if result is not None]
        if len(known) < len(results):
            return None
        best = max(known, key=lambda result: (result.final or 0.0, -result.rate), default=None)
        return 1.0 if best is None else best.rate

    def _get(self, run: StudyRun, steps: int) -> Result | None:
        """The result of a run, if need be by running it; none of a run that another process has begun."""
        if (result := self._there(run, steps)) is not None or self.shown is None:
            return result
        lock = self.folder / "runs" / run.place.with_name(f"{run.place.name}.lock")
        with _claimed(lock) as mine:
            if not mine:
                self.elsewhere.append(lock)
                return None
            return self._there(run, steps) or self._run(run, steps, self.shown)

    def _there(self, run: StudyRun, steps: int) -> Result | None:
        """The result of a run that is done."""
        if (path := place_of(self.folder, run)).exists():
            result = Result.read(path)
            if result.key == self.study.key(run, steps) and (result.code == self.code or not self.again):
                self.seen.add(run)
                return result
        return None

    def _run(self, run: StudyRun, steps: int, shown: Progress) -> Result:
        """Starts or continues a run that nobody else is at work on, and keeps the result."""
        self.seen.add(run)
        path, key = place_of(self.folder, run), self.study.key(run, steps)
        folder = self._trained(run, steps, key, shown)
        marks = dict.fromkeys(
            [folder.document.get("study_code", self.code), self.code]
        )  # who began it, and who ended it
        result_of(folder, run, key=key, planned=steps, code="+".join(marks)).write(path)
        result = Result.read(path)
        shown.finished(run, result, seen=len(self.seen))
        return result

    def _trained(self, run: StudyRun, steps: int, key: str, shown: Progress) -> RunFolder:
        """The folder of a run that is trained now, from its beginning or from where it was stopped."""
        path, how = self.folder / "runs" / run.place, {"quiet": True, "shown": shown.panel(run, steps)}
        begun = RunFolder.read_only(path).document if path.exists() else {}
        if begun and self.again and begun.get("study_code") != self.code:  # the steps of other code are not kept
            shutil.rmtree(path)
            begun = {}
        if not begun:
            about = {"study": key, "study_code": self.code}
            how |= {"setup": self.study.setup(run, steps)}
            session.start(self.study.experiment(run, steps), path, extra=about, **how)
        elif begun.get("study") != key:
            raise UsageError(
                f"{path} was begun with other settings than the study has now: remove it, or take another folder."
            )
        else:
            session.resume(path, **how)
        return RunFolder.read_only(path)
