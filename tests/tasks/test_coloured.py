"""The task whose problems are pictures: what is drawn, what is asked, and the variants of a problem."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tasks import HOSTILE

from assay.policy.messages import pictures_in
from assay.policy.pictures import pixels_of
from assay.prompt import text_of
from assay.rng import Key
from assay.tasks import ALPHABET, task
from assay.tasks.coloured import CELL, COLOURS, GLYPHS, picture, variant
from assay.types import Problem

GRIDS = task("grids")
LEVELS = list(GRIDS.generator.levels)


def posed(level: int, seed: int, **options) -> Problem:  # type: ignore[no-untyped-def]
    return GRIDS.problem(Key(seed, "grids", level), level=level, **options)


def seen(problem: Problem) -> list[tuple[str, int]]:
    """What a reader who knows the colours and the glyphs finds in the picture of a prompt, cell by cell."""
    (source,) = pictures_in(problem.prompt)
    pixels = pixels_of(source)
    cells = []
    for top in range(0, len(pixels), CELL):
        for left in range(0, len(pixels), CELL):
            cell = pixels[top : top + CELL, left : left + CELL].astype(int)
            if cell.any():
                ink = (cell == 255).all(-1)
                rows = tuple(sum(4 >> x for x in range(3) if ink[1 + y, 2 + x]) for y in range(5))
                (colour,) = [name for name, rgb in COLOURS.items() if (cell[0, 0] == rgb).all()]
                cells.append((colour, next(digit for digit, glyph in GLYPHS.items() if glyph == rows)))
    return cells


@settings(max_examples=40, deadline=None)
@given(level=st.sampled_from(LEVELS), seed=st.integers(0, 10**9))
def test_the_answer_follows_from_the_picture(level: int, seed: int) -> None:
    """An independent reader, who sees the pixels and the words alone, finds the answer that the checker takes."""
    problem = posed(level, seed)
    words = text_of(problem.prompt[0]["content"])  # type: ignore[index]
    key, _, question = words.rpartition(": ")
    kind, asked, *then = question.split()
    named = {thing: colour for colour, thing in (pair.split("=") for pair in key.split())}
    digits = [digit for colour, digit in seen(problem) if colour[0] == named.get(asked, asked)]
    value = {"count": len(digits), "sum": sum(digits), "top": max(digits)}[kind]
    if then:
        times, plus = then[0].lstrip("*").split("+")
        value = int(times) * value + int(plus)
    assert (
        GRIDS.verify(problem, f"x#{value}").status == "ok" and GRIDS.verify(problem, f"x#{value + 1}").status == "fail"
    )
    assert len(seen(problem)) == (9 if level - 1 & 2 else 4)
    assert bool(key) == bool(level - 1 & 1) and bool(then) == bool(level - 1 & 4)


@pytest.mark.parametrize("level", LEVELS)
def test_worked_solutions_are_right_in_both_wordings(level: int) -> None:
    for seed in range(20):
        compact, natural = posed(level, seed), posed(level, seed, wording="natural")
        assert compact.id == natural.id and compact.spec == natural.spec == json.loads(json.dumps(compact.spec))
        for problem in (compact, natural):
            assert GRIDS.verify(problem, problem.solution or "").status == "ok"
        assert set(text_of(compact.prompt[0]["content"]) + (compact.solution or "")) <= set(ALPHABET)  # type: ignore[index]
        assert "\\boxed{" in text_of(natural.prompt[0]["content"])  # type: ignore[index]


def test_the_checker_is_total() -> None:
    problem = posed(8, 5)
    for text in HOSTILE:
        for response in (text, f"1#{text}", f"\\boxed{{{text}}}"):
            assert GRIDS.verify(problem, response).status == "fail"


@pytest.mark.parametrize("level", LEVELS)
def test_all_variants_of_a_problem_are_in_its_split(level: int) -> None:
    for split in ("train", "valid", "test"):
        problem = posed(level, 3, split=split)
        assert {GRIDS.split_of(variant(problem.spec, other)) for other in LEVELS} == {split}


def test_variants_are_different_problems_and_y_alone_changes_the_picture() -> None:
    spec = posed(1, 7).spec
    assert len({GRIDS.generator.canonical(variant(spec, level)) for level in LEVELS}) == 8
    plain = picture(variant(spec, 1))
    assert all((picture(variant(spec, level)) == plain).all() for level in (2, 5, 6))
    assert (
        not (picture(variant(spec, 3)) == plain).all()
        and (picture(variant(spec, 3))[:16, :16] == plain[:16, :16]).all()
    )


def test_digits_look_different() -> None:
    assert sorted(GLYPHS) == list(range(1, 10)) and len(set(GLYPHS.values())) == 9
    assert np.unique(list(COLOURS.values()), axis=0).shape == (4, 3)
