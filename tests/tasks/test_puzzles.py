"""Puzzles: checkers against enumerations that share no code, several right answers, and rules broken one by one."""

from __future__ import annotations

import functools
import itertools
import re

import pytest

from assay.rng import Key
from assay.tasks import TASKS
from assay.types import Problem

RULES = re.compile("000|111")


def posed(name: str, level: int, seed: int) -> Problem:
    return TASKS[name].problem(Key(seed, name, level), level=level)


@functools.cache
def squares(size: int) -> list[tuple[str, ...]]:
    """All squares of 0 and 1."""
    lines = ["".join(bits) for bits in itertools.product("01", repeat=size)]
    return list(itertools.product(lines, repeat=size))


def balanced(lines: tuple[str, ...]) -> bool:
    return all(line.count("0") == line.count("1") and not RULES.search(line) for line in lines)


def turned(rows: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("".join(row[k] for row in rows) for k in range(len(rows)))


@pytest.mark.slow
@pytest.mark.parametrize("level", [1, 2, 3])
def test_binario_accepts_the_squares_that_an_enumeration_finds(level: int) -> None:
    right = [rows for rows in squares(4) if balanced(rows) and balanced(turned(rows))]
    assert len(right) == 90
    for seed in range(3):
        problem = posed("binario", level, seed)
        given = "/".join(problem.spec["rows"]).replace(".", "[01]")
        fits = {rows for rows in right if re.fullmatch(given, "/".join(rows))}
        tried = {*right, *squares(4)[::23], *itertools.product(["0011", "0101", "0110", "1001"], repeat=4)}
        accepted = {
            rows for rows in tried if TASKS["binario"].checker.check(problem.spec, "/".join(rows)).status == "ok"
        }
        assert accepted == fits != set()


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        ("0110/1001/0110/1001", "", ""),
        ("0110\n1001\n0110\n1001", "", ""),
        ("01 10, 1001, 0110, 1001", "", ""),
        ("0110/1001/0110/1010", "wrong", "column 3"),
        ("1001/0110/1001/0110", "wrong", "given"),
        ("0111/1000/0110/1001", "wrong", "row 1 has not"),
        ("0110/1001/0110", "format", "4 rows"),
        ("0110/1001/0110/1001/0110", "format", "4 rows"),
        ("0110/1001/0110/100２", "format", "4 rows"),
        ("0" * 500, "format", "longer"),
    ],
)
def test_the_rules_of_binario_one_by_one(answer: str, kind: str, why: str) -> None:
    verdict = TASKS["binario"].checker.check({"rows": ["0...", "....", "....", "...."]}, answer)
    assert (verdict.status, verdict.kind) == (("fail", kind) if kind else ("ok", "")) and why in verdict.detail
    assert kind or verdict.answer == "0110/1001/0110/1001"


def test_three_alike_in_a_row_are_refused() -> None:
    spec = {"rows": ["......"] * 6}
    good = "001011/110100/001011/110100/001101/110010"
    assert TASKS["binario"].checker.check(spec, good).status == "ok"
    assert "row 1 has three" in TASKS["binario"].checker.check(spec, "000111" + good[6:]).detail
    stacked = "001011/010011/001101/110100/101100/110010"
    assert "column 1 has three" in TASKS["binario"].checker.check(spec, stacked).detail


def test_kakurasu_accepts_the_squares_that_an_enumeration_finds() -> None:
    several = 0
    for seed in range(8):
        problem = posed("kakurasu", 3, seed)
        fits = set()
        for rows in squares(3):
            black = [(r, c) for r, row in enumerate(rows, 1) for c, cell in enumerate(row, 1) if cell == "1"]
            across = [sum(c for r, c in black if r == k) for k in (1, 2, 3)]
            down = [sum(r for r, c in black if c == k) for k in (1, 2, 3)]
            if [across, down] == [problem.spec["rows"], problem.spec["columns"]]:
                fits.add(rows)
        accepted = {
            rows for rows in squares(3) if TASKS["kakurasu"].checker.check(problem.spec, "/".join(rows)).status == "ok"
        }
        assert accepted == fits != set()
        several += len(fits) > 1
    ambiguous = {"rows": [3, 3, 0], "columns": [1, 1, 2]}  # 3 alone, or 1 and 2
    assert [TASKS["kakurasu"].checker.check(ambiguous, one).status for one in ("110/001/000", "001/110/000")] == [
        "ok",
        "fail",
    ]


@pytest.mark.parametrize("level", range(4, 10))
def test_the_moves_of_a_stack_bring_the_letters_into_order(level: int) -> None:
    """As many pushes as pops, never more pops than pushes: the only moves that are right."""
    for seed in range(4):
        problem = posed("stack", level, seed)
        moves = (problem.solution or "").rpartition("#")[2]
        heights = list(itertools.accumulate(1 if move == "+" else -1 for move in moves))
        assert len(moves) == 2 * level and min(heights) >= 0 and heights[-1] == 0
        swapped = moves[::-1].translate(str.maketrans("+-", "-+"))
        if swapped != moves:
            assert TASKS["stack"].checker.check(problem.spec, swapped).kind == "wrong"


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        ("+-++--", "", ""), ("+ - + + - -", "", ""), ("++--+-", "wrong", "order bac"), ("+-++-", "wrong", "order ac"),
        ("-", "wrong", "move 1 finds nothing to pop"), ("+++--+", "wrong", "move 6 finds nothing to push"),
        ("acb", "format", ""), ("+" * 300, "format", "longer"), ("＋－", "format", ""),
    ],
)  # fmt: skip
def test_moves_that_a_person_can_check(answer: str, kind: str, why: str) -> None:
    verdict = TASKS["stack"].checker.check({"given": "abc", "wanted": "acb"}, answer)
    assert (verdict.status, verdict.kind) == (("fail", kind) if kind else ("ok", "")) and why in verdict.detail
