"""Answers that are heard while they are written: the same tokens, in their order, and an end where the hearer wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engine_cases import contexts_of, engine_of, problem_of, requests_of
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rng import Key
from assay.types import Ids, Request

pytestmark = pytest.mark.usefixtures("kind")
KEY = Key(7)


class Hearer:
    """Keeps what it heard of each request; ends an answer of which `over` is true."""

    def __init__(self, over: Callable[[Ids], bool] = lambda ids: False) -> None:
        self.over, self.heard = over, dict[int, list[list[int]]]()

    def __call__(self, place: int, ids: Ids) -> bool:
        self.heard.setdefault(place, []).append(ids.tolist())
        return self.over(ids)


SAMPLING = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([0.0, 0.7, 1.0, 2.0]),
        "top_p": st.sampled_from([0.5, 0.9, 1.0]),
        "top_k": st.sampled_from([0, 3]),
        "min_p": st.sampled_from([0.0, 0.1]),
    }
)


@pytest.mark.slow
@settings(max_examples=15)
@given(how=SAMPLING, seed=st.integers(0, 2**31), count=st.integers(1, 4), max_new=st.integers(1, 24))
def test_an_answer_that_is_heard_has_the_bits_of_the_batch(
    how: dict[str, Any], seed: int, count: int, max_new: int
) -> None:
    engine, contexts = engine_of(), contexts_of(count, seed=seed % 97)
    requests = [Request(problem_of(i), one, "g", max_new, sample=i, **how) for i, one in enumerate(contexts)]
    together = engine.generate(requests, Key(seed))
    for request, plain in zip(requests, together, strict=True):
        hearer = Hearer()
        (alone,) = engine.generate([request], Key(seed), heard=hearer)
        assert alone.finish == plain.finish
        for name in ("ids", "old", "mu", "entropy"):
            own, of_batch = getattr(alone.segment, name), getattr(plain.segment, name)
            if name == "ids" or engine.exact:
                np.testing.assert_array_equal(own, of_batch)
            else:
                np.testing.assert_allclose(own, of_batch, atol=1e-4)
        whole = alone.segment.ids.tolist()
        for early in hearer.heard.get(0, []):
            assert early and early == whole[: len(early)]


def test_every_token_is_heard_or_many_at_once() -> None:
    engine, hearer = engine_of(), Hearer()
    made = engine.generate(requests_of(max_new=40, temperature=1.5), KEY, heard=hearer)
    for place, parts in hearer.heard.items():
        lengths = [len(part) for part in parts]
        assert lengths == sorted(set(lengths)) and lengths[-1] <= len(made[place].segment)
        if engine.name != "native":  # its threads go on while the hearer is called
            assert lengths == list(range(1, len(made[place].segment) + 1))


@pytest.mark.slow
def test_the_hearer_ends_an_answer_and_no_other() -> None:
    requests = [
        Request(problem_of(i), context, "g", 240, temperature=2.0, sample=i)
        for i, context in enumerate(contexts_of(2, low=3))
    ]
    endless = engine_of(end=None)
    whole = endless.generate(requests, KEY)
    hearer = Hearer()
    made = endless.generate(requests, KEY, heard=lambda place, ids: hearer(place, ids) or place == 1)
    assert made[0].finish == "length" and len(made[0].segment) == 240
    assert made[1].finish in ("stop", "length")
    written = made[1].segment.ids
    np.testing.assert_array_equal(written, whole[1].segment.ids[: len(written)])
    if endless.name != "native":
        assert made[1].finish == "stop" and len(written) == 1


@pytest.mark.slow
def test_a_hearer_that_fails_ends_the_call_and_the_engine_goes_on() -> None:
    def broken(place: int, ids: Ids) -> bool:
        raise KeyboardInterrupt

    requests = [Request(problem_of(0), contexts_of(1)[0], "g", 200, temperature=2.0)]
    endless = engine_of(end=None)
    try:
        endless.generate(requests, KEY, heard=broken)
    except KeyboardInterrupt:
        pass
    else:
        assert endless.name == "native", "only its threads may be done before the hearer is asked"
    assert len(endless.generate(requests, KEY)[0].segment) == 200


def test_stop_strings_end_an_answer_that_is_heard() -> None:
    letters = engine_of(decode=lambda ids: "".join("abcdefghijklm"[i] for i in ids), end=None)
    request = Request(problem_of(0), contexts_of(1)[0], "g", 200, temperature=2.0, stop=("c",))
    (plain,) = letters.generate([request], KEY)
    (heard,) = letters.generate([request], KEY, heard=Hearer())
    assert heard.finish == plain.finish == "stop"
    np.testing.assert_array_equal(heard.segment.ids, plain.segment.ids)
