"""The kernels of attention while decoding, run by Triton's interpreter, against softmax attention in fp64.

Run with TRITON_INTERPRET=1. What no kernel may look at is NaN: columns behind a row's position, slots without a row,
tokens of the store between prompts. So are all buffers before they are written.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from assay.engine.torch.kernels import decoding
from assay.engine.torch.kernels.decoding import attend_rows, attend_shared, cut_of
from assay.engine.torch.kernels.prompt_tiles import most_tiles, rows_of_tile, tiles_of

Draw = st.DrawFn
KINDS = (torch.float32, torch.bfloat16, torch.float16)
NAN = float("nan")


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    """Fresh buffers are NaN."""
    torch.use_deterministic_algorithms(True)
    assert torch.empty(9).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)


def numbers(seed: int, *shape: int, kind: torch.dtype) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(kind)


def close(got: Tensor, q: Tensor, keys: list[Tensor], values: list[Tensor]) -> None:
    """That row i of `got` is attention of q[i] [heads, d] over keys[i] [columns, kv_heads, d], but for rounding.

    A score of fp32 sums over d numbers is off by d + 4 units of its absolute terms at most, and the weight by as much.
    The sums over columns, and the joining of parts, round once for each column. Weights and output are rounded to the
    format, by at most a unit whichever way.
    """
    assert got.dtype == q.dtype and not got.isnan().any()
    for out, query, key, value in zip(got, q, keys, values, strict=True):
        heads, d = query.shape
        share = heads // key.shape[1]
        k, v = (x.double().repeat_interleave(share, 1) for x in (key, value))
        x = query.double()
        p = torch.softmax(torch.einsum("hd,chd->hc", x, k) / d**0.5, -1)
        want, size = torch.einsum("hc,chd->hd", p, v), torch.einsum("hc,chd->hd", p, v.abs())
        terms = float((torch.einsum("hd,chd->hc", x.abs(), k.abs()) / d**0.5).max())
        unit = torch.finfo(torch.float32).eps
        allowed = size * (2 * torch.finfo(q.dtype).eps + unit * (len(key) + 8 + 2 * (d + 4) * terms))
        off = (out.double().view(heads, d) - want).abs()
        assert bool((off <= allowed).all()), f"off by {float((off / allowed).max()):.3g} of what rounding explains"


@st.composite
def shapes(draw: Draw) -> tuple[int, int, int, torch.dtype]:
    """(heads, kv heads, d, number format)"""
    kv, group = draw(st.integers(1, 2)), draw(st.integers(1, 8))
    return kv * group, kv, draw(st.sampled_from([16, 32, 64, 80, 128])), draw(st.sampled_from(KINDS))


def cache_of(seed: int, written: list[int], extra: int, length: int, kv: int, d: int, kind: torch.dtype) -> Tensor:
    """Numbers [slots * kv, length, d] in the first `written[i]` columns of slot i, and NaN elsewhere."""
    cache = torch.full((len(written) + extra, kv, length, d), NAN, dtype=kind)
    for i, count in enumerate(written):
        cache[i, :, :count] = numbers(seed + i, kv, count, d, kind=kind)
    return cache.view(-1, length, d)


def written_of(cache: Tensor, written: list[int], kv: int) -> list[Tensor]:
    """What is written in each slot, as [columns, kv heads, d]."""
    slots = cache.view(-1, kv, *cache.shape[1:])
    return [slots[i, :, :count].transpose(0, 1) for i, count in enumerate(written)]


@given(shapes(), st.integers(1, 260), st.data())
@settings(max_examples=14)
def test_rows_of_any_length(shape: tuple[int, int, int, torch.dtype], columns: int, data: st.DataObject) -> None:
    heads, kv, d, kind = shape
    written = data.draw(st.lists(st.integers(1, columns), min_size=1, max_size=3), "written")
    least, programs = data.draw(st.sampled_from([16, 64, 128])), data.draw(st.sampled_from([1, 8, 512]))
    seed, extra = data.draw(st.integers(0, 9999)), data.draw(st.integers(0, 2))
    n, length = len(written), columns + extra
    q = numbers(seed, n, heads + kv, d, kind=kind)[:, :heads]
    keys, values = (cache_of(seed + i, written, extra, length, kv, d, kind) for i in (10, 20))
    out = torch.full((n, heads * d), NAN, dtype=kind) if data.draw(st.booleans(), "given") else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "LEAST_COLUMNS", least)
        patch.setattr(decoding, "PROGRAMS", programs)
        positions = torch.tensor(written) - 1
        got = attend_rows(q, keys, values, positions, columns, kv_heads=kv, out=out)
    assert out is None or got is out
    close(got, q, written_of(keys, written, kv), written_of(values, written, kv))


def test_columns_bound_what_is_read() -> None:
    """A position at or behind `columns` sees the columns before, whatever the cache holds behind."""
    q = numbers(0, 1, 4, 16, kind=torch.float32)
    keys, values = (cache_of(i, [70], 0, 90, 2, 16, torch.float32) for i in (1, 2))
    got = attend_rows(q, keys, values, torch.tensor([85]), 70, kv_heads=2)
    close(got, q, written_of(keys, [70], 2), written_of(values, [70], 2))


def test_parts_that_begin_at_the_end_of_a_row_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and prompts that end where a part ends: the next part was not written."""
    monkeypatch.setattr(decoding, "LEAST_COLUMNS", 64)
    written, kind = [64, 128, 192, 193], torch.bfloat16
    assert cut_of(256, 4, 64) == (4, 64)
    q = numbers(0, 4, 4, 16, kind=kind)
    keys, values = (cache_of(i, written, 0, 256, 1, 16, kind) for i in (10, 20))
    positions, rows = torch.tensor(written) - 1, [written_of(cache, written, 1) for cache in (keys, values)]
    close(attend_rows(q, keys, values, positions, 256, kv_heads=1), q, *rows)
    store = [torch.cat([row[: min(len(row), 192)] for row in seen]) for seen in rows]
    length = torch.tensor([64, 128, 192, 192])
    order, tiles = tiles_of(range(4), length.cumsum(0) - length, length, per_tile=1)
    prompts = ((store[0], store[1]), length, torch.from_numpy(order), torch.from_numpy(tiles), 256)
    got = attend_shared(q, *prompts, keys, values, positions, 256, kv_heads=1)
    close(got, q, *([torch.cat([row[:192], row]) for row in seen] for seen in rows))


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    written = [1, 130, 64, 200]
    q = numbers(0, 4, 6, 32, kind=torch.bfloat16)
    keys, values = (cache_of(i, written, 0, 200, 2, 32, torch.bfloat16) for i in (10, 20))
    order = torch.tensor([2, 0, 3, 1])
    a, b = (cache.view(4, -1)[order].view(cache.shape) for cache in (keys, values))
    positions = torch.tensor(written) - 1
    one = attend_rows(q, keys, values, positions, 200, kv_heads=2)
    two = attend_rows(q[order], a, b, positions[order], 200, kv_heads=2)
    assert torch.equal(one[order], two)


def test_large_scores_do_not_overflow() -> None:
    """Scores of thousands: the largest takes all the weight, wherever in the parts it lies."""
    kind = torch.float32
    q = torch.full((1, 3, 16), 100.0, dtype=kind)
    for best in (0, 150, 259):
        keys = torch.full((1, 260, 16), -30.0, dtype=kind)
        keys[0, best] = 30.0
        values = torch.arange(260.0).view(1, 260, 1).expand(1, 260, 16).contiguous()
        assert bool((attend_rows(q, keys, values, torch.tensor([259]), 260, kv_heads=1) == best).all())


@given(shapes(), st.lists(st.integers(0, 150), min_size=1, max_size=3), st.data())
@settings(max_examples=10)
def test_a_prompt_in_a_store_is_as_good_as_a_copy(
    shape: tuple[int, int, int, torch.dtype], length: list[int], data: st.DataObject
) -> None:
    heads, kv, d, kind = shape
    prompt_of = data.draw(st.lists(st.integers(-1, len(length) - 1), min_size=1, max_size=5), "prompt_of")
    written = data.draw(st.lists(st.integers(1, 70), min_size=len(prompt_of), max_size=len(prompt_of)), "written")
    per_tile = data.draw(st.integers(1, rows_of_tile(heads, kv)))
    seed, n = data.draw(st.integers(0, 9999)), len(prompt_of)
    start = np.cumsum([0, *(size + 1 for size in length[:-1])])  # a token of NaN behind each prompt
    sizes = np.array([length[i] if i >= 0 else 0 for i in prompt_of])
    store = torch.full((2, sum(length) + len(length), kv, d), NAN, dtype=kind)
    for at, size in zip(start, length):
        store[:, at : at + size] = numbers(seed + int(at), 2, size, kv, d, kind=kind)
    q = numbers(seed, n, heads, d, kind=kind)
    keys, values = (cache_of(seed + i, written, 1, 70, kv, d, kind) for i in (300, 400))
    order, tiles = tiles_of(prompt_of, start, length, per_tile=per_tile, tiles=most_tiles(n, len(length), per_tile))
    positions, order, tiles = torch.tensor(written) - 1, torch.from_numpy(order), torch.from_numpy(tiles)
    prompts = ((store[0], store[1]), torch.from_numpy(sizes), order, tiles, max(length))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "LEAST_COLUMNS", data.draw(st.sampled_from([32, 128])))
        got = attend_shared(q, *prompts, keys, values, positions, 70, kv_heads=kv)
    seen = []
    for own, both in zip((keys, values), store):
        parts = [both[start[i] : start[i] + size] for i, size in zip(prompt_of, sizes)]
        seen.append([torch.cat(pair) for pair in zip(parts, written_of(own, written, kv))])
    close(got, q, seen[0], seen[1])
    whole = [len(row) for row in seen[0]]
    copies = [torch.full((n, kv, max(whole), d), NAN, dtype=kind) for _ in seen]
    for copy, rows in zip(copies, seen):
        for i, row in enumerate(rows):
            copy[i, :, : len(row)] = row.transpose(0, 1)
    a, b = (copy.view(n * kv, max(whole), d) for copy in copies)
    close(attend_rows(q, a, b, torch.tensor(whole) - 1, max(whole), kv_heads=kv), q, seen[0], seen[1])


@given(st.integers(0, 200_000), st.integers(1, 5000), st.sampled_from([16, 32, 64]))
def test_parts_cover_all_columns(columns: int, programs: int, block: int) -> None:
    parts, size = cut_of(columns, programs, block)
    assert size % block == 0 and parts * size >= columns and (parts - 1) * size < max(columns, 1)
    assert 1 <= parts <= decoding.MOST_PARTS
