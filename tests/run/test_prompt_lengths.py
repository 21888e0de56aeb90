"""Prompts and answers that must fit: those of the pool, of who poses problems, and with all that parts add."""

from __future__ import annotations

from typing import Any

import pytest
from altered import altered
from fitting import CHAIN, CHAINS, CODEC, MARKS, planned, policy
from hypothesis import given
from hypothesis import strategies as st
from of_methods import make, said
from posing import POSING
from worded import added, grown

from assay.ask import Sampling, first_requests
from assay.errors import DataError
from assay.known import RECIPES, recipe
from assay.memory import Memory
from assay.part import Part, bind, parts_of
from assay.rng import Key
from assay.run.context_fit import asked_of, check_lengths, longest_solution
from assay.run.data_needs import measured
from assay.run.probing import probed
from assay.source import Pool, Share
from assay.tasks import TASKS, task
from assay.types import Problem

FIRST = Pool((Share("dsl-deduction", (1,)),))


def test_only_a_recipe_that_has_problems_posed_asks_for_them() -> None:
    assert asked_of(recipe("grpo"), FIRST) == FIRST
    for name in POSING:
        names = [share.task for share in asked_of(recipe(name), FIRST).shares]
        assert names == ["dsl-deduction", "pose:dsl-deduction"], name


@pytest.mark.slow
def test_answers_may_be_as_long_as_what_is_posed() -> None:
    """Of one instruction a solution is at most `0123#0123`, 9 characters: 1.5 * 9 is 14 rounded, and one more. Six of
    them with an input, as they may be posed, have 10: 15 and one more.
    """
    assert longest_solution(FIRST) == 15 == planned("grpo", FIRST).recipe.scale.max_new
    assert all(planned(name, FIRST).recipe.scale.max_new == 16 for name in POSING)


def test_what_is_probed_is_what_the_pool_draws_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems of generated tasks are kept, and drawn anew where another task has the name."""
    pool, key = Pool((Share("mod-chain", (2,)), Share("countdown", (3,)))), Key("probe")
    for _ in range(2):
        assert list(probed(pool, 9)) == [pool.problem(key(i)) for i in range(9)]
    assert probed(pool, 9)[3] is probed(pool, 12)[3] and len(probed(pool, 12)) == 12
    monkeypatch.setitem(TASKS, "countdown", altered(TASKS["countdown"], compact=lambda spec: "other"))
    assert {one.prompt for one in probed(pool, 12) if one.task == "countdown"} == {"other"}


@pytest.mark.slow
@pytest.mark.parametrize("name", POSING)
@pytest.mark.parametrize("short", [0, 1])
def test_the_prompts_of_a_proposer_must_fit(short: int, name: str) -> None:
    """`p ` and three programs of six instructions with inputs, 10 each, and two commas: 34. The question has 7."""
    needed = 34 + MARKS + 16
    experiment = planned(name, FIRST)
    if short:
        with pytest.raises(DataError, match=f"prompts of up to {34 + MARKS} tokens"):
            check_lengths(experiment, policy(needed - 1))
    else:
        assert check_lengths(experiment, policy(needed))[1] == 34 + MARKS


def growth(name: str, max_new: int) -> int:
    """How many tokens its parts may add to the prompt of the chain, where answers have up to `max_new`."""
    return added(planned(name, CHAINS, **{"scale.max-new": str(max_new)}).recipe, CHAIN, CODEC)


LENGTHENING = [
    name
    for name, made in RECIPES.items()
    if name not in POSING
    and any(type(part).prompts is not Part.prompts for mechanism in made.mechanisms for part in parts_of(mechanism))
    and growth(name, 20)
]
READING = [name for name in LENGTHENING if growth(name, 9) < growth(name, 20)]  # prompts in which answers stand


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["grpo", *READING])
def test_the_refusal_names_the_longest_answer_that_fits(name: str) -> None:
    experiment = planned(name, CHAINS, **{"scale.max-new": "9"})
    _, longest, _ = check_lengths(experiment, policy(1024))
    context = longest + 9
    with pytest.raises(DataError, match=r"Take --scale.max-new 9, easier"):
        check_lengths(planned(name, CHAINS, **{"scale.max-new": "30"}), policy(context))
    with pytest.raises(DataError, match="Take easier levels or a model"):
        check_lengths(experiment, policy(8))


def test_a_recipe_whose_parts_add_nothing_leaves_prompts_as_they_are() -> None:
    assert added(recipe("grpo"), CHAIN, CODEC) == 0


GROWS = {"ask:hinted": [({"share": 0.0}, ""), ({}, " [5+3=1]")], **said("GROWS")}  # all steps but the last
GROWN = [(place, values, text) for place, cases in GROWS.items() for values, text in cases]


@pytest.mark.parametrize(("place", "values", "text"), GROWN)
def test_a_part_says_by_how_much_it_makes_a_prompt_longer(place: str, values: dict[str, Any], text: str) -> None:
    assert CHAIN.solution == "5+3=1,1*2=2#2"
    assert grown(make(place, **values), CHAIN, CODEC, 20) == len(text)


@given(level=st.integers(1, 12), seed=st.integers(0, 50))
def test_no_request_is_longer_than_its_part_said(level: int, seed: int) -> None:
    problem = task("mod-chain-7").problem(Key(seed), level=level)
    (bare,) = first_requests([problem], Memory(seed), first=0, samples=1, sampling=Sampling(20), codec=CODEC)
    room = len(bare.context) + bare.max_new
    for part in [make(place, **values) for place, values, _ in GROWN if place.startswith("ask:")]:
        (request,) = bind(part, codec=CODEC, place="nowhere")([bare], memory=Memory(seed))
        answer = request.given + request.max_new if request.max_new else 20  # a given one has a length of its own
        assert len(request.context) + answer <= room + grown(part, problem, CODEC, 20), part


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", LENGTHENING)
def test_a_model_without_room_for_what_a_recipe_adds_is_refused(name: str) -> None:
    """With one position less than the longest prompt, what is added to it and an answer need."""
    experiment = planned(name, CHAINS, **{"scale.max-new": "20"})
    _, plain, _ = check_lengths(planned("grpo", CHAINS, **{"scale.max-new": "20"}), policy(128))
    _, longest, _ = check_lengths(experiment, policy(256))
    assert longest > plain
    assert check_lengths(experiment, policy(longest + 20))[1] == longest
    with pytest.raises(DataError, match="positions"):
        check_lengths(experiment, policy(longest + 19))


def test_of_rows_those_are_too_long_whose_own_hint_is() -> None:
    """A long hint of one row takes no room from the others."""
    short, long = (Problem("mod-chain-7", "M7 1", {}, text, solution=text) for text in ("1", "1" * 50))
    found = measured([short, long], lambda problem: len(CODEC.render(f"{problem.prompt} [{problem.solution}]")))
    assert [length for length, _ in found.lengths] == [len("M7 1 []") + 50 + MARKS, len("M7 1 []") + 1 + MARKS]
