"""Yosys: the ports of a circuit, and whether two circuits are equal for all inputs, by SAT.

The two circuits are read apart from each other, so that none can use a module of the other. Both must be free of loops,
of wires without a driver or with several, and of memory: a loop such as `y = ~y` has no solution, and without solutions
everything would be proved. A failure of ours, a fault of the circuit and a difference all end with exit code 1; marks
in the log, which no text of a circuit can foresee, tell them apart.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

from assay.externals.external import External
from assay.externals.process import Limits, run
from assay.externals.versions import of_program

Json = Any

_LIMITS = Limits(seconds=5, memory_mb=1024, output_mb=8, file_mb=16)
_REFUTED = "ERROR: Called with -verify and proof did fail!"
_READ = (
    "read_verilog -sv {file}; hierarchy -check -top top; proc -norom; flatten; opt; check -assert; "
    "select -assert-none t:$*ff* t:$*latch* t:$mem* t:$sr* t:$lut t:$fsm; select -clear; rename top {name}; "
    "design -stash {name}"
)
_PROVE = (
    "design -copy-from gold gold; design -copy-from gate gate; miter -equiv -flatten gold gate miter; "
    "hierarchy -top miter"
)
_STEPS = ("gold", "circuit", "ports", "proof", "equal")


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"gold": text, "circuit": text} -> {"status", "said"}, or {"gold": text} -> {"status", "said", "ports"}.

    The status is `equal`, `refuted`, `gold` or `circuit` (that text is at fault), `ports` (theirs differ), `proof`
    (the proof could not be made), or what became of the program: `time`, `output`, `starved`.
    """
    return _compared(job) if "circuit" in job else _ports(job)


def _compared(job: Json) -> Json:
    marks = {step: secrets.token_hex(16) for step in _STEPS}
    script = "; ".join(
        [
            f"log {marks['gold']}",
            _READ.format(file="gold.v", name="gold"),
            f"log {marks['circuit']}",
            _READ.format(file="circuit.v", name="gate"),
            f"log {marks['ports']}",
            _PROVE,
            f"log {marks['proof']}",
            "sat -verify -prove trigger 0 miter",
            f"log {marks['equal']}",
        ]
    )
    files = {"gold.v": job["gold"], "circuit.v": job["circuit"], "run.ys": script.replace("; ", "\n") + "\n"}
    ended = run(["yosys", "-Q", "-T", "-s", "run.ys"], files, _LIMITS)
    if ended.status != "done":
        return {"status": ended.status, "said": ""}
    lines = ended.output.splitlines()
    reached = [step for step in _STEPS if marks[step] in lines]
    last = reached[-1] if reached else "gold"
    if last == "equal" and ended.code != 0:
        last = "proof"
    if last == "proof" and _REFUTED in (ended.errors + ended.output):
        last = "refuted"
    return {"status": last, "said": _error(ended.output + ended.errors)}


def _ports(job: Json) -> Json:
    script = "read_verilog -sv gold.v; hierarchy -check -top top; proc -norom; write_json"
    ended = run(["yosys", "-q", "-p", script], {"gold.v": job["gold"]}, _LIMITS)
    start = ended.output.find("{")
    if ended.status != "done" or ended.code != 0 or start < 0:
        return {"status": "gold", "said": _error(ended.output + ended.errors) or ended.status, "ports": []}
    (top,) = [m for name, m in json.loads(ended.output[start:])["modules"].items() if name == "top"]
    ports = [[name, port["direction"], len(port["bits"])] for name, port in top["ports"].items()]
    return {"status": "ports", "said": "", "ports": ports}


def _error(text: str) -> str:
    return next((line.strip()[:300] for line in text.splitlines() if "ERROR" in line), "")


_AND = "module top(input a, input b, output y); assign y = a & b; endmodule"
YOSYS = External(
    name="yosys",
    purpose="proves that circuits in Verilog are equal",
    install="apt-get install yosys",
    version=lambda: of_program(["yosys", "-V"], r"Yosys (\S+)"),
    answer="assay.externals.yosys:answer",
    passes={"gold": _AND, "circuit": _AND.replace("a & b", "~(~b | ~a)")},
    fails={"gold": _AND, "circuit": _AND.replace("a & b", "a | b")},
    accepts=lambda result: result["status"] == "equal",
)
