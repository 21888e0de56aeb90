"""What rows share of a prompt is run once and read once for all of them; a row has the bits that it has alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from engine_cases import FAMILIES, contexts_of, model_of, problem_of
from missing_core import variants
from test_native import bits
from typed import present

from assay.engine import footprint
from assay.engine.interface import Span
from assay.engine.native import build
from assay.engine.native.engine import NativeEngine
from assay.rng import Key
from assay.types import Origin, Request, Segment

KEY = Key(3)
ANSWERS = {1: 3, 16: 1, 17: 2, 40: 7, 47: 8, 64: 11, 130: 21}  # tokens of a prompt, and answers to it
every_variant = pytest.mark.parametrize(
    "variant", variants(fast=1)
)  # the first is the one that most tests run on; another must be compiled


def requests() -> list[Request]:
    """Answers of lengths that differ, so that the rows of a prompt become fewer while it is in flight."""
    made = []
    for size, count in ANSWERS.items():
        (context,) = contexts_of(1, seed=size, low=size, high=size + 1)
        made += [
            Request(problem_of(size), context, str(size), 3 + 5 * s % 24, temperature=0.8, sample=s)
            for s in range(count)
        ]
    return made


@every_variant
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_share_a_prompt_have_the_bits_that_they_have_alone(
    variant: build.Variant, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(build.CHOICE, variant.name)
    engine = NativeEngine(model_of(family), end_ids=frozenset({0}), precision=variant.format, optimiser=None)
    asked = requests()
    monkeypatch.setattr(footprint, "NATIVE_SLOTS", 64)
    made = engine.generate(asked, KEY)
    assert len({len(g.segment) for g in made}) > 10, "rows leave one after another"
    assert [bits(engine.generate([one], KEY))[0] for one in asked] == bits(made)
    spans = [Span(r.context, g.segment.ids, 0.8) for r, g in zip(asked, made)]
    for g, score in zip(made, engine.score(spans)):
        assert score.logp.tobytes() == present(g.segment.old).tobytes(), "the learner reads the keys of each row"


@pytest.mark.core
@pytest.mark.parametrize("slots", [64, 2])
def test_rows_that_share_only_the_beginning_of_a_prompt_have_the_bits_that_they_have_alone(
    slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that go on behind different places of one path share blocks of different numbers."""
    monkeypatch.setattr(footprint, "NATIVE_SLOTS", slots)
    engine = NativeEngine(model_of("grouped"), end_ids=frozenset(), precision="fp32", optimiser=None)
    (path,) = contexts_of(1, seed=5, low=90, high=91)
    trunk = Request(problem_of(0), path[:20], "0", 12)
    asked = []
    for sample, size in enumerate((15, 16, 16, 31, 32, 33, 47, 48, 48, 70)):
        ids = path[20 : 20 + size]
        before = (Segment(ids, np.full(size, Origin.POLICY, np.int8)),)
        asked.append(replace(trunk, prefix=before, sample=sample))
    made = bits(engine.generate(asked, KEY))
    assert [bits(engine.generate([one], KEY))[0] for one in asked] == made


@pytest.mark.core
@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
def test_a_prompt_is_run_once_though_its_answers_do_not_fit_in_flight(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four rows are in flight and end together: three times four answers to a prompt. Each time but the first only the
    last token of the prompt is run again, for its hidden state.
    """
    monkeypatch.setattr(footprint, "NATIVE_SLOTS", 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    engine = NativeEngine(model_of(family), end_ids=frozenset(), precision="fp32", optimiser=None)
    contexts = contexts_of(2, seed=8, low=50, high=60)
    asked = [Request(problem_of(g), c, str(g), 5, sample=s) for g, c in enumerate(contexts) for s in range(12)]
    made = engine.generate(asked, KEY)
    assert engine.prefilled == sum(len(c) + 2 for c in contexts)
    assert [bits(engine.generate([one], KEY))[0] for one in asked] == bits(made)


@pytest.mark.core
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_that_are_admitted_one_by_one_have_the_bits_that_they_have_alone(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers of many lengths, so that a prompt's answers begin at many times and on any thread."""
    monkeypatch.setattr(footprint, "NATIVE_SLOTS", 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    engine = NativeEngine(model_of("grouped"), end_ids=frozenset({0}), precision="fp32", optimiser=None)
    asked = requests()
    made = engine.generate(asked, KEY)
    whole = sum(len(c) for c in {r.group: r.context for r in asked}.values())
    assert whole <= engine.prefilled and (threads > 1 or engine.prefilled < whole + len(asked))
    assert [bits(engine.generate([one], KEY))[0] for one in asked] == bits(made)
