"""Icarus Verilog: the output of a testbench that drives a circuit.

`iverilog` is a driver: it starts a shell, a preprocessor and the compiler proper, `ivl`. A text without macros needs no
preprocessor, so the compiler is called directly, with the configuration that the driver would have written for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.externals.external import External
from assay.externals.process import Limits, run
from assay.externals.versions import of_program

Json = Any

_UNCOMPILED = 77
# Two files, so that text left open by the circuit cannot take in the testbench. The simulation can write no file.
_DRIVER = "iverilog -g2012 -o t.vvp -s {top} testbench.v circuit.v"
_COMPILER = "{folder}/ivl -C config -C {folder}/vvp.conf -- testbench.v circuit.v"
_RUN = " 1>&2 || exit 77; ulimit -f 0; exec vvp -n t.vvp"
_LIBRARIES = ("system.vpi", "v2005_math.vpi")  # all that the allowed system functions need; others take time to load
_WRITTEN = ("root:", "out:", "ivlpp:", "module:")  # lines of the driver's configuration that are written anew
_LIMITS = Limits(seconds=2, memory_mb=1024, output_mb=2, file_mb=16)
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_"


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"circuit": text, "testbench": text, "top": name} -> {"status", "output", "said"}.

    The status is `ran`, `compile` (it does not compile), `time` or `output` (too much of it), or `starved`.
    """
    if not job["top"] or not set(job["top"]) <= set(_NAME):
        return {"status": "compile", "output": "", "said": "the testbench has no plain name"}
    files = {"circuit.v": job["circuit"], "testbench.v": job["testbench"]}
    folder, config = _configured() if "`" not in job["circuit"] else ("", "")
    if folder:
        files["config"] = f"{config}root:{job['top']}\nout:t.vvp\n"
    compiled = _COMPILER.format(folder=folder) if folder else _DRIVER.format(top=job["top"])
    ended = run(["sh", "-c", compiled + _RUN], files, _LIMITS)
    if ended.status != "done":
        return {"status": ended.status, "output": "", "said": ended.errors[:1000]}
    status = "compile" if ended.code == _UNCOMPILED else "ran"
    return {"status": status, "output": ended.output, "said": ended.errors[:1000]}


@functools.cache
def _configured() -> tuple[str, str]:
    """The folder of the compiler and its configuration, as the driver writes it; ("", "") if this one does not."""
    command = "IVERILOG_ICONFIG=config iverilog -g2012 -o t.vvp -s t testbench.v >&2 && cat config"
    lines = run(["sh", "-c", command], {"testbench.v": "module t; endmodule\n"}, _LIMITS).output.splitlines()
    folder = next((line.removeprefix("basedir:") for line in lines if line.startswith("basedir:")), "")
    needed = [Path(folder, name) for name in ("ivl", "vvp.conf", *_LIBRARIES)]
    if not folder or not all(path.exists() for path in needed):
        return "", ""
    kept = [line for line in lines if not line.startswith(_WRITTEN)]
    return folder, "\n".join([*kept, *(f"module:{folder}/{name}" for name in _LIBRARIES), ""])


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
    deadline=4.0,
)
