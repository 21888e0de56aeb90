"""Circuits with a clock as problems: what they do by hand, other right answers, and the levels without a clock."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import pytest

from assay.rng import Key
from assay.tasks import TASKS
from assay.tasks.clocked import LEVELS, circuit, machine, wrong_lines

TASK = TASKS["verilog"]
PLAIN = {"rises": True, "high": True, "asynchronous": False}
CASES: list[tuple[dict[str, Any], list[dict[str, int]], list[int], list[int]]] = [
    # spec, inputs of each cycle, q after each edge, y before it
    ({"design": "shift", "width": 3, "left": True, "enable": False}, [{"d": 1}, {"d": 0}, {"d": 1}], [1, 2, 5], []),
    ({"design": "shift", "width": 3, "left": False, "enable": True}, [{"d": 1, "e": 1}, {"d": 1, "e": 0}], [4, 4], []),
    ({"design": "edge", "what": "rises"}, [{"d": 1}, {"d": 1}, {"d": 0}], [1, 1, 0], [1, 0, 0]),
    ({"design": "edge", "what": "falls"}, [{"d": 1}, {"d": 1}, {"d": 0}], [1, 1, 0], [0, 0, 1]),
    ({"design": "edge", "what": "changes"}, [{"d": 1}, {"d": 1}, {"d": 0}], [1, 1, 0], [1, 0, 1]),
    ({"design": "count", "width": 2, "modulus": 3, "up": True, "enable": False}, [{}] * 4, [1, 2, 0, 1], []),
    ({"design": "count", "width": 2, "modulus": 3, "up": False, "enable": False}, [{}] * 4, [2, 1, 0, 2], []),
    ({"design": "count", "width": 2, "modulus": 4, "up": False, "enable": False}, [{}] * 2, [3, 2], []),
    ({"design": "gather", "width": 2, "what": "add", "enable": False}, [{"d": 3}, {"d": 2}], [3, 1], []),
    ({"design": "gather", "width": 2, "what": "min", "enable": False}, [{"d": 2}, {"d": 3}], [2, 2], []),
    ({"design": "feedback", "width": 3, "tap": 1, "enable": False}, [{}] * 4, [2, 5, 3, 7], []),
    ({"design": "machine", "table": [[1, 0], [2, 0], [2, 1]], "lit": [0, 0, 1]},
     [{"a": 0}, {"a": 0}, {"a": 1}, {"a": 1}], [1, 2, 1, 0], [0, 0, 1, 0]),
]  # fmt: skip
OTHERS = [  # another right answer, and one that is nearly right
    (CASES[0][0], "q=q<<1|d", "q=q<<1&d"),
    (CASES[1][0], "q=(q&{3{~e}})|({d,q[2:1]}&{3{e}})", "q={d,q[2:1]}"),
    (CASES[2][0], "q=d,y=~(q|~d)", "q=d,y=d|~q"),
    (CASES[5][0], "q=q[1]?0:q+1", "q=q[0]?0:q+1"),
    (CASES[6][0], "q=q?q-1:2", "q=q?q-1:3"),
    (CASES[8][0], "q=d-~q-1", "q=d-q"),
    (CASES[10][0], "q=q<<1|(q[2]^q[1])", "q=q<<1|(q[2]|q[1])"),
    (CASES[11][0], "q={~a&|q,a?q[1]:~|q},y=q[1]", "q={~a&|q,a?q[1]:~|q},y=q[0]"),
]
OLD = {  # what the levels without a clock posed before there were others
    1: ("W ab>yz 0001 1110", "y=a&b,z=~(a&b)"),
    2: ("W abc>y 11111110", "y=~(a&(b&c))"),
    3: ("W abc>yz 11111110 00000001", "y=~(a&(b&c)),z=c&(a&b)"),
    4: ("W abcd>y 0000111100000100", "y=b&((~c&d)|~a)"),
    5: ("W2 s:shl,shr", "y=s==0?a<<1:a>>1"),
    6: ("W2 s:shl,shr,max,and", "y=s==0?a<<1:s==1?a>>1:s==2?(a>b?a:b):a&b"),
}


@pytest.mark.parametrize("case", range(len(CASES)))
def test_registers_take_the_values_worked_out_by_hand(case: int) -> None:
    spec, given, after, shown = CASES[case]
    made = machine({**PLAIN, **spec})
    q, found, seen = made.first, [], []
    for inputs in given:
        seen.append(made.seen(q, inputs))
        q = made.step(q, inputs)
        found.append(q)
    assert found == after
    assert not shown or seen == shown


def test_lines_of_inputs_and_outputs_are_read_in_time() -> None:
    """Bits: clk, reset, d, two of q. A register of two bits that shifts left and is reset at the edge, or at once."""
    spec = {**PLAIN, "design": "shift", "width": 2, "left": True, "enable": False}
    right = ["00100", "10101", "00101", "00001", "10010", "00010", "01010", "11000", "01000"]
    assert wrong_lines(spec, right) == 0
    assert wrong_lines({**spec, "asynchronous": True}, right) == 1  # the seventh: reset, and q is 2 still
    assert wrong_lines(spec, [*right[:4], "10011", *right[5:]]) == 1
    assert wrong_lines(spec, [*right, "0x000", "0000"]) == 2
    falls = {**spec, "rises": False}
    assert wrong_lines(falls, ["10100", "00101", "10101"]) == 0
    low = {**spec, "high": False}
    assert wrong_lines(low, ["01100", "11101", "00101", "10000"]) == 0


def test_short_answers_are_split_outside_of_brackets() -> None:
    spec = {**PLAIN, "design": "edge", "what": "rises"}
    assert "q <= {d,d}; assign y = q==(1,2);" in circuit(spec, " q={d,d},y=q==(1,2); ")
    assert circuit(spec, "z=1") == "z=1"


@pytest.mark.parametrize("level", OLD)
def test_a_level_without_a_clock_poses_what_it_posed(level: int) -> None:
    problem = TASK.problem(Key(1, "old"), level=level)
    assert (str(problem.prompt), problem.solution) == OLD[level]


def test_all_designs_are_posed_and_levels_say_which() -> None:
    for level, kinds in LEVELS.items():
        problems = [TASK.problem(Key(seed, "designs"), level=level) for seed in range(40)]
        assert {problem.spec["design"] for problem in problems} == set(kinds)
        assert len({str(problem.prompt) for problem in problems}) > 20


class TestPrograms:
    pytestmark: ClassVar = [pytest.mark.external("iverilog"), pytest.mark.external("yosys"), pytest.mark.slow]

    def test_other_right_answers_are_accepted_and_near_ones_refused_by_both_oracles(self) -> None:
        problem = TASK.problem(Key(0), level=7)
        pairs = [
            (dataclasses.replace(problem, spec={**PLAIN, **spec}), answer)
            for spec, *answers in OTHERS
            for answer in answers
        ]
        assert TASK.checker.verify_many is not None and TASK.checker.second is not None
        wanted = ["ok", "fail"] * len(OTHERS)
        assert [verdict.status for verdict in TASK.checker.verify_many(pairs)] == wanted
        assert [verdict.status for verdict in TASK.checker.second(pairs)] == wanted
