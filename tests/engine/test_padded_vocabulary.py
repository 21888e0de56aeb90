"""Rows of an output layer beyond the tokenizer's vocabulary: no sampler draws them, no learner counts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    Default,
    assert_same,
    batch_of,
    collected,
    contexts_of,
    engine_of,
    naive_logits,
    problem_of,
    rows_of,
    tokens_of,
)
from rounding import Exact
from small_runs import Shell, train_line
from torch import Tensor
from typed import present

from assay.engine.interface import Span, Want
from assay.engine.local import LocalEngine
from assay.rng import Key
from assay.types import Request

ROWS, TOKENS = 13, 10
HEADS = {"untied": False, "tied": True}


def padded(*, tied: bool = False, **changes: Any) -> LocalEngine:
    """An engine whose three rows of padding are the largest of all, and would be most of every distribution."""
    engine = engine_of(vocab=ROWS, tokens=TOKENS, tied=tied, **changes)
    parameters = dict(engine.model.named_parameters(remove_duplicate=False))
    name = next(name for name in parameters if name.endswith("lm_head.weight"))
    with torch.no_grad():
        parameters[name][TOKENS:] *= 100.0
    engine.load(engine.state())
    return engine


def asked(groups: int, samples: int, **how: float) -> list[Request]:
    return [
        Request(problem_of(g), context, str(g), 9, sample=s, **how)  # type: ignore[arg-type]
        for g, context in enumerate(contexts_of(groups, vocab=TOKENS))
        for s in range(samples)
    ]


def known(model: Any, row: np.ndarray, tau: float = 1.0) -> Tensor:
    """Log-probs [T, tokens] after each token of a row: the softmax over what the tokenizer knows, by hand."""
    return torch.log_softmax(naive_logits(model, row)[:, :TOKENS].double() / tau, -1)


@pytest.mark.parametrize("tied", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize(
    "how", [{}, {"temperature": 0.0}, {"temperature": 2.0, "top_k": 4}, {"top_p": 0.9, "min_p": 0.01}]
)
def test_padding_is_never_sampled(kind: str, tied: bool, how: dict[str, float]) -> None:
    engine = padded(tied=tied)
    everything = torch.softmax(naive_logits(engine.model, np.array([1, 2, 3])).double(), -1)
    assert everything[:, TOKENS:].sum(-1).max() > 0.9, "without the rule most answers had a token of the padding"
    made = engine.generate(asked(6, 4, **how), Key(3))
    assert max(int(g.segment.ids.max()) for g in made) < TOKENS


@pytest.mark.slow
@pytest.mark.parametrize("tied", HEADS.values(), ids=HEADS)
def test_sampler_and_learner_know_the_same_distribution(kind: str, tied: bool) -> None:
    """That over the tokenizer's tokens: `old` and `mu` of the sampler, log-probs and entropies of the learner, bit for
    bit where the engine promises it.
    """
    engine, requests = padded(tied=tied), asked(3, 4, temperature=1.3)
    made = engine.generate(requests, Key(5))
    spans = [Span(r.context, g.segment.ids, 1.3) for r, g in zip(requests, made, strict=True)]
    scored = engine.score(spans, entropy=True)

    def compute(model: Any) -> dict[str, Tensor]:
        every = torch.cat(
            [known(model, np.concatenate([s.context, s.ids]), 1.3)[len(s.context) - 1 : -1] for s in spans]
        )
        ids = torch.from_numpy(np.concatenate([s.ids for s in spans])).long()
        return {"logp": every.gather(1, ids[:, None])[:, 0], "entropy": -(every.exp() * every).sum(-1)}

    exact = Exact(engine.model, compute, tokens=max(len(s.context) + len(s.ids) for s in spans))
    for found in ([(g.segment.old, g.segment.entropy) for g in made], [(s.logp, s.entropy) for s in scored]):
        logp, entropy = (np.concatenate([present(one[i]) for one in found]) for i in (0, 1))
        exact.require(logp=logp, entropy=entropy)
    for one, scores in zip(made, scored, strict=True):
        np.testing.assert_array_equal(one.segment.mu, one.segment.old)
        if engine.exact:
            np.testing.assert_array_equal(one.segment.old, scores.logp)


@pytest.mark.parametrize("tied", HEADS.values(), ids=HEADS)
def test_no_gradient_reaches_the_padding(kind: str, tied: bool) -> None:
    """That of the log-probs and entropies over the tokens, from autograd on one row at a time."""
    engine = padded(tied=tied, precision="fp64" if Default.kind == "torch" else "fp32")
    contexts, answers = rows_of([5, 3, 4], vocab=TOKENS)
    batch = batch_of(contexts, answers)
    for chunk in engine.chunks(batch, tokens=1000):
        out = engine.forward(chunk, Want(entropy=True, mean_logp=True))
        a = chunk.streams["advantage"]
        assert out.entropy is not None
        ((a * out.logp).sum() + 0.3 * out.entropy.sum()).backward()
        engine.backward(chunk, out)
        pairs = [(contexts[i], answers[i]) for i in chunk.rows]

        def means(model: Any, pairs: list[tuple[np.ndarray, np.ndarray]] = pairs) -> dict[str, Tensor]:
            found = [known(model, np.concatenate([c, i]))[len(c) - 1 : -1].mean(-1) for c, i in pairs]
            return {"mean_logp": torch.cat(found)}

        Exact(engine.model, means, tokens=tokens_of(batch)).require(mean_logp=present(out.mean_logp))
    got = collected(engine)

    def gradients(model: Any) -> dict[str, Tensor]:
        model.requires_grad_(True)
        for b, (context, ids) in enumerate(zip(contexts, answers, strict=True)):
            every = known(model, np.concatenate([context, ids]))[len(context) - 1 : -1]
            own = every[torch.arange(len(ids)), torch.from_numpy(ids.astype(np.int64))]
            a = torch.from_numpy(batch.advantage[batch.at[b] : batch.at[b + 1]].astype(np.float64))
            ((a * own).sum() - 0.3 * (every.exp() * every).sum()).backward()
        return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    assert_same(got, Exact(engine.model, gradients, tokens=tokens_of(batch)))
    if not tied:
        (head,) = [grad for name, grad in got.items() if name.endswith("lm_head.weight")]
        assert not head[TOKENS:].any() and head[:TOKENS].any()


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param("native", marks=pytest.mark.core), "torch"])
def test_a_model_with_padded_embeddings_trains_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """As Qwen2.5, with 30 rows more than its tokenizer has tokens: no answer with one of them ends the run."""
    from assay.policy import character_tokenizer, fresh_policy, save_policy
    from assay.policy.config import PolicyConfig
    from assay.tasks import ALPHABET

    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab + 30, 16, 1, 2, 2, 8, 32, 64, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("padded")), tmp_path / "model")
    shell = Shell(capsys)
    line = train_line(tmp_path / "model", tmp_path / "run", "--machine.engine", engine, saving_rollouts_every=1)
    reply = shell(*line, "--steps", "2")
    assert reply.code == 0, reply.err
    reply = shell("sample", tmp_path / "model", "12", "--n", "8", "--max-new", "20", "--json")
    assert reply.code == 0 and len(reply.document["answers"]) == 8
    assert json.loads((tmp_path / "model" / "config.json").read_text())["vocab_size"] == tokenizer.vocab + 30
