"""Tiles of rows that share a prompt: the units in which decoding kernels read the prompts of a store."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

TILE_QUERIES = 64  # queries of a tile: those of its rows, of all heads of one kv head


def rows_of_tile(heads: int, kv_heads: int) -> int:
    """The most rows of a tile: the queries of their heads of one kv head fill `TILE_QUERIES`."""
    return max(1, TILE_QUERIES // (heads // kv_heads))


def most_tiles(rows: int, prompts: int, per_tile: int) -> int:
    """The most tiles that so many rows of so many prompts can need, however they are grouped."""
    return min(rows, min(rows, prompts) + rows // per_tile)


def tiles_of(
    prompt_of: ArrayLike, start: ArrayLike, length: ArrayLike, *, per_tile: int, tiles: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(order int64[n], tiles int64[tiles, 4]): the rows that share a prompt, in tiles of at most `per_tile` rows.

    `prompt_of` int64[n] is the prompt of each row, or -1 for a row without one. `start` and `length` int64[prompts] say
    where each prompt lies in the store and how many tokens it has. A tile is (first, count, start, length): its rows
    are order[first : first + count], and its prompt has the `length` tokens from `start` on. With `tiles`, empty tiles
    are added up to that number, so that a CUDA graph's grid need not change when rows do. Kernels of a model take
    tiles of `rows_of_tile` rows at most: they have no queries for more.

    Example:
        order, tiles = tiles_of([0, 1, 0], [0, 9], [9, 5], per_tile=8)  # [0, 2, 1], [[0, 2, 0, 9], [2, 1, 9, 5]]
    """
    prompt_of, start, length = (np.asarray(array, np.int64) for array in (prompt_of, start, length))
    order = np.argsort(prompt_of, kind="stable")
    prompts, begin, size = np.unique(prompt_of[order], return_index=True, return_counts=True)
    shared = prompts >= 0
    prompts, begin, size = prompts[shared], begin[shared], size[shared]
    cuts = -(-size // per_tile)
    which = np.repeat(np.arange(len(prompts)), cuts)
    done = (np.arange(len(which)) - np.repeat(np.cumsum(cuts) - cuts, cuts)) * per_tile
    count = np.minimum(size[which] - done, per_tile)
    of = prompts[which]
    filled = np.stack([begin[which] + done, count, start[of], length[of]], 1).reshape(-1, 4)
    padded = np.zeros((len(filled) if tiles is None else tiles, 4), np.int64)
    if len(filled) > len(padded):
        raise ValueError(f"the rows need {len(filled)} tiles and there is room for {len(padded)}: see `most_tiles`")
    padded[: len(filled)] = filled
    return order.astype(np.int64), padded
