"""The sampler: right distribution, right log-probs, the same tokens whatever else is in flight, clear refusals."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    contexts_of,
    embedding_of,
    engine_of,
    exact_scores,
    model_of,
    naive_log_probs,
    problem_of,
    requests_of,
    require_sampled,
    row_bytes,
    spans_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import Exact
from torch import Tensor
from typed import as_torch, present

from assay.engine.filtering import kept
from assay.engine.interface import Generation, Span
from assay.engine.layout import hosted
from assay.engine.local import LocalEngine
from assay.engine.native.engine import NativeEngine
from assay.engine.torch import decode, prompts, voices
from assay.engine.torch.network import Network
from assay.engine.transformers.engine import AdapterEngine
from assay.errors import AssayError, ConfigError, DataError
from assay.rng import Key, uniforms
from assay.types import Origin, Request, Segment

pytestmark = pytest.mark.usefixtures("kind")
torch_alone = pytest.mark.parametrize("kind", ["torch"], indirect=True)

KEY = Key(7)


def tokens_of(generations: list[Generation]) -> list[list[int]]:
    return [g.segment.ids.tolist() for g in generations]


def replayed(engine: LocalEngine, request: Request, count: int) -> list[int]:
    """The same draw by hand: dense attention, one row, one token at a time, filters and inverse CDF spelled out."""
    before = sum(len(s) for s in request.prefix)
    prompt = np.concatenate([request.context, *(s.ids for s in request.prefix)])
    noise = uniforms([KEY(request.id)], before + count)[0, before:]
    written: list[int] = []
    for t in range(count):
        row = np.concatenate([prompt, np.array([*written, 0], np.int32)])
        tau = request.temperature or 1.0
        p = naive_log_probs(engine.model, row[:1], row[1:], tau)[-1].double().exp().detach()
        if request.temperature == 0:
            written.append(int(p.argmax()))
            continue
        stays = kept(
            p[None],
            torch.tensor([request.top_k or len(p)]),
            torch.tensor([request.top_p], dtype=torch.float64),
            torch.tensor([request.min_p], dtype=torch.float64),
        )[0]
        cdf = (p * stays).cumsum(0)
        written.append(int((cdf <= noise[t] * cdf[-1]).sum()))
    return written


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_log_probs_are_those_of_the_plain_network(family: str) -> None:
    engine = engine_of(family)
    requests = requests_of(max_new=12, temperature=0.8)
    made = engine.generate(requests, KEY)
    exact = require_sampled(engine, requests, made)
    for segment in (one.segment for one in made):
        np.testing.assert_array_equal(segment.mu, segment.old)
        assert (segment.origin == Origin.POLICY).all()
    scores = engine.score(spans_of(requests, made), entropy=True)
    exact.require(
        logp=np.concatenate([score.logp for score in scores]),
        entropy=np.concatenate([present(score.entropy) for score in scores]),
    )


@torch_alone
@pytest.mark.parametrize("family", FAMILIES)
def test_a_decoding_step_is_the_network(family: str) -> None:
    """Feeding tokens one at a time through the packed weights and the cache gives the hidden states of the network."""
    model = model_of(family).double()
    context = contexts_of(1, low=9, high=10)[0]
    decoder = decode.Decoder(Network(model, torch.float64), slots=3, length=12)
    with torch.inference_mode():
        for t, token in enumerate(context):
            ids, positions = torch.full((2,), int(token)), torch.full((2,), t)
            hidden = decoder.step(ids, positions, t + 1, level=t % 2 == 0)
            want = naive_log_probs(model, context[: t + 1], context[:1])[0]
            got = torch.log_softmax(model.logits(hidden), -1)
            torch.testing.assert_close(got, want.expand(2, -1), atol=1e-12, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"temperature": 0.6, "top_p": 0.8},
        {"temperature": 1.3, "top_k": 3},
        {"min_p": 0.25},
        {"temperature": 0.0},
        {"temperature": 1.5, "top_k": 6, "top_p": 0.9, "min_p": 0.1},
    ],
)
def test_every_token_is_the_one_its_number_picks(values: dict[str, float]) -> None:
    engine = engine_of(end=None)
    requests = requests_of(2, 2, max_new=6, **values)
    for request, got in zip(requests, engine.generate(requests, KEY)):
        assert got.segment.ids.tolist() == replayed(engine, request, 6)
        assert got.finish == "length"


def test_rows_with_different_settings_share_a_batch() -> None:
    engine = engine_of(end=None)
    settings = [{}, {"temperature": 0.0}, {"top_k": 2}, {"temperature": 2.0, "top_p": 0.7}, {"min_p": 0.3}]
    requests = [dataclasses.replace(r, **s) for r, s in zip(requests_of(5, 1, max_new=5), settings)]
    for request, got in zip(requests, engine.generate(requests, KEY)):
        assert got.segment.ids.tolist() == replayed(engine, request, 5)


def test_mu_is_the_probability_really_sampled_with() -> None:
    engine = engine_of(end=None)
    requests = requests_of(2, 3, max_new=5, temperature=0.9, top_k=4)
    made = engine.generate(requests, KEY)
    require_sampled(engine, requests, made)

    def compute(model: Any) -> dict[str, Tensor]:
        every = [naive_log_probs(model, r.context, g.segment.ids, 0.9) for r, g in zip(requests, made)]
        of_four = torch.cat([lp.topk(4).values.logsumexp(-1) for lp in every])
        picked = torch.cat([lp[torch.arange(5), torch.from_numpy(g.segment.ids).long()] for lp, g in zip(every, made)])
        return {"mu": picked - of_four}

    Exact(engine.model, compute, tokens=12).require(mu=np.concatenate([present(g.segment.mu) for g in made]))


@pytest.mark.slow
def test_answers_have_the_probabilities_of_the_policy() -> None:
    """Chi-square over all answers of two tokens, with temperature and top-p, against exact enumeration."""
    from scipy.stats import chi2

    engine = engine_of(vocab=5, end=None, init_std=0.25)
    context = np.array([1, 2], np.int32)
    count, tau, top_p = 6000, 0.9, 0.85
    request = Request(problem_of(0), context, "g", 2, temperature=tau, top_p=top_p)
    requests = [dataclasses.replace(request, sample=i) for i in range(count)]
    seen = np.zeros((5, 5))
    for got in engine.generate(requests, KEY):
        seen[tuple(got.segment.ids)] += 1

    def filtered(tokens: list[int]) -> np.ndarray:
        row = np.array([*tokens, 0], np.int32)
        p = naive_log_probs(engine.model, context, row, tau)[-1].double().exp().detach().numpy()
        order = np.argsort(-p)
        size = int((np.cumsum(p[order]) < top_p).sum()) + 1
        stays = np.isin(np.arange(5), order[:size])
        return p * stays / (p * stays).sum()

    first = filtered([])
    want = count * np.array([first[a] * filtered([a]) for a in range(5)])
    assert seen[want == 0].sum() == 0
    live = want > 5
    assert live.sum() > 5
    statistic = ((seen - want)[live] ** 2 / want[live]).sum()
    assert statistic < chi2.ppf(1 - 1e-4, live.sum() - 1)


def test_two_draws_of_one_problem_are_independent_samples() -> None:
    engine = engine_of(end=None)
    request = requests_of(1, 1, max_new=20)[0]
    first, second = engine.generate([request, dataclasses.replace(request, draw=1)], KEY)
    assert first.segment.ids.tolist() != second.segment.ids.tolist()
    assert tokens_of(engine.generate([request], KEY)) == tokens_of([first])
    assert tokens_of(engine.generate([request], Key(8))) != tokens_of([first])


@pytest.mark.slow
def test_results_are_in_order_and_depend_neither_on_company_nor_on_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of()
    requests = [dataclasses.replace(r, max_new=3 + i % 11) for i, r in enumerate(requests_of(5, 5))]
    want = tokens_of(engine.generate(requests, KEY))
    assert len({len(t) for t in want}) > 3
    order = np.random.default_rng(0).permutation(len(requests))
    assert tokens_of(engine.generate([requests[i] for i in order], KEY)) == [want[i] for i in order]
    row = row_bytes(engine, max(len(r.context) + r.max_new for r in requests))
    for rows in (1, 3, 8):
        small = engine_of(memory_bytes=rows * row)
        again = small.generate(requests, KEY)
        assert tokens_of(again) == want
    monkeypatch.setattr(prompts, "PREFILL_TOKENS", 8)
    assert tokens_of(engine.generate(requests, KEY)) == want


@torch_alone
def test_a_prompt_is_run_once_for_its_whole_group() -> None:
    engine = engine_of(end=None)
    requests = requests_of(4, 6, max_new=4)
    requests = [requests[i] for i in np.random.default_rng(1).permutation(len(requests))]
    row = voices.row_bytes(as_torch(engine).network, max(len(r.context) + r.max_new for r in requests))
    for rows in (24, 5):
        before, engine.memory_bytes = engine.prefilled, rows * row
        engine.generate(requests, KEY)
        assert engine.prefilled - before == sum(len(c) for c in contexts_of(4))


def test_a_prefix_is_continued_with_the_numbers_of_its_own_places() -> None:
    engine = engine_of(end=None)
    start = requests_of(1, 1, max_new=4)[0]
    given = np.array([3, 1, 4], np.int32)
    prefix = (Segment(given[:1], np.zeros(1, np.int8)), Segment(given[1:], np.ones(2, np.int8)))
    request = dataclasses.replace(start, prefix=prefix)
    made = engine.generate([request, start], KEY)
    assert made[0].segment.ids.tolist() == replayed(engine, request, 4)
    require_sampled(engine, [request, start], made)


def test_end_tokens_and_lengths() -> None:
    engine = engine_of(end=4)
    requests = requests_of(3, 8, max_new=10)
    finishes = set()
    for got in engine.generate(requests, KEY):
        ids = got.segment.ids.tolist()
        assert 4 not in ids[:-1]
        assert got.finish == ("stop" if ids[-1] == 4 else "length")
        assert len(ids) == 10 or got.finish == "stop"
        finishes.add(got.finish)
    assert finishes == {"stop", "length"}


def test_each_generation_is_told_once_the_short_ones_first() -> None:
    engine, told = engine_of(end=None), []
    requests = [dataclasses.replace(r, max_new=2 + 9 * (i % 2)) for i, r in enumerate(requests_of(4, 4))]
    made = engine.generate(requests, KEY, done=lambda place, generation: told.append((place, generation)))
    assert sorted(place for place, _ in told) == list(range(len(requests)))
    assert all(made[place] is generation for place, generation in told)
    if engine.place.startswith("cpu torch"):  # the core tells only what it finished a tenth of a second ago
        assert [place % 2 for place, _ in told] == [0] * 8 + [1] * 8


def test_an_error_of_who_is_told_ends_the_call() -> None:
    def done(place: int, generation: Generation) -> None:
        raise ZeroDivisionError(place)

    engine = engine_of()
    with pytest.raises(ZeroDivisionError):
        engine.generate(requests_of(2, 2), KEY, done=done)
    assert len(engine.generate(requests_of(2, 2), KEY)) == 4, "the next call works"


def test_the_version_that_wrote_is_recorded() -> None:
    engine = engine_of()
    engine.version = 5
    assert engine.generate(requests_of(1, 1), KEY)[0].segment.version == 5


def test_stop_strings_end_a_row_at_the_token_that_completes_them() -> None:
    letters = "abcdefghijklm"
    engine = engine_of(end=None, decode=lambda ids: "".join(letters[i] for i in ids))
    requests = requests_of(4, 8, max_new=25)
    free = ["".join(letters[i] for i in ids) for ids in tokens_of(engine.generate(requests, KEY))]
    pairs = [a + b for a, b in itertools.product(letters, repeat=2)]
    stop = max(pairs, key=lambda pair: sum(pair in text[:-1] for text in free))
    assert any(stop in text[:-1] for text in free)
    stopping = [dataclasses.replace(r, stop=(stop, "?")) if i % 2 else r for i, r in enumerate(requests)]
    for i, (text, got) in enumerate(zip(free, engine.generate(stopping, KEY))):
        want = text[: text.index(stop) + 2] if i % 2 and stop in text else text
        assert "".join(letters[j] for j in got.segment.ids) == want
        assert got.finish == ("stop" if i % 2 and stop in text else "length")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"max_new": 0}, DataError, "max_new=0"),
        ({"max_new": 300}, DataError, "of 256"),
        ({"context": np.zeros(0, np.int32)}, DataError, "empty"),
        ({"top_p": 0.0}, ConfigError, "top_p"),
        ({"temperature": -1.0}, ConfigError, "temperature"),
        ({"stop": ("x",)}, ConfigError, "decode"),
    ],
)
def test_requests_that_cannot_work_are_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, object], error: type[AssayError], words: str
) -> None:
    engine = engine_of()
    requests = requests_of(2, 1)
    requests[1] = dataclasses.replace(requests[1], **change)
    place: object
    if isinstance(engine, NativeEngine):
        place, name = engine.core, "sample"
    else:
        place, name = (engine, "run") if isinstance(engine, AdapterEngine) else (as_torch(engine).network, "forward")
    monkeypatch.setattr(place, name, lambda *_, **__: pytest.fail("worked before it looked"))
    with pytest.raises(error, match=words):
        engine.generate(requests, KEY)


def test_one_id_twice_is_refused() -> None:
    request = requests_of(1, 1)[0]
    with pytest.raises(DataError, match="two requests"):
        engine_of().generate([request, request], KEY)


def test_nothing_asked_nothing_given() -> None:
    assert engine_of().generate([], KEY) == []
    assert engine_of().score([]) == []


def test_a_diverged_policy_is_an_error_that_names_the_request_and_the_token() -> None:
    engine = engine_of("llama", end=None)  # untied, so that only what follows the broken token is broken
    requests = requests_of(2, 2, max_new=5)
    first = engine.generate(requests, KEY)[0].segment.ids[0]
    with torch.no_grad():
        embedding_of(engine)[first] = float("nan")
    engine.load(engine.state())
    assert first not in requests[0].context
    with pytest.raises(AssayError, match=f"not finite for request {requests[0].id} at answer token 1"):
        engine.generate(requests[:1], KEY)


@torch_alone
def test_bf16_samples_and_learns_on_any_machine() -> None:
    engine = engine_of("grouped", precision="bf16", end=None)
    requests = requests_of(3, 4, max_new=12)
    got = engine.generate(requests, KEY)
    scores = engine.score([Span(r.context, g.segment.ids) for r, g in zip(requests, got)])
    off = np.concatenate([np.abs(s.logp - g.segment.old) for s, g in zip(scores, got)])
    assert np.isfinite(off).all()
    assert off.mean() < 0.05 and off.max() < 0.5


def forks_of(count: int = 24) -> list[Request]:
    """Answers that go on from different places of the same few answers, as a tree's forks do, and from nothing."""
    random, requests = np.random.default_rng(4), []
    for i in range(count):
        context = contexts_of(2, low=3, high=40, seed=8)[i % 2]
        path = np.random.default_rng(20 + i % 3).integers(1, 13, 60).astype(np.int32)
        before = path[: int(random.integers(0, 60))]
        given = Segment(before, np.full(len(before), Origin.POLICY, np.int8))
        prefix = (given,) if len(before) else ()
        requests.append(Request(problem_of(i), context, "g", max_new=1 + i % 7, sample=i, prefix=prefix))
    return requests


@pytest.mark.slow
def test_forks_are_what_they_are_alone() -> None:
    requests = forks_of()
    engine = engine_of()
    together = engine.generate(requests, Key(3))
    for request, got in zip(requests, together, strict=True):
        (alone,) = engine.generate([request], Key(3))
        assert alone.segment.ids.tolist() == got.segment.ids.tolist()
        if engine.exact:
            assert present(alone.segment.old).tolist() == present(got.segment.old).tolist()
        whole = np.concatenate([*(s.ids for s in request.prefix), got.segment.ids])
        spans = [Span(request.context, whole)]
        exact_scores(engine.model, spans).require(logp=engine.score(spans)[0].logp)
    require_sampled(engine, requests, together)


@torch_alone
def test_forks_share_what_their_path_holds() -> None:
    """A beginning of another prompt is not run by itself: of each path only the longest fork is."""
    paths = [[1, 2, 3, 4, 5], [1, 2], [1, 2, 3], [1, 2, 4], [7], [1, 2, 3, 4, 5]]
    which, first = hosted([np.array(p, np.int32) for p in paths])
    assert [paths[first[w]] for w in which] == [paths[0], paths[0], paths[0], [1, 2, 4], [7], paths[0]]
    assert len(first) == 3


@torch_alone
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=5), min_size=1, max_size=12))
def test_a_host_begins_with_what_it_holds(paths: list[list[int]]) -> None:
    which, first = hosted([np.array(p, np.int32) for p in paths])
    hosts = [paths[i] for i in first]
    assert all(hosts[w][: len(p)] == p for w, p in zip(which, paths))
    assert not any(a is not b and b[: len(a)] == a for a in hosts for b in hosts)
