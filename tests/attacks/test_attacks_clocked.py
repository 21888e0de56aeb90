"""Attacks on the verifier of circuits with a clock: own clocks, gates, latches, forged output, rare and late faults."""

from __future__ import annotations

from typing import ClassVar

import pytest

from assay.verifiers.circuits.equal_circuits import verify

HEAD = "module top(input clk, input rst, input e, output [7:0] y);"
EDGE = "always @(posedge clk)"
GOLD = f"{HEAD} reg [7:0] q; assign y = q; {EDGE} if (rst) q <= 0; else if (e) q <= q + 1; endmodule"
BODY = "reg [7:0] q; assign y = q;"
RIGHT = {
    "in one expression": f"{BODY} {EDGE} q <= rst ? 0 : q + e;",
    "the reset at last": f"{BODY} {EDGE} begin if (e) q <= q + 1; if (rst) q <= 0; end",
    "the complement kept": f"reg [7:0] n; assign y = ~n; {EDGE} n <= rst ? 255 : n - e;",
    "a register more": f"{BODY} reg [7:0] old; {EDGE} begin old <= q; q <= rst ? 0 : q + e; end",
    "in two halves": "reg [3:0] h, l; assign y = {h, l}; "
    + f"{EDGE} if (rst) {{h, l}} <= 0; else begin l <= l + e; h <= h + (e & &l); end",
}
TEXT = {
    "an early end": f"{BODY} {EDGE} begin q <= rst ? 0 : q + e; if (q == 9) $finish; end",
    "a forged line": f'{BODY} {EDGE} begin q <= 0; $display("00000000"); end',
    "an initial block": f"{BODY} initial q = 0; {EDGE} if (e) q <= q + 1;",
    "an own clock": f"{BODY} reg c; always #1 c = ~c; always @(posedge c) q <= q + 1;",
    "a delay": f"{BODY} {EDGE} q <= #1 rst ? 0 : q + e;",
    "a look at the time": f"{BODY} {EDGE} q <= $time < 999 ? 0 : 1;",
    "an assertion": f"{BODY} {EDGE} assume (q == 0);",
    "a free value": f"{BODY} {EDGE} q <= $anyseq;",
    "a wait": f"{BODY} always begin wait (clk); q = q + 1; end",
}
READ = {
    "the other edge": f"{BODY} always @(negedge clk) q <= rst ? 0 : q + e;",
    "both edges": f"reg [7:0] q, p; assign y = clk ? q : p; {EDGE} q <= rst ? 0 : q + e; always @(negedge clk) p <= q;",
    "both edges in a list": f"{BODY} always @(posedge clk or negedge clk) q <= rst ? 0 : q + e;",
    "any change of the clock": f"{BODY} always @(clk) q = rst ? 0 : q + e;",
    "a gated clock": f"{BODY} wire g = clk & (e | rst); always @(posedge g) q <= rst ? 0 : q + 1;",
    "a clock through a wire and back": f"{BODY} wire g = ~clk; wire h = ~g & ~(e & ~e); always @(posedge h) q <= q;",
    "the enable as clock": f"{BODY} always @(posedge e or posedge rst) if (rst) q <= 0; else q <= q + 1;",
    "the reset at once": f"{BODY} always @(posedge clk or posedge rst) if (rst) q <= 0; else q <= q + e;",
    "no reset": f"{BODY} {EDGE} q <= q + e;",
    "a value at the beginning": f"reg [7:0] q = 0; assign y = q; {EDGE} q <= q + e;",
    "the reset in the first state alone": f"{BODY} {EDGE} q <= rst && !q ? 0 : q + e;",
    "a reset but for one state": f"{BODY} {EDGE} q <= rst && q != 137 ? 0 : q + e;",
    "one state of 256": f"{BODY} {EDGE} q <= rst ? 0 : q == 201 && e ? 0 : q + e;",
    "right for a hundred cycles": "reg [6:0] k; "
    + f"{BODY} {EDGE} begin k <= rst ? 0 : k + (k < 100); q <= rst ? 0 : k < 100 ? q + e : q; end",
    "wrong after a rare pattern": "reg [5:0] k; "
    + f"{BODY} {EDGE} begin k <= rst ? 0 : {{k[4:0], e}}; q <= rst ? 0 : k == 6'b101100 && q > 90 ? q : q + e; end",
    "wrong after the second reset": "reg s; reg [7:0] q; assign y = q ^ s; "
    + f"{EDGE} begin s <= rst && q == 250; q <= rst ? 0 : q + e; end",
    "unknown in one state": f"{BODY} {EDGE} q <= rst ? 0 : q == 77 && e ? 8'bx : q + e;",
    "an output of nothing": f"{BODY} {EDGE} q <= rst ? 0 : 8'bz;",
    "a latch": f"{BODY} always @* if (clk) q = rst ? 0 : q + e;",
    "a latch for the enable": f"{BODY} reg g; always @* if (!clk) g = e | rst; always @(posedge clk & g) q <= q + 1;",
    "no memory": "assign y = e;",
    "a constant": "assign y = 0;",
    "a loop": "assign y = rst ? 0 : y + e;",
    "two drivers": f"{BODY} {EDGE} q <= rst ? 0 : q + e; {EDGE} q <= 1;",
    "a register late": "reg [7:0] q, y0; assign y = y0; " + f"{EDGE} begin q <= rst ? 0 : q + e; y0 <= q; end",
    "a blocking race": f"reg [7:0] q, p; assign y = q; {EDGE} p = rst ? 0 : q + e; {EDGE} q = p;",
    "the reset's other level": f"{BODY} {EDGE} q <= !rst ? 0 : q + e;",
    "an endless loop": f"{BODY} integer i; {EDGE} for (i = 0; i < 1; i = i) q <= i;",
    "names of the testbench": f"{BODY} {EDGE} q <= t.q;",
    "another module": f"{BODY} {EDGE} q <= rst ? 0 : q + e; gold g(clk, rst, e, y);",
    "a second top": f"{BODY} endmodule module top(input clk, input rst, input e, output [7:0] y);",
    "no end": f"{BODY} {EDGE} begin q <= rst ? 0 : q + e;",
}
PORTS = {
    "a second clock": GOLD.replace("input clk,", "input clk, input clk2,").replace("posedge clk", "posedge clk2"),
    "clock and reset exchanged": GOLD.replace("input clk, input rst", "input rst, input clk")
    .replace("clk)", "rst)")
    .replace("if (rst)", "if (clk)"),
    "a clock of another name": GOLD.replace("clk", "ck"),
    "a narrow output": GOLD.replace("output [7:0]", "output [6:0]"),
}


def nobody(name: str, jobs: object) -> list:
    raise AssertionError(f"{name} reads a text that is refused as it stands")


def test_texts_that_say_too_much_are_read_by_no_program() -> None:
    found = verify([(GOLD, f"{HEAD} {inside} endmodule") for inside in TEXT.values()], ask=nobody)
    kinds = {name: (one.verdict.status, one.verdict.kind) for name, one in zip(TEXT, found, strict=True)}
    assert kinds == dict.fromkeys(TEXT, ("fail", "forbidden"))


class TestPrograms:
    pytestmark: ClassVar = [pytest.mark.external("iverilog"), pytest.mark.external("yosys"), pytest.mark.slow]

    def test_circuits_that_are_not_equal_are_refused(self) -> None:
        texts = {name: f"{HEAD} {inside} endmodule" for name, inside in READ.items()} | PORTS
        found = dict(zip(texts, verify([(GOLD, text) for text in texts.values()]), strict=True))
        assert {name: one.verdict.status for name, one in found.items()} == dict.fromkeys(texts, "fail")

    def test_right_circuits_are_accepted_all_the_same(self) -> None:
        found = verify([(GOLD, f"{HEAD} {inside} endmodule") for inside in RIGHT.values()])
        assert {n: (one.verdict.status, one.layer) for n, one in zip(RIGHT, found, strict=True)} == dict.fromkeys(
            RIGHT, ("ok", "states")
        )
