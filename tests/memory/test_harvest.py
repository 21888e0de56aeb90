"""Right answers that are held, and learnt from in a later stage."""

from __future__ import annotations

import dataclasses

import pytest
from demonstrated import requests
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, episode
from worked import register

from assay.ask.rehearse import rehearse
from assay.memory import Memory
from assay.memory.harvest import harvest


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


# Expert iteration


def test_right_answers_are_kept_once_and_so_many_of_a_problem() -> None:
    asked = requests(8)
    answers = [[1, END], [1, END], [2, END], [1, 1, END], [2, 2, END], [2, 1, END], [1, 2, END], [END]]
    rights = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    made = [
        dataclasses.replace(episode(a, reward=r), request=q) for a, r, q in zip(answers, rights, asked, strict=True)
    ]
    memory = harvest(Memory(0), episodes=made, most=4, place="h")
    kept = [e.stream("ids").tolist() for e in memory.kept["h"]]
    assert kept == [[1, END], [2, END], [2, 2, END], [2, 1, END]]
    again = harvest(memory, episodes=made, most=4, place="h")  # the same stage has had its four
    assert [e.stream("ids").tolist() for e in again.kept["h"]] == kept
    later = harvest(dataclasses.replace(memory, stage=2), episodes=made, most=4, place="h")
    assert [e.stream("ids").tolist() for e in later.kept["h"]] == [*kept, [1, 2, END]]


@settings(max_examples=20, deadline=None)
@given(held=st.integers(1, 7), asked=st.integers(1, 5), seed=st.integers(0, 9))
def test_every_held_answer_is_rehearsed_once_an_epoch(held: int, asked: int, seed: int) -> None:
    episodes = [episode([1] * (i + 1) + [END], sample=i, reward=1.0) for i in range(held)]
    memory, seen = Memory(seed).hold("harvest", episodes), []
    for step in range(2 * held):  # asked * 2 * held places: 2 * asked epochs
        found = rehearse(requests(asked), dataclasses.replace(memory, step=step), name="harvest", place="harvest")
        assert len(found) == asked and all(r.max_new == 0 for r in found)
        seen += [sum(map(len, r.prefix)) for r in found]
    for epoch in range(2 * asked):
        assert sorted(seen[epoch * held : (epoch + 1) * held]) == [i + 2 for i in range(held)]
    assert rehearse(requests(asked), Memory(seed), name="harvest", place="harvest") == []
