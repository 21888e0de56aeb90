"""Prompts and answers that must fit: those of the pool, of who poses problems, and of who writes abstractions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assay.errors import DataError
from assay.known import RECIPES, recipe
from assay.policy import character_tokenizer
from assay.recipe import at_profile
from assay.run import session
from assay.run.context_fit import added, asked_of, check_lengths, longest_solution
from assay.source import Pool, Share
from assay.tasks import ALPHABET, task

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


def test_nothing_is_added_where_no_abstraction_is_written() -> None:
    problem = task("mod-chain-7").pose({"p": 7, "start": 5, "steps": [["+", 3]]}, level=3)
    assert added(recipe("grpo"), [problem], CODEC.render) == 0
    assert added(recipe("rlad"), [problem], CODEC.render) == 3 + 1024


@pytest.mark.parametrize("profile", ["laptop", "one-gpu"])
def test_drafts_are_held_for_as_many_problems_as_an_epoch_has(profile: Any) -> None:
    made, lines = at_profile(RECIPES["spec-rl"], profile)
    (drafts,), source = made.mechanism.remember, made.mechanism.source
    assert drafts.problems == source.size == 6144 * made.scale.num_prompts // 1024  # type: ignore[attr-defined]
    assert any(line.startswith("Drafts.problems: 6144 ->") for line in lines)
