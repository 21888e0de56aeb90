"""Studies in files: `assay compare --study FILE.toml`."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from assay.errors import AssayError, DataError, unknown
from assay.known import RECIPES
from assay.lab.study.declared import check
from assay.lab.study.plan import Arm, Budget, Control, Expected, Scores, Study, StudyRun, profile_for, tasks_asked
from assay.part import name_of, parts_of
from assay.recipe import PROFILES
from assay.reward.endpoint_judges import Judged
from assay.run import file_trust, setup_file
from assay.run.setup import composed
from assay.run.trust import Trust
from assay.scoring.conclusion import LEAST_SEEDS

ALL = "all"  # of `recipes`: every recipe that the tasks can serve
SHARED = ("model", "settings")  # keys that a file of settings has too, with the same meaning
FIELDS = (
    *("recipes", "arms", "tasks", "seeds", "budget", "trials", "model", "profile", "settings", "differ", "scores"),
    *("expects", "expected", "notes", "uses", "first", "bases"),
)
ELSEWHERE = {"recipe": "recipes", "task": "tasks", "steps": "budget", "epochs": "budget", "seed": "seeds"}
"""Key of a file of settings -> the key of a study in its place."""


def read(path: Path, trust: Trust | None = None) -> Study:
    """The study that a TOML file describes, checked. Code that it imports, and code and addresses that it asks of its
    runs, must be trusted.
    """
    table, trust = setup_file.table(path), trust or Trust()
    file_trust.require_code(path, "uses", _used(path, table.get("uses", ())), trust)
    study, given = described(table, path)
    first_run = StudyRun(next(iter(study.arms)), next(iter(study.tasks)), study.seeds[0])
    file_trust.require({path: given}, {}, study.experiment(first_run, steps=2), trust)
    return study


def described(table: Mapping[str, Any], path: Path) -> tuple[Study, dict[str, Any]]:
    """(the study of such a table, checked; what it gives of a setup). `path` is the file, which errors name."""
    data = {name: table[name] for name in FIELDS if name in table}
    rest = {key: value for key, value in table.items() if key not in data or key in SHARED}
    if wrong := next((key for key in rest if key in ELSEWHERE), None):
        raise DataError(f"{path}: a study has {ELSEWHERE[wrong]} in place of {wrong}: see docs/studies.md.")
    given = setup_file.given(rest, path, beside=FIELDS)
    methods = isinstance(data.get("arms"), Mapping) or data.get("recipes")
    if not methods or not (data.get("tasks") or given.get("data")):
        raise DataError(
            f"{path} needs a table [arms], or a list recipes, and a list tasks, or data: see docs/studies.md."
        )
    _import(_used(path, data.get("uses", ())))  # which may register the base
    asked = composed(given, {"task": data.get("tasks", ())})
    if (profile := data.get("profile") or profile_for(asked.model)) not in PROFILES:
        raise unknown("profile", str(profile), PROFILES, str(path))
    if (scores := data.get("scores", "exam")) not in get_args(Scores):
        raise unknown("kind of scores", str(scores), get_args(Scores), str(path))
    seeds, everything = data.get("seeds", LEAST_SEEDS), data.get("recipes") == ALL
    named = list(RECIPES) if everything else data.get("recipes", [])
    arms = {name: Arm(name) for name in named}
    arms |= {name: _arm(name, table, path) for name, table in data.get("arms", {}).items()}
    if (first := data.get("first", next(iter(arms)))) not in arms:
        raise unknown("arm", str(first), arms, str(path))
    study = Study(
        arms={first: arms[first], **arms},
        tasks=tasks_asked(asked),
        seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        budget=Budget.parse(str(data.get("budget", "steps=100"))),
        trials=tuple(float(rate) for rate in data.get("trials", ())),
        model=asked.model,
        bases=_number_of_bases(data.get("bases", 1), path),
        profile=profile,
        settings=asked.overrides(),
        asked=asked,
        differ=tuple(data.get("differ", ())),
        scores=scores,
        expects=str(data.get("expects", "")),
        expected=tuple(_expected(table, path) for table in data.get("expected", ())),
        notes=tuple(data.get("notes", ())),
    )
    if everything:
        study = _without_the_unfit(study)
    check(study)
    return study, given


def _number_of_bases(given: Any, path: Path) -> int:
    if type(given) is not int or given < 1:
        raise DataError(f"{path}: bases is how many bases the seeds begin from, a number from 1 on, and not {given!r}.")
    return given


def _used(path: Path, names: Sequence[str]) -> list[Path]:
    """The Python files that a study names, which register parts, recipes and bases of their own."""
    places = [(path.parent / name).resolve() for name in ([names] if isinstance(names, str) else names)]
    if wrong := [place for place in places if place.suffix != ".py" or not place.is_file()]:
        raise DataError(f"{path} uses {wrong[0].name}, and {wrong[0]} is no Python file.")
    return places


def _import(files: Sequence[Path]) -> None:
    for file in files:
        spec = importlib.util.spec_from_file_location(f"assay_study_{file.stem}", file)
        if spec is None or spec.loader is None:
            raise DataError(f"{file} is no Python file.")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _without_the_unfit(study: Study) -> Study:
    """The study without unfit recipes, with the reason for each. A recipe is unfit if one of the study's tasks cannot
    serve it, or if it asks a judge outside of the run, which is not there wherever the study goes on.
    """
    reasons: dict[str, str] = {}
    for arm in study.arms:
        asking = next((part for part in parts_of(RECIPES[study.arms[arm].recipe]) if isinstance(part, Judged)), None)
        if asking is not None:
            reasons[arm] = f"{name_of(asking)} asks a judge outside of the run: a study that names its arms may."
        for task in study.tasks:
            try:
                study.experiment(StudyRun(arm, task, study.seeds[0]), steps=2)
            except AssayError as error:
                reasons[arm] = " ".join(str(error).split())
    fit = {name: arm for name, arm in study.arms.items() if name not in reasons}
    return dataclasses.replace(study, arms=fit, left_out=reasons)


def _arm(name: str, given: Any, path: Path) -> Arm:
    if not isinstance(given, Mapping) or set(given) - {"recipe", "settings", "budget", "seeds", "note", "control"}:
        raise DataError(
            f'{path}: the arm {name} is a table with recipe = "NAME" and, if need be, settings = {{...}}, '
            'budget = "steps=N", seeds = N, note = "..." and control = "silent" or "shuffled".'
        )
    seeds = given.get("seeds")
    if seeds is not None and (type(seeds) is not int or seeds < 1):
        raise DataError(f"{path}: the arm {name} is run with the first N seeds, seeds = N, and not with {seeds!r}.")
    if (control := given.get("control", "")) not in get_args(Control):
        raise unknown("control", str(control), [name for name in get_args(Control) if name], str(path))
    return Arm(
        recipe=str(given.get("recipe", name)),
        settings=setup_file.flat(given.get("settings", {})),
        budget=Budget.parse(str(given["budget"])) if "budget" in given else None,
        seeds=seeds,
        note=str(given.get("note", "")),
        control=control,
    )


def _expected(given: Any, path: Path) -> Expected:
    fields = dataclasses.fields(Expected)
    names = [field.name for field in fields if field.default is dataclasses.MISSING]
    known = isinstance(given, Mapping) and set(names) <= set(given) <= {field.name for field in fields}
    if not known or given["moves"] not in ("up", "down"):
        raise DataError(
            f'{path}: what is expected is a table with {", ".join(names[:-1])} and moves = "up" or "down", and if need '
            f"be least = NUMBER, task and claim, not {given}."
        )
    return Expected(**given)
