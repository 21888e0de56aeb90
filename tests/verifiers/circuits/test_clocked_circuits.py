"""Circuits with a clock: graphs worked out by hand, clocks and resets that are found, layers that decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assay.externals.states import constant, differ, read
from assay.host.workers import Outcome
from assay.verifiers.circuits.equal_circuits import explain, printed, verify
from assay.verifiers.circuits.testbench import Clock, Port, Reset, bench_for

EXTERNALS = [pytest.mark.external("iverilog"), pytest.mark.external("yosys"), pytest.mark.slow]
HEAD = "module top(input clk, input rst, input e, output [7:0] y); reg [7:0] q; assign y = q;"
COUNTER = f"{HEAD} always @(posedge clk) if (rst) q <= 0; else if (e) q <= q + 1; endmodule"

# One latch (literal 4) that becomes `not reset and not itself` (gate 6), and what tells two circuits apart.
TOGGLE = "aag 3 1 1 1 1\n2\n4 6\n{output}\n6 3 5\ni0 in_rst\n"
HELD = "aag 2 1 1 1 0\n2\n4 4\n{output}\ni0 in_rst\n"


class TestStates:
    def test_a_register_that_turns_is_one_in_the_second_cycle(self) -> None:
        """After the reset it is 0, then 1: a circuit that shows 0 for ever differs from it in the second cycle."""
        found = differ(f"a log\n{TOGGLE.format(output=4)}", {"in_rst": True}, 3)
        assert found is not None and (found.status, found.said) == (
            "refuted",
            "another output in cycle 2 after the resets",
        )

    def test_nothing_differs_in_its_two_states(self) -> None:
        found = differ(TOGGLE.format(output=0), {"in_rst": True}, 3)
        assert found is not None and (found.status, found.said) == ("equal", "2 states, all inputs")

    def test_what_the_reset_leaves_open_decides_nothing_where_it_may_differ(self) -> None:
        assert differ(HELD.format(output=4), {"in_rst": True}, 3) is None
        found = differ(HELD.format(output=0), {"in_rst": True}, 3)
        assert found is not None and found.said == "2 states, all inputs"

    def test_a_reset_sets_the_latches_whose_next_value_it_decides(self) -> None:
        graph, held = read(TOGGLE.format(output=0)), read(HELD.format(output=0))
        assert graph is not None and held is not None
        assert constant(graph, {"in_rst": True}) == {0}
        assert constant(graph, {"in_rst": False}) == constant(graph, {}) == constant(held, {"in_rst": True}) == set()

    def test_graphs_that_are_too_large_or_missing_are_not_decided(self) -> None:
        """A conjunction of 13 inputs: 2, 4, ..., 26 into gates 28, 30, ..., 50."""
        gates = ["28 2 4"] + [f"{28 + 2 * i} {26 + 2 * i} {4 + 2 * i}" for i in range(1, 12)]
        lines = ["aag 25 13 0 1 12", *(str(2 * i) for i in range(1, 14)), "50", *gates]
        assert differ("\n".join(lines), {}, 3) is None
        few = ["aag 23 12 0 1 11", *(str(2 * i) for i in range(1, 13)), "46"]
        gates = ["26 2 4"] + [f"{26 + 2 * i} {24 + 2 * i} {4 + 2 * i}" for i in range(1, 10)]
        found = differ("\n".join([*few, *gates, "46 44 25"]), {}, 3)
        assert found is not None and found.status == "refuted"  # by eleven ones and a zero
        assert differ("no graph", {}, 3) is None


def test_the_testbench_drives_clock_and_resets_and_knows_no_outputs() -> None:
    ports = [Port("c", "input", 1), Port("n", "input", 1), Port("d", "input", 40), Port("q", "output", 40)]
    falls = Clock("c", rises=False, resets=(Reset("n", high=False, asynchronous=True),))
    one = bench_for(ports, "x", falls)
    other = bench_for(ports, "y", falls)
    assert one.text.replace(one.end, "") == other.text.replace(other.end, "")
    assert one.text != bench_for(ports, "x", Clock("c", rises=True, resets=())).text


def test_a_program_that_is_lost_between_two_questions_gives_no_verdict() -> None:
    clock = {"name": "clk", "rises": True, "resets": [{"name": "rst", "high": True, "asynchronous": False}]}
    ports = [["clk", "input", 1], ["rst", "input", 1], ["e", "input", 1], ["y", "output", 8]]

    def ask(name: str, jobs: Sequence[Any]) -> list[Outcome]:
        if "circuit" in jobs[0]:
            return [Outcome("lost", detail="gone")] * len(jobs)
        return [Outcome("done", {"status": "ports", "said": "", "ports": ports, "clock": clock})] * len(jobs)

    (one,) = verify([(COUNTER, COUNTER)], ask)
    assert (one.verdict.status, one.verdict.kind) == ("invalid", "worker_lost")


class TestPrograms:
    pytestmark = EXTERNALS

    def test_bad_references_are_named(self) -> None:
        flip = "always @(posedge clk) q <= ~q;"
        head = "module top(input clk, input c, input rst, output reg q, output reg p);"
        golds = {
            "more than one clock": f"{head} {flip} always @(posedge c) p <= ~p; endmodule",
            "both edges": f"{head} {flip} always @(negedge clk) p <= ~p; endmodule",
            "not an input port": f"{head} wire g = clk & c; always @(posedge g) begin q <= ~q; p <= c; end endmodule",
            "for something else": f"{head} {flip} always @* p = clk ^ q; endmodule",
            "flip-flops with one clock: $dlatch": f"{head} {flip} always @* if (c) p = q; endmodule",
            "is not determined": f"{head} always @(posedge clk) begin q <= ~q; p <= rst; end endmodule",
            "both levels of rst": f"{head} always @(posedge clk or posedge rst) if (rst) q <= 0; else q <= c; "
            "always @(posedge clk or negedge rst) if (!rst) p <= 0; else p <= c; endmodule",
        }
        found = [one.verdict for one in verify([(gold, COUNTER) for gold in golds.values()])]
        assert [(one.status, one.kind) for one in found] == [("invalid", "bad_gold")] * len(golds)
        assert [words for words, one in zip(golds, found, strict=True) if words not in one.detail] == []

    def test_states_induction_and_first_cycles_decide_in_this_order(self) -> None:
        """Of 32 bits there are too many states; two that count apart behind 5,000 are equal in the first cycles."""
        wide = COUNTER.replace("[7:0]", "[31:0]")
        same, apart = wide.replace("q + 1", "1 + q"), wide.replace("q + 1", "q + 1 + (q == 5000)")
        found = explain([(COUNTER, COUNTER), (wide, same), (wide, apart)])
        assert {one.verdict.status for one in found} == {"ok"}
        assert [one.layer for one in found] == ["states", "induction", "bounded"]
        assert "all states" in found[0].why and "by induction" in found[1].why and "not proved beyond" in found[2].why

    def test_other_codes_of_the_same_machine_are_equal(self) -> None:
        """A counter to three in two bits, one bit a state, and a shift register with complement."""
        head = "module top(input clk, input rst_n, output y);"
        always = "always @(posedge clk or negedge rst_n) if (!rst_n)"
        gold = f"{head} reg [1:0] q; {always} q <= 0; else q <= q == 2 ? 0 : q + 1; assign y = q == 2; endmodule"
        hot = f"{head} reg [2:0] q; {always} q <= 1; else q <= {{q[1:0], q[2]}}; assign y = q[2]; endmodule"
        off = f"{head} reg [2:0] q; {always} q <= 1; else q <= {{q[1:0], q[2]}}; assign y = q[1]; endmodule"
        array = f"{head} reg m [0:2]; {always} begin m[0] <= 1; m[1] <= 0; m[2] <= 0; end else begin m[0] <= m[2]; "
        array += "m[1] <= m[0]; m[2] <= m[1]; end assign y = m[2]; endmodule"
        found = verify([(gold, hot), (gold, off), (gold, array)])
        assert [one.verdict.status for one in found] == ["ok", "fail", "ok"]

    def test_two_resets_are_found_and_held(self) -> None:
        """One sets half of the register at once, the other the rest at the edge."""
        head = "module top(input clk, input n, input clear, input d, output reg [1:0] q);"
        gold = (
            f"{head} always @(posedge clk or negedge n) if (!n) q[0] <= 1; else q[0] <= d; "
            "always @(posedge clk) if (clear) q[1] <= 0; else q[1] <= q[0] ^ q[1]; endmodule"
        )
        wrong = gold.replace("q[0] ^ q[1]", "q[0] | q[1]")
        late = gold.replace("posedge clk or negedge n", "posedge clk")
        found = verify([(gold, gold), (gold, wrong), (gold, late)])
        assert [one.verdict.status for one in found] == ["ok", "fail", "fail"]

    def test_what_is_printed_shows_inputs_before_outputs(self) -> None:
        """While the reset is held at the first edges, the register is 0; without it, it follows d at each edge."""
        circuit = (
            "module top(input clk, input rst, input d, output reg q); always @(posedge clk) q <= d & ~rst; endmodule"
        )
        ports = (Port("clk", "input", 1), Port("rst", "input", 1), Port("d", "input", 1), Port("q", "output", 1))
        clock = Clock("clk", rises=True, resets=(Reset("rst", high=True, asynchronous=False),))
        (lines,) = printed([(circuit, ports, clock)])
        assert isinstance(lines, tuple) and len(lines) > 3_000
        before, held = "0", "0"
        for line in lines:
            clk, rst, d, q = line
            held = str(int(d) & (1 - int(rst))) if (before, clk) == ("0", "1") else held
            before = clk
            assert q == held
