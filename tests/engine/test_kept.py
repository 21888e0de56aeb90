"""What was run once is not run again within a step: counted, and the same answers as without."""

from __future__ import annotations

import dataclasses
import gc
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    Default,
    contexts_of,
    embedding_of,
    engine_of,
    problem_of,
    requests_of,
    require_sampled,
)
from hypothesis import given
from hypothesis import strategies as st
from small_runs import ROOT
from typed import present

from assay.engine import footprint
from assay.engine.interface import Generation
from assay.engine.local import LocalEngine
from assay.engine.native import engine as native
from assay.engine.native import library, prefix_cache
from assay.engine.prefix_cache import PrefixCache
from assay.engine.torch import prompts, voices
from assay.errors import AssayError
from assay.models import Models
from assay.policy.rope import Rope
from assay.rng import Key
from assay.types import Origin, Request, Segment

KEY = Key(3)
both = pytest.mark.parametrize("kind", ["torch", "native"], indirect=True)
every_family = pytest.mark.parametrize("family", FAMILIES)

# The tree


def prefix_in_common(a: Sequence[int], b: Sequence[int]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), max_size=12)


@given(sequences, st.lists(st.integers(0, 2), min_size=1, max_size=9))
@pytest.mark.slow
def test_what_is_known_is_the_longest_beginning_of_all_that_was_added(added: list[list[int]], asked: list[int]) -> None:
    store: PrefixCache[np.ndarray] = PrefixCache(10**6)
    for ids in added:
        store.add(np.array(ids), 0, np.array(ids))
    found = [x for p in store.known(np.array(asked)) for x in p.rows[p.skip : p.skip + p.count]]
    assert found == asked[: max((prefix_in_common(ids, asked) for ids in added), default=0)]


@given(sequences, st.integers(1, 20), st.data())
@pytest.mark.slow
def test_however_little_room_there_is_what_is_known_is_right(added: list[list[int]], most: int, data: Any) -> None:
    """Sequences of which the beginning is not handed over, in a store that must let go."""
    store: PrefixCache[np.ndarray] = PrefixCache(most)
    for ids in added:
        room = store.make_room(data.draw(st.integers(0, 9)))
        assert room == store.most - store.size >= 0
        known = sum(p.count for p in store.known(np.array(ids)))
        start = data.draw(st.integers(0, known))
        store.add(np.array(ids), start, np.array(ids)[start:])
        assert 0 <= store.size <= most
        for asked in added:
            found = [x for p in store.known(np.array(asked)) for x in p.rows[p.skip : p.skip + p.count]]
            assert found == asked[: len(found)]


def test_the_one_that_was_used_the_longest_ago_goes_and_none_on_which_another_hangs() -> None:
    store: PrefixCache[str] = PrefixCache(12)
    trunk, left, right, other = ([1, 1, 1], [1, 1, 1, 2, 2], [1, 1, 3, 3, 3], [4, 4, 4, 4])
    for ids in (trunk, left, other, right):  # right hangs two tokens behind the trunk's beginning, and takes three
        store.add(np.array(ids), sum(p.count for p in store.known(np.array(ids))), str(ids))

    def held(ids: list[int]) -> int:
        return sum(p.count for p in store.known(np.array(ids)))

    assert store.size == 3 + 2 + 4 + 3
    assert store.make_room(1) == 2, "left goes: it is the oldest that nothing hangs on"
    assert [held(ids) for ids in (trunk, left, other, right)] == [3, 3, 4, 5]
    _used = (held(trunk), held(right))
    assert store.make_room(6) == 6
    assert [held(ids) for ids in (trunk, left, other, right)] == [3, 3, 0, 5]
    assert store.make_room(100) == 6, "never more than half for what is new"
    store.clear()
    assert (store.size, held(trunk)) == (0, 0)


# The engines


def begun(ids: np.ndarray) -> tuple[Segment, ...]:
    return (Segment(ids.astype(np.int32), np.full(len(ids), Origin.POLICY, np.int8)),) if len(ids) else ()


def forks_of(requests: Sequence[Request], made: Sequence[Generation], places: Sequence[int]) -> list[Request]:
    """Two branches at each place of every answer that is so long, behind a reply of two tokens at every second one."""
    forks = []
    for request, one in zip(requests, made):
        for n, place in enumerate(p for p in places if p <= len(one.segment)):
            ids = np.concatenate([one.segment.ids[:place], [5, 7] if n % 2 else []])
            changes: dict[str, Any] = {"prefix": begun(ids), "max_new": 3 + (place + request.sample) % 8}
            forks += [dataclasses.replace(request, sample=len(forks) + 100 + i, **changes) for i in range(2)]
    return forks


def bits(made: Sequence[Generation]) -> list[bytes]:
    return [b"".join(getattr(g.segment, f).tobytes() for f in ("ids", "old", "mu", "entropy")) for g in made]


def require_same(
    engine: LocalEngine, requests: Sequence[Request], got: Sequence[Generation], want: Sequence[Generation]
) -> None:
    """To the bit on the core; on torch, where a token that is decoded is rounded differently, but for rounding."""
    if Default.kind == "native":
        assert bits(got) == bits(want)
    for a, b in zip(got, want, strict=True):
        assert a.segment.ids.tolist() == b.segment.ids.tolist()
    require_sampled(engine, requests, got)


def counting(engine: LocalEngine, work: Callable[[], object]) -> int:
    before = engine.prefilled
    work()
    return engine.prefilled - before


def trunks(count: int = 4) -> list[Request]:
    """Prompts around the sizes of blocks, settings of every kind."""
    ways = [{}, {"temperature": 0.7, "top_p": 0.9}, {"top_k": 4, "temperature": 1.3}, {"temperature": 0.0}]
    contexts = [c for n in (1, 15, 16, 33) for c in contexts_of(1, seed=n, low=n, high=n + 1)]
    return [
        Request(problem_of(g), context, str(g), max_new=20 + 9 * s, sample=s, **ways[s % len(ways)])  # type: ignore[arg-type]
        for g, context in enumerate(contexts)
        for s in range(count)
    ]


@pytest.mark.turns(3)
@pytest.mark.slow
@both
@every_family
def test_branches_are_the_same_with_what_was_kept_and_without(kind: str, family: str) -> None:
    engine, requests = engine_of(family), trunks()
    with engine.keeping():
        made = engine.generate(requests, KEY)
        forks = forks_of(requests, made, (1, 4, 13, 19, 33))
        got = engine.generate(forks, KEY)
        deeper = forks_of(forks, got, (2, 3))
        order = np.random.default_rng(0).permutation(len(deeper))
        last = engine.generate([deeper[i] for i in order], KEY)
        again = engine.generate(forks, KEY)
    plain = engine_of(family)
    require_same(plain, requests, made, plain.generate(requests, KEY))
    require_same(plain, forks, got, plain.generate(forks, KEY))
    require_same(plain, forks, again, got)
    deeper = [deeper[i] for i in order]
    require_same(plain, deeper, last, plain.generate(deeper, KEY))
    assert len(forks) > 60 and len(deeper) > 60


@both
def test_a_branch_runs_one_token_for_each_place_and_a_reply_runs_itself_too(kind: str) -> None:
    engine, requests = engine_of(end=None), requests_of(2, 3, max_new=12)
    with engine.keeping():
        made: list[Generation] = []
        prompts = {r.context.tobytes(): len(r.context) for r in requests}
        assert counting(engine, lambda: made.extend(engine.generate(requests, KEY))) == sum(prompts.values())
        forks = [
            dataclasses.replace(r, prefix=begun(g.segment.ids[:n]), sample=10 * n + i, max_new=4)
            for r, g in zip(requests, made)
            for n in (4, 7)
            for i in range(3)
        ]
        places = {(r.context.tobytes(), r.prefix[0].ids.tobytes()) for r in forks}
        assert counting(engine, lambda: engine.generate(forks, KEY)) == len(places)
        reply = np.array([5, 7, 1])
        turn = dataclasses.replace(requests[0], prefix=begun(np.concatenate([made[0].segment.ids, reply])), sample=90)
        assert counting(engine, lambda: engine.generate([turn], KEY)) == 1 + 3, "the last token was never fed"
        assert counting(engine, lambda: engine.generate([dataclasses.replace(turn, sample=91)], KEY)) == 1
    assert engine.kept.most == engine.kept.size == 0
    outside = sum({f.context.tobytes(): len(f.context) + 7 for f in forks if len(f.prefix[0].ids) == 7}.values())
    assert counting(engine, lambda: engine.generate(forks, KEY)) >= outside


@pytest.mark.usefixtures("kind")
def test_without_keeping_nothing_is_held_and_every_prompt_is_run_whole() -> None:
    engine, requests = engine_of(end=None), requests_of(3, 2)
    whole = sum(len(r.context) for r in requests[::2])
    for _ in range(2):
        assert counting(engine, lambda: engine.generate(requests, KEY)) == whole
        assert engine.kept.size == 0
    with engine.keeping():
        engine.generate(requests, KEY)
        declines = Default.kind == "adapter"
        assert counting(engine, lambda: engine.generate(requests, KEY)) == (whole if declines else 3)


@both
@pytest.mark.parametrize("change", ["step", "load"])
def test_other_weights_begin_with_nothing(kind: str, change: str) -> None:
    engine, requests = engine_of(end=None), requests_of(2, 2)
    with engine.keeping():
        engine.generate(requests, KEY)
        assert engine.kept.size > 0
        if change == "step":
            for p in engine.model.parameters():
                p.grad = torch.ones_like(p) if p.grad is None else p.grad.fill_(1.0)
            engine.step(lr=0.05, clip=None)
        else:
            engine.load(engine_of(end=None, seed=5).state())
        assert engine.kept.size == 0
        got = engine.generate(requests, KEY)
        copied = engine.copy()
    plain = engine_of(end=None, optimiser=None)
    plain.load({**engine.state(), "version": 0})
    require_same(plain, requests, got, plain.generate(requests, KEY))
    assert copied.kept.most == 0


@both
def test_whoever_keeps_inside_shares_with_whoever_keeps_outside(kind: str) -> None:
    engine, requests = engine_of(end=None), requests_of(2, 2)
    with engine.keeping():
        with engine.keeping():
            engine.generate(requests, KEY)
        assert counting(engine, lambda: engine.generate(requests, KEY)) == 2
    with engine.keeping():
        assert engine.kept.size == 0


@pytest.mark.slow
@both
@pytest.mark.parametrize("rows", [3, 24])
def test_with_little_memory_it_is_run_again_with_the_same_result(kind: str, rows: int) -> None:
    requests = requests_of(2, 3, max_new=20)
    plain = engine_of(end=None)
    engine = engine_of(end=None, memory_bytes=rows * footprint.row_bytes(plain.model.config, 20 + 6, 4))
    with engine.keeping():
        assert engine.kept.most == rows * 26 // 4
        made = engine.generate(requests, KEY)
        for _ in range(2):
            forks = forks_of(requests, made, (3, 11))
            require_same(plain, forks, engine.generate(forks, KEY), plain.generate(forks, KEY))
            assert 0 < engine.kept.size <= engine.kept.most


@every_family
def test_rows_in_flight_and_threads_change_nothing_with_what_was_kept(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Default, "kind", "native")
    requests = trunks(3)
    plain = engine_of(family)
    made = plain.generate(requests, KEY)
    forks = forks_of(requests, made, (2, 16, 18))
    want, threads = bits(plain.generate(forks, KEY)), torch.get_num_threads()
    try:
        for count, slots, prefill in ((1, 1, 512), (2, 3, 1), (3, 56, 9)):
            torch.set_num_threads(count)
            monkeypatch.setattr(footprint, "NATIVE_SLOTS", slots)
            monkeypatch.setattr(native, "PREFILL_TOKENS", prefill)
            engine = engine_of(family)
            with engine.keeping():
                engine.generate(requests, KEY)
                assert bits(engine.generate(forks, KEY)) == want
                assert bits(engine.generate(forks[::-1], KEY))[::-1] == want
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
def test_torch_in_small_parts_goes_on_from_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few slots and few tokens at a time, so that a prompt's rows begin in several turns."""
    requests = trunks(3)
    plain = engine_of()
    made = plain.generate(requests, KEY)
    forks = forks_of(requests, made, (2, 16, 18))
    want = plain.generate(forks, KEY)
    monkeypatch.setattr(prompts, "PREFILL_TOKENS", 8)
    monkeypatch.setattr(voices, "slots_for", lambda *_: 5)
    engine = engine_of()
    with engine.keeping():
        require_same(plain, requests, engine.generate(requests, KEY), made)
        require_same(plain, forks, engine.generate(forks, KEY), want)


@pytest.mark.slow
@both
def test_positions_go_on_whatever_the_rope(kind: str) -> None:
    for rope in (Rope("linear", factor=4.0), Rope("yarn", factor=4.0, original_context=32)):
        engine, plain, requests = engine_of(rope=rope), engine_of(rope=rope), trunks(2)
        with engine.keeping():
            forks = forks_of(requests, engine.generate(requests, KEY), (3, 17))
            require_same(plain, forks, engine.generate(forks, KEY), plain.generate(forks, KEY))


def test_in_bf16_what_was_decoded_serves_as_well_as_what_would_be_prefilled() -> None:
    """The difference to a plain call is no larger than that of a plain call to the learner."""
    engine, requests = engine_of("grouped", precision="bf16", end=None), requests_of(3, 4, max_new=12)
    with engine.keeping():
        made = engine.generate(requests, KEY)
        forks = forks_of(requests, made, (5, 9))
        got = engine.generate(forks, KEY)
    plain = engine.generate(forks, KEY)
    pairs = [(a.segment, b.segment) for a, b in zip(got, plain) if a.segment.ids[0] == b.segment.ids[0]]
    off = [abs(float(present(a.old)[0] - present(b.old)[0])) for a, b in pairs]
    assert len(off) > len(forks) // 2 and np.mean(off) < 0.05 and np.max(off) < 0.5


@pytest.mark.slow
def test_a_call_that_fails_leaves_the_store_as_it_was_and_no_memory_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Default, "kind", "native")
    alive: set[int] = set()

    class Counted(library.Rows):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            alive.add(self.address)

        def __del__(self) -> None:
            alive.discard(self.address)
            super().__del__()

    monkeypatch.setattr(prefix_cache, "Rows", Counted)
    engine = engine_of("llama", end=None)
    requests = requests_of(2, 2, max_new=5)
    first = engine.generate(requests, KEY)[0].segment.ids[0]
    with engine.keeping():
        with torch.no_grad():
            embedding_of(engine)[first] = float("nan")
        engine.load(engine.state())
        with pytest.raises(AssayError, match="not finite"):
            engine.generate(requests, KEY)
        gc.collect()
        assert engine.kept.size == 0 and not alive
        engine.load(engine_of("llama", end=None).state())
        engine.generate(requests, KEY)
        assert len(alive) == 2 + 4, "of two prompts and four answers"
    gc.collect()
    assert not alive


def test_the_border_refuses_more_than_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Default, "kind", "native")
    engine, requests = engine_of(end=None), requests_of(1, 1)
    with engine.keeping():
        engine.generate(requests, KEY)
        real = engine.kept.known
        monkeypatch.setattr(engine.kept, "known", lambda ids: real(ids) * 2)
        with pytest.raises(AssayError, match="more is known of a prompt than it has tokens"):
            engine.generate(requests, KEY)


def test_the_driver_knows_every_field_of_a_call() -> None:
    """The program that runs the core without Python fills the same structure, field by field."""
    source = (ROOT / "assay/engine/native/core/queue.h").read_text()
    body = re.sub(r"//.*", "", source[source.index("struct Requests {") : source.index("};")])
    names = [field[0] for field in library.Requests._fields_]
    places = [found.start() for name in names if (found := re.search(rf"[ *]{name}[,;]", body))]
    assert len(places) == len(names) and all(a < b for a, b in pairwise(places))


def test_sets_that_play_keep_for_themselves() -> None:
    """Two sets of other weights, one of them behind the other: neither sees what the other has run."""
    sets = {"policy": engine_of(end=None), "behind": engine_of(end=None, seed=9), "idle": engine_of(end=None)}
    models = Models(sets, {"policy": "behind", "judge": "policy"})
    requests = requests_of(2, 2)
    with models.keeping():
        first = models.play("policy").generate(requests, KEY)
        assert sets["behind"].kept.size > 0 and sets["policy"].kept.size == 0 and sets["policy"].kept.most > 0
        assert sets["idle"].kept.most == 0
        second = models.play("judge").generate(requests, KEY)
    plain = engine_of(end=None)
    require_same(plain, requests, second, plain.generate(requests, KEY))
    assert [g.segment.ids.tolist() for g in first] != [g.segment.ids.tolist() for g in second]
