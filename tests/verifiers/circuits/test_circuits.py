"""Verdicts on circuits: mutants of right answers against labels of plain Python, faults of ours, code blocks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from assay.host.workers import Outcome
from assay.rng import Key
from assay.tasks import TASKS
from assay.verifiers.circuits.equal_circuits import verify
from assay.verifiers.circuits.testbench import Port, bench_for, unfit
from assay.verifiers.circuits.text import fenced, refusal
from assay.verifiers.explainers import verifier

EXTERNALS = [pytest.mark.external("iverilog"), pytest.mark.external("yosys")]
AND = "module top(input a, input b, output y); assign y = a & b; endmodule"
TASK = TASKS["verilog"]

OPERATIONS = {
    "a+b": lambda a, b: a + b,
    "a-b": lambda a, b: a - b,
    "a&b": lambda a, b: a & b,
    "a|b": lambda a, b: a | b,
    "a^b": lambda a, b: a ^ b,
    "b-a": lambda a, b: b - a,
    "~a": lambda a, b: ~a,
    "~b": lambda a, b: ~b,
    "-b": lambda a, b: -b,
    "a+1": lambda a, b: a + 1,
    "a-1": lambda a, b: a - 1,
    "a+2": lambda a, b: a + 2,
    "a<<1": lambda a, b: a << 1,
    "a>>1": lambda a, b: a >> 1,
    "(a>b?a:b)": lambda a, b: max(a, b),
    "(a>=b?a:b)": lambda a, b: max(a, b),
    "(a<b?a:b)": lambda a, b: min(a, b),
    "(a==b)": lambda a, b: a == b,
    "(a!=b)": lambda a, b: a != b,
    "(a<b)": lambda a, b: a < b,
    "(a<=b)": lambda a, b: a <= b,
    "(b>a)": lambda a, b: b > a,
    "a&~b|a&b": lambda a, b: a,
    "~(~a|~b)": lambda a, b: a & b,
    "~(~a&~b)": lambda a, b: a | b,
    "(a|b)&~(a&b)": lambda a, b: a ^ b,
    "a+~b+1": lambda a, b: a - b,
    "b+a": lambda a, b: a + b,
    "~(a-1)": lambda a, b: -a,
    "~a+1": lambda a, b: -a,
}
MEANT = {"add": "a+b", "sub": "a-b", "and": "a&b", "or": "a|b", "xor": "a^b", "nota": "~a", "notb": "~b", "inc": "a+1"}
MEANT |= {"dec": "a-1", "max": "(a>b?a:b)", "min": "(a<b?a:b)", "shl": "a<<1", "shr": "a>>1", "eq": "(a==b)"}
MEANT |= {"lt": "(a<b)", "neg": "~a+1"}


def same_tables(assignments: str, spec: Any) -> bool | None:
    """Whether the assignments have the tables, by evaluating them in Python; None if they are no expressions."""
    names = "abcd"[: spec["inputs"]]
    parts = dict(part.split("=", 1) for part in assignments.split(","))
    for output, table in zip("yz", spec["tables"], strict=False):
        for row, bit in zip(itertools.product((0, 1), repeat=len(names)), table, strict=True):
            try:
                value = eval(parts[output], {"__builtins__": {}}, dict(zip(names, row, strict=True)))
            except (SyntaxError, KeyError, NameError, TypeError):
                return None
            if value & 1 != int(bit):
                return False
    return True


def same_words(terms: Sequence[str], spec: Any) -> bool:
    mask = (1 << spec["width"]) - 1
    words = range(mask + 1)
    wanted = [OPERATIONS[MEANT[name]] for name in spec["operations"]]
    given = [OPERATIONS[term] for term in terms]
    return all(
        f(a, b) & mask == g(a, b) & mask for f, g in zip(wanted, given, strict=True) for a in words for b in words
    )


def mutants(draw: random.Random) -> list[tuple[Any, str, bool | None]]:
    """(problem, answer, label): an operator, a port, a sign, brackets or an operation changed, or nothing."""
    items: list[tuple[Any, str, bool | None]] = []
    for number in range(200):
        problem = TASK.problem(Key(number, "circuit"), level=1 + number % 4)
        text = list(str(problem.solution))
        kind = number % 5
        places = [i for i, c in enumerate(text) if c in ("&|^", "abcd", "~", "()", "yz")[kind]]
        if places:
            place = draw.choice(places)
            text[place] = draw.choice(("&|^", "abcd", [""], " ", "yz")[kind])
        answer = "".join(text)
        items.append((problem, answer, same_tables(answer, problem.spec)))
    for number in range(140):
        problem = TASK.problem(Key(number, "unit"), level=5 + number % 2)
        terms = [MEANT[name] for name in problem.spec["operations"]]
        terms[draw.randrange(len(terms))] = draw.choice(list(OPERATIONS))
        answer = "y=" + "".join(f"s=={i}?{term}:" for i, term in enumerate(terms[:-1])) + terms[-1]
        items.append((problem, answer, same_words(terms, problem.spec)))
    return items


@pytest.mark.slow
class TestErrors:
    pytestmark = EXTERNALS

    @pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.deep)])
    def test_mutants_are_verified_as_python_verifies_them(self, every: int) -> None:
        """340 answers, or a third of them: no false positive, no false negative among those that are expressions."""
        items = mutants(random.Random(11))[::every]
        assert TASK.checker.verify_many is not None
        found = [one.status for one in TASK.checker.verify_many([(problem, answer) for problem, answer, _ in items])]
        wrong = [
            (str(problem.prompt), answer, label, status)
            for (problem, answer, label), status in zip(items, found, strict=True)
            if status != ("ok" if label else "fail")
        ]
        assert wrong == []
        assert 0.1 < found.count("ok") / len(found) < 0.8

    def test_modules_in_code_blocks_are_verified(self) -> None:
        good = f"<think>?</think> first\n```verilog\nmodule top; endmodule\n```\nthen\n```verilog\n{AND}\n```\n"
        bad = good.replace("a & b", "a | b")
        found = verifier("verilog").explain([(AND, good), (AND, bad), (AND, AND)])
        assert [(one.verdict.status, one.mark) for one in found] == [("ok", "fence"), ("fail", "fence"), ("ok", "")]
        assert [one.layer for one in found] == ["proof", "simulation", "proof"]

    def test_a_reference_that_fails_is_no_fault_of_the_answer(self) -> None:
        golds = [
            "module top; endmodule",
            "module top(input a, output y); endmodule",
            "nonsense",
            AND.replace("b;", "x;"),
        ]
        found = verify([(gold, AND) for gold in golds])
        assert [(one.verdict.status, one.verdict.kind) for one in found] == [("invalid", "bad_gold")] * 4

    def test_each_reference_of_the_task_equals_its_worked_solution(self) -> None:
        problems = [TASK.problem(Key(i, "gold"), level=level) for level in TASK.generator.levels for i in range(3)]
        assert TASK.checker.verify_many is not None
        assert {one.status for one in TASK.checker.verify_many([(p, p.solution or "") for p in problems])} == {"ok"}


def test_workers_that_are_lost_give_no_verdict() -> None:
    def lost(name: str, jobs: Sequence[Any]) -> list[Outcome]:
        return [Outcome("lost", detail="gone")] * len(jobs)

    def later(name: str, jobs: Sequence[Any]) -> list[Outcome]:
        if name == "iverilog":
            return lost(name, jobs)
        return [
            Outcome(
                "done", {"status": "ports", "said": "", "ports": [["a", "input", 1], ["y", "output", 1]], "clock": None}
            )
        ]

    for ask in (lost, later):
        (one,) = verify([(AND, AND)], ask)
        assert (one.verdict.status, one.verdict.kind) == ("invalid", "worker_lost")


def test_the_testbench_knows_ports_and_no_outputs_and_its_names_follow_the_circuit() -> None:
    ports = [Port("a", "input", 4), Port("b", "input", 4), Port("y", "output", 5)]
    one, other = bench_for(ports, AND), bench_for(ports, AND + " ")
    assert one.name != other.name and one.end != other.end and one.end in one.name
    assert one.text.replace(one.end, "") == other.text.replace(other.end, "")
    assert "256" in one.text  # all values of 8 bits
    wide = bench_for([Port("a", "input", 32), Port("y", "output", 1)], AND)
    assert "1000" in wide.text
    assert unfit(ports) == ""
    assert "inputs and outputs" in unfit(ports[:2])
    assert "256 bits" in unfit([Port("a", "input", 257), Port("y", "output", 1)])


def test_what_a_circuit_may_say() -> None:
    assert refusal(AND) is None
    assert (
        refusal("module top(input a, output y); // a comment: initial $finish\nassign y = $signed(a); endmodule")
        is None
    )
    assert refusal("always @(*) begin y = a; end") is None
    assert refusal("always @ ( * ) y = a;") is None
    assert refusal("adder #(4) x(a, y);") is None
    assert refusal("assign y = a; /* unclosed $finish") is not None
    assert fenced("no code") is None
    assert fenced("```verilog\nx\n``` ```V\ny\n```") == "y\n"


@pytest.mark.slow
@pytest.mark.external("iverilog")
@pytest.mark.external("yosys")
def test_a_table_of_all_inputs_is_no_memory() -> None:
    """Yosys would turn so long a case statement into a memory, which a circuit without a clock must not have."""
    head = "module top(input [3:0] a, input [3:0] b, output reg [3:0] y);"
    rows = "".join(f"8'd{16 * a + b}: y = 4'd{(a + b) % 16};" for a in range(16) for b in range(16))
    table = f"{head} always @* case ({{a, b}}) {rows} endcase endmodule"
    spoiled = table.replace("8'd255: y = 4'd14;", "8'd255: y = 4'd15;")
    gold = "module top(input [3:0] a, input [3:0] b, output [3:0] y); assign y = a + b; endmodule"
    right, wrong = verify([(gold, table), (gold, spoiled)])
    assert spoiled != table and (right.verdict.status, wrong.verdict.status) == ("ok", "fail"), (right, wrong)
