"""What a reward model reads of an answer, and where its scores stand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, models_for, policy, with_reward_model

from assay.engine.interface import Span
from assay.models import Models
from assay.part import bind
from assay.reward import LearntScore, LearntSteps, Scored, Squashed
from assay.reward.learnt import read, scores_after
from assay.types import Episode, Verdict


class Characters:
    """A codec of one token a character; token 0 ends an answer."""

    end_ids = frozenset({END})
    stops: tuple[str, ...] = ()

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


def written(text: str, *, natural: bool = False, ends: bool = True) -> Episode:
    plain = episode([*map(ord, text), *([END] if ends else [])])
    problem = dataclasses.replace(plain.request.problem, wording="natural" if natural else "compact")
    return dataclasses.replace(plain, text=text, request=dataclasses.replace(plain.request, problem=problem))


@pytest.mark.parametrize(
    ("text", "natural", "seen"),
    [
        ("1+2=3#3", False, "3"),
        ("1#2#", False, ""),  # nothing follows the last mark
        ("1+2=3,3", False, ""),  # the reasoning is not shown for want of a mark
        ("bab", False, "bab"),  # an answer alone
        ("<think>1#2</think> so \\boxed{3}", True, " so \\boxed{3}"),
        ("so \\boxed{3}", True, ""),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_what_follows_the_reasoning_is_read(text: str, natural: bool, seen: str, ends: bool) -> None:
    one = written(text, natural=natural, ends=ends)
    tail = [END] if ends else []
    assert read(one, "answer", Characters()).ids.tolist() == [*map(ord, seen), *tail]
    assert read(one, "response", Characters()).ids.tolist() == [*map(ord, text), *tail]
    assert read(one, "answer", Characters()).context is one.training_context


def models() -> Models:
    """A reward model that was not trained, but has a value head of random numbers."""
    found = models_for(with_reward_model("grpo"), policy("fp64"))
    head = found["reward-model"].value_head  # type: ignore[attr-defined]
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1, 1, head.weight.numel()).reshape(head.weight.shape))
        head.bias.fill_(0.25)
    return found


@pytest.mark.slow
@given(st.lists(st.integers(1, 4), max_size=6))
def test_the_score_after_a_token_reads_nothing_behind_it(ids: list[int]) -> None:
    """The score after t tokens is the score of the answer that ends there."""
    engine, context = models()["reward-model"], np.array([1, 3], np.int32)
    whole, *beginnings = scores_after(
        engine, [Span(context, np.array(ids[:n], np.int32)) for n in (len(ids), *range(len(ids) + 1))], tokens=999
    )
    np.testing.assert_allclose(whole, [one[-1] for one in beginnings], atol=1e-12)
    assert len(whole) == len(ids) + 1


def test_scores_of_answers_and_of_steps() -> None:
    """`c` ends a step: the answer a c b c d and its end has steps that end at tokens 1, 3 and 5."""
    found, answer = models(), episode([1, 3, 2, 3, 4, END])
    given = {"models": found, "codec": Letters(), "micro_tokens": 99, "everyone": ()}
    (after,) = scores_after(found["reward-model"], [read(answer, "response", Letters())], tokens=99)
    (score,) = bind(LearntScore())([answer], **given)
    assert score.value == after[-1] and score.scope == "episode"
    (steps,) = bind(LearntSteps(marks="c"))([answer], **given)
    assert steps.at.tolist() == [1, 3, 5] and steps.values.tolist() == [after[2], after[4], after[6]]
    (p,) = bind(Squashed(of=LearntSteps(marks="c")), **given)([answer], **given)
    assert p.values == pytest.approx([1 / (1 + math.exp(-after[i])) for i in (2, 4, 6)])


def test_equal_answers_have_equal_scores_to_the_last_bit() -> None:
    given = {"models": models(), "codec": Letters(), "micro_tokens": 7, "everyone": ()}
    answers = [episode([1, 2, END], sample=i) for i in range(5)] + [episode([2, END], sample=9)]
    found = [reward.value for reward in bind(LearntScore())(answers, **given)]
    assert len(set(found[:5])) == 1 and found[5] != found[0]


@given(st.floats(-1e4, 1e4), st.floats(-3, 3))
def test_a_sigmoid_by_its_formula(score: float, times: float) -> None:
    verdict = dataclasses.replace(Verdict.ok(), scores={"score": score})
    one = dataclasses.replace(episode([1]), verdict=verdict)
    (found,) = bind(Squashed(of=Scored(), times=times))([one])
    assert found.value == pytest.approx(1 / (1 + math.exp(min(-times * score, 700.0))), abs=1e-12)
