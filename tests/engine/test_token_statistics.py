"""Statistics of given tokens that are streamed equal those from all logits at once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from engine_cases import exact_scores
from rounding import units

from assay.engine import statistics
from assay.engine.interface import Span
from assay.engine.statistics import token_statistics
from assay.engine.torch.engine import TorchEngine
from assay.policy import character_tokenizer, fresh_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import ALPHABET
from assay.types import Problem, Request

TOKENIZER = character_tokenizer(ALPHABET)
SHAPE = PolicyConfig("qwen2", TOKENIZER.vocab, 32, 2, 4, 2, 8, 64, 128, attention_bias=True)


def engine_of(name: str) -> TorchEngine:
    policy = fresh_policy(dataclasses.replace(SHAPE, init_std=0.3), TOKENIZER, key=Key(name))
    return TorchEngine(policy.network, end_ids=policy.end_ids, precision="fp32")


def spans_of(count: int, seed: int = 0) -> list[Span]:
    draw = np.random.default_rng(seed)

    def some() -> np.ndarray:
        return draw.integers(0, TOKENIZER.vocab, draw.integers(1, 9)).astype(np.int32)

    return [Span(context=some(), ids=some()) for _ in range(count)]


def logits_of(engine: TorchEngine, span: Span) -> torch.Tensor:
    """All logits of an answer, from the product of every state with the whole output layer in fp64."""
    for _, layout, _, _ in engine.laid([span]):
        hidden, head = engine.predicting(layout)
        assert head is not None
        return hidden.double() @ head.double().T
    raise AssertionError


@pytest.mark.slow
def test_streamed_statistics_are_those_of_all_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 answers, seven positions at a time."""
    monkeypatch.setattr(statistics, "POSITIONS", 7)
    first, other, spans = engine_of("first"), engine_of("other"), spans_of(64)
    for span, found in zip(spans, token_statistics(first, spans, against=other, mass=0.8), strict=True):
        logp, beside = (logits_of(engine, span).log_softmax(-1) for engine in (first, other))
        p, ids = logp.exp(), torch.from_numpy(span.ids).long()
        own = logp[torch.arange(len(ids)), ids]
        few = units(SHAPE.vocab**0.5 * 4, logp)  # hidden states are the same; products and sums over words round
        np.testing.assert_allclose(found.nll, -own, atol=few)
        np.testing.assert_allclose(found.entropy, -(p * logp).sum(-1), atol=few)
        np.testing.assert_allclose(found.top, p.max(-1).values, atol=few)
        assert found.rank.tolist() == [1 + int((row > mine).sum()) for row, mine in zip(logp, own, strict=True)]
        for row, size in zip(p, found.nucleus.astype(int), strict=True):
            falling = row.sort(descending=True).values
            assert falling[:size].sum() >= 0.8 - 1e-6 and falling[: size - 1].sum() < 0.8 + 1e-6
        assert found.kl is not None
        np.testing.assert_allclose(found.kl, (p * (logp - beside)).sum(-1), atol=few)
        assert found.kl.sum() >= -1e-5


def test_a_model_is_at_no_distance_from_itself() -> None:
    engine = engine_of("first")
    for found in token_statistics(engine, spans_of(5), against=engine):
        assert found.kl is not None and np.abs(found.kl).max() == 0.0


@pytest.mark.slow
def test_the_surprise_of_a_model_at_its_own_samples_is_its_entropy() -> None:
    """The mean negative log-probability of tokens that were drawn equals the mean entropy, within 3 standard errors."""
    engine = engine_of("own")
    context = np.arange(3, dtype=np.int32)
    problem = Problem("toy", "?", {}, "toy")
    asked = [Request(problem, context, "toy", 8, sample=i) for i in range(600)]
    made = engine.generate(asked, Key("drawn"))
    found = token_statistics(engine, [Span(context, one.segment.ids) for one in made])
    gaps = np.array([float((one.nll - one.entropy).sum()) for one in found])
    assert abs(gaps.mean()) < 3 * gaps.std(ddof=1) / np.sqrt(len(gaps))
    scored = engine.score([Span(context, one.segment.ids) for one in made], entropy=True)
    exact = exact_scores(engine.model, [Span(context, one.segment.ids) for one in made[:50]])
    exact.require(logp=np.concatenate([-one.nll for one in found[:50]]))
    exact.require(logp=np.concatenate([score.logp for score in scored[:50]]))
