"""RLEP: successes are replayed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fresh_draws import require_fresh_draws
from single_answers import answer
from tiny import ALONE, END, episode, policy, recipe_of, register, require_resumable, run

from assay.memory import Memory
from assay.methods.shaping.rlep.replay import Replay, replay
from assay.methods.shaping.rlep.successes import STORE as SUCCESSES
from assay.methods.shaping.rlep.successes import keep_successes
from assay.part import bind
from assay.types import Row


def test_the_newest_different_successes_are_kept() -> None:
    rows = [answer(True, ids=ids) for ids in [(1, END), (1, 1, END), (1, END)]] + [answer(False, ids=(2, END))]
    memory = keep_successes(Memory(0), rows=rows, most=2)
    assert [e.stream("ids").tolist() for e in memory.kept[SUCCESSES]] == [[1, END], [1, 1, END]]
    assert all(e.provenance == "replay" and e.segments[0].old is None for e in memory.kept[SUCCESSES])
    memory = keep_successes(memory, rows=[answer(True, ids=(1, 3, END)), answer(True, prompt="b")], most=2)
    found = [(e.request.problem.prompt, e.stream("ids").tolist()) for e in memory.kept[SUCCESSES]]
    assert sorted(found) == [("a", [1, END]), ("a", [1, 3, END]), ("b", [1, END])]
    replayed = Row(dataclasses.replace(answer(True, ids=(1, 2, 2, END)).episode, provenance="replay"))
    assert keep_successes(memory, rows=[replayed], most=2).kept == memory.kept


def test_a_group_gets_as_many_as_there_are_and_no_empty_ones() -> None:
    memory = keep_successes(Memory(0), rows=[answer(True, ids=(1,) * n + (END,)) for n in (1, 2, 3)], most=3)
    requests = [row.episode.request for p in "ab" for row in [answer(True, prompt=p, group=p)]]
    asked = bind(Replay(num=2), group_size=1)(requests, memory=memory)
    assert asked[:2] == requests and len(asked) == 4
    assert all(r.max_new == 0 and r.group == "a" and r.sample in (1, 2) for r in asked[2:])
    assert len({len(r.prefix[0]) for r in asked[2:]}) == 2  # two different ones
    few = keep_successes(Memory(0), rows=[answer(True)], most=3)
    assert len(bind(Replay(num=2), group_size=1)(requests, memory=few)) == 3


@pytest.mark.slow
def test_replayed_answers_count_in_the_statistics_and_start_at_ratio_one(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)
    sized = {"num_prompts": 4, "group_size": 4, "num_steps": 8, "learning_rate": 0.01, "warmup_steps": 0}
    recipe = recipe_of("rlep", max_new=4, **sized, num_minibatches=2)
    notes, memory = run(recipe, policy("fp32", vocab=4, init_std=0.1))
    assert memory.stage == 1 and memory.kept[SUCCESSES]
    first, second = notes.rows[:4], notes.rows[4:]
    assert not any(row.episode.provenance == "replay" for step in first for row in step)
    for step in second:
        groups: dict[str, list[Row]] = {}
        for row in step:
            groups.setdefault(row.group, []).append(row)
        for members in groups.values():
            replayed = [row for row in members if row.episode.provenance == "replay"]
            assert len(members) == 6 and len(replayed) == 2 and all(row.in_loss for row in replayed)
    for stats in notes.stats:
        assert stats["policy/ratio"] == pytest.approx(1.0, abs=0.2)


@pytest.mark.slow
def test_a_stopped_run_of_rlep_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("rlep", max_new=4, num_prompts=4, group_size=4, num_steps=6, learning_rate=0.02)
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=4)


def successes(count: int) -> Memory:
    answers = [episode([1] * (i + 1), reward=1.0) for i in range(count)]
    return Memory(0).hold(SUCCESSES, answers)


def replayed(memory: Memory, name: str) -> Any:
    request = dataclasses.replace(episode([1]).request, group=name)
    made = replay([request], dataclasses.replace(successes(4), seed=memory.seed, step=memory.step), group_size=1, num=2)
    return [len(one.prefix[0]) for one in made[1:]]


def test_successes_are_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(replayed)
