"""The refusals before anything of a study runs: plans that can say nothing, and differences that nobody declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.errors import UsageError, unknown
from assay.known import RECIPES
from assay.lab.study import contrasts
from assay.lab.study.plan import TRIAL_SEED, Study, StudyRun
from assay.run.bases import BASES, SEED, base_for
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.view.report import leaves

SAMPLED = ("max_new", "temperature", "top_p", "top_k", "min_p")  # numbers of a scale that change the problem
FREE = ("recipe", "seed", "saving", "tracking")  # in which arms may always differ; of the recipe, see `differences`
LEAST_SEEDS = 2


def check(study: Study) -> None:
    """Refuses a study that cannot be compared, before anything runs."""
    if len(study.arms) < 2:
        raise UsageError("a comparison needs at least two arms: name two recipes.")
    check_runs(study)


def check_runs(study: Study) -> None:
    """Refuses a study that cannot be run. A study with a single arm can be, because its seeds may be compared."""
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
    if study.bases > len(study.seeds):
        raise UsageError(f"bases = {study.bases}: the {len(study.seeds)} seeds begin from as many bases at most.")
    if any(not 0 < rate < float("inf") for rate in study.trials):
        raise UsageError(f"trials are positive factors of the learning rate, not {list(study.trials)}.")
    for name in (name for expectation in study.expected for name in (expectation.arm, expectation.against)):
        if name not in study.arms:
            raise unknown("arm", name, study.arms, "the study")
    for expectation in study.expected:
        contrasts.check(expectation, list(study.tasks))
    for task in study.tasks:
        _require_own_base(study, task)
        differing = differences(study, task)
        if undeclared := {path: values for path, values in differing.items() if not _declared(path, study.differ)}:
            raise UsageError(_refusal(undeclared, task))


def _require_own_base(study: Study, task: str) -> None:
    """Of a study with several bases: refuses a model that Assay does not make, because there is one of it."""
    model = study.model or base_for(study.tasks[task])
    if study.bases > 1 and (model not in BASES or SEED in model):
        raise UsageError(
            f"bases = {study.bases}: there is one {model}, and only bases that Assay makes from nothing can be made "
            "with other seeds. `assay list bases` shows them."
        )


def differences(study: Study, task: str) -> dict[str, dict[str, Any]]:
    """The settings in which arms differ and which are no part of a method: {path: {arm: value}}."""
    found: dict[str, dict[str, Any]] = {}
    for arm in study.arms:
        for path, value in _settings(study.experiment(StudyRun(arm, task, study.seeds[0]), steps=2)):
            found.setdefault(path, {})[arm] = value
    absent = object()
    return {
        path: {arm: values.get(arm, "none") for arm in study.arms}
        for path, values in found.items()
        if any(values.get(arm, absent) != values.get(next(iter(study.arms)), absent) for arm in study.arms)
    }


def _settings(experiment: Experiment) -> Iterator[tuple[str, str]]:
    data = to_data(experiment)
    yield from leaves({name: value for name, value in data.items() if name not in FREE})
    yield from leaves({"scale": {name: data["recipe"]["scale"][name] for name in SAMPLED}})


def _declared(path: str, differ: Sequence[str]) -> bool:
    plain = [name.replace("-", "_") for name in differ]
    return any(path == name or path.startswith(f"{name}.") for name in plain)


def _refusal(undeclared: Mapping[str, Mapping[str, Any]], task: str) -> str:
    path, values = next(iter(undeclared.items()))
    told = ", ".join(f"{arm} {value}" for arm, value in values.items())
    more = f" So do {', '.join(list(undeclared)[1:])}." if len(undeclared) > 1 else ""
    return (
        f"on {task} the arms differ in {path}: {told}.{more} What differs beside the methods could be what is "
        f"measured. Give all arms one value (--{path} VALUE), or declare the difference (--differ {path})."
    )
