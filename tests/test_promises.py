"""What no single formula says: what exams are drawn from, what a schedule counts, what a fit sees, what draws do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worked
from composed import Signs, recipe, wanted_groups
from data_files import jsonl, sums
from test_seele import CODEC, asked, judged
from tiny import episode, group_of, run, segment
from worked import beginner

from assay.ask import Sampling, first_requests
from assay.collect.teachers import ask_teachers
from assay.memory import Memory
from assay.methods.ampo.make_room import make_room
from assay.methods.cure.own_tokens import own_tokens
from assay.methods.preferences.pairs import pairs
from assay.methods.rlep.replay import replay
from assay.methods.rlep.successes import STORE as SUCCESSES
from assay.methods.rorecomp.recompose import Recompose
from assay.methods.rstar2.resample import resample_on_correct
from assay.methods.seele.begin import begin_at_rate
from assay.methods.seele.rates import STORE as RATES
from assay.methods.seele.rates import keep_rate, rate_of
from assay.methods.seele.rounds import hint_rounds
from assay.methods.spec_rl.drafts import keep_drafts
from assay.methods.treerl.draw_leaves import draw_leaves
from assay.rng import Key
from assay.run.experiment import Evaluation, Experiment
from assay.run.recorder import exams
from assay.scale import Scale
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.data.task import data
from assay.types import Episode, Row

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


def rate_at(update: int, scale: Scale) -> float:
    """Linear to zero over all optimiser steps that were planned, a full share for every step of the run."""
    return scale.learning_rate * (1 - update / (scale.num_steps * scale.num_minibatches))


@pytest.mark.slow
@pytest.mark.parametrize(("extra", "minibatches"), [((Recompose(often=1.0, seldom=1.0),), 1), ((), 2)])
def test_the_learning_rate_follows_the_steps_of_the_run_not_those_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, extra: Any, minibatches: int
) -> None:
    """Two batches in a step of RoRecomp are two updates at one place of the schedule; a step without a group that
    differs is no update, and its place is passed all the same.
    """
    worked.register(monkeypatch)
    mechanism = wanted_groups(*extra)
    sizes = {"num_steps": 6, "group_size": 8, "num_minibatches": minibatches, "schedule": "linear", "warmup_steps": 0}
    made = recipe(dataclasses.replace(mechanism, expand=mechanism.expand if extra else ()), **sizes)
    engine = beginner()
    notes, _ = run(made, engine, pool=worked.POOL, codec=worked.Signs())
    updates = [stats.get("update/steps", 0.0) for stats in notes.stats]
    assert sum(updates) != made.scale.num_steps * minibatches
    for step, stats in enumerate(notes.stats):
        if "policy/learning_rate" in stats:
            places = [step * minibatches + i for i in range(minibatches)]
            assert stats["policy/learning_rate"] in [pytest.approx(rate_at(place, made.scale)) for place in places]


# SEELE's fit


@pytest.mark.parametrize("rounds", [(True, False), (False, True)])
def test_the_next_hint_is_fitted_to_all_rounds(rounds: tuple[bool, bool]) -> None:
    """Two steps of four were given twice, and once all answers were right, once none: one half, which is the target.
    The last round alone would say that a step fewer is enough, or that one more is needed.
    """
    episodes: list[Episode] = []
    for number, right in enumerate(rounds):
        requests = begin_at_rate(asked(4), Memory(0), codec=CODEC, rate=0.5)  # type: ignore[arg-type]
        requests = [dataclasses.replace(request, round=number) for request in requests]
        episodes += judged(requests, [right] * 4)
    again = hint_rounds(episodes, codec=CODEC, rounds=4, target=0.5)  # type: ignore[arg-type]
    assert [rate_of(request) for request in again] == [0.5] * 4
    (kept,) = keep_rate(Memory(0), episodes=episodes, target=0.5).store(RATES).values()
    assert kept == pytest.approx(0.5, abs=1e-3)


# Draws


def successes(count: int) -> Memory:
    answers = [episode([1] * (i + 1), reward=1.0) for i in range(count)]
    return Memory(0).hold(SUCCESSES, answers)


def replayed(memory: Memory, name: str) -> Any:
    request = dataclasses.replace(episode([1]).request, group=name)
    made = replay([request], dataclasses.replace(successes(4), seed=memory.seed, step=memory.step), group_size=1, num=2)
    return [len(one.prefix[0]) for one in made[1:]]


def replaced(memory: Memory, name: str) -> Any:
    rows = group_of([0.0] * 6 + [1.0], name=name)
    rows[-1] = Row(dataclasses.replace(rows[-1].episode, provenance="teacher"))
    return [row.in_loss for row in make_room(rows, memory=memory)]


def taught(memory: Memory, name: str) -> Any:
    problem = worked.POOL.problem(Key(1))
    (request,) = first_requests([problem], memory, first=0, samples=1, sampling=Sampling(9), codec=Signs())
    wrong = dataclasses.replace(episode([1]), request=dataclasses.replace(request, group=name))
    values: dict[str, Any] = {"models": None, "codec": Signs(), "most": 1, "right": 0, "choice": "random"}
    return [one.prefix[0].ids.tolist() for one in ask_teachers([wrong], memory=memory, **values)]


def paired(memory: Memory, name: str) -> Any:
    rows = pairs(group_of([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], name=name), memory=memory, most=1)
    return [row.in_loss for row in rows]


def leaves(memory: Memory, name: str) -> Any:
    return [row.in_loss for row in draw_leaves(group_of([1.0, 0.0] * 4, name=name), memory, group_size=2)]


def resampled(memory: Memory, name: str) -> Any:
    made = resample_on_correct(group_of([1.0, 0.0] * 4, name=name), memory, keep=4, least=1)
    return [row.in_loss for row in made]


@pytest.mark.parametrize("draw", [replayed, replaced, taught, paired, leaves, resampled])
def test_what_is_drawn_at_random_is_drawn_anew_in_every_step_and_group(
    draw: Callable[[Memory, str], Sequence[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four or more that are as likely each, twenty draws are not all the same, and the same draw is."""
    worked.register(monkeypatch)
    steps = [str(draw(dataclasses.replace(Memory(0), step=step), "g")) for step in range(20)]
    groups = [str(draw(Memory(0), f"g{i}")) for i in range(20)]
    seeds = [str(draw(Memory(seed), "g")) for seed in range(20)]
    for drawn in (steps, groups, seeds):
        assert len({*drawn}) > 1 and drawn.count(drawn[0]) < 20
    assert steps == [str(draw(dataclasses.replace(Memory(0), step=step), "g")) for step in range(20)]


# Marks and versions


def test_a_branch_trains_on_its_own_tokens_and_of_these_on_what_was_left_of_them() -> None:
    """Two tokens of four are the trunk's, and the last one was masked before: one token trains."""
    given = episode([1, 2])
    request = dataclasses.replace(given.request, prefix=given.segments, parent="trunk")
    row = Row(dataclasses.replace(episode([1, 2, 3, 0]), request=request), keep=np.array([True, True, True, False]))
    (found,) = own_tokens([row], None)
    assert found.keep is not None and found.keep.tolist() == [False, False, True, False]


def test_a_draft_bears_the_version_of_the_policy_that_wrote_its_end() -> None:
    row = Row(episode([segment([1], version=3), segment([2, 0], version=7)]))
    (draft,) = keep_drafts(Memory(0), rows=[row], problems=1).kept["drafts"]
    assert [(len(one), one.version) for one in draft.segments] == [(3, 7)]
