"""Icarus Verilog: what a testbench prints that drives a circuit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.externals.external import External
from assay.externals.process import Limits, run
from assay.externals.versions import of_program

Json = Any

_UNCOMPILED = 77
# Two files, so that nothing that the circuit leaves open takes in the testbench. The simulation can write no file.
_COMPILE = "iverilog -g2012 -o t.vvp -s {top} testbench.v circuit.v 1>&2 || exit 77; ulimit -f 0; exec vvp -n t.vvp"
_LIMITS = Limits(seconds=2, memory_mb=1024, output_mb=2, file_mb=16)
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_"


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"circuit": text, "testbench": text, "top": name} -> {"status", "output", "said"}.

    The status is `ran`, `compile` (it does not compile), `time` or `output` (too much of it), or `starved`.
    """
    if not job["top"] or not set(job["top"]) <= set(_NAME):
        return {"status": "compile", "output": "", "said": "the testbench has no plain name"}
    files = {"circuit.v": job["circuit"], "testbench.v": job["testbench"]}
    ended = run(["sh", "-c", _COMPILE.format(top=job["top"])], files, _LIMITS)
    if ended.status != "done":
        return {"status": ended.status, "output": "", "said": ended.errors[:1000]}
    status = "compile" if ended.code == _UNCOMPILED else "ran"
    return {"status": status, "output": ended.output, "said": ended.errors[:1000]}


_TESTBENCH = """
module t; reg a; wire y; top dut(.a(a), .y(y));
initial begin a = 0; #1 $display("%b", y); a = 1; #1 $display("%b", y); end
endmodule
"""
IVERILOG = External(
    name="iverilog",
    purpose="simulates circuits in Verilog",
    install="apt-get install iverilog",
    version=lambda: of_program(["iverilog", "-V"], r"Icarus Verilog version (\S+)"),
    answer="assay.externals.iverilog:answer",
    passes={
        "circuit": "module top(input a, output y); assign y = ~a; endmodule",
        "testbench": _TESTBENCH,
        "top": "t",
    },
    fails={"circuit": "module top(input a, output y); assign y = a; endmodule", "testbench": _TESTBENCH, "top": "t"},
    accepts=lambda result: result["status"] == "ran" and result["output"] == "1\n0\n",
)
