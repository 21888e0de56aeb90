"""A model that sees, through the engine on `transformers`: what is sampled, scored and learnt beside pictures."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from seeing import PATCHES, asked, noise, seeing_policy

from assay.credit.pack import pack
from assay.engine.interface import Span, Want
from assay.engine.optimiser import AdamW
from assay.engine.precision import Precision
from assay.engine.transformers.engine import AdapterEngine
from assay.errors import DataError
from assay.rng import Key
from assay.types import Batch, Episode, Problem, Request, Row, Segment

TEXTS = ("sum r", "count blue", "top y")


def engine(precision: Precision = "fp32", **values: Any) -> tuple[AdapterEngine, Any]:
    policy = seeing_policy()
    made = AdapterEngine(
        policy.transformer, end_ids=policy.end_ids, vocab=policy.tokenizer.vocab, precision=precision, **values
    )
    return made, policy.tokenizer


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


def naive(made: AdapterEngine, batch: Batch) -> dict[str, torch.Tensor]:
    """Gradients through the network of `transformers` itself, one row at a time, with the pixels of the row."""
    model, pictures = made.model, made.model.pictures
    model.zero_grad()
    for b in range(len(batch)):
        context = batch.context[batch.context_at[b] : batch.context_at[b + 1]]
        own = slice(int(batch.at[b]), int(batch.at[b + 1]))
        ids = np.concatenate([context, batch.ids[own]]).astype(np.int64)
        shown = [pictures.pixels(name) for name in context[context < 0].reshape(-1, PATCHES)]
        read = torch.from_numpy(np.where(ids < 0, pictures.token, ids))[None]
        more = {"pixel_values": torch.from_numpy(np.stack(shown)).to(made.compute)} if shown else {}
        logits = model.inner(input_ids=read, **more).logits[0, len(context) - 1 : -1, : made.vocab]
        logp = logits.log_softmax(-1)
        entropy = -(logp.exp() * logp).sum()
        chosen = logp.gather(1, torch.from_numpy(batch.ids[own].astype(np.int64))[:, None])[:, 0]
        loss = -(torch.from_numpy(batch.advantage[own]) * chosen).sum() + 0.1 * entropy
        loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def assert_same(got: dict[str, torch.Tensor], want: dict[str, torch.Tensor]) -> None:
    """Within the rounding of fp32, in which the network computes norms and angles."""
    assert got.keys() == want.keys()
    for name, value in want.items():
        torch.testing.assert_close(got[name], value, atol=1e-5 * max(1.0, float(value.abs().max())), rtol=0)


def test_what_is_sampled_is_scored_the_same() -> None:
    made, codec = engine()
    requests = requests_of(codec)
    written = made.generate(requests, Key(1))
    scores = made.score([Span(r.context, g.segment.ids) for r, g in zip(requests, written, strict=True)])
    for one, score in zip(written, scores, strict=True):
        assert one.segment.old is not None
        np.testing.assert_allclose(score.logp, one.segment.old, atol=3e-5)


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
    np.testing.assert_allclose(first, again, atol=1e-6)


def test_gradients_are_those_of_the_network_with_pixels() -> None:
    made, codec = engine("fp64")
    batch = batch_of(made, codec)
    expected = naive(made, batch)
    assert any("vision_tower" in name for name in expected), "the eye learns too"
    assert_same(gradients(made, batch, 10_000), expected)


@pytest.mark.parametrize("tokens", [1, 40, 100])
def test_chunks_and_order_leave_the_gradient_as_it_is(tokens: int) -> None:
    made, codec = engine("fp64")
    batch = batch_of(made, codec)
    whole = gradients(made, batch, 10_000)
    order = np.random.default_rng(0).permutation(len(batch))
    assert_same(gradients(made, batch.select(order), tokens), whole)


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
