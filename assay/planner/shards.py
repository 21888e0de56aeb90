"""How many numbers of a model each rank holds: what FSDP2 does with the units of `assay.engine.sharded.network`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.policy.config import PolicyConfig, matrices

Shape = tuple[int, ...]


def units(c: PolicyConfig) -> list[list[Shape]]:
    """The shapes of the parameters that are whole at the same time: each layer's, and at last those of the root."""
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    layer: list[Shape] = [*matrices(c).values(), (c.hidden,), (c.hidden,)]
    layer += [(q,), (k,), (k,)] if c.attention_bias else []
    layer += [(c.hidden,)] if c.output_bias else []
    layer += [(c.ffn,), (c.ffn,), (c.hidden,)] if c.mlp_bias else []
    layer += [(c.head_dim,), (c.head_dim,)] if c.qk_norm else []
    root: list[Shape] = [(c.vocab, c.hidden), (c.hidden,)] + ([] if c.tied else [(c.vocab, c.hidden)])
    return [list(layer) for _ in range(c.layers)] + [root]


def rows_of(count: int, shards: int, rank: int) -> int:
    """Of so many rows the first ranks hold ceil(count / shards) each, the next what is left, and the last nothing."""
    each = -(-count // shards)
    return max(0, min(each, count - rank * each))


def held(shapes: Sequence[Shape], shards: int, rank: int) -> int:
    """The numbers that a rank holds of these parameters."""
    return sum(rows_of(shape[0], shards, rank) * math.prod(shape[1:]) for shape in shapes)


def padded(shapes: Sequence[Shape], shards: int) -> int:
    """The numbers that FSDP2 allocates for them in every rank: as many as the first one holds."""
    return held(shapes, shards, 0)


def most(c: PolicyConfig, shards: int) -> int:
    """The numbers that the fullest rank allocates for the parameters of a model."""
    return sum(padded(unit, shards) for unit in units(c))


def numbers(shapes: Sequence[Shape]) -> int:
    """How many numbers these parameters have."""
    return sum(map(math.prod, shapes))
