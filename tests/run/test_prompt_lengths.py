"""Prompts and answers that must fit: those of the pool, of who poses problems, and with all that parts add."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from of_methods import make

from assay.ask import Sampling, first_requests
from assay.errors import DataError
from assay.known import RECIPES, recipe
from assay.memory import Memory
from assay.part import bind
from assay.policy import character_tokenizer
from assay.recipe import at_profile
from assay.rng import Key
from assay.run import session
from assay.run.context_fit import added, asked_of, check_lengths, longest_solution
from assay.run.data_needs import measured
from assay.source import Pool, Share
from assay.tasks import ALPHABET, task
from assay.types import Problem

CODEC = character_tokenizer(ALPHABET)
MARKS = len(CODEC.render("ab")) - 2
FIRST = Pool((Share("dsl-deduction", (1,)),))
CHAINS = Pool((Share("mod-chain-7", (3,)),))


def planned(name: str, pool: Pool, **settings: Any) -> Any:
    made, _ = session.plan(recipe(name), model="a/b", pool=pool, profile="laptop", overrides=settings)
    return made


def policy(context: int) -> Any:
    return SimpleNamespace(config=SimpleNamespace(context=context), tokenizer=CODEC)


def test_only_a_recipe_that_has_problems_posed_asks_for_them() -> None:
    assert asked_of(recipe("grpo"), FIRST) == FIRST
    names = [share.task for share in asked_of(recipe("azr"), FIRST).shares]
    assert names == ["dsl-deduction", "pose:dsl-deduction"]


def test_answers_may_be_as_long_as_what_is_posed() -> None:
    """Of one instruction a solution is at most `0123#0123`, 9 characters: 1.5 * 9 is 14 rounded, and one more. Six of
    them with an input, as they may be posed, have 10: 15 and one more.
    """
    assert longest_solution(FIRST) == 15 == planned("grpo", FIRST).recipe.scale.max_new
    assert planned("azr", FIRST).recipe.scale.max_new == 16


@pytest.mark.parametrize("short", [0, 1])
def test_the_prompts_of_a_proposer_must_fit(short: int) -> None:
    """`p ` and three programs of six instructions with inputs, 10 each, and two commas: 34. The question has 7."""
    needed = 34 + MARKS + 16
    experiment = planned("azr", FIRST)
    if short:
        with pytest.raises(DataError, match=f"prompts of up to {34 + MARKS} tokens"):
            check_lengths(experiment, policy(needed - 1))
    else:
        assert check_lengths(experiment, policy(needed))[1] == 34 + MARKS


@pytest.mark.parametrize(("longest", "hint"), [(5, 5), (1024, 20)])
def test_abstractions_must_fit_before_the_question(longest: int, hint: int) -> None:
    """` [`, the abstraction and `]` after the question; never more tokens than an answer, here 20."""
    settings = {"mechanism.ask.0.longest": str(longest), "scale.max-new": "20"}
    experiment = planned("rlad-two", CHAINS, **settings)
    _, plain, _ = check_lengths(planned("grpo", CHAINS, **{"scale.max-new": "20"}), policy(128))
    assert check_lengths(experiment, policy(plain + 3 + hint + 20))[1] == plain + 3 + hint
    with pytest.raises(DataError, match="positions"):
        check_lengths(experiment, policy(plain + 3 + hint + 19))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grpo", "rgr-grpo-worked"])  # a refinement reads an answer of twice its tokens
def test_the_refusal_names_the_longest_answer_that_fits(name: str) -> None:
    experiment = planned(name, CHAINS, **{"scale.max-new": "9"})
    _, longest, _ = check_lengths(experiment, policy(1024))
    context = longest + 9
    with pytest.raises(DataError, match=r"Take --scale.max-new 9, easier"):
        check_lengths(planned(name, CHAINS, **{"scale.max-new": "30"}), policy(context))
    with pytest.raises(DataError, match="Take easier levels or a model"):
        check_lengths(experiment, policy(8))


def test_nothing_is_added_where_no_abstraction_is_written() -> None:
    problem = task("mod-chain-7").pose({"p": 7, "start": 5, "steps": [["+", 3]]}, level=3)
    assert added(recipe("grpo"), problem, CODEC) == 0
    assert added(recipe("rlad"), problem, CODEC) == 3 + 1024


# `5+3=1,1*2=2#2`: the worked solution of a chain modulo 7 whose prompt is `M7 5+3*2`
CHAIN = task("mod-chain-7").pose({"p": 7, "start": 5, "steps": [["+", 3], ["*", 2]]}, level=2)
FITTING: dict[str, tuple[str, dict[str, Any], int]] = {  # the part, its values, the tokens that it adds
    "no hint": ("ask:hinted", {"share": 0.0}, 0),
    "all steps but the last": ("ask:hinted", {}, len(" [5+3=1]")),
    "6 of 13 characters": ("ask:partial-solution", {"percent": 50.0, "least": 1}, len(" [5+3=1,]")),
    "too short a hint": ("ask:partial-solution", {"percent": 50.0, "least": 7}, 0),
    "anywhere": ("ask:cut-anywhere", {}, len(" [5+3=1,1*2=2#2]")),
    "a retry": ("expand:retry-with-hint", {}, len(" [5+3=1]")),
    "a budget": ("ask:budget", {"low": 8, "high": 120}, len(" [=120]")),
    "a label": ("ask:conditioned", {}, len(" [GOOD]")),
    "both labels": ("curate:label-steps", {}, len(" [GOOD]")),
    "writing both": ("ask:write-then-solve", {}, len(" !")),
    "asking for an abstraction": ("ask:teach-abstractions", {}, len(" ?")),
    "a beginning beside the limit": ("ask:begin-at-rate", {}, len("5+3=1,")),
    "and its rounds": ("expand:hint-rounds", {}, len("5+3=1,")),
}


@pytest.mark.parametrize("case", FITTING)
def test_a_part_says_by_how_much_it_makes_a_prompt_longer(case: str) -> None:
    place, values, tokens = FITTING[case]
    assert CHAIN.solution == "5+3=1,1*2=2#2"
    assert make(place, **values).grows(CHAIN, CODEC, 20) == tokens


@given(level=st.integers(1, 12), seed=st.integers(0, 50))
def test_no_request_is_longer_than_its_part_said(level: int, seed: int) -> None:
    problem = task("mod-chain-7").problem(Key(seed), level=level)
    (bare,) = first_requests([problem], Memory(seed), first=0, samples=1, sampling=Sampling(20), codec=CODEC)
    room = len(bare.context) + bare.max_new
    for part in [make(place, **values) for place, values, _ in FITTING.values() if place.startswith("ask:")]:
        (request,) = bind(part, codec=CODEC, place="nowhere")([bare], memory=Memory(seed))
        answer = request.given + request.max_new if request.max_new else 20  # a given one has a length of its own
        assert len(request.context) + answer <= room + part.grows(problem, CODEC, 20), part


@pytest.mark.slow
@pytest.mark.parametrize("name", ["questa", "l1-exact", "rcrl", "guide", "rlad-joint", "seele"])
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
    part = make("ask:partial-solution", percent=100.0, least=1)
    found = measured([short, long], CODEC, lambda problem: part.grows(problem, CODEC, 20))
    assert [length for length, _ in found.lengths] == [len("M7 1 []") + 50 + MARKS, len("M7 1 []") + 1 + MARKS]


@pytest.mark.parametrize("profile", ["laptop", "one-gpu"])
def test_drafts_are_held_for_as_many_problems_as_an_epoch_has(profile: Any) -> None:
    made, lines = at_profile(RECIPES["spec-rl"], profile)
    (drafts,), source = made.mechanism.remember, made.mechanism.source
    assert drafts.problems == source.size == 6144 * made.scale.num_prompts // 1024  # type: ignore[attr-defined]
    assert any(line.startswith("Drafts.problems: 6144 ->") for line in lines)
