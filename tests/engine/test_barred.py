"""Tokens that a request bars are never drawn, and what is drawn has the probability that is left for it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from engine_cases import engine_of, requests_of

from assay.engine.interface import Span
from assay.rng import Key

BARRED = (1, 4, 7)
VOCAB = 13


@pytest.mark.parametrize("precision", ["fp32", "native"])
@pytest.mark.parametrize("filters", [{}, {"top_k": 3}, {"top_p": 0.6}, {"temperature": 0.7}, {"temperature": 0.0}])
def test_barred_tokens_are_not_drawn(precision: str, filters: dict[str, float]) -> None:
    engine = engine_of(precision=precision, end=None)
    asked = requests_of(6, 8, max_new=6, **filters)
    free = engine.generate(asked, Key(0))
    held = engine.generate([dataclasses.replace(request, barred=BARRED) for request in asked], Key(0))
    assert any(token in BARRED for made in free for token in made.segment.ids.tolist())
    assert not any(token in BARRED for made in held for token in made.segment.ids.tolist())
    again = engine.generate(asked, Key(0))
    assert [made.segment.ids.tolist() for made in again] == [made.segment.ids.tolist() for made in free]


@pytest.mark.parametrize("precision", ["fp32", "native"])
def test_what_is_drawn_has_the_probability_that_is_left(precision: str) -> None:
    """old is the log-prob of the full softmax, and mu = old - log(1 - what is barred)."""
    engine = engine_of(precision=precision, end=None)
    asked = [dataclasses.replace(request, barred=BARRED) for request in requests_of(4, 4, max_new=1)]
    for request, made in zip(asked, engine.generate(asked, Key(1)), strict=True):
        every = engine.score([Span(request.context, np.array([token], np.int32)) for token in range(VOCAB)])
        p = np.exp([float(scores.logp[0]) for scores in every])
        token = int(made.segment.ids[0])
        assert made.segment.old is not None and made.segment.mu is not None
        np.testing.assert_allclose(made.segment.old[0], np.log(p[token]), atol=1e-5)
        np.testing.assert_allclose(made.segment.mu[0], np.log(p[token] / (1 - p[list(BARRED)].sum())), atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "native"])
def test_rows_that_bar_nothing_are_untouched_beside_rows_that_do(precision: str) -> None:
    engine = engine_of(precision=precision, end=None)
    asked = requests_of(3, 4)
    alone = engine.generate(asked, Key(2))
    mixed = [dataclasses.replace(r, barred=BARRED) if i % 2 else r for i, r in enumerate(asked)]
    for place, (plain, made) in enumerate(zip(alone, engine.generate(mixed, Key(2)), strict=True)):
        if place % 2 == 0:
            assert made.segment.ids.tolist() == plain.segment.ids.tolist()
            assert made.segment.mu is not None and plain.segment.mu is not None
            assert np.array_equal(made.segment.mu, plain.segment.mu, equal_nan=True)


def test_both_engines_draw_the_same() -> None:
    asked = [dataclasses.replace(request, barred=BARRED) for request in requests_of(4, 4)]
    one, other = (engine_of(precision=kind, end=None).generate(asked, Key(3)) for kind in ("fp32", "native"))
    assert [made.segment.ids.tolist() for made in one] == [made.segment.ids.tolist() for made in other]
