"""Tiles of rows that share a prompt: each row stands in one tile of its prompt."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engine.torch.kernels.prompt_tiles import most_tiles, rows_of_tile, tiles_of


@given(st.lists(st.integers(-1, 6), max_size=40), st.integers(1, 9), st.integers(0, 5))
def test_each_row_stands_in_one_tile_of_its_prompt(prompt_of: list[int], per_tile: int, empty: int) -> None:
    start, length = np.arange(7) * 100, np.arange(7) * 3 + 1
    room = most_tiles(len(prompt_of), 7, per_tile) + empty
    order, tiles = tiles_of(prompt_of, start, length, per_tile=per_tile, tiles=room)
    assert order.dtype == tiles.dtype == np.int64 and tiles.shape == (room, 4)
    seen = []
    for first, count, at, tokens in tiles:
        assert 0 <= count <= per_tile
        rows = order[first : first + count].tolist()
        assert len(rows) == count
        seen += rows
        prompts = {prompt_of[row] for row in rows}
        assert prompts <= {at // 100} and (not prompts or tokens == length[at // 100])
    assert sorted(seen) == [row for row, prompt in enumerate(prompt_of) if prompt >= 0]
    assert sorted(order.tolist()) == list(range(len(prompt_of)))


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 9))
def test_no_tile_is_wasted(prompt_of: list[int], per_tile: int) -> None:
    _, tiles = tiles_of(prompt_of, np.zeros(7), np.ones(7), per_tile=per_tile)
    assert len(tiles) == sum(-(-prompt_of.count(prompt) // per_tile) for prompt in set(prompt_of))
    assert bool((tiles[:, 1] > 0).all())


def test_by_hand() -> None:
    order, tiles = tiles_of([1, 0, -1, 1, 1], [0, 9], [9, 5], per_tile=2, tiles=4)
    assert order.tolist() == [2, 1, 0, 3, 4]
    assert tiles.tolist() == [[1, 1, 0, 9], [2, 2, 9, 5], [4, 1, 9, 5], [0, 0, 0, 0]]


def test_too_little_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="the rows need 2 tiles and there is room for 1"):
        tiles_of([0, 1], [0, 1], [1, 1], per_tile=2, tiles=1)


def test_the_bound_on_tiles_is_reached() -> None:
    """Two rows more than fill a tile, and prompts with a row each."""
    assert most_tiles(5, 5, 8) == 5 and most_tiles(9, 1, 4) == 3
    _, tiles = tiles_of([0] * 5 + [1], [0, 0], [1, 1], per_tile=4)
    assert len(tiles) == 3 == most_tiles(6, 2, 4)


def test_rows_fill_a_tile() -> None:
    assert [rows_of_tile(heads, kv) for heads, kv in ((14, 2), (16, 8), (8, 8), (128, 1))] == [9, 32, 64, 1]
