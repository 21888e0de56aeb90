"""Drawings: plans and pictures by hand, against a painter written anew, and in an environment of two turns."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import replies, said

from assay.rng import Key
from assay.tasks import TASKS
from assay.tasks.drawing import COLOURS, CORNERS, DRAWING, drawn, outline, painted, placed, planned, scores

SHAPES = st.lists(
    st.tuples(st.sampled_from(list(COLOURS)), st.integers(1, 3), st.integers(1, 3), st.sampled_from(list(CORNERS))),
    min_size=1,
    max_size=4,
)
SPEC = {"shapes": [["d", 3, 1, "se"], ["a", 1, 1, "se"]]}


def by_cells(shapes: list[Any]) -> list[str]:
    """Each cell has the colour of the last shape that covers it, by distances from the shape's own corner."""
    rows = []
    for r, c in itertools.product(range(4), range(4)):
        covering = [
            colour
            for colour, width, height, corner in shapes
            if (r if corner[0] == "n" else 3 - r) < height and (c if corner[1] == "w" else 3 - c) < width
        ]
        rows.append(covering[-1] if covering else ".")
    return ["".join(rows[4 * r : 4 * r + 4]) for r in range(4)]


@given(SHAPES)
def test_the_painter_agrees_with_another_one(shapes: list[Any]) -> None:
    rows = painted([placed(shape) for shape in shapes])
    assert rows == by_cells(shapes)
    assert DRAWING.checker.check({"shapes": shapes}, "/".join(rows)).status == "ok"


@given(SHAPES)
def test_the_plan_of_the_worked_solution_is_read_as_it_is_meant(shapes: list[Any]) -> None:
    solution, boxes = DRAWING.wordings.solve({"shapes": shapes}), [placed(shape) for shape in shapes]
    assert planned(solution.steps) == planned(solution.natural_steps) == boxes
    assert solution.steps.endswith(outline(painted(boxes)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[d33.13 a33.33]0000/0000/0000/0111#..../..../..../.dda", (1, 1, 1, 1)),
        ("[d33.13 a33.33]0000/0000/0000/0111#..../..../..../.ddd", (1, 1, 2 / 3, 1)),
        ("[d33.13]0000/0000/0000/0111#..../..../..../.dda", (1, 1 / 2, 1, 1)),  # a box is missing, no cell is
        ("[d23.13 a33.33]0000/0000/0111/0111#..../..../..../.dda", (3 / 6, 1 / 2, 1, 3 / 6)),
        ("[a33.33 d33.13]0000/0000/0000/0111#..../..../..../.dda", (1, 0, 1, 1)),  # in the wrong order
        ("#..../..../..../.dda", (0, 0, 1, 0)),
        ("[d33.13 a33.33]0000/0000/0000/0111#.../", (1, 1, 0, 0)),
        ("[d33.13 a33.33]0000/0000/0000/0111", (1, 1, 0, 0)),
        ("[d33.1]!#..../..../..../....", (0, 0, 0, 0)),
    ],
)
def test_scores_by_hand(text: str, said: tuple[float, ...]) -> None:
    problem = DRAWING.pose(SPEC, level=2)
    verdict = DRAWING.verify(problem, text)
    assert list(verdict.scores.values()) == pytest.approx(said)
    assert (verdict.status == "ok") == text.endswith(".dda")


@pytest.mark.parametrize(
    "plan", ["", "[", "[]", "[x33.13]", "[d34.13]", "[d31.13]", "[d33.13", "d33.13]", "[d33.13  a33.33]"]
)
def test_a_plan_that_cannot_be_read(plan: str) -> None:
    assert planned(plan) is None


def test_the_world_has_two_turns() -> None:
    first, second = replies(DRAWING, SPEC, "[d33.13]", "[d33.13]")
    assert said(first) == "0000/0000/0000/0111" and not first.failed
    assert second.ask is None and second.end == "ended"
    (unread,) = replies(DRAWING, SPEC, "[up]")
    assert said(unread) == "!" and unread.failed


@pytest.mark.parametrize("level", DRAWING.generator.levels)
def test_every_box_is_seen(level: int) -> None:
    for seed in range(30):
        spec = TASKS["drawing"].problem(Key(seed), level=level).spec
        rows = "".join(by_cells(spec["shapes"]))
        assert {shape[0] for shape in spec["shapes"]} == set(rows) - {"."} and len(spec["shapes"]) == level


@given(st.text(max_size=60))
def test_scores_of_any_text_are_from_0_to_1(text: str) -> None:
    for answer in (None, text):
        assert all(0 <= score <= 1 for score in scores(SPEC, text, answer).values())
    assert drawn(text) is None or len(text.strip()) == 19
