"""Attacks on the verifier of circuits: forged output, early ends, files, tests rewritten, loops. None wins."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

import pytest

from assay.externals import workers_of
from assay.externals.process import FOLDERS
from assay.verifiers.circuits.equal_circuits import verify

GOLD = "module top(input [3:0] a, input [3:0] b, output [4:0] y); assign y = a + b; endmodule"
HEAD = "module top(input [3:0] a, input [3:0] b, output [4:0] y);"
TEXT = {  # what the text alone shows: no program reads it
    "nothing": "",
    "system": 'initial $system("id > /tmp/x");',
    "finish": "always @* $finish;",
    "finish and return": "always @* $finish_and_return(0);",
    "stop": "always @* $stop;",
    "a forged line": 'always @* $display("00000");',
    "a file read": 'reg [4:0] m [0:9]; initial $readmemh("/etc/passwd", m); assign y = m[0];',
    "a file written": 'integer f; initial f = $fopen("x", "w");',
    "a monitor": 'initial $monitor("%b", y);',
    "arguments of the simulator": 'integer k; initial k = $value$plusargs("n=%d", k);',
    "random": "assign y = $random;",
    "a free variable of the prover": "assign y = $anyconst;",
    "an assumption": "assume property (0);",
    "an assumption without parentheses": "always @* assume(0);",
    "an initial block": "initial while (1);",
    "a macro": "`define top other",
    "a file included": '`include "/etc/passwd"',
    "a time scale": "`timescale 1s/1s",
    "a name with a backslash": "\\$finish x();",
    "a cell of the prover": "\\$add #(.A_WIDTH(4)) x(a, b, y);",
    "a black box": "endmodule (* blackbox *) module other(); endmodule",
    "a delay": "assign #100 y = a + b;",
    "a force": "always @* force y = 0;",
    "a bind": "bind testbench other x();",
    "a library": "import x::*;",
    "deep brackets": "assign y = " + "(" * 10_000 + "a" + ")" * 10_000 + ";",
    "ten megabytes": "assign y = a;" + " " * 10_000_000,
    "zero": "assign y = a + b;\0",
    "bidirectional marks": "assign y = \u202ea + b;",
    "letters that look alike": "assign y = \u0430 + b;",
}
READ = {  # what the programs refuse
    "another module": "endmodule module testbench; endmodule",
    "the reference under another name": "gold g(a, b, y);",
    "the answer of the prover": "gate g(a, b, y);",
    "itself": "top t(a, b, y);",
    "a second top": "assign y = 0; endmodule module top(input [3:0] a, b, output [4:0] y); assign y = a + b;",
    "no output": "",
    "a constant": "assign y = 0;",
    "unknown values": "assign y = 5'bx;",
    "no driver": "wire [4:0] z; assign y = z;",
    "high impedance": "assign y = 5'bz;",
    "a loop": "assign y = ~y;",
    "a loop through two": "wire [4:0] z; assign z = ~y; assign y = z;",
    "two drivers": "assign y = a + b; assign y = a;",
    "a latch": "reg [4:0] r; always @* if (a != b) r = a + b; assign y = r;",
    "memory": "reg [4:0] r; always @(posedge a[0]) r <= a + b; assign y = r;",
    "a zero-delay loop": "reg r; always @* r = ~r; assign y = r;",
    "a loop that does not end": "reg [4:0] r; integer i; always @* for (i = 0; i < 1; i = i) r = a; assign y = r;",
    "an unclosed comment": "assign y = a + b; /*",
    "an unclosed module": "assign y = a + b; module",
    "names of the testbench": "assign y = t.d.y;",
    "its own instance": "assign y = d.y;",
    "one wrong value": "assign y = (a == 7 && b == 9) ? 5'd0 : a + b;",
    "one bit lost": "assign y[3:0] = a + b; assign y[4] = 0;",
    "signed numbers": "assign y = $signed(a) + $signed(b);",
    "a subtraction": "assign y = a - b;",
    "too wide a vector": "wire [99999999:0] w = a; assign y = w + b;",
}
PORTS = {
    "inputs exchanged for outputs": "module top(output [3:0] a, output [3:0] b, input [4:0] y); endmodule",
    "a port too few": "module top(input [3:0] a, output [4:0] y); assign y = a; endmodule",
    "a port too many": GOLD.replace("input [3:0] a", "input c, input [3:0] a"),
    "another width": GOLD.replace("[4:0] y", "[5:0] y"),
    "a narrow output": GOLD.replace("[4:0] y", "[3:0] y"),
    "another name": GOLD.replace("module top", "module adder"),
}
EXTERNALS = [pytest.mark.external("iverilog"), pytest.mark.external("yosys")]


def whole(inside: str) -> str:
    return f"{HEAD} {inside} endmodule" if inside else ""


def nobody(name: str, jobs: object) -> list:
    raise AssertionError(f"{name} reads a text that is refused as it stands")


def test_texts_that_say_too_much_are_read_by_no_program() -> None:
    found = verify([(GOLD, whole(inside)) for inside in TEXT.values()], ask=nobody)
    assert {one.verdict.status for one in found} == {"fail"}
    assert found[0].verdict.kind == "empty"
    kinds = {name: one.verdict.kind for name, one in zip(TEXT, found, strict=True)}
    odd = {"nothing", "deep brackets", "ten megabytes", "zero", "bidirectional marks", "letters that look alike"}
    assert {kind for name, kind in kinds.items() if name not in odd} == {"forbidden"}


class TestPrograms:
    pytestmark: ClassVar = [*EXTERNALS, pytest.mark.slow]

    def test_circuits_that_are_not_equal_are_refused(self) -> None:
        folders = set(Path(tempfile.gettempdir()).glob(f"{FOLDERS}*"))
        texts = {name: f"{HEAD} {inside} endmodule" for name, inside in READ.items()} | PORTS
        found = dict(zip(texts, verify([(GOLD, text) for text in texts.values()]), strict=True))
        assert {name: one.verdict.status for name, one in found.items()} == dict.fromkeys(texts, "fail")
        assert found["a loop that does not end"].verdict.kind in ("time", "compile")
        assert set(Path(tempfile.gettempdir()).glob(f"{FOLDERS}*")) <= folders

    def test_the_right_circuit_is_accepted_all_the_same(self) -> None:
        right = ["assign y = b + a;", "assign {y} = {1'b0, a} + b;", "reg [4:0] r; always @* r = a + b; assign y = r;"]
        found = verify([(GOLD, whole(inside)) for inside in right])
        assert [one.verdict.status for one in found] == ["ok"] * 3

    def test_an_adder_wrong_on_one_of_65536_inputs_is_refused(self) -> None:
        """A thousand vectors do not meet the pair; the proof does."""
        adder = GOLD.replace("[4:0]", "[8:0]").replace("[3:0]", "[7:0]")
        wrong = adder.replace("a + b", "(a == 8'h35 && b == 8'hc1) ? 9'd0 : a + b")
        right = adder.replace("a + b", "b + a")
        refused, accepted = verify([(adder, wrong), (adder, right)])
        assert (refused.verdict.kind, refused.layer) == ("wrong", "proof")
        assert (accepted.verdict.status, accepted.layer) == ("ok", "proof")

    def test_an_unknown_value_on_one_of_65536_inputs_is_refused(self) -> None:
        """The reference gives 0 there, which a solver that may choose the value of x would choose."""
        gold = "module top(input [7:0] a, input [7:0] b, output y); assign y = a != 8'h35 || b != 8'hc1; endmodule"
        unknown = gold.replace("a != 8'h35 || b != 8'hc1", "(a == 8'h35 && b == 8'hc1) ? 1'bx : 1'b1")
        (refused,) = verify([(gold, unknown)])
        assert (refused.verdict.kind, refused.layer) == ("wrong", "proof")

    def test_the_programs_alone_refuse_what_the_text_would_have_shown(self) -> None:
        """Without the look at the text, by the programs' limits and by the comparison outside."""
        circuits = [f"{HEAD} assign y = 0; {inside} endmodule" for inside in list(TEXT.values())[1:13]]
        proofs = workers_of("yosys").map([{"gold": GOLD, "circuit": circuit} for circuit in circuits])
        assert "equal" not in {outcome.result["status"] for outcome in proofs}

    def test_an_endless_simulation_is_killed(self) -> None:
        job = {"circuit": f"{HEAD} initial while (1); endmodule", "testbench": "module t; endmodule", "top": "t"}
        job["testbench"] = "module t; top d(); endmodule"
        (outcome,) = workers_of("iverilog").map([job])
        assert outcome.result["status"] == "time"
