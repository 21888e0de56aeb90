"""Fewer and shorter answers than the scale says, by hand and for all numbers."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters, episode, policy, recipe_of, register, run

from assay.ask import Fewer, Sampling, Shorter, first_requests
from assay.ask.limits import fewer, shorter
from assay.memory import Memory
from assay.types import Problem, Request


def asked(problems: int, samples: int, max_new: int = 8) -> list[Request]:
    some = [Problem("countdown", "ab", {}, f"{i}") for i in range(problems)]
    return first_requests(
        some, Memory(0), first=0, samples=samples, sampling=Sampling(max_new=max_new), codec=Letters()
    )


def test_shares_by_hand() -> None:
    assert [r.max_new for r in shorter(asked(1, 2, 32768), share=0.25)] == [8192, 8192]
    assert [r.max_new for r in shorter(asked(1, 1, 3), share=0.1)] == [1], "at least one token"
    answered = dataclasses.replace(episode([1]).request, max_new=0)
    assert shorter([answered], share=0.5) == [answered], "somebody else wrote the answer"
    assert [(r.group, r.sample) for r in fewer(asked(2, 8), group_size=8, share=0.25)] == [
        ("0:0", 0),
        ("0:0", 1),
        ("0:1", 0),
        ("0:1", 1),
    ]
    assert len(fewer(asked(1, 16), group_size=16, share=0.5)) == 8
    assert len(fewer(asked(1, 8), group_size=8, share=1 / 8)) == 2, "one alone compares with nothing"
    assert len(fewer(asked(1, 1), group_size=1, share=0.5)) == 1


@given(st.integers(1, 4), st.integers(2, 20), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_larger_share_never_asks_for_less(problems: int, samples: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    made = asked(problems, samples)
    few, many = (fewer(made, group_size=samples, share=share) for share in (low, high))
    assert {r.id for r in few} <= {r.id for r in many} and len({r.group for r in few}) == problems
    assert shorter(made, share=low)[0].max_new <= shorter(made, share=high)[0].max_new <= 8
    whole = shorter(fewer(made, group_size=samples, share=1.0), share=1.0)
    assert [(r.id, r.max_new) for r in whole] == [(r.id, r.max_new) for r in made]


def test_an_answer_that_reaches_the_lower_limit_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("grpo", max_new=8, num_prompts=4, group_size=8, num_steps=2)
    parts = (Fewer(share=0.5), Shorter(share=0.25))
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, ask=parts))
    notes, _ = run(recipe, policy("fp32", vocab=4))
    every = [e for step in notes.episodes for e in step]
    assert len(every) == 2 * 4 * 4 and max(len(e) for e in every) == 2
    assert {e.finish for e in every if len(e) == 2 and e.segments[-1].ids[-1] != 0} == {"length"}
