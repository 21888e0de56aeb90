"""A model that sees, through the engine on `transformers`: what is sampled, scored and learnt beside pictures."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from rounding import Exact
from seeing import PATCHES, asked, noise, seeing_policy
from typed import present

from assay.credit.pack import pack
from assay.engine.interface import Span, Want
from assay.engine.optimiser import AdamW
from assay.engine.precision import Precision
from assay.engine.transformers.engine import AdapterEngine
from assay.errors import DataError
from assay.policy.foreign import Foreign
from assay.rng import Key
from assay.types import Batch, Episode, Problem, Request, Row, Segment

TEXTS = ("sum r", "count blue", "top y")


def engine(precision: Precision = "fp32", **values: Any) -> tuple[AdapterEngine, Any]:
    policy = seeing_policy()
    made = AdapterEngine(
        policy.network, end_ids=policy.end_ids, vocab=policy.codec.vocab, precision=precision, **values
    )
    return made, policy.codec


def requests_of(codec: Any) -> list[Request]:
    """Prompts with no picture, one and two; two questions about one picture; one question about two pictures."""
    prompts = [
        ({"role": "user", "content": "no picture"},),
        asked(TEXTS[0], noise(1)),
        asked(TEXTS[1], noise(1)),
        asked(TEXTS[0], noise(2)),
        asked(TEXTS[2], noise(2), noise(1)),
    ]
    problems = [Problem("letters", prompt, {}, str(i)) for i, prompt in enumerate(prompts)]
    return [
        Request(problem, codec.render(problem.prompt), f"0:{draw}", 4 + 2 * sample, draw=draw, sample=sample)
        for draw, problem in enumerate(problems)
        for sample in range(2)
    ]


def batch_of(made: AdapterEngine, codec: Any) -> Batch:
    requests = requests_of(codec)
    written = made.generate(requests, Key(3))
    rows = []
    for place, (request, generation) in enumerate(zip(requests, written, strict=True)):
        episode = Episode(request, (generation.segment,), generation.finish)
        rows.append(Row(episode, advantage=np.full(len(episode), place / 3 - 1.3)))
    return pack(rows)


def gradients(made: AdapterEngine, batch: Batch, tokens: int) -> dict[str, torch.Tensor]:
    made.model.zero_grad()
    for chunk in made.chunks(batch, tokens=tokens):
        outputs = made.forward(chunk, Want(entropy=True))
        assert outputs.entropy is not None
        loss = -(chunk.streams["advantage"] * outputs.logp).sum() + 0.1 * outputs.entropy.sum()
        loss.backward()
        made.backward(chunk, outputs)
    return {name: p.grad.clone() for name, p in made.model.named_parameters() if p.grad is not None}


def naive(made: AdapterEngine, batch: Batch) -> Exact:
    """Gradients through the network of `transformers` itself, one row at a time, with the pixels of the row."""

    def compute(model: Foreign) -> dict[str, torch.Tensor]:
        model.zero_grad()
        for b in range(len(batch)):
            own = slice(int(batch.at[b]), int(batch.at[b + 1]))
            context = batch.context[batch.context_at[b] : batch.context_at[b + 1]]
            logp = every_logp(model, context, batch.ids[own], made.vocab)
            entropy = -(logp.exp() * logp).sum()
            chosen = logp.gather(1, torch.from_numpy(batch.ids[own].astype(np.int64))[:, None])[:, 0]
            loss = -(torch.from_numpy(batch.advantage[own]) * chosen).sum() + 0.1 * entropy
            loss.backward()
        return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    return Exact(made.model, compute, tokens=len(batch.ids) + len(batch.context))


def every_logp(model: Foreign, context: np.ndarray, ids: np.ndarray, vocab: int) -> torch.Tensor:
    """Log-probs [T, tokens] at the positions that predict `ids`."""
    tokens, pictures = np.concatenate([context, ids]).astype(np.int64), present(model.pictures)
    shown = [pictures.pixels(name) for name in context[context < 0].reshape(-1, PATCHES)]
    read = torch.from_numpy(np.where(tokens < 0, pictures.token, tokens))[None]
    kind = next(model.parameters()).dtype
    more = {"pixel_values": torch.from_numpy(np.stack(shown)).to(kind)} if shown else {}
    return model.inner(input_ids=read, **more).logits[0, len(context) - 1 : -1, :vocab].log_softmax(-1)


def exact_scores(made: AdapterEngine, spans: list[Span]) -> Exact:
    """The log-probs of the tokens of these spans, end to end."""

    def compute(model: Foreign) -> dict[str, torch.Tensor]:
        every = [every_logp(model, s.context, s.ids, made.vocab) for s in spans]
        picked = [torch.from_numpy(s.ids.astype(np.int64))[:, None] for s in spans]
        return {"logp": torch.cat([lp.gather(1, ids)[:, 0] for lp, ids in zip(every, picked, strict=True)])}

    return Exact(made.model, compute, tokens=max(len(s.context) + len(s.ids) for s in spans))


def test_what_is_sampled_is_scored_the_same() -> None:
    made, codec = engine()
    requests = requests_of(codec)
    written = made.generate(requests, Key(1))
    mark = made.model.pictures.token  # which the network of `transformers` takes for a picture, where it was drawn
    pairs = [(r, g.segment) for r, g in zip(requests, written, strict=True) if mark not in g.segment.ids]
    spans = [Span(request.context, segment.ids) for request, segment in pairs]
    assert len(spans) > len(requests) / 2
    exact = exact_scores(made, spans)
    exact.require(logp=np.concatenate([score.logp for score in made.score(spans)]))
    exact.require(logp=np.concatenate([present(segment.old) for _, segment in pairs]))


def test_an_answer_does_not_depend_on_the_other_rows() -> None:
    made, codec = engine()
    requests = requests_of(codec)
    together = made.generate(requests, Key(1))
    for request, one in zip(requests, together, strict=True):
        (alone,) = made.generate([request], Key(1))
        assert alone.segment.ids.tolist() == one.segment.ids.tolist()


def test_the_picture_is_read() -> None:
    """The same question about another picture has another answer; about the same one, the same."""
    made, codec = engine()
    ids = np.array([40, 41, 42], np.int32)
    spans = [Span(codec.render(asked("sum r", noise(seed))), ids) for seed in (1, 2, 1)]
    first, second, again = (score.logp for score in made.score(spans))
    assert np.abs(first - second).max() > 1e-3
    exact = exact_scores(made, [spans[0]])
    exact.require(logp=first)
    exact.require(logp=again)


@pytest.mark.slow
def test_gradients_are_those_of_the_network_with_pixels() -> None:
    made, codec = engine("fp64")
    batch = batch_of(made, codec)
    expected = naive(made, batch)
    got = gradients(made, batch, 10_000)
    assert got.keys() == expected.values.keys() and any("vision_tower" in name for name in got), "the eye learns too"
    expected.require_all(got)  # in fp32, as the network computes norms and angles


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [1, 40, 100])
def test_chunks_and_order_leave_the_gradient_as_it_is(tokens: int) -> None:
    made, codec = engine("fp64")
    batch = batch_of(made, codec)
    order = np.random.default_rng(0).permutation(len(batch))
    naive(made, batch).require_all(gradients(made, batch.select(order), tokens))


def test_a_picture_is_encoded_once_however_often_it_is_asked_about() -> None:
    made, codec = engine()
    seen: list[int] = []
    plain = made.model.see
    made.model.see = lambda pixels: seen.append(len(pixels)) or plain(pixels)
    made.generate(requests_of(codec), Key(1))
    assert seen == [2]


def test_what_is_cut_within_a_picture_is_refused() -> None:
    made, codec = engine()
    (request, *_) = requests_of(codec)[2:]
    with pytest.raises(DataError, match="part of a picture"):
        made.generate([dataclasses.replace(request, context=request.context[:4])], Key(1))


@pytest.mark.slow
def test_the_eye_learns_what_pictures_show() -> None:
    """The same question about four pictures, each with an answer of its own: by the likelihood of these answers."""
    made, codec = engine(optimiser=AdamW())
    contexts = [codec.render(asked("which", noise(seed))) for seed in range(4)]
    answers = [np.array([40 + place, 2], np.int32) for place in range(4)]
    spans = [Span(context, ids) for context, ids in zip(contexts, answers, strict=True)]
    rows = []
    for place, (context, ids) in enumerate(zip(contexts, answers, strict=True)):
        request = Request(Problem("letters", "which", {}, str(place)), context, f"0:{place}", 2, draw=place)
        segment = Segment(ids, np.zeros(2, np.int8), np.zeros(2, np.float32), np.zeros(2, np.float32))
        rows.append(Row(Episode(request, (segment,), "stop"), advantage=np.ones(2)))
    batch = pack(rows)
    for _ in range(60):
        for chunk in made.chunks(batch, tokens=1000):
            outputs = made.forward(chunk, Want())
            (-outputs.logp.sum() / len(batch)).backward()
            made.backward(chunk, outputs)
        made.step(lr=0.01, clip=1.0)
    scores = made.score(spans)
    assert min(float(score.logp.sum()) for score in scores) > -0.2
    swapped = made.score([Span(contexts[1], answers[0]), Span(contexts[0], answers[1])])
    assert max(float(score.logp[0]) for score in swapped) < -2
