"""Randomness is a function of names: stable for ever, uniform, independent between neighbours."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.rng import Key, digest, uniforms

MASK = (1 << 64) - 1


def splitmix(x: int) -> int:
    """The finaliser of splitmix64 in plain integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def test_digest_is_length_prefixed_blake2b() -> None:
    h = hashlib.blake2b(digest_size=8)
    for part in (b"assay", b"12"):
        h.update(len(part).to_bytes(8, "little") + part)
    assert digest("assay", 12) == h.hexdigest() == Key(12).hex
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")


def test_golden_values() -> None:
    """What runs of the past have drawn must stay what they drew."""
    assert Key(0).hex == digest("assay", 0)
    key = Key(1)("sample", 3)("request")
    assert key.hex == digest("assay", digest("assay", digest("assay", 1), "sample", 3), "request")
    expected = [
        (splitmix(splitmix((key.bits + t * 0x9E3779B97F4A7C15) & MASK) ^ key.bits) >> 11) / 2**53 for t in (1, 2, 3)
    ]
    assert uniforms([key], 3)[0].tolist() == expected
    assert (Key(0).hex, Key(0)("a", 1).hex, uniforms([Key(0)], 2)[0].tolist()) == GOLDEN


GOLDEN = ("e4416e4844cd4436", "adf68a064e71ce54", [0.1579943030154468, 0.3048733424047715])


def test_a_path_is_its_names_in_their_order() -> None:
    keys = [
        Key(0),
        Key(1),
        Key(0)("a"),
        Key(0)("a", "b"),
        Key(0)("b", "a"),
        Key(0)("a")("b"),
        Key(0)("ab"),
        Key(0)("a", 1),
    ]
    assert len({key.hex for key in keys}) == len(keys)
    assert Key(5)("x", 2).hex == Key(5)("x", 2).hex


def test_generators_of_a_key_are_alike_and_of_two_keys_are_not() -> None:
    a, b, c = (key.generator().random(4).tolist() for key in (Key(1), Key(1), Key(2)))
    assert a == b != c


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, 11))
def test_entry_depends_on_its_own_key_and_place_alone(seeds: list[int], count: int, cut: int) -> None:
    """Not on the rows beside it, and not on how many numbers are asked for: retries and batches change nothing."""
    keys = [Key(seed) for seed in seeds]
    whole = uniforms(keys, count)
    assert whole.shape == (len(seeds), count) and (whole >= 0).all() and (whole < 1).all()
    for i, key in enumerate(keys):
        np.testing.assert_array_equal(uniforms([key], min(count, cut + 1))[0], whole[i, : cut + 1])
    np.testing.assert_array_equal(uniforms(keys[::-1], count), whole[::-1])


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """200 requests of one step by 200 tokens: keys that differ in a counter alone."""
    return uniforms([Key(0)("sample", 1)(i) for i in range(200)], 200)


def test_uniform(table: np.ndarray) -> None:
    """Chi-square of 256 cells; a fair table fails below 1e-4 once in ten thousand seeds, and this seed is fixed."""
    counts = np.bincount((table.ravel() * 256).astype(int), minlength=256)
    assert 1e-4 < stats.chisquare(counts).pvalue < 1 - 1e-4
    low = np.bincount(((table.ravel() * 2**20) % 1 * 256).astype(int), minlength=256)
    assert 1e-4 < stats.chisquare(low).pvalue < 1 - 1e-4
    assert stats.kstest(table.ravel(), "uniform").pvalue > 1e-4


def test_neighbours_are_independent(table: np.ndarray) -> None:
    """Pairs of tokens of a request, and pairs of requests at a token, on a grid of 16 by 16 cells."""
    for left, right in ((table[:, :-1], table[:, 1:]), (table[:-1], table[1:])):
        cell = (left * 16).astype(int) * 16 + (right * 16).astype(int)
        assert 1e-4 < stats.chisquare(np.bincount(cell.ravel(), minlength=256)).pvalue < 1 - 1e-4
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 4 / np.sqrt(left.size)


def test_steps_and_seeds_are_independent() -> None:
    first = uniforms([Key(0)("sample", 1)(i) for i in range(100)], 50).ravel()
    for other in (Key(0)("sample", 2), Key(1)("sample", 1), Key(0)("problem", 1)):
        second = uniforms([other(i) for i in range(100)], 50).ravel()
        assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(first.size)
        assert not np.isin(first, second).any()


def test_the_bits_of_many_branches_are_those_of_each_branch() -> None:
    key, names = Key(3)("sample", 7), ["0123456789abcdef", "", "a" * 300, 5]
    bits = key.branches(names)
    assert bits.tolist() == [key(name).bits for name in names]
    assert np.array_equal(uniforms(bits, 4), uniforms([key(name) for name in names], 4))
    assert key.branches([]).tolist() == []
