"""The sweep of answers that look at nothing: what it tries, and that the documents name every level that one wins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.tasks import TASKS
from bench import constants
from bench.constants import CONSTANTS, LIMIT, best, ways, winners

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| (\d+)(?: (?:to|and) (\d+))? \| [^|]*\d+ %", re.MULTILINE)


def named() -> set[tuple[str, int]]:
    """The levels in the table of docs/tasks.md."""
    text = DOCUMENT.read_text().partition("## Levels that an answer without a look wins")[2].partition("\n## ")[0]
    rows = ROW.findall(text)
    return {(name, level) for name, first, last in rows for level in range(int(first), int(last or first) + 1)}


def test_an_answer_without_a_look_is_a_constant_the_example_a_word_or_a_number() -> None:
    found = dict(ways("Give 3 and -14 (not x), for example \\boxed{7}."))
    assert found["number 1"] == "-14" and found["number -1"] == "7" and found["the example"] == "7"
    assert found["word 0"] == found["piece 0"] == "Give" and found["piece -1"] == "\\boxed{7}."
    assert {f"constant {one}" for one in CONSTANTS} <= found.keys() and len(set(CONSTANTS)) == 33


@pytest.mark.slow
def test_the_best_way_is_measured_on_fresh_problems() -> None:
    """The answer of mod-chain-7 is uniform on seven values: each is right on one problem of seven."""
    found = best(TASKS["mod-chain-7"], 3, "compact", count=20)
    assert found.count == 20 * constants.FRESH and abs(found.share - 1 / 7) < 4 * (6 / 49 / found.count) ** 0.5
    assert list(winners(TASKS["countdown"], [3], count=5)) == []


def test_the_levels_that_are_named_exist() -> None:
    assert named() and all(level in TASKS[name].generator.levels for name, level in named())


@pytest.mark.deep
@pytest.mark.parametrize(
    "name", [name for name in TASKS if not set(TASKS[name].checker.externals) - {"z3", "sqlite", "highs"}]
)
def test_every_level_that_an_answer_without_a_look_wins_is_named(name: str) -> None:
    count = 20 if TASKS[name].checker.externals else 40
    found = {(one.task, one.level) for one in winners(TASKS[name], count=count)}
    assert found <= named(), f"above {LIMIT:.0%}: mend the level, or name it in docs/tasks.md"
