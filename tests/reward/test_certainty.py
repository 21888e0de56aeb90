"""The formula of certainty against sums over whole distributions, and against what its rows are by other names."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from engine_cases import naive_log_probs
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, models_of, policy, segment

from assay.part import bind
from assay.reward import Certainty
from assay.reward.certainty import ANCHORS, FORMS, certainty
from assay.types import Episode, Origin, Reward

FORM_NAMES = ("self-certainty", "trajectory", "likelihood", "token-entropy", "mean-entropy", "probability", "gap")
ANSWERS = [
    episode([1, 2, 3, END]),
    episode([4, END], sample=1, temperature=0.5),
    episode([segment([2, 2]), segment([3], origin=Origin.ENV), segment([1, END])], sample=2, prompt="b"),
]


def by_hand(form: str, logp: np.ndarray, ids: np.ndarray) -> float:
    """From all log-probs [T, V] of the tokens that count, in double precision."""
    p, count = np.exp(logp), len(ids)
    own = logp[np.arange(count), ids]
    falling = np.sort(p, axis=1)[:, ::-1]
    uniform = np.full(logp.shape[1], 1 / logp.shape[1])
    return {
        "self-certainty": np.mean([(uniform * (np.log(uniform) - row)).sum() for row in logp]),
        "trajectory": own.sum(),
        "likelihood": own.mean(),
        "token-entropy": (p * logp).sum(),
        "mean-entropy": (p * logp).sum() / count,
        "probability": np.prod(np.exp(own)),
        "gap": (falling[:, 0] - falling[:, 1]).mean(),
    }[form]


def earned(part: Certainty, answers: Sequence[Episode], engine: Any) -> list[Reward | None]:
    offered = {"models": models_of(engine), "micro_tokens": 6}
    return bind(part, codec=Letters(), **offered)(answers)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "native"])
@pytest.mark.parametrize("form", FORM_NAMES)
def test_the_reward_is_the_sum_over_whole_distributions(form: Any, precision: str) -> None:
    """At the temperature of sampling, over what the policy wrote: not over the reply in the middle."""
    engine = policy(precision)
    found = earned(Certainty(form=form), ANSWERS, engine)
    for answer, reward in zip(ANSWERS, found, strict=True):
        ids = answer.stream("ids").astype(np.int32)
        every = naive_log_probs(engine.model, answer.request.context, ids, answer.request.temperature)
        own = answer.stream("origin") == Origin.POLICY
        expected = by_hand(form, every.detach().double().numpy()[own], ids[own])
        assert reward is not None
        assert reward.value == pytest.approx(expected, rel=1e-10 if precision == "fp64" else 1e-4)


def test_every_form_of_tokens_is_a_choice_and_has_an_anchor() -> None:
    assert set(FORM_NAMES) | {"cluster", "log-cluster"} == set(FORMS)
    assert all(FORMS[name].anchor in ANCHORS for name in FORM_NAMES)


@given(st.lists(st.lists(st.floats(-4, 4), min_size=4, max_size=4), min_size=1, max_size=6), st.floats(-9, 9))
def test_laws_of_the_formula(logits: list[list[float]], shift: float) -> None:
    """KL(U, pi) is 0 for the uniform policy alone and never negative; a constant in the logits changes nothing; the
    order of tokens changes nothing; the probability is the exponential of the log-prob of the trajectory.
    """
    z = np.array(logits)

    def of(form: str, logits: np.ndarray) -> float:
        logp = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        cross = {"uniform": -logp.mean(1), "sampled": -logp[:, 0], "policy": -(np.exp(logp) * logp).sum(1)}
        return certainty(cross[FORMS[form].anchor], FORMS[form], vocab=4)

    assert of("self-certainty", z) >= -1e-12 and of("self-certainty", 0 * z) == pytest.approx(0, abs=1e-12)
    for form in ("self-certainty", "trajectory", "token-entropy", "mean-entropy", "probability"):
        assert of(form, z + shift) == pytest.approx(of(form, z), abs=1e-9)
        assert of(form, z[::-1]) == pytest.approx(of(form, z), abs=1e-9)
    assert of("probability", z) == pytest.approx(np.exp(of("trajectory", z)))
    assert of("token-entropy", z) == pytest.approx(len(z) * of("mean-entropy", z))


def test_only_the_tokens_of_the_final_answer_count_if_asked_for() -> None:
    """In a wording without a mark all but the end of the text; and what has no answer has no reward."""
    engine = policy("fp64")
    (whole,) = earned(Certainty(form="trajectory"), ANSWERS[:1], engine)
    (answer,) = earned(Certainty(form="trajectory", over="answer"), ANSWERS[:1], engine)
    assert whole is not None and answer is not None
    (scores,) = engine.score([_span(ANSWERS[0])])
    assert whole.value == pytest.approx(float(scores.logp.sum()), rel=1e-6)
    assert answer.value == pytest.approx(float(scores.logp[:-1].sum()), rel=1e-6)
    assert earned(Certainty(over="answer"), [episode([END])], engine) == [None]


def test_what_cannot_be_read_has_the_floor() -> None:
    cut = dataclasses.replace(ANSWERS[0], finish="length", text="a")
    read = dataclasses.replace(ANSWERS[0], text="a")
    found = earned(Certainty(form="mean-entropy", unread=-7.0), [cut, read], policy("fp64"))
    assert found[0] is not None and found[0].value == -7.0
    assert found[1] is not None and -np.log(5) <= found[1].value <= 0


def test_an_answer_that_nobody_wrote_has_no_reward() -> None:
    given = episode([segment([1, 2], origin=Origin.INJECTED)])
    assert earned(Certainty(), [given, episode([])], policy("fp64")) == [None, None]


@pytest.mark.parametrize("precision", ["fp32", "native"])
def test_equal_answers_have_one_reward_to_the_last_bit(precision: str) -> None:
    """Whatever stands between them: a group that says one thing must have no spread."""
    between = [episode([1 + i % 4] * (1 + i % 5), sample=i) for i in range(9)]
    same = [episode([1, 2, 3, END], sample=20 + i) for i in range(9)]
    mixed = [one for pair in zip(between, same, strict=True) for one in pair]
    found = earned(Certainty(form="mean-entropy"), mixed, policy(precision))
    assert len({one.value for one in found[1::2] if one is not None}) == 1


def _span(answer: Episode) -> Any:
    from assay.engine.interface import Span

    return Span(answer.request.context, answer.stream("ids").astype(np.int32), answer.request.temperature)
