"""Yosys: the ports and the clock of a circuit, and whether two circuits are equal for all inputs.

The two circuits are read apart from each other, so that none can use a module of the other. Both must be free of loops
and of wires without a driver or with several: a loop such as `y = ~y` has no solution, and without solutions everything
would be proved. A failure of ours, a fault of the circuit and a difference all end with exit code 1; marks in the log,
which no text of a circuit can foresee, tell them apart.

Two circuits without memory are compared by SAT. Of two with a clock, all states are visited that they can reach after
their resets; if these are too many, SAT looks for a difference in the first cycles, and induction for a proof.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from assay.externals.clocked import BOUNDED, CYCLES, SETTLED, analysed, read_ports, reading, remembers
from assay.externals.external import External
from assay.externals.process import Ended, Limits, run
from assay.externals.states import differ, read
from assay.externals.versions import of_program

Json = Any

_LIMITS = Limits(seconds=5, memory_mb=1024, output_mb=8, file_mb=16)
_REFUTED = "ERROR: Called with -verify and proof did fail!"
_BEGUN = "read_verilog -sv {file}; hierarchy -check -top top; proc -norom; flatten"
_FREE = "setundef -anyseq"  # a solver takes x for any value, not for one that suits it
_KEPT = "rename top {name}; design -stash {name}"
_PLAIN = "{tidied}; check -assert; select -assert-none t:$*ff* t:$*latch* t:$mem* t:$sr* t:$lut t:$fsm; select -clear"
_TIDIED = ("opt_clean", "opt")  # the second takes half of the time of a proof, and finds loops and memory of no effect
_MITER = (
    "design -copy-from gold gold; design -copy-from gate gate; miter -equiv -flatten gold gate miter; "
    "hierarchy -top miter"
)
_SAT = "sat -verify -prove trigger 0 miter"
_GATES = ("alumacc; pmuxtree; simplemap", "techmap")  # the second, which takes as long as all others, maps every cell
_AIGER = "{gates}; opt_clean; aigmap; opt_clean; write_aiger -ascii -symbols"
# Wires inside get names that none of the other circuit has, so that outputs alone are assumed to be equal.
_INDUCTION = (
    "design -reset; design -copy-from gold gold; design -copy-from gate gate; "
    "cd gold; rename -hide w:* x:* %d; cd ..; cd gate; rename -hide w:* x:* %d; cd ..; "
    f"equiv_make gold gate both; hierarchy -top both; equiv_induct -seq {CYCLES - SETTLED - 2}; equiv_status -assert"
)


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"gold": text} -> {"status", "said", "ports", "clock"}; {"gold": text, "circuit": text} -> {"status", "said"}.

    The status is `ports`, or `equal`, `refuted`, `gold` or `circuit` (that text is at fault), `ports` (theirs differ),
    `proof` (the proof could not be made), or the end of the program: `time`, `output`, `starved`.

    With "clock": {"name", "rises", "resets": [{"name", "high", "asynchronous"}, ...]}, as found of the reference,
    `equal` has "by": `states`, `induction`, or `bounded` if only the first cycles after the resets were compared.
    """
    if "circuit" not in job:
        return _ports(job)
    if job.get("clock"):
        return _clocked(job)
    compared = _compared(job, [("proof", _MITER), ("equal", _SAT)], _PLAIN.format(tidied=_TIDIED[0]))
    if compared["status"] in ("gold", "circuit"):
        compared = _compared(job, [("proof", _MITER), ("equal", _SAT)], _PLAIN.format(tidied=_TIDIED[1]))
    return {"status": compared["status"], "said": compared["said"]}


def _compared(job: Json, steps: Sequence[tuple[str, str]], read: str) -> Json:
    """Reads both circuits, then takes steps of (the status once it was taken, commands)."""
    script = [("circuit", f"{_BEGUN}; {_FREE}; {read}; {_KEPT}".format(file="gold.v", name="gold"))]
    script += [("ports", f"{_BEGUN}; {_FREE}; {read}; {_KEPT}".format(file="circuit.v", name="gate")), *steps]
    marks = {status: secrets.token_hex(16) for status, _ in script}
    lines = [line for status, commands in script for line in (*commands.split("; "), f"log {marks[status]}")]
    files = {"gold.v": job["gold"], "circuit.v": job["circuit"], "run.ys": "\n".join(lines) + "\n"}
    ended = run(["yosys", "-Q", "-T", "-s", "run.ys"], files, _LIMITS)
    if ended.status != "done":
        return {"status": ended.status, "said": "", "printed": "", "reached": []}
    return _status(ended, marks)


def _status(ended: Ended, marks: dict[str, str]) -> Json:
    printed = ended.output.splitlines()
    reached = ["gold", *(status for status in marks if marks[status] in printed)]
    status = reached[-1]
    if status == "equal" and ended.code != 0:
        status = "proof"
    if status == "proof" and _REFUTED in (ended.errors + ended.output):
        status = "refuted"
    return {"status": status, "said": _error(ended.output + ended.errors), "printed": ended.output, "reached": reached}


def _clocked(job: Json) -> Json:
    clock = job["clock"]
    resets = {f"in_{reset['name']}": reset["high"] for reset in clock["resets"]}
    graph = _graph(job, _GATES[0])
    if graph["status"] == "proof":
        graph = _graph(job, _GATES[1])
    if graph["status"] not in ("proof", "equal"):
        return {"status": graph["status"], "said": graph["said"]}
    decided = differ(graph["printed"], resets, SETTLED)
    if decided is not None:
        return {"status": decided.status, "said": decided.said, "by": "states"}
    steps = [("proof", _MITER), ("bounded", BOUNDED.format(resets=_held(resets))), ("equal", _INDUCTION)]
    compared = _compared(job, steps, reading(clock))
    status, by = compared["status"], "induction"
    if status == "bounded":
        status, by = "equal", "bounded"
    if status == "refuted":
        return {"status": status, "said": f"another output in the first {CYCLES} cycles", "by": "bounded"}
    return {"status": status, "said": compared["said"], "by": by}


def _graph(job: Json, gates: str) -> Json:
    """The outcome of a comparison that turns both circuits into gates and then prints its graph."""
    return _compared(job, [("proof", _MITER), ("equal", _AIGER.format(gates=gates))], reading(job["clock"]))


def _held(resets: dict[str, bool]) -> str:
    """The options of `sat` that hold all resets until they have settled."""
    steps = range(1, SETTLED + 1)
    return " ".join(f"-set-at {step} {name} {int(high)}" for step in steps for name, high in resets.items())


def _ports(job: Json) -> Json:
    try:
        found, _ = _written(job, "read_verilog -sv gold.v; hierarchy -check -top top; proc -norom; write_json")
        if not remembers(found):
            return read_ports(found)
        found, behind = _written(job, f"{_BEGUN}; {analysed()}".format(file="gold.v"))
        return read_ports(found, read(behind))
    except _Unwritten as error:
        return {"status": "gold", "said": str(error)}


class _Unwritten(Exception):
    """Why Yosys wrote no circuit."""


def _written(job: Json, passes: str) -> tuple[Json, str]:
    """The circuit that Yosys writes of the reference in these passes, and what it prints behind it."""
    ended = run(["yosys", "-q", "-p", passes], {"gold.v": job["gold"]}, _LIMITS)
    start = ended.output.find("{")
    if ended.status != "done" or start < 0:
        raise _Unwritten(_error(ended.output + ended.errors) or ended.status)
    found, end = json.JSONDecoder().raw_decode(ended.output, start)
    return found, ended.output[end:]


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
    deadline=15.0,
)
