"""Randomness without state: every number is a function of (seed, purpose, step, item, index) and of nothing else.

A `Key` is a path of names hashed to 64 bits. `key.generator()` gives a numpy generator for drawing an item;
`uniforms(keys, n)` gives the sampling noise of many requests at once, one row each, one number per token. Neither
depends on batch, order, worker, crash or retry, so nothing about randomness is ever saved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def digest(*parts: object) -> str:
    """Sixteen hexadecimal digits that identify the parts; unlike `hash`, the same in every process."""
    return digest_of(parts)


def digest_of(parts: Iterable[object]) -> str:
    """`digest` of parts that are never held all at once."""
    total = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


class Key:
    """A named place in the tree of random streams: `Key(seed)("sample", step)(request.id)`."""

    __slots__ = ("hex",)

    def __init__(self, seed: int | str, *path: object) -> None:
        self.hex = digest("assay", seed, *path)

    def __call__(self, *path: object) -> Key:
        return Key(self.hex, *path)

    @property
    def bits(self) -> int:
        return int(self.hex, 16)

    def generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self.bits))


def _mix(x: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser: a bijection of 64 bits that passes the usual batteries on counters."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(keys: Sequence[Key], count: int) -> np.ndarray:
    """float64[len(keys), count] in [0, 1): entry (i, t) is a hash of (keys[i], t)."""
    start = np.array([key.bits for key in keys], dtype=np.uint64)[:, None]
    counter = np.arange(1, count + 1, dtype=np.uint64)[None, :]
    with np.errstate(over="ignore"):
        words = _mix(_mix(start + counter * _GOLDEN) ^ start)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
