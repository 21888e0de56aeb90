"""What a study compares, and the runs that it takes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assay.errors import UsageError
from assay.recipe import USUAL_TASK, Profile
from assay.rng import digest
from assay.run import bases, data_needs, session
from assay.run.configure import differing
from assay.run.experiment import Experiment
from assay.run.memory_plan import choose_profile
from assay.run.pretrained import PRETRAINED
from assay.run.pretrained_needs import BESIDE, reads_text, wording_for
from assay.run.settings import full
from assay.run.setup import Setup
from assay.run.trust import code_of
from assay.scoring.conclusion import Family
from assay.source import Pool, Share
from assay.tasks import is_data, short
from assay.verifiers.answers import Wording
from assay.verifiers.functions.naming import parse

Measure = Literal["steps", "tokens"]
Kind = Literal["seed", "trial", "pilot"]
"""The purpose of a run of a study: to be reported, to choose a learning rate, or to show the cost of a step."""
Scores = Literal["exam", "equal-tokens"]
"""The score that is compared: that of the exam after training, or the held-out score at the point where the runs of a
seed have generated equally many tokens.
"""
Control = Literal["", "silent", "shuffled"]
"""Whether an arm is trained and examined in a control of the task (`assay/tasks/replies.py`)."""
MEASURES = ("steps", "tokens")
TRIAL_SEED = 1_000_003  # of the runs that choose learning rates and measure costs; no report shows it
SETTINGS: Mapping[str, str] = {  # of every run, unless the study says otherwise
    "scale.schedule": "constant",  # arms whose runs differ in length are compared where they have spent the same
    "machine.probe": "0",
    "saving.rollouts-every": "0",
}
EXAMS: Mapping[str, str] = {  # likewise, but where the profile has exams of its own
    "evaluation.every": "10",
    "evaluation.num-problems": "128",
    "evaluation.num-samples": "8",
    "evaluation.final-problems": "256",
    "evaluation.final-samples": "256",
}
UNREAD = {"evaluation.final-problems": "8", "evaluation.final-samples": "1"}
UNSEEN: Mapping[Kind, Mapping[str, str]] = {  # of runs whose exams nobody reads
    "seed": {},
    "trial": UNREAD,
    "pilot": {**UNREAD, "evaluation.every": "0"},
}
COMPUTED = (
    "name",
    "mechanism",
    "scale",
    "models",
    "roles",
    "stages",
)  # fields of a recipe that change what it computes


@dataclass(frozen=True)
class Budget:
    """The limit of every run: a number of steps, or of generated tokens. The run ends with the step that reaches it.
    Runs that generate none, such as those that imitate, train on as many tokens instead.

    Budget("tokens", 2e6)
    """

    measure: Measure
    amount: float

    @classmethod
    def parse(cls, text: str) -> Budget:
        """`tokens=2e6` or `steps=100`."""
        measure, equals, amount = text.partition("=")
        if measure not in MEASURES or not equals:
            raise UsageError(f"a budget is tokens=AMOUNT or steps=AMOUNT, for example tokens=2e6, not {text!r}.")
        try:
            value = float(amount.replace("_", ""))
        except ValueError:
            value = 0.0
        if not 1 <= value < float("inf"):
            raise UsageError(f"the amount of a budget is a number of at least 1, not {amount!r}: {measure}=2e6.")
        return cls("steps" if measure == "steps" else "tokens", value)

    def __str__(self) -> str:
        return f"{self.measure}={self.amount:g}"


@dataclass(frozen=True)
class Arm:
    """A recipe, and the changes to its settings, as on the command line.

    Arm("grpo", {"mechanism.objective.clip": "0.1"})
    """

    recipe: str
    settings: Mapping[str, str] = field(default_factory=dict)
    budget: Budget | None = None  # its own budget, if that of the study would be no fair share
    seeds: int | None = None  # how many of the study's seeds it is run with, the first ones; None: all
    note: str = ""  # what a reader of the report should know about it
    control: Control = ""  # the replies that its world gives; none named: those of the task


@dataclass(frozen=True)
class Expected:
    """A measure that is to stand higher or lower in one arm than in another, by `least` or more where that is given.
    `assay.lab.study.contrasts` has the names of measures.

    Expected("policy/entropy_whole", arm="cure", against="dapo", moves="up")
    Expected("pass@64", arm="nsr", against="psr", moves="up", least=0.05, claim="negative samples keep pass@64")
    """

    metric: str
    arm: str
    against: str
    moves: Literal["up", "down"]
    least: float = 0.0
    task: str = ""  # empty: on every task of the study
    claim: str = ""  # in words


@dataclass(frozen=True)
class StudyRun:
    """One run of a study: an arm on a task with a seed. `rate` multiplies the learning rate of the arm."""

    arm: str
    task: str
    seed: int
    rate: float = 1.0
    kind: Kind = "seed"

    @property
    def place(self) -> Path:
        """The path of the run within the folder of its study."""
        names = {"seed": f"seed-{self.seed}", "trial": f"trial-{self.rate:g}", "pilot": "pilot"}
        return Path(_file_name(self.task)) / _file_name(self.arm) / names[self.kind]


@dataclass(frozen=True)
class Study:
    """Methods, tasks, seeds and a budget. All other arms are compared with the first one.

    Study({"grpo": Arm("grpo"), "dapo": Arm("dapo")}, {"countdown:3": Pool((Share("countdown", (3,)),))})
    """

    arms: Mapping[str, Arm]
    tasks: Mapping[str, Pool]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    budget: Budget = Budget("steps", 100)
    trials: tuple[float, ...] = ()  # factors of each arm's learning rate that are tried; (): the arm's own is taken
    model: str = ""  # empty: the base of each task
    bases: int = 1  # how many bases of that name, each made with a seed of its own; seed after seed takes the next one
    profile: Profile = "laptop"
    settings: Mapping[str, Any] = field(default_factory=dict)  # of every arm
    asked: Setup = field(default_factory=Setup)  # what else is asked of every run: rewards, a system message
    differ: tuple[str, ...] = ()  # settings in which arms may differ, because the study asks about them
    scores: Scores = "exam"
    expects: str = ""  # in words
    expected: tuple[Expected, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader of the report should know
    left_out: Mapping[str, str] = field(default_factory=dict)  # recipe -> why it cannot take part
    _planned: dict[StudyRun, Experiment] = field(default_factory=dict, init=False, repr=False, compare=False)

    def experiment(self, run: StudyRun, steps: int) -> Experiment:
        """All settings of a run of so many steps."""
        first = dataclasses.replace(run, seed=0)
        if first not in self._planned or self._planned[first].recipe.scale.num_steps != steps:
            self._planned[first] = self._plan(first, steps)
        made = self._planned[first]
        return dataclasses.replace(made, seed=run.seed, model=bases.numbered(made.model, self.base_seed(run)))

    def base_seed(self, run: StudyRun) -> int:
        """The seed of the base that a run begins from: of the study's seeds the first has 0, the next 1, and so on."""
        return self.seeds.index(run.seed) % self.bases if run.seed in self.seeds else 0

    def setup(self, run: StudyRun, steps: int) -> Setup:
        """What is asked of a run of so many steps."""
        arm, pool = self.arms[run.arm], self.pool(run)
        exams = {} if self.profile in BESIDE else EXAMS
        layers = (SETTINGS, exams, self.settings, arm.settings, UNSEEN[run.kind], self._limit(run))
        return dataclasses.replace(
            self.asked.on(pool),
            recipe=arm.recipe,
            model=self.model or bases.base_for(self.tasks[run.task]),
            profile=self.profile,
            seed=run.seed,
            steps=steps,
            settings={full(path): value for layer in layers for path, value in layer.items()},
        )

    def pool(self, run: StudyRun) -> Pool:
        """The problems of a run: those of the task, in the control of it that the arm may name."""
        pool, control = self.tasks[run.task], self.arms[run.arm].control
        if not control:
            return pool
        shares = tuple(dataclasses.replace(share, task=f"{control}:{share.task}") for share in pool.shares)
        return dataclasses.replace(pool, shares=shares)

    def _plan(self, run: StudyRun, steps: int) -> Experiment:
        made, _ = session.planned(self.setup(run, steps), pool=self.pool(run))
        if run.rate == 1.0:
            return made
        scale = dataclasses.replace(made.recipe.scale, learning_rate=made.recipe.scale.learning_rate * run.rate)
        return dataclasses.replace(made, recipe=dataclasses.replace(made.recipe, scale=scale))

    def _limit(self, run: StudyRun) -> dict[str, str]:
        """The setting that ends a run whose budget is in tokens. A pilot shows the cost of a step, and has no such
        limit.
        """
        budget = self.budget_of(run.arm)
        unlimited = budget.measure == "steps" or run.kind == "pilot"
        return {} if unlimited else {"scale.num-tokens": str(int(budget.amount))}

    def budget_of(self, arm: str) -> Budget:
        return self.arms[arm].budget or self.budget

    @property
    def family(self) -> Family:
        """The hypotheses of the study: how each arm differs from the first, and its expectations. All that are written
        down count, whether or not their runs are done.
        """
        differences = len(self.tasks) * (len(self.arms) - 1)
        expected = sum(1 if one.task else len(self.tasks) for one in self.expected)
        named = [f"{differences} differences from {next(iter(self.arms))}"] if differences else []
        named += [f"{expected} expected"] if expected else []
        return Family(f"hypotheses, {' and '.join(named)}", differences + expected)

    @property
    def changes(self) -> Family:
        """The differences of every arm from its base, on every task at two numbers of samples."""
        return Family("differences from the base", 2 * len(self.tasks) * len(self.arms))

    def runs(self) -> Iterator[StudyRun]:
        """The runs that are reported, without trials: seed by seed, so that a study that was stopped has whole ones."""
        for place, seed in enumerate(self.seeds):
            for task in self.tasks:
                for name, arm in self.arms.items():
                    if arm.seeds is None or place < arm.seeds:
                        yield StudyRun(name, task, seed)

    def trial_runs(self) -> Iterator[StudyRun]:
        for task in self.tasks:
            for arm in self.arms:
                for rate in self.trials:
                    yield StudyRun(arm, task, TRIAL_SEED, rate, "trial")

    def pilots(self) -> Iterator[StudyRun]:
        """The runs that show how many tokens a step of an arm generates, where its budget is in tokens."""
        for task in self.tasks:
            for arm in self.arms:
                if self.budget_of(arm).measure == "tokens":
                    yield StudyRun(arm, task, TRIAL_SEED, kind="pilot")

    def key(self, run: StudyRun, steps: int) -> str:
        """The key of a run: a digest of its settings that differ from their defaults, so that a setting that is added
        later leaves the keys of earlier runs as they are. The code that ran it is noted beside its result.
        """
        made = self.experiment(run, steps)
        asked = {k: v for k, v in differing(made).items() if k not in ("machine", "saving", "tracking")}
        asked |= _wherever_they_lie(made)
        asked["recipe"] = {k: v for k, v in asked["recipe"].items() if k in COMPUTED}
        if made.model in bases.BASES:
            asked["model"] = f"{made.model} {bases.base(made.model).hash}"
        elif made.model in PRETRAINED:
            asked["model"] = f"{made.model} {PRETRAINED[made.model].gguf}"
        return digest("study", json.dumps(asked, sort_keys=True), run.seed)


def _wherever_they_lie(made: Experiment) -> dict[str, Any]:
    """Files of rows and of reward functions by what they hold, so that a study goes on where they have other paths."""
    told: dict[str, Any] = {}
    if any(is_data(share.task) for share in made.pool.shares):
        known = data_needs.identity(made.pool)["data"]
        shares = [[known.get(share.task, share.task), share.levels, share.weight] for share in made.pool.shares]
        told["pool"] = {**differing(made.pool), "shares": shares}
    if made.rewards:
        functions = [parse(reward) for reward in made.rewards]
        code = code_of(made.rewards)
        told["rewards"] = [[one.function, one.weight, code.get(one.place, one.place)] for one in functions]
    return told


def tasks_of(names: Sequence[str], model: str = "", asked: Wording | Literal[""] = "") -> dict[str, Pool]:
    """Tasks as `NAME:LEVELS`, each with a pool of its own, in the words that the model reads; `A:1+B:2` is one pool of
    two tasks. `asked` is another wording.
    """
    wording = asked or wording_for(model or None)
    return {name: Pool(tuple(Share.parse(part.strip()) for part in name.split("+")), wording=wording) for name in names}


def tasks_asked(setup: Setup) -> dict[str, Pool]:
    """The pools on which the methods of a setup are compared: the rows of its files are one, and each task is one."""
    made = PRETRAINED.get(setup.model)
    if not setup.data:
        setup.refuse_lone()
        return tasks_of(setup.task or ((made and made.task) or USUAL_TASK,), setup.model, setup.wording)
    rows = dataclasses.replace(setup, task=()).pool()
    return {short(rows.shares[0].task): rows} | tasks_of(setup.task, setup.model, setup.wording)


def profile_for(model: str) -> Profile:
    """The profile of a study that names none: for a model that is no base of ours, the one that suits it on this
    machine.
    """
    return choose_profile(model)[0] if model and reads_text(model) else "laptop"


def _file_name(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in text)
