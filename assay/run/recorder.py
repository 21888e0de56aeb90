"""The recorder: writes metrics after every step, and rollouts, evaluations and checkpoints every so many steps.

The recorder also stops the run in an orderly way when a signal asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask import Codec, Sampling, as_examined
from assay.errors import DataError, Stopped
from assay.host.failpoint import failpoint
from assay.memory import Memory, columns
from assay.models import Models
from assay.record.folder import RunFolder
from assay.record.measure import step_stats
from assay.record.rollouts import left_out, rollout_table, shared_out
from assay.record.signals import StopFlag
from assay.rng import Key
from assay.run import faults, judged_exams
from assay.run.callbacks import EpisodesEvent, EvaluationEvent, SaveEvent, StepEvent, Watch, answers_of, fixed
from assay.run.experiment import Experiment
from assay.run.grader import Grader
from assay.run.live_report import Page
from assay.run.lost_verdicts import LostVerdicts
from assay.run.open_exams import rewarding
from assay.run.seats import frozen_players
from assay.run.second_look import SecondLook
from assay.run.worked_examples import Worked, question_of
from assay.scoring import bank
from assay.source import FEWEST, Pool
from assay.types import Batch, Episode, Problem, Row, Stats
from assay.verifiers.judges.endpoint import SERVED
from assay.view.elicited import EXAMPLES
from assay.view.judged import judge_of, metric_of, metrics_of, spoken
from assay.view.plays import metrics_of_plays
from assay.view.text import listed

if TYPE_CHECKING:
    from assay.record.panel import Panel

READ, LONGEST = 10, 1000  # answers of an exam that are kept to be read, and characters of each
STILL = ("", "collect", "forwards")  # phases in which no weight changes

Exams = Mapping[str, Sequence[Problem]]
"""Held-out problems by set: `valid` is evaluated during training, `test` before and after it."""


def exams(experiment: Experiment) -> dict[str, list[Problem]]:
    """The held-out problems of a run. Runs on one pool get the same problems at every seed, for paired comparison."""
    plan, pool = experiment.evaluation, experiment.examined
    sets = {"test": plan.final_problems} | ({"valid": plan.num_problems} if plan.every else {})
    return {name: _exam(pool, name, count) for name, count in sets.items()}


def _exam(pool: Pool, name: str, count: int) -> list[Problem]:
    return pool.held_out(Key("exam", name), count, "valid" if name == "valid" else "test", least=FEWEST)


def first_answers(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """The first answer to each of the first problems of an exam, to be read beside those of another exam."""
    first: dict[str, Episode] = {}
    for episode in episodes:
        first.setdefault(episode.request.problem.id, episode)
    return [
        {
            "problem": one.request.problem.id,
            "question": question_of(one.request.problem),
            "answer": one.text[:LONGEST],
            "right": None if one.verdict is None else one.verdict.status == "ok",
            "cut": one.finish == "length",
        }
        for one in [*first.values()][:READ]
    ]


def few(experiment: Experiment, exams: Exams) -> list[str]:
    """A sentence for each exam that has fewer problems than were asked for, because a generated task has no more."""
    if experiment.pool.finite:
        return []
    plan = experiment.evaluation
    wanted = {"test": plan.final_problems, "valid": plan.num_problems}
    return [
        f"the levels of this task have only {len(problems)} different problems for '{name}', of {wanted[name]} that "
        "were asked for; intervals are wide. More levels have more"
        for name, problems in exams.items()
        if len(problems) < wanted[name]
    ]


@dataclass
class Recorder:
    """Writes the records of a run. The loop calls `started` once, `phase` within a step, and `step` after it.

    Within a step the order is: metrics, rollouts, evaluation, checkpoint. A checkpoint therefore stands after all
    records of its step; a resumed run repeats the steps after its last checkpoint and records them anew.

    train(stages, models, memory, Recorder(folder, experiment, codec, files, exams(experiment), panel, stop))
    """

    folder: RunFolder
    experiment: Experiment
    codec: Codec
    files: Mapping[str, bytes]  # the files beside the weights that make `policy/` a Hugging Face folder
    exams: Exams
    panel: Panel
    stop: StopFlag
    worked: Worked | None = None  # the exam of the untrained model with examples; None: there is none
    grader: Grader = field(default_factory=Grader)
    second: SecondLook = field(default_factory=lambda: SecondLook(0.0, print))
    lost: LostVerdicts = field(default_factory=lambda: LostVerdicts(print))
    watch: Watch = field(default_factory=Watch)  # the callbacks of the calling program
    page: Page | None = None  # the report, which is rewritten while the run goes on
    track: Callable[[int, Mapping[str, float]], None] = lambda step, values: None  # passes metrics to the trackers
    chooses: str | None = None  # the judge that chooses the best checkpoint; None: it was not asked for yet
    clock: dict[str, float] = field(default_factory=dict)  # seconds of this step, by phase
    began: float = field(default_factory=time.monotonic)
    saved_at: float = field(default_factory=time.monotonic)  # when the last checkpoint was written, or training began
    entered: tuple[str, float] = ("", 0.0)  # the present phase, and when it began
    told: int = -1  # the last step whose checkpoint the callbacks were told of
    settled: tuple[Memory, Models] | None = None  # the state after the last step, which a stop may still save

    def started(self, memory: Memory, models: Models) -> None:
        for line in few(self.experiment, self.exams):
            self.panel.note(f"warning: {line}")
        if memory.step == 0 and not self.folder.store.steps():  # with a checkpoint of step 0 this was done already
            self._evaluate("test", memory, models)
            if self.worked is not None:
                self._evaluate(EXAMPLES, memory, models)
            if "valid" in self.exams:
                self.panel.update(0, self._evaluate("valid", memory, models))
            self._save(memory, models, beside=True)
        if self.page:
            self.page.now()
        self.settled = (memory, models)
        self.grader.at(memory.step)
        self._tick("")
        self._heed()

    def phase(self, name: str) -> None:
        self.panel.phase(name)
        self._tick(name)
        if self.stop and name != "improve":
            self.keep()
            self.stop.check()

    def keep(self) -> None:
        """Saves a checkpoint of the state before this step, if no weight has changed since then, and waits for it."""
        if self.settled and self.entered[0] in STILL:
            self._save(*self.settled)

    def step(
        self,
        memory: Memory,
        models: Models,
        episodes: Sequence[Episode],
        rows: Sequence[Row],
        batches: Sequence[Batch],
        stats: Stats,
    ) -> None:
        self._tick("record")
        last = self.experiment.recipe.scale.over(memory.step, memory.budget.tokens)
        stats = {**step_stats(episodes, rows), **stats, **_spent(memory), **self._times(episodes)}
        for name in models:
            stats |= models[name].measured()
        stats |= self.grader.measured() | self.second(episodes, memory.key("second look"))
        if slow := self.grader.slow(stats, budget=self.experiment.machine.verifying):
            self.panel.note(slow)
        self.folder.append("metrics", {"step": memory.step, **finite(stats)})
        self.track(memory.step, finite(stats))
        self.second.tell()
        for news in SERVED.news():
            self.panel.note(f"warning: {news}.")
        if raised := faults.records(memory.step, episodes):
            self.panel.note(f"warning: {faults.told(raised, self.folder.keep_faults(memory.step, raised))}")
        ending = "" if last else self.lost(episodes)
        if self._due(self.experiment.saving.rollouts_every, memory.step) or last or memory.step == 1:
            self._write_rollouts(memory.step, episodes, rows, batches)
        scored = "valid" in self.exams and (last or self._due(self.experiment.evaluation.every, memory.step))
        if scored:
            self.panel.phase("evaluate")
            stats |= self._evaluate("valid", memory, models)
        if last:
            self._evaluate("test", memory, models)
        self._tell(memory.step, episodes, stats)
        if saves := scored or last or ending or bool(self.stop) or self._save_is_due(memory.step):
            goes_on = not (last or ending or self.stop)
            self._save(memory, models, score=self._score(stats) if scored else None, beside=goes_on)
        self.panel.update(memory.step, stats)
        if self.page:
            self.page.turn()
        self.settled = (memory, models)
        self.grader.at(memory.step)
        self.clock = {}
        if ending:
            raise Stopped(ending)
        self._heed()
        if self.stop and not last:
            if not saves:  # it was asked for since
                self._save(memory, models)
            self.folder.settle()
            self.stop.check()

    def _evaluate(self, name: str, memory: Memory, models: Models) -> dict[str, float]:
        plan, scale = self.experiment.evaluation, self.experiment.recipe.scale
        samples = plan.num_samples if name == "valid" else plan.final_samples
        problems = self.exams["test" if name == EXAMPLES else name]
        codec, asked = self.codec, as_examined(self.experiment.recipe.mechanism.ask, self.codec)
        if name == EXAMPLES and self.worked is not None:
            codec, asked = self.worked.codec, self.worked.ask
        exam = judged_exams.examine(
            models["policy"],
            problems,
            grader=self.grader,
            samples=samples,
            key=memory.key("exam", name, memory.step),
            sampling=Sampling.at(scale, codec.stops, temperature=plan.temperature),
            codec=codec,
            asked=asked,
            rewarded=self._rewarding(memory, models) if any(problem.open for problem in problems) else list,
            players=frozen_players(models),
        )
        if exam.ungraded:
            raise DataError(
                f"no reward function gave a number for any of the {len(exam.episodes)} answers of the exam '{name}': "
                f"{', '.join(self.experiment.rewards)} returned None for all of them. None says that a function does "
                "not judge a row; each row needs one that does."
            )
        if exam.silent:
            self.panel.note(f"warning: {exam.silent}; the exam '{name}' is judged by {spoken(exam.judge)} alone.")
        if exam.others and not memory.step and name == "test":
            beside = listed([spoken(judge) for judge, _ in exam.others])
            self.panel.note(f"held-out answers are judged by {spoken(exam.judge)}, and beside it by {beside}")
        read = {} if name == "valid" else {"read": first_answers(exam.episodes)}
        entry = {**exam.entry(step=memory.step, set=name), **read}
        self.folder.append("evals", entry)
        scores = bank.scores(entry) | metrics_of(entry) | metrics_of_plays(entry)
        self.track(memory.step, finite(scores))
        self.watch.tell("on_evaluation", EvaluationEvent(self.folder.path, memory.step, name, fixed(finite(scores))))
        return scores

    def _score(self, stats: Mapping[str, float]) -> float | None:
        """The score by which the best checkpoint is chosen: by the judge that chose the earlier ones of this run, which
        in a run that an earlier version began is not the first one now.
        """
        if self.chooses is None:
            first = next((entry for entry in self.folder.read("evals") if entry["set"] == "valid"), {})
            self.chooses = judge_of(first, self.folder.document)
        return stats.get(metric_of("valid", self.chooses, 1), _score(stats))

    def _rewarding(self, memory: Memory, models: Models) -> bank.Rewarded:
        ours = self.experiment
        return rewarding(ours.recipe, ours.pool, self.codec, memory, models, micro_tokens=ours.machine.micro_tokens)

    def _save(self, memory: Memory, models: Models, score: float | None = None, *, beside: bool = False) -> None:
        failpoint("loop.save")
        names = [name for name in models if self.saved(name)]
        counters = {name: {"version": models[name].version} for name in names}
        self.folder.save(
            memory.step,
            states=[models[name].stored(name) for name in names],
            tensors={columns.FILE: memory.to_columns()},
            documents={"memory.json": memory.to_data(), "counters.json": counters},
            files=self.files,
            score=score,
            place=models["policy"].place,
            beside=beside,
        )
        self.saved_at = time.monotonic()
        if self.watch.hears("on_save") and memory.step != self.told:
            self.folder.settle()  # what is told of is whole
            if (there := self.folder.store.committed(memory.step)) is not None:
                self.told = memory.step
                self.watch.tell("on_save", SaveEvent(self.folder.path, memory.step, there))

    def _tell(self, step: int, episodes: Sequence[Episode], stats: Stats) -> None:
        """Tells the callbacks of a step that is recorded, and asks for a stop if one of them does."""
        path, total = self.folder.path, self.experiment.recipe.scale.num_steps
        if self.watch.hears("on_episodes"):
            told = answers_of(episodes, self.codec.decode)
            self.watch.tell("on_episodes", EpisodesEvent(path, step, told))
        if self.watch.hears("on_step"):
            self.watch.tell("on_step", StepEvent(path, step, total, fixed(finite(stats))))
        self._heed()

    def _heed(self) -> None:
        """Stops the run, as a signal would, if a callback asked for it or raised."""
        if self.watch.error is not None:
            self.stop.asked = "a callback raised"
        elif self.watch.stop is not None:
            self.stop.asked = self.watch.stop.reason.replace(";", ",") or "a callback asked for it"

    def saved(self, name: str) -> bool:
        """Whether checkpoints hold this model. A frozen model is loaded again from where it was loaded at first."""
        known = self.experiment.recipe.models
        return name in known and known[name].saved

    def _write_rollouts(
        self, step: int, episodes: Sequence[Episode], rows: Sequence[Row], batches: Sequence[Batch]
    ) -> None:
        places = shared_out(rows, self.experiment.saving.rollouts_max)
        table = rollout_table(rows, self.codec.decode, step=step, batches=batches, places=places)
        self.folder.write_rollouts(step, table, left_out=left_out(rows, places))

    def _due(self, every: int, step: int) -> bool:
        return every > 0 and step % every == 0

    def _save_is_due(self, step: int) -> bool:
        saving = self.experiment.saving
        return self._due(saving.every, step) or time.monotonic() - self.saved_at >= 60 * saving.minutes

    def _tick(self, name: str) -> None:
        now = time.monotonic()
        before, since = self.entered
        if before:
            self.clock[f"time/{before}"] = self.clock.get(f"time/{before}", 0.0) + now - since
        self.entered = (name, now)

    def _times(self, episodes: Sequence[Episode]) -> Stats:
        total = sum(self.clock.values())
        generated = sum(len(e) - e.request.given for e in episodes)
        spent = {"time/step": total, "time/total": time.monotonic() - self.began, **self.clock}
        rate = generated / self.clock["time/collect"] if self.clock.get("time/collect") else 0.0
        trained = sum(len(e) for e in episodes)
        return spent | {"perf/tokens_per_s": rate, "perf/step_tokens_per_s": trained / total if total else 0.0}


def _score(stats: Mapping[str, float]) -> float | None:
    """The score of a checkpoint: pass@1 by the first judge, else the mean reward of open problems; None without
    both.
    """
    rewards = [value for name, value in stats.items() if name.startswith("eval/valid/reward/")]
    mean = stats.get("eval/valid/reward/reward", rewards[0] if rewards else None)
    return stats.get("eval/valid/pass@1", mean)


def counters_of(data: Any) -> dict[str, dict[str, int]]:
    """Model -> its counters, from the data of `counters.json` in a checkpoint."""
    return {str(name): {"version": int(counter["version"])} for name, counter in data.items()}


def _spent(memory: Memory) -> Stats:
    budget = memory.budget
    return {
        "budget/generated_tokens": float(budget.generated_tokens),
        "budget/verified_answers": float(budget.verified_answers),
        "budget/update_tokens": float(budget.update_tokens),
        "budget/optimiser_steps": float(budget.optimiser_steps),
        "budget/rollouts": float(budget.rollouts),
    }


def timeless(record: Mapping[str, Any]) -> dict[str, Any]:
    """A metrics record without times, speeds and metrics of servers: two runs of one seed have equal records then."""
    return {name: value for name, value in record.items() if not name.startswith(("time/", "perf/", "samplers/"))}


def finite(stats: Mapping[str, float]) -> dict[str, float]:
    """The values that are finite; JSON has no way to write the others."""
    return {name: value for name, value in stats.items() if np.isfinite(value)}
