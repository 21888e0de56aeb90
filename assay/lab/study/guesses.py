"""The scores of a blind guesser on the exams of a study: a small file beside the results of each task.

FOLDER/results/TASK/guesser.json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from assay.lab import guesser
from assay.lab.study.plan import Study, StudyRun
from assay.record import disk
from assay.rng import digest
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.run.recorder import exams
from assay.scoring.bank import powers

NAME = "guesser.json"
Guesses = Mapping[str, Mapping[int, float]]
"""Task -> k -> pass@k of a guesser."""


def known(study: Study, folder: Path) -> dict[str, dict[int, float]]:
    """The stored scores, for the exams that the study has now."""
    found: dict[str, dict[int, float]] = {}
    for task in study.tasks:
        file = _file(study, folder, task)
        if file.exists():
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["key"] == _key(_experiment(study, task)):
                found[task] = {int(k): value for k, value in data["passes"].items()}
    return found


def made(study: Study, folder: Path) -> dict[str, dict[int, float]]:
    """The scores for all exams. Missing ones are made now: it takes seconds, and trains nothing. Where a user's reward
    says what is right, or nobody knows an answer, there is no guesser.
    """
    there = known(study, folder)
    for task in study.tasks:
        experiment = _experiment(study, task)
        if task not in there and not experiment.rewards:
            found = guesser.blind(experiment.examined, exams(experiment)["test"])
            if found.chances:
                _write(_file(study, folder, task), experiment, found)
    return known(study, folder)


def _write(file: Path, experiment: Experiment, found: guesser.Guesser) -> None:
    passes = found.passes(powers(experiment.evaluation.final_samples))
    data = {
        "key": _key(experiment),
        "passes": {str(k): round(value, 6) for k, value in passes.items()},
        "tried": round(found.tried, 4),  # share of the guesses whose answers were tried; the others count as wrong
        "problems": len(found.chances),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with disk.storage_errors(f"writing {file}"):
        disk.replace(file, (json.dumps(data, indent=1) + "\n").encode(), point="study")


def _experiment(study: Study, task: str) -> Experiment:
    return study.experiment(StudyRun(next(iter(study.arms)), task, study.seeds[0]), steps=2)


def _file(study: Study, folder: Path, task: str) -> Path:
    run = StudyRun(next(iter(study.arms)), task, study.seeds[0])
    return folder / "results" / run.place.parts[0] / NAME


def _key(experiment: Experiment) -> str:
    """The key of the exam that is guessed at."""
    plan = experiment.evaluation
    pool = json.dumps(to_data(experiment.examined), sort_keys=True)
    rules = {name: getattr(guesser, name) for name in ("DRAWS", "TRIED", "OFTEN", "ASKED")}
    return digest("blind guesser", pool, plan.final_problems, plan.final_samples, json.dumps(rules))
