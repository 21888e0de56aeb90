"""What several prompts begin with is run once: how it is found, laid and cut; the same bits of answers and log-probs,
and the same gradients but for rounding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    assert_same,
    batch_of,
    engine_of,
    learn,
    model_of,
    naive,
    problem_of,
    require_sampled,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_native import bits, threads  # noqa: F401
from test_native_lora import ADAPTERS, adapted, core
from test_values import critic, exact_values, learnt
from torch import Tensor
from typed import present

from assay.engine import footprint, layout
from assay.engine.cutting import cut
from assay.engine.interface import Generation, Span, Want
from assay.engine.layout import LEAST_STEM, Layout, lay, stems
from assay.engine.local import LaidChunk, LocalEngine
from assay.engine.native import engine as native
from assay.engine.native.engine import NativeEngine
from assay.engine.native.value_engine import NativeValueEngine
from assay.errors import AssayError
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.types import Batch, Origin, Request, Segment

KEY = Key(3)
NEVER = 1 << 30  # as LEAST_STEM: nothing is shared
every_family = pytest.mark.parametrize("family", FAMILIES)
every_format = pytest.mark.parametrize("precision", ["fp32", pytest.param("bf16", marks=pytest.mark.core("bf16"))])
both = pytest.mark.parametrize("kind", ["torch", "native"], indirect=True)
MODELS: dict[str, Callable[..., Transformer]] = {
    "all weights": model_of,
    **{f"adapters on {name}": lambda family, lora=lora, **changes: adapted(family, lora, **changes)
       for name, lora in ADAPTERS.items()},
}  # fmt: skip
every_model = pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)


@pytest.fixture
def least(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how long a stem must be."""

    def set_(tokens: int) -> None:
        monkeypatch.setattr(layout, "LEAST_STEM", tokens)

    return set_


def ids(*tokens: int) -> np.ndarray:
    return np.array(tokens, np.int32)


# Prompts that begin alike, in every way


@st.composite
def prompts_of(draw: st.DrawFn, vocab: int = 13) -> list[np.ndarray]:
    """Some families of prompts with 0, 1 or more tokens in common; equal ones, and such that begin another."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    found: list[np.ndarray] = []
    for _ in range(draw(st.integers(1, 3))):
        common = random.integers(1, vocab, draw(st.sampled_from([0, 1, 2, 5, 15, 16, 17, 33, 48])))
        ends = draw(st.lists(st.sampled_from([0, 1, 2, 7, 16, 20]), min_size=1, max_size=4))
        found += [np.concatenate([common, random.integers(1, vocab, n)]) for n in ends]
    for i in draw(st.lists(st.integers(0, len(found) - 1), max_size=2)):
        found.append(found[i][: draw(st.integers(0, len(found[i])))])
    return [p.astype(np.int32) if len(p) else ids(1) for p in found]


def saved_in_trie(arrays: Sequence[np.ndarray], least: int) -> int:
    """The most tokens that are saved, from the trie of the arrays without their last tokens: below each node either all
    share what they begin with, or each branch does as is best for it.
    """
    if len(arrays) < 2:
        return 0
    bare, common = [tuple(a[:-1]) for a in arrays], 0
    while all(len(b) > common for b in bare) and len({b[common] for b in bare}) == 1:
        common += 1
    parts: dict[int, list[np.ndarray]] = {}
    for array, b in zip(arrays, bare):
        if len(b) > common:
            parts.setdefault(int(b[common]), []).append(array)
    together = common * (len(arrays) - 1) if common >= least else 0
    return max(together, sum(saved_in_trie(part, least) for part in parts.values()))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.sets(st.lists(st.integers(0, 1), min_size=1, max_size=9).map(tuple), max_size=9), st.integers(1, 3))
def test_stems_save_the_most_tokens(texts: set[tuple[int, ...]], at_least: int) -> None:
    arrays = [ids(*text) for text in texts]
    stem_of, found = stems(arrays, at_least)
    for number, stem in enumerate(found):
        behind = [array for array, one in zip(arrays, stem_of) if one == number]
        assert len(behind) > 1 and len(stem) >= at_least
        assert all(len(array) > len(stem) and np.array_equal(array[: len(stem)], stem) for array in behind)
    saved = sum(len(found[one]) for one in stem_of if one >= 0) - sum(map(len, found))
    assert saved == saved_in_trie(arrays, at_least)


def spelt(laid: Layout, row: int) -> tuple[np.ndarray, np.ndarray]:
    """(tokens, positions) of a row with all that comes before it."""
    context = int(laid.context_of[row])
    stem = -1 if laid.stem_of is None else int(laid.stem_of[context])
    at = laid.context_at
    parts = [np.arange(at[c], at[c + 1]) for c in (stem, context) if c >= 0]
    places = np.concatenate([*parts, laid.start[row] + np.arange(laid.length[row])])
    return laid.ids[places], laid.positions[places]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(prompts_of(), st.integers(0, 5), st.sampled_from([1, 4, 16]))
def test_every_row_is_spelt_whole(prompts: list[np.ndarray], more: int, at_least: int) -> None:
    random = np.random.default_rng(more)
    contexts = [prompts[i % len(prompts)] for i in range(len(prompts) + more)]
    answers = [random.integers(1, 13, i % 4).astype(np.int32) for i in range(len(contexts))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LEAST_STEM", at_least)
        laid = lay(contexts, answers, shares=True)
    at = 0
    for row, (context, answer) in enumerate(zip(contexts, answers)):
        whole = np.concatenate([context, answer[:-1]])
        tokens, positions = spelt(laid, row)
        assert tokens.tolist() == whole.tolist() and positions.tolist() == list(range(len(whole)))
        predict = laid.predict[at : at + len(answer)]
        assert laid.ids[predict].tolist() == whole[len(context) - 1 :][: len(answer)].tolist()
        assert laid.positions[predict].tolist() == list(range(len(context) - 1, len(context) - 1 + len(answer)))
        at += len(answer)
    assert len(laid.ids) <= len(lay(contexts, answers).ids)


def test_what_is_too_short_leaves_the_layout_as_it_is() -> None:
    for common, shares in ((LEAST_STEM - 1, False), (LEAST_STEM, True)):
        contexts = [np.concatenate([np.arange(1, common + 1), [50 + i]]).astype(np.int32) for i in range(3)]
        laid, plain = lay(contexts, contexts, shares=True), lay(contexts, contexts)
        assert (laid.stem_of is not None) == shares
        assert len(plain.ids) - len(laid.ids) == (2 * common if shares else 0)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(prompts_of(), st.integers(1, 4), st.integers(1, 150), st.sampled_from([1, 16]))
def test_chunks_with_stems_keep_to_the_limit(
    prompts: list[np.ndarray], samples: int, tokens: int, at_least: int
) -> None:
    """Of what they really run. A row that is longer is alone."""
    random = np.random.default_rng(tokens)
    contexts = [p for p in prompts for _ in range(samples)]
    batch = batch_of(contexts, [random.integers(1, 13, random.integers(1, 9)).astype(np.int32) for _ in contexts])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LEAST_STEM", at_least)
        chunks = cut(batch, tokens=tokens, shares=True)
        ran = [len(laid_of(batch, rows).ids) for rows in chunks]
    assert sorted(int(r) for rows in chunks for r in rows) == list(range(len(contexts)))
    assert all(count <= tokens or len(rows) == 1 for count, rows in zip(ran, chunks))
    assert len(chunks) <= len(cut(batch, tokens=tokens))


def laid_of(batch: Batch, rows: np.ndarray) -> Layout:
    context = [batch.context[batch.context_at[r] : batch.context_at[r + 1]] for r in rows]
    return lay(context, [batch.ids[batch.at[r] : batch.at[r + 1]] for r in rows], shares=True)


# The same bits and the same gradients


def alike(*ends: int, common: int = 37) -> list[np.ndarray]:
    """Prompts with so many tokens behind what is common to them, and one that begins otherwise."""
    random = np.random.default_rng(common)
    stem = random.integers(1, 13, common)
    found = [np.concatenate([stem, random.integers(1, 13, n)]) for n in ends]
    return [p.astype(np.int32) for p in (*found, random.integers(1, 13, 5))]


def requests_to(prompts: Sequence[np.ndarray], *, samples: int = 3, max_new: int = 12) -> list[Request]:
    return [
        Request(problem_of(g), prompt, str(g), max_new, sample=s, temperature=0.8)
        for g, prompt in enumerate(prompts)
        for s in range(samples)
    ]


def answered(requests: Sequence[Request], made: Sequence[Generation]) -> Batch:
    return batch_of([r.context for r in requests], [g.segment.ids for g in made], temperature=0.8)


def require_equal_bits(
    policy: LocalEngine, requests: Sequence[Request], made: Sequence[Generation], *cuts: int
) -> None:
    """That the learner's log-probs and entropies are the sampler's, in chunks of so many tokens."""
    batch = answered(requests, made)
    for tokens in cuts:
        for chunk in policy.chunks(batch, tokens=tokens):
            out = policy.forward(chunk, Want(entropy=True))
            for name, value in (("old", out.logp), ("entropy", present(out.entropy))):
                want = np.concatenate([getattr(made[r].segment, name) for r in chunk.rows])
                assert value.detach().numpy().tobytes() == want.tobytes()
    for request, one in zip(requests, made, strict=True):
        (alone,) = policy.score([Span(request.context, one.segment.ids, 0.8)])
        assert alone.logp.tobytes() == present(one.segment.old).tobytes()


def with_stem(policy: LocalEngine, batch: Batch, tokens: int) -> bool:
    chunks = policy.chunks(batch, tokens=tokens)
    return any(isinstance(chunk, LaidChunk) and chunk.layout.stem_of is not None for chunk in chunks)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.core
@every_format
@every_model
@every_family
def test_sampler_and_learner_have_the_bits_that_they_have_without_stems(
    family: str, made: Callable[..., Transformer], precision: Any, least: Callable[[int], None]
) -> None:
    """With layers kept and computed again; and a row's bits are those that it has alone."""
    requests = requests_to(alike(3, 1, 9, 20))
    found = []
    for choice in ("off", "on"):
        policy = core(made(family), precision)
        policy.checkpointing = choice
        for tokens, shares in ((NEVER, False), (LEAST_STEM, True)):
            least(tokens)
            got = policy.generate(requests, KEY)
            batch = answered(requests, got)
            assert with_stem(policy, batch, 10_000) == shares == with_stem(policy, batch, 150)
            require_equal_bits(policy, requests, got, 10_000, 150, 40)
            learn(policy, batch)  # a pass whose buffers went through a backward pass is as good as a fresh one
            require_equal_bits(policy, requests, got, 150)
            found.append(bits(got))
        assert [bits(policy.generate([one], KEY))[0] for one in requests[::4]] == found[0][::4]
    assert all(one == found[0] for one in found)


@pytest.mark.turns(3)
@pytest.mark.core
@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_prompts_in_any_chunks(data: st.DataObject) -> None:
    """Bits of sampler and learner, of both with nothing shared, and the gradient of rows that are run alone."""
    family, lora = data.draw(st.sampled_from(sorted(FAMILIES))), data.draw(st.sampled_from([None, *ADAPTERS.values()]))
    policy = core(adapted(family, lora) if lora else model_of(family))
    policy.checkpointing = data.draw(st.sampled_from(["off", "on"]))
    requests = requests_to(data.draw(prompts_of()), samples=data.draw(st.integers(1, 2)), max_new=5)
    tokens = data.draw(st.sampled_from([1, 30, 90, 10_000]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LEAST_STEM", NEVER)
        want = policy.generate(requests, KEY)
        require_equal_bits(policy, requests, want, tokens)
        patch.setattr(layout, "LEAST_STEM", data.draw(st.sampled_from([1, 2, 16])))
        got = policy.generate(requests, KEY)
        require_equal_bits(policy, requests, got, tokens, 10_000)
        assert bits(got) == bits(want)
        batch = answered(requests, got)
        assert_same(learn(policy, batch, tokens=tokens), naive(policy, batch))


@both
@every_family
def test_the_gradient_is_that_of_rows_run_alone(kind: str, family: str) -> None:
    policy, prompts = engine_of(family), alike(3, 1, 9, common=LEAST_STEM)
    answers = [np.arange(1, 3 + 5 * i % 11).astype(np.int32) for i in range(7)]
    batch = batch_of([prompts[i % len(prompts)] for i in range(7)], answers, temperature=0.7)
    want = naive(policy, batch)
    for tokens in (10_000, 60):
        assert with_stem(policy, batch, tokens)
        assert_same(learn(policy, batch, tokens=tokens), want)


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.usefixtures("threads")
@every_model
@pytest.mark.parametrize("groups", [2, 12], ids=["groups for all threads together", "groups for each thread"])
def test_gradients_have_the_same_bits_whatever_the_threads_and_what_is_kept(
    groups: int, made: Callable[..., Transformer]
) -> None:
    """Two stems, so that threads may take one each; the gradients of stems' keys are summed in the order of groups."""
    random = np.random.default_rng(0)
    prompts = [*alike(*range(1, groups + 1), common=40), *alike(*range(2, groups + 2), common=25)]
    answers = [random.integers(1, 13, 1 + 7 * i % 40).astype(np.int32) for i in range(2 * len(prompts))]
    batch, found = batch_of([prompts[i // 2] for i in range(len(answers))], answers, temperature=0.8), []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        for choice in ("off", "on"):
            policy = core(made("qwen3", layers=3))
            policy.checkpointing = choice
            assert with_stem(policy, batch, 10_000)
            found.append(learn(policy, batch))
    assert all(torch.equal(found[0][name], other[name]) for other in found for name in found[0])


@pytest.mark.core
def test_a_critic_reads_behind_stems() -> None:
    contexts = [p for p in alike(3, 1, 9) for _ in range(3)]
    batch = batch_of(contexts, [np.arange(1, 2 + i).astype(np.int32) for i in range(len(contexts))])
    found = []
    for choice in ("off", "on"):
        one = critic(NativeValueEngine, "qwen3")
        one.checkpointing = choice
        found.append(learnt(one, batch, tokens=10_000))
    (values, grads), (again, other) = found
    assert np.array_equal(values, again) and all(torch.equal(grads[name], other[name]) for name in grads)
    exact = exact_values("qwen3", batch)
    exact.require(values=values)
    exact.require_all({name: grad for name, grad in grads.items() if name in exact.values})


@pytest.mark.core
def test_passes_that_are_open_together_keep_their_own_stems() -> None:
    def gradients(together: bool) -> dict[str, Tensor]:
        policy = core(model_of("grouped"))
        policy.checkpointing = "on"
        batches = [
            batch_of(prompts, [np.arange(1, 9).astype(np.int32)] * len(prompts))
            for prompts in (alike(3, 5, common=30), alike(2, 7, 4, common=50))
        ]
        chunks = [chunk for batch in batches for chunk in policy.chunks(batch, tokens=10_000)]
        for some in [chunks] if together else [[chunk] for chunk in chunks]:
            opened = [(chunk, policy.forward(chunk, Want())) for chunk in some]
            for chunk, out in opened:
                (chunk.streams["advantage"] * out.logp).sum().backward()
                policy.backward(chunk, out)
        policy.hand_out()
        return {name: present(p.grad).clone() for name, p in policy.model.named_parameters()}

    one, other = gradients(True), gradients(False)
    assert all(torch.equal(one[name], other[name]) for name in one)


# The sampler


@pytest.mark.slow
@both
def test_what_prompts_begin_with_is_prefilled_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, prompts = engine_of("grouped", end=None), alike(3, 1, 9, 20)
    requests = requests_to(prompts)
    if kind == "native":
        monkeypatch.setattr(footprint, "NATIVE_SLOTS", 64)
        monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    made = policy.generate(requests, KEY)
    assert policy.prefilled == sum(map(len, prompts)) - 3 * 37
    require_sampled(policy, requests, made)


@both
def test_a_fork_within_a_stem_and_one_at_its_end(kind: str) -> None:
    """A request that goes on behind a place of a longer path, where the path's beginning is a stem."""
    policy = engine_of("grouped", end=None)
    trunk, other = alike(30, 8)[:2]
    asked = []
    for sample, size in enumerate((1, 2, 36, 37, 38, 60, 67)):
        written = trunk[1:size]
        before = (Segment(written, np.full(len(written), Origin.POLICY, np.int8)),) if size > 1 else ()
        asked.append(Request(problem_of(0), trunk[:1], "0", 9, sample=sample, prefix=before))
    asked += [Request(problem_of(1), other, "1", 9, sample=s) for s in range(2)]
    made = policy.generate(asked, KEY)
    require_sampled(policy, asked, made)
    if policy.exact:
        assert [bits(policy.generate([one], KEY))[0] for one in asked] == bits(made)


@pytest.mark.core
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("slots", [1, 4, 64])
def test_threads_and_rows_in_flight_change_nothing(count: int, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = requests_to([*alike(3, 1, 9, 20), *alike(2, 30, common=22)], samples=5)
    want = bits(core(model_of("qwen3")).generate(requests, KEY))
    monkeypatch.setattr(footprint, "NATIVE_SLOTS", slots)
    monkeypatch.setattr(native, "PREFILL_TOKENS", 8 * slots)
    monkeypatch.setattr(torch, "get_num_threads", lambda: count)
    assert bits(core(model_of("qwen3")).generate(requests, KEY)) == want


@pytest.mark.slow
@both
def test_a_stem_is_kept_like_any_other_prefix(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later call runs what it has behind the stem, or behind more; without room everything is run again. Of several
    threads each would run a token of a prompt that they share.
    """
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    policy, prompts = engine_of("grouped", end=None), alike(3, 1, 9)
    requests, later = requests_to(prompts[:2]), requests_to(prompts[2:3])
    apart = [policy.generate(some, KEY) for some in (requests, later)]
    before = policy.prefilled
    with policy.keeping():
        kept = [policy.generate(requests, KEY)]
        first = policy.prefilled - before
        kept.append(policy.generate(later, KEY))
        assert (first, policy.prefilled - before - first) == (37 + 3 + 1, 9)
        kept.append(policy.generate(requests, KEY))
        assert policy.prefilled - before - first - 9 == len(requests) // 3, "one token each, for its hidden state"
    for some, made in zip((requests, later, requests), kept):
        require_sampled(policy, some, made)
    if policy.exact:
        assert [bits(made) for made in kept] == [bits(made) for made in (*apart, apart[0])]


@pytest.mark.slow
@both
@pytest.mark.parametrize("rows", [1, 3, 6])
def test_with_little_room_stems_are_run_again_with_the_same_result(kind: str, rows: int) -> None:
    requests = requests_to([*alike(3, 1, 9), *alike(4, 6, common=30)])
    wide = engine_of("grouped", end=None)
    want = wide.generate(requests, KEY)
    size = footprint.row_bytes(wide.model.config, 60, 4)
    policy = engine_of("grouped", end=None, memory_bytes=rows * size)
    with policy.keeping():
        for _ in range(2):
            made = policy.generate(requests, KEY)
            require_sampled(policy, requests, made)
            if policy.exact:
                assert bits(made) == bits(want)


# What is refused


@pytest.mark.core
@pytest.mark.parametrize(("stem_of", "words"), [
    ([-1, 0, 1, -1], "a stem has a stem or rows"),
    ([-1, 0, 0, 4], "stem number 3 is 4, expected -1 to 3"),
    ([-1, 0, 0, -2], "stem number 3 is -2"),
    ([0, 0, 0, -1], "a stem has a stem or rows"),
])  # fmt: skip
def test_the_border_checks_stems(stem_of: list[int], words: str) -> None:
    policy, prompts = core(model_of()), alike(3, 1)
    batch = batch_of(prompts, [np.arange(1, 4).astype(np.int32)] * len(prompts))
    (chunk,) = policy.chunks(batch, tokens=10_000)
    assert isinstance(chunk, LaidChunk) and present(chunk.layout.stem_of).tolist() == [-1, 0, 0, -1]
    wrong = dataclasses.replace(chunk.layout, stem_of=np.array(stem_of))
    with pytest.raises(AssayError, match=words):
        policy.forward(dataclasses.replace(chunk, layout=wrong), Want())
    assert isinstance(policy, NativeEngine) and torch.isfinite(policy.forward(chunk, Want()).logp).all()
