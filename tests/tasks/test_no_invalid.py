"""No text that a policy can write makes a verdict `invalid`, which is left for faults of ours."""

from __future__ import annotations

import pytest
from hostile_texts import FRAGMENTS, TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_answers import OF_TASK, Case, each, hostile, verdicts, wrapped

RANDOM = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=6).map("".join)


def invalid(name: str, texts: list[str]) -> list[tuple[str, str, str]]:
    """(text, kind, detail) of each answer that has no verdict."""
    cases = [
        Case(name, i % 3, wording, whole) for i, text in enumerate(texts) for wording, whole in wrapped(name, text)
    ]
    found = zip(cases, verdicts(cases), strict=True)
    return [(case.text[:80], one.kind, one.detail[:200]) for case, one in found if one.status == "invalid"]


def test_the_corpus_is_large_and_no_text_stands_in_it_twice() -> None:
    assert len(set(TEXTS.values())) >= 800


@pytest.mark.slow
@pytest.mark.parametrize("name", each())
def test_no_text_of_the_corpus_is_invalid(name: str) -> None:
    assert not invalid(name, hostile(name, 24 if name in OF_TASK else 6))


@pytest.mark.deep
@pytest.mark.parametrize("name", each())
def test_no_text_of_the_whole_corpus_is_invalid(name: str) -> None:
    assert not invalid(name, list(TEXTS.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", each())
@settings(max_examples=8, deadline=None, derandomize=True)
@given(texts=st.lists(RANDOM, min_size=1, max_size=4))
def test_no_random_text_is_invalid(name: str, texts: list[str]) -> None:
    assert not invalid(name, texts)
