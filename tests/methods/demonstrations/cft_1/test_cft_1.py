"""Critiques by hand, which answers get one, and a run that writes, criticises and imitates."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import worked
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, episode, recipe_of, require_resumable, run
from worded import grown
from worked import POOL, beginner, register

from assay.engine.interface import Span
from assay.memory import Memory
from assay.methods.demonstrations.cft_1.critique import CRITIQUE, Criticise, criticise, critique_of, one_problem
from assay.recipe import Recipe
from assay.types import Episode, Origin, Problem, Request

PROBLEM = Problem("worked", "ab", {"letters": "ab"}, "ab", solution="5+3=8,8*7=10,10-2=8#8")


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


class Codec(worked.Signs):
    """The signs of critiques that are no signs of the task are spelt by others."""

    def encode(self, text: str) -> np.ndarray:
        spelt = str.maketrans("+-:~0123456789=*", "##[]aabbaabbab,,")
        return super().encode("".join(s for s in text.translate(spelt) if s in self.signs))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5+3=8,8*7=11,11-2=9#9", "-2:8*7=10,"),
        ("5+3=9#9", "-1:5+3=8,"),
        ("5+3=8,8*7=10,10-2=8#7", "-4:8"),
        ("5+3=8,", "-2:8*7=10,"),
        ("", "-1:5+3=8,"),
        ("5+3=8,8*7=10,10-2=8#8,9", "-4:8"),
    ],
)
def test_the_first_line_that_differs_by_hand(text: str, told: str) -> None:
    assert critique_of(PROBLEM, text, right=False) == told
    assert critique_of(PROBLEM, text, right=True) == "+"


def test_in_words_and_beyond_the_end() -> None:
    natural = dataclasses.replace(PROBLEM, wording="natural", solution="one\ntwo\n\\boxed{3}")
    assert critique_of(natural, "one\n2\n", right=False) == "Step 2 is wrong. It should read: two\nThe answer is wrong."
    assert critique_of(natural, "one\ntwo\n\\boxed{3}\nmore", right=False).startswith(
        "Step 4 is wrong. It should read: \n"
    )
    assert critique_of(natural, "x", right=True) == "Every step holds. The answer is right."


@given(st.lists(st.sampled_from(["1=1", "2=2", "3=3"]), min_size=1, max_size=5), st.data())
def test_the_number_is_that_of_the_first_change(lines: list[str], data: st.DataObject) -> None:
    problem = dataclasses.replace(PROBLEM, solution=",".join(lines))
    place = data.draw(st.integers(0, len(lines) - 1))
    changed = [*lines[:place], "9=9", *lines[place + 1 :]]
    told = critique_of(problem, ",".join(changed), right=False)
    assert told.startswith(f"-{place + 1}:{lines[place]}")


def answers(*texts: tuple[str, bool | None]) -> list[Episode]:
    made = [episode([1], reward=None if right is None else float(right)) for _, right in texts]
    asked = [Request(PROBLEM, Codec().render("ab"), "0:0", max_new=6, sample=i) for i in range(len(texts))]
    return [dataclasses.replace(e, request=r, text=text) for e, r, (text, _) in zip(made, asked, texts, strict=True)]


def test_each_different_answer_gets_one_critique() -> None:
    written = answers(("a", False), ("a", False), ("", False), ("b", None), ("b", True), ("ab", False))
    asked = criticise(written, codec=Codec(), most=9)
    assert [(r.sample, r.round) for r in asked] == [(0, 1), (4, 1), (5, 1)] and {r.tag for r in asked} == {CRITIQUE}
    assert all(r.max_new == 0 and r.helped and r.group == "0:0/critique" for r in asked)
    text = Codec().decode(asked[1].prefix[0].ids.tolist())
    assert text == Codec().decode([*Codec().encode("+"), END])
    assert asked[1].context.tolist() == Codec().render("ab [b] ~").tolist()
    assert len(criticise(written, codec=Codec(), most=2)) == 2
    done = [Episode(r, r.prefix, "stop") for r in asked]
    assert criticise([*written, *done], codec=Codec(), most=9) == []
    assert grown(Criticise(most=2), PROBLEM, Codec(), 6) >= len(asked[0].context) - len(Codec().render("ab"))


def test_the_answer_and_what_the_longest_critique_has_beyond_it_are_added_to_a_prompt() -> None:
    """` []~` and spaces are 5 tokens, `-99:8*7=10,` with its end 12: 6 more than an answer of 6 has, none of 20."""
    problem = dataclasses.replace(PROBLEM, solution="5+3=8,8*7=10,9#9")
    assert grown(Criticise(), problem, Codec(), 6) == 5 + 6 + 6
    assert grown(Criticise(), problem, Codec(), 20) == 5 + 20


def small(**scale: object) -> Recipe:
    rows = {"num_prompts": 2, "group_size": 8, "num_steps": 12, "learning_rate": 0.02, "warmup_steps": 0}
    return recipe_of("cft-1", max_new=6, **{**rows, **scale})


def test_one_problem_for_all_steps() -> None:
    found = [p.id for step in range(3) for p in one_problem(Memory(0, step=step), 0, 4, pool=POOL)]
    assert found == found[:1] * 12 and len({one_problem(Memory(s), 0, 1, pool=POOL)[0].id for s in range(9)}) > 1


def test_a_run_writes_once_and_then_learns_the_critiques() -> None:
    engine, untrained = beginner(), beginner()
    notes, memory = run(small(), engine, pool=POOL, codec=Codec())
    trained = [[row for row in rows if row.in_loss] for rows in notes.rows]
    assert not trained[0] and all(len(rows) == 16 for rows in trained[1:]) and memory.stage == 1
    held = memory.kept[CRITIQUE]
    assert held and {row.episode.request.problem.id for rows in trained[1:] for row in rows} == {
        held[0].request.problem.id
    }
    spans = [Span(e.request.context, e.stream("ids").astype(np.int32)) for e in held]
    after, before = ([s.logp.sum() for s in model.score(spans)] for model in (engine, untrained))
    assert np.mean(after) > np.mean(before) + 1, "critiques are likelier"
    for rows in trained[1:]:
        assert all((row.episode.stream("origin") == Origin.INJECTED).all() for row in rows)


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(num_steps=12), beginner, after=4, pool=POOL, codec=Codec())
