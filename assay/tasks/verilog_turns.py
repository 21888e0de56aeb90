"""Circuits in Verilog that may be handed in several times: the reply is the compiler's error, or the first output that
is wrong.

The circuits are those of the task `verilog`. The simulation steers alone: the last circuit is verified afterwards, by
simulation and proof, as answers to `verilog` are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.externals.iverilog import IVERILOG
from assay.externals.yosys import YOSYS
from assay.tasks import clocked, verilog
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.circuits.equal_circuits import printed
from assay.verifiers.circuits.testbench import Port
from assay.worlds.enclosed import Enclosed, refused
from assay.worlds.tools import Scene, ToolError, takes_text, tools

SPEECH = Enclosed(";]")
TRIES = 4  # circuits of a play


def _hand_in(scene: Scene, circuit: str) -> str:
    """Ends the play if the simulation shows no wrong output, or if this was the last try."""
    scene.over = scene.calls >= TRIES
    spec = scene.spec
    clock = clocked.clock(spec) if "design" in spec else None
    (lines,) = printed([(verilog.circuit(spec, circuit), verilog.ports(spec), clock)])
    if isinstance(lines, Verdict):
        if lines.status == "invalid":
            raise RuntimeError(lines.detail)
        raise ToolError(f"{lines.kind}: {lines.detail.replace('circuit.v:', '')}")
    if difference := first_wrong(spec, lines):
        raise ToolError(difference)
    scene.over = True
    return ""


def first_wrong(spec: Spec, lines: Sequence[str]) -> str:
    """The first wrong line that a circuit printed, with how many are wrong; "" if none is.

    "2/4 a=0,b=1:y=0,z=1 not y=1,z=1"
    """
    ports = verilog.ports(spec)
    outputs = [port for port in ports if port.direction == "output"]
    inputs = [port for port in ports if port.direction == "input"]
    if "design" in spec:
        wrong = list(clocked.contradictions(spec, lines))
        width = sum(port.width for port in inputs)
        wrong = [(line[:width], line[width:], wanted) for line, wanted in wrong]
    else:
        width, right = sum(port.width for port in inputs), verilog.outputs(spec)
        every = [f"{number:0{width}b}" for number in range(len(right))]
        if len(lines) != len(right):
            return f"{len(lines)} outputs instead of {len(right)}"
        wrong = [case for case in zip(every, lines, right, strict=True) if case[1] != case[2]]
    if not wrong:
        return ""
    given, shown, wanted = wrong[0]
    return f"{len(wrong)}/{len(lines)} {_named(inputs, given)}:{_named(outputs, shown)} not {_named(outputs, wanted)}"


def _named(ports: Sequence[Port], bits: str) -> str:
    """The bits of each port by its name: `a=01,b=1`."""
    parts, place = [], 0
    for port in ports:
        parts.append(f"{port.name}={bits[place : place + port.width]}")
        place += port.width
    return ",".join(parts)


def circuit_of(text: str) -> str:
    """The last circuit that an answer hands in; a text without calls is a circuit itself."""
    calls = [circuit for circuit, _ in SPEECH.inputs(text)]
    return calls[-1] if calls else text


def _solve(spec: Spec) -> Solution:
    return Solution(f"[{verilog.VERILOG.wordings.solve(spec).answer};]")


def _natural(spec: Spec) -> str:
    asked = verilog.VERILOG.wordings.natural(spec)
    return (
        f"{asked} To have it simulated first, write the whole module or the assignments in square brackets, with a "
        "semicolon before the closing one, like [y=a&b,z=~a;]. The reply follows at once: ! and the compiler's error, "
        "or ! and how many outputs are wrong, with the inputs and outputs of the first. You may hand in "
        f"{TRIES} circuits; the last one counts."
    )


def _circuits(pairs: Sequence[tuple[Problem, str]]) -> list[tuple[Problem, str]]:
    """The pairs as answers to the task `verilog`."""
    return [(dataclasses.replace(problem, wording="compact"), _circuit(problem, text)) for problem, text in pairs]


def _circuit(problem: Problem, text: str) -> str:
    if any(True for _ in SPEECH.inputs(text)):
        return circuit_of(text)
    return verilog.answer_in(problem, text) or ""


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return verilog.verify_all(_circuits(pairs))


def _verify_outputs(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return verilog.judge_by_outputs(_circuits(pairs))


def _check(spec: Spec, text: str) -> Verdict:
    return verilog.VERILOG.checker.check(spec, circuit_of(text))


VERILOG_TURNS = Task(
    name="verilog-turns",
    domain="circuits",
    summary=(
        f"A circuit in Verilog, which may be handed in {TRIES} times: replies tell the compiler's error or the first "
        "wrong output; levels as those of verilog."
    ),
    generator=verilog.VERILOG.generator,
    wordings=Wordings(
        compact=lambda spec: f"v{verilog.VERILOG.wordings.compact(spec)[1:]}", natural=_natural, solve=_solve
    ),
    checker=Checker(
        check=_check,
        verify_many=_verify_all,
        second=_verify_outputs,
        externals=("iverilog", "yosys"),
        seconds=IVERILOG.deadline + YOSYS.deadline,
    ),
    abilities=(
        OwnBase("units of two operations, with a simulator", levels=(5,), num_steps=24, context=192, hidden=160),
    ),
    world=tools((takes_text("hand-in", "circuit"), _hand_in), speech=SPEECH, explain=refused, apart=True),
)
