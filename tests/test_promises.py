"""What no single formula says: what exams are drawn from, what a schedule counts, what a fit sees, what draws do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import worked
from composed import Signs, recipe, wanted_groups
from data_files import jsonl, sums
from fresh_draws import require_fresh_draws
from tiny import episode, group_of, run
from worked import beginner

from assay.ask import Sampling, first_requests
from assay.collect.teachers import ask_teachers
from assay.curate.pairs import pairs
from assay.memory import Memory
from assay.part import Curator
from assay.rng import Key
from assay.run.experiment import Evaluation, Experiment
from assay.run.recorder import exams
from assay.scale import Scale
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.data.task import data
from assay.types import Row

# Exams


def drawn_for(pool: Pool) -> tuple[dict[str, list[str]], set[str]]:
    """The problems of every exam, and what a run of 300 draws trains on, by their content."""
    plan = Evaluation(every=5, num_problems=8, final_problems=12)
    made = Experiment(recipe(wanted_groups()), "none", pool, evaluation=plan)
    found = {name: [problem.canonical for problem in problems] for name, problems in exams(made).items()}
    return found, {pool.problem(Key(7)(i)).canonical for i in range(300)}


def test_exams_are_of_their_own_splits_and_never_of_what_is_trained_on() -> None:
    pool = Pool((Share("countdown", (3,)), Share("mod-chain", (2, 3))))
    found, trained = drawn_for(pool)
    assert {name: len(problems) for name, problems in found.items()} == {"valid": 8, "test": 12}
    assert not trained & {*found["valid"], *found["test"]} and not {*found["valid"]} & {*found["test"]}
    every = exams(Experiment(recipe(wanted_groups()), "none", pool, evaluation=Evaluation(num_problems=8)))
    for name, problems in every.items():
        assert {task(problem.task).split_of(problem.spec) for problem in problems} == {name}


def test_exams_of_a_file_are_rows_that_are_never_trained_on(tmp_path: Path) -> None:
    made = data(jsonl(tmp_path / "rows.jsonl", sums(200)))
    pool = Pool((Share(made.name),), wording="natural")
    plan = Evaluation(every=5, num_problems=5, final_problems=5)
    found = exams(Experiment(recipe(wanted_groups()), "none", pool, evaluation=plan))
    trained = {problem.id for problem in task(made.name).rows_of("train")}
    held = [problem.id for problems in found.values() for problem in problems]
    assert len(held) == len({*held}) == 10 and not trained & {*held}


# The schedule


def two_batches(rows: Sequence[Row]) -> list[Row]:
    return [row.mark(batch="first" if i % 2 else "second") for i, row in enumerate(rows)]


class TwoBatches(Curator):
    """Half of the answers of each group are a batch of their own."""

    does = two_batches
    writes = ("rows",)


def rate_at(update: int, scale: Scale) -> float:
    """Linear to zero over all optimiser steps that were planned, a full share for every step of the run."""
    return scale.learning_rate * (1 - update / (scale.num_steps * scale.num_minibatches))


@pytest.mark.slow
@pytest.mark.parametrize(("parts", "minibatches"), [((TwoBatches(),), 1), ((), 2)])
def test_the_learning_rate_follows_the_steps_of_the_run_not_those_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, parts: tuple[Curator, ...], minibatches: int
) -> None:
    """Two batches in a step are two updates at one place of the schedule; a step without a group that differs is no
    update, and its place is passed all the same.
    """
    worked.register(monkeypatch)
    mechanism = wanted_groups(*parts)
    sizes = {"num_steps": 6, "group_size": 8, "num_minibatches": minibatches, "schedule": "linear", "warmup_steps": 0}
    made = recipe(dataclasses.replace(mechanism, expand=mechanism.expand if parts else ()), **sizes)
    engine = beginner()
    notes, _ = run(made, engine, pool=worked.POOL, codec=worked.Signs())
    updates = [stats.get("update/steps", 0.0) for stats in notes.stats]
    assert sum(updates) != made.scale.num_steps * minibatches
    for step, stats in enumerate(notes.stats):
        if "policy/learning_rate" in stats:
            places = [step * minibatches + i for i in range(minibatches)]
            assert stats["policy/learning_rate"] in [pytest.approx(rate_at(place, made.scale)) for place in places]


# Draws


def taught(memory: Memory, name: str) -> Any:
    problem = worked.POOL.problem(Key(1))
    (request,) = first_requests([problem], memory, first=0, samples=1, sampling=Sampling(9), codec=Signs())
    wrong = dataclasses.replace(episode([1]), request=dataclasses.replace(request, group=name))
    values: dict[str, Any] = {"models": None, "codec": Signs(), "most": 1, "right": 0, "choice": "random"}
    return [one.prefix[0].ids.tolist() for one in ask_teachers([wrong], memory=memory, **values)]


def paired(memory: Memory, name: str) -> Any:
    rows = pairs(group_of([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], name=name), memory=memory, most=1)
    return [row.in_loss for row in rows]


def test_teachers_are_drawn_anew_in_every_step_and_group(monkeypatch: pytest.MonkeyPatch) -> None:
    worked.register(monkeypatch)
    require_fresh_draws(taught)


def test_pairs_are_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(paired)
