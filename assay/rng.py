"""Randomness without state: every number is a function of (seed, purpose, step, item, index) and of nothing else.

A `Key` is a path of names hashed to 64 bits. `key.generator()` gives a numpy generator, for example to draw a problem;
`uniforms(keys, n)` gives the sampling noise of many requests at once: one row for each request, one number for each
token. Neither depends on the batch, the order, the worker, a crash or a retry, so a checkpoint holds no random state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


_NUMBERS = [number.to_bytes(8, "little") for number in range(256)]


def digest(*parts: object) -> str:
    """Sixteen hexadecimal digits that identify the parts; unlike `hash`, the same in every process."""
    return hashlib.blake2b(_framed(parts), digest_size=8).hexdigest()


def digest_of(parts: Iterable[object]) -> str:
    """The same as `digest`, for parts that come one by one and need not be in memory together."""
    total = hashlib.blake2b(digest_size=8)
    for part in parts:
        total.update(_framed((part,)))
    return total.hexdigest()


def _framed(parts: Iterable[object]) -> bytes:
    """The bytes of the parts, each behind their number, so that neighbours cannot be taken for one part."""
    pieces: list[bytes] = []
    for part in parts:
        data = part if type(part) is bytes else str(part).encode()
        size = len(data)
        pieces.append(_NUMBERS[size] if size < len(_NUMBERS) else size.to_bytes(8, "little"))
        pieces.append(data)
    return b"".join(pieces)


class Key:
    """A named place in the tree of random streams.

    noise = Key(seed)("sample", step)(request.id)   # calling a key gives the key of a branch below it
    problem = draw(Key(seed)("problem", 7).generator())
    """

    __slots__ = ("hex",)

    def __init__(self, seed: int | str, *path: object) -> None:
        self.hex = digest("assay", seed, *path)

    @classmethod
    def from_hex(cls, text: str) -> Key:
        """The key whose `hex` this is; ValueError for a text that no key has."""
        if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
            raise ValueError(f"a key is written in sixteen hexadecimal digits, not {text[:40]!r}")
        key = cls(0)
        key.hex = text
        return key

    def __call__(self, *path: object) -> Key:
        return Key(self.hex, *path)

    def branches(self, names: Iterable[object]) -> np.ndarray:
        """uint64: the bits of `key(name)` for each name, as `uniforms` takes them."""
        begun = hashlib.blake2b(_framed(("assay", self.hex)), digest_size=8)
        found = []
        for name in names:
            branch = begun.copy()
            branch.update(_framed((name,)))
            found.append(branch.digest())
        return np.frombuffer(b"".join(found), ">u8").astype(np.uint64)

    @property
    def bits(self) -> int:
        """The key as an integer of 64 bits."""
        return int(self.hex, 16)

    def generator(self) -> np.random.Generator:
        """A numpy generator that starts at the same state each time it is made from this key."""
        return np.random.Generator(np.random.Philox(key=self.bits))


def _mix(x: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser: a bijection of 64 bits whose values at 1, 2, 3, ... pass the usual randomness tests."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(keys: Sequence[Key] | np.ndarray, count: int) -> np.ndarray:
    """float64[len(keys), count] in [0, 1): entry (i, t) is a hash of (keys[i], t). Keys may be given by their bits."""
    bits = keys if isinstance(keys, np.ndarray) else np.array([key.bits for key in keys], dtype=np.uint64)
    start = bits[:, None]
    counter = np.arange(1, count + 1, dtype=np.uint64)[None, :]
    with np.errstate(over="ignore"):
        words = _mix(_mix(start + counter * _GOLDEN) ^ start)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
