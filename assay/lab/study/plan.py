"""What a study compares, the runs that it takes, and the differences between its arms that are refused."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assay.errors import DataError, UsageError, unknown
from assay.known import RECIPES, recipe
from assay.recipe import PROFILES, Profile
from assay.rng import digest
from assay.run import session
from assay.run.bases import base_for
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.source import Pool, Share

Measure = Literal["steps", "tokens"]
Kind = Literal["seed", "trial", "pilot"]
"""What a run of a study is for: to be reported, to choose a learning rate, or to show what a step costs."""
MEASURES = ("steps", "tokens")
TRIAL_SEED = 1_000_003  # of the runs that choose learning rates and measure costs; no report shows it
SAMPLED = ("max_new", "temperature", "top_p", "top_k", "min_p")  # numbers of a scale that change the problem
SETTINGS: Mapping[str, str] = {  # of every run, unless the study says otherwise
    "scale.schedule": "constant",  # arms whose runs differ in length are compared where they have spent the same
    "evaluation.every": "10",
    "evaluation.num-problems": "128",
    "evaluation.num-samples": "8",
    "evaluation.final-problems": "256",
    "evaluation.final-samples": "16",
    "machine.probe": "0",
    "saving.rollouts-every": "0",
}
UNSEEN: Mapping[Kind, Mapping[str, str]] = {  # of runs whose exams nobody reads
    "seed": {},
    "trial": {"evaluation.final-problems": "8", "evaluation.final-samples": "1"},
    "pilot": {"evaluation.final-problems": "8", "evaluation.final-samples": "1", "evaluation.every": "0"},
}
FREE = ("recipe", "seed", "saving", "tracking")  # in which arms may always differ; of the recipe, see `differences`
LEAST_SEEDS = 2


@dataclass(frozen=True)
class Budget:
    """What every run may spend: so many steps, or so many generated tokens.

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
    """A recipe, and what is changed of it, as on the command line.

    Arm("grpo", {"mechanism.objective.clip": "0.1"})
    """

    recipe: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One run of a study: an arm on a task with a seed. `rate` multiplies the learning rate of the arm."""

    arm: str
    task: str
    seed: int
    rate: float = 1.0
    kind: Kind = "seed"

    @property
    def place(self) -> Path:
        """Where the run lies in the folder of its study."""
        names = {"seed": f"seed-{self.seed}", "trial": f"trial-{self.rate:g}", "pilot": "pilot"}
        return Path(_file_name(self.task)) / _file_name(self.arm) / names[self.kind]


@dataclass(frozen=True)
class Study:
    """Methods, tasks, seeds and a budget. The first arm is the one that all others are compared with.

    Study({"grpo": Arm("grpo"), "dapo": Arm("dapo")}, {"countdown:3": Pool((Share("countdown", (3,)),))})
    """

    arms: Mapping[str, Arm]
    tasks: Mapping[str, Pool]
    seeds: tuple[int, ...] = (0, 1, 2)
    budget: Budget = Budget("steps", 100)
    trials: tuple[float, ...] = ()  # factors of each arm's learning rate that are tried; (): the arm's own is taken
    model: str = ""  # empty: the base of each task
    profile: Profile = "laptop"
    settings: Mapping[str, str] = field(default_factory=dict)  # of every arm
    differ: tuple[str, ...] = ()  # settings in which arms may differ, because that is what the study asks
    expects: str = ""

    def experiment(self, run: Run, steps: int) -> Experiment:
        """All settings of a run of so many steps."""
        arm, pool = self.arms[run.arm], self.tasks[run.task]
        made, _ = session.plan(
            recipe(arm.recipe),
            model=self.model or base_for(pool),
            pool=pool,
            profile=self.profile,
            seed=run.seed,
            steps=steps,
            overrides={**SETTINGS, **self.settings, **arm.settings, **UNSEEN[run.kind]},
        )
        if run.rate == 1.0:
            return made
        scale = dataclasses.replace(made.recipe.scale, learning_rate=made.recipe.scale.learning_rate * run.rate)
        return dataclasses.replace(made, recipe=dataclasses.replace(made.recipe, scale=scale))

    def runs(self) -> Iterator[Run]:
        """The runs that are reported, without trials: seed by seed, so that a study that was stopped has whole ones."""
        for seed in self.seeds:
            for task in self.tasks:
                for arm in self.arms:
                    yield Run(arm, task, seed)

    def trial_runs(self) -> Iterator[Run]:
        for task in self.tasks:
            for arm in self.arms:
                for rate in self.trials:
                    yield Run(arm, task, TRIAL_SEED, rate, "trial")

    def key(self, run: Run, steps: int) -> str:
        """Of everything that was asked of a run. The code that answered is noted beside its result."""
        data = to_data(self.experiment(run, steps))
        data = {name: value for name, value in data.items() if name not in ("machine", "saving", "tracking")}
        data["recipe"] = {k: v for k, v in data["recipe"].items() if k in COMPUTED}
        return digest("study", json.dumps(data, sort_keys=True))


COMPUTED = (
    "name",
    "mechanism",
    "scale",
    "models",
    "roles",
    "stages",
)  # fields of a recipe that change what it computes


def check(study: Study) -> None:
    """Refuses what cannot be compared, before anything runs."""
    if len(study.arms) < 2:
        raise UsageError("a comparison needs at least two arms: name two recipes.")
    check_runs(study)


def check_runs(study: Study) -> None:
    """Refuses what cannot be run. The runs of a single arm can be, where its seeds are what is compared."""
    for arm in study.arms.values():
        if arm.recipe not in RECIPES:
            raise unknown("recipe", arm.recipe, RECIPES, "assay list recipes")
    if not study.tasks:
        raise UsageError("a study needs a task: --task NAME:LEVELS.")
    if len(set(study.seeds)) < LEAST_SEEDS or len(set(study.seeds)) < len(study.seeds):
        raise UsageError(
            f"nothing can be said of methods by {len(set(study.seeds))} seeds: take {LEAST_SEEDS} different ones at "
            "least. Five show differences that nine or more confirm."
        )
    if TRIAL_SEED in study.seeds:
        raise UsageError(f"seed {TRIAL_SEED} is that of the trials, which no report shows: take another.")
    if any(not 0 < rate < float("inf") for rate in study.trials):
        raise UsageError(f"trials are positive factors of the learning rate, not {list(study.trials)}.")
    for task in study.tasks:
        found = differences(study, task)
        if undeclared := {path: values for path, values in found.items() if not _declared(path, study.differ)}:
            raise UsageError(_refusal(undeclared, task))


def differences(study: Study, task: str) -> dict[str, dict[str, Any]]:
    """The settings in which arms differ and which are no part of a method: {path: {arm: value}}."""
    found: dict[str, dict[str, Any]] = {}
    for arm in study.arms:
        for path, value in _leaves(study.experiment(Run(arm, task, study.seeds[0]), steps=2)):
            found.setdefault(path, {})[arm] = value
    absent = object()
    return {
        path: {arm: values.get(arm, "none") for arm in study.arms}
        for path, values in found.items()
        if any(values.get(arm, absent) != values.get(next(iter(study.arms)), absent) for arm in study.arms)
    }


def _leaves(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    data = to_data(experiment)
    for name, value in data.items():
        if name not in FREE:
            yield from _flat(name, value)
    for name in SAMPLED:
        yield f"scale.{name}", data["recipe"]["scale"][name]


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}", inner)
    else:
        yield path, value


def _declared(path: str, differ: Sequence[str]) -> bool:
    plain = [name.replace("-", "_") for name in differ]
    return any(path == name or path.startswith(f"{name}.") for name in plain)


def _refusal(undeclared: Mapping[str, Mapping[str, Any]], task: str) -> str:
    path, values = next(iter(undeclared.items()))
    told = ", ".join(f"{arm} {json.dumps(value)}" for arm, value in values.items())
    more = f" So do {', '.join(list(undeclared)[1:])}." if len(undeclared) > 1 else ""
    return (
        f"on {task} the arms differ in {path}: {told}.{more} What differs beside the methods could be what is "
        f"measured. Give all arms one value (--{path} VALUE), or declare the difference (--differ {path})."
    )


# Studies in files


def read(path: Path) -> Study:
    """The study that a TOML file describes."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read as a study: {error}.") from error
    known = {"arms", "tasks", "seeds", "budget", "trials", "model", "profile", "settings", "differ", "expects"}
    if strange := sorted(set(data) - known):
        raise unknown("field of a study", strange[0], sorted(known), str(path))
    if not isinstance(data.get("arms"), Mapping) or not data.get("tasks"):
        raise DataError(f"{path} needs a table [arms] and a list tasks: see docs/studies.md.")
    if (profile := data.get("profile", "laptop")) not in PROFILES:
        raise unknown("profile", str(profile), PROFILES, str(path))
    seeds = data.get("seeds", 3)
    study = Study(
        arms={name: _arm(name, given, path) for name, given in data["arms"].items()},
        tasks=tasks_of(data["tasks"]),
        seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        budget=Budget.parse(str(data.get("budget", "steps=100"))),
        trials=tuple(float(rate) for rate in data.get("trials", ())),
        model=str(data.get("model", "")),
        profile=profile,
        settings=_texts(data.get("settings", {})),
        differ=tuple(data.get("differ", ())),
        expects=str(data.get("expects", "")),
    )
    check(study)
    return study


def _arm(name: str, given: Any, path: Path) -> Arm:
    if not isinstance(given, Mapping) or set(given) - {"recipe", "settings"}:
        raise DataError(f'{path}: the arm {name} is a table with recipe = "NAME" and, if need be, settings = {{...}}.')
    return Arm(str(given.get("recipe", name)), _texts(given.get("settings", {})))


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as on the command line: `true` of a file is `True` there."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}


def tasks_of(names: Sequence[str]) -> dict[str, Pool]:
    """Tasks as `NAME:LEVELS`, each with a pool of its own."""
    return {name: Pool((Share.parse(name),)) for name in names}


def _file_name(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in text)
