"""RLMT: the reasoning changes nothing that the preference model says, and five steps of training."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, episode, models_for, policy, recipe_of

from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.part import bind
from assay.reward import Scored

SIGNS = "#abcd"


def early(completions: Sequence[Any], **_: Any) -> list[float]:
    """A reward in which answers of an untrained model differ: the share of signs before 5."""
    return [sum(sign < "5" for sign in text) / max(1, len(text)) for text in completions]


class Signs:
    """A codec of one token a sign; token 0 ends an answer, and token 1 is the mark behind the reasoning."""

    end_ids = frozenset({END})
    stops: tuple[str, ...] = ()

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(SIGNS[i - 1] for i in ids)


@given(st.lists(st.integers(2, 4), max_size=5), st.lists(st.integers(1, 4), max_size=5))
def test_answers_are_worth_the_same_whatever_reasoning_stands_before_them(one: list[int], other: list[int]) -> None:
    models = models_for(recipe_of("rlmt"), policy("fp64", vocab=6))
    head = models["reward-model"].value_head  # type: ignore[attr-defined]
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1, 1, head.weight.numel()).reshape(head.weight.shape))
    (part,) = RECIPES["rlmt"].mechanism.reward
    answers = [episode([*thought, 1, *one, END], sample=i) for i, thought in enumerate(([], other, [2, 2]))]
    found = bind(part, codec=Signs(), micro_tokens=99)(answers, models=models, everyone=answers)
    assert len({reward.value for reward in found}) == 1


def test_five_steps_of_training(tmp_path: Path) -> None:
    """One in which the preference model learns and nothing else, then four of the policy."""
    recipe = RECIPES["rlmt"]
    first, second = recipe.stages
    assert first.mechanism is not None
    model = dataclasses.replace(first.mechanism.forwards[0], of=Scored("early"))  # type: ignore[call-arg]
    mechanism = dataclasses.replace(first.mechanism, forwards=(model,))
    recipe = dataclasses.replace(recipe, stages=(dataclasses.replace(first, mechanism=mechanism), second))
    run = small_run(recipe, tmp_path, steps=5, reward=early)
    begin, *later = run.metrics()
    assert begin["reward-model/loss"] == pytest.approx(math.log(2)) and "policy/grad_norm" not in begin
    assert all(np.isfinite(record["policy/grad_norm"]) and "reward-model/loss" not in record for record in later)
