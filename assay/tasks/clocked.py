"""Small circuits with one clock: shift registers, edge detectors, counters, accumulators, feedback registers, machines.

Each is a register q with a value after the reset and a value that follows in each cycle, and in some an output y of one
bit. The value that follows is written twice, in Verilog and in Python, so that the question is verified without the
reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.task import Solution, Spec
from assay.verifiers.circuits.testbench import Clock, Port, Reset

LEVELS = {7: ("shift", "edge"), 8: ("count",), 9: ("gather", "feedback"), 10: ("machine",)}
_EDGES = {"rises": "d&~q", "falls": "~d&q", "changes": "d^q"}
_GATHERED = {  # compact name -> (expression, words, the value after the reset as a function of the largest)
    "add": ("q+d", "the sum of q and d, cut to the width of q", lambda most: 0),
    "xor": ("q^d", "the bitwise exclusive or of q and d", lambda most: 0),
    "max": ("(q>d?q:d)", "the larger of q and d as unsigned numbers", lambda most: 0),
    "min": ("(q<d?q:d)", "the smaller of q and d as unsigned numbers", lambda most: most),
}
_VALUES: dict[str, Callable[[int, int], int]] = {
    "add": lambda q, d: q + d,
    "xor": lambda q, d: q ^ d,
    "max": lambda q, d: max(q, d),
    "min": lambda q, d: min(q, d),
}
Inputs = Mapping[str, int]


@dataclass(frozen=True)
class Machine:
    """A circuit: its inputs beside clock and reset, its register q, and y if `shown` is not empty."""

    inputs: tuple[tuple[str, int], ...]  # (name, width)
    width: int  # of q
    first: int  # q after the reset
    following: str  # the next value of q, in Verilog
    step: Callable[[int, Inputs], int]  # the same in Python
    words: str
    short: str  # in compact wording
    shown: str = ""  # the value of y, in Verilog
    seen: Callable[[int, Inputs], int] = lambda q, x: 0  # the same in Python


def instance(generator: np.random.Generator, level: int) -> Spec:
    """The spec of a problem of one of these levels."""
    kind = LEVELS[level][int(generator.integers(len(LEVELS[level])))]
    flags = [bool(generator.integers(2)) for _ in range(4)]
    width = int(generator.integers(2, 6))
    spec = {"design": kind, "rises": flags[0], "high": flags[1], "asynchronous": flags[2]}
    match kind:
        case "shift":
            return {**spec, "width": width, "left": bool(generator.integers(2)), "enable": flags[3]}
        case "edge":
            return {**spec, "what": list(_EDGES)[int(generator.integers(3))]}
        case "count":
            modulus = int(generator.integers(2 ** (width - 1) + 1, 2**width + 1))
            return {**spec, "width": width, "modulus": modulus, "up": bool(generator.integers(2)), "enable": flags[3]}
        case "gather":
            return {**spec, "width": width, "what": list(_GATHERED)[int(generator.integers(4))], "enable": flags[3]}
        case "feedback":
            width = max(width, 3)
            return {**spec, "width": width, "tap": int(generator.integers(width - 1)), "enable": flags[3]}
        case _:
            states = int(generator.integers(3, 5))
            table = _table(generator, states)
            lit = [int(generator.integers(2)) for _ in range(states)]
            lit[int(generator.integers(1, states))] ^= int(len(set(lit)) == 1)
            return {**spec, "table": table, "lit": lit}


def _table(generator: np.random.Generator, states: int) -> list[list[int]]:
    """The state after each state for a = 0 and a = 1, drawn again until all states can be reached from 0."""
    while True:
        table = [[int(generator.integers(states)) for _ in range(2)] for _ in range(states)]
        reached = {0}
        for _ in range(states):
            reached |= {after for state in reached for after in table[state]}
        if len(reached) == states:
            return table


def machine(spec: Spec) -> Machine:
    """The circuit of a problem."""
    made = _MACHINES[spec["design"]](spec)
    return _enabled(made) if spec.get("enable") else made


def _enabled(made: Machine) -> Machine:
    return Machine(
        inputs=(("e", 1), *made.inputs),
        width=made.width,
        first=made.first,
        following=f"e?{made.following}:q",
        step=lambda q, x: made.step(q, x) if x["e"] else q,
        words=f"If e is 1, {made.words[0].lower()}{made.words[1:]} If e is 0, q keeps its value.",
        short=f"e:{made.short}",
    )


def _shift(spec: Spec) -> Machine:
    width, left = spec["width"], spec["left"]
    kept = f"q[{width - 2}:0]" if left else f"q[{width - 1}:1]"
    return Machine(
        inputs=(("d", 1),),
        width=width,
        first=0,
        following=f"{{{kept},d}}" if left else f"{{d,{kept}}}",
        step=lambda q, x: (2 * q + x["d"]) % 2**width if left else q // 2 + x["d"] * 2 ** (width - 1),
        words=f"The bits of q move by one place to the {'left' if left else 'right'}, and d becomes the "
        f"{'lowest' if left else 'highest'} bit.",
        short=f"{'shl' if left else 'shr'}{width}",
    )


def _edge(spec: Spec) -> Machine:
    what = spec["what"]
    said = {"rises": "d is 1 and q is 0", "falls": "d is 0 and q is 1", "changes": "d and q differ"}[what]
    return Machine(
        inputs=(("d", 1),),
        width=1,
        first=0,
        following="d",
        step=lambda q, x: x["d"],
        words=f"The register q takes the value of d. The output y is 1 as long as {said}, else 0; no clock delays it.",
        short=what,
        shown=_EDGES[what],
        seen=lambda q, x: int((q, x["d"]) in {"rises": [(0, 1)], "falls": [(1, 0)], "changes": [(0, 1), (1, 0)]}[what]),
    )


def _count(spec: Spec) -> Machine:
    width, modulus, up = spec["width"], spec["modulus"], spec["up"]
    last, back = (modulus - 1, 0) if up else (0, modulus - 1)
    turned = f"(q=={last}?{back}:q{'+' if up else '-'}1)"
    return Machine(
        inputs=(),
        width=width,
        first=0,
        following=f"q{'+' if up else '-'}1" if modulus == 2**width else turned,
        step=lambda q, x: (q + (1 if up else -1)) % modulus,
        words=f"The counter q counts {'up' if up else 'down'} by 1, and from {last} goes on with {back}.",
        short=f"{'up' if up else 'down'}{modulus}",
    )


def _gather(spec: Spec) -> Machine:
    width, what = spec["width"], spec["what"]
    expression, words, first = _GATHERED[what]
    return Machine(
        inputs=(("d", width),),
        width=width,
        first=first(2**width - 1),
        following=expression,
        step=lambda q, x: _VALUES[what](q, x["d"]) % 2**width,
        words=f"The register q becomes {words}.",
        short=f"{what}{width}",
    )


def _feedback(spec: Spec) -> Machine:
    width, tap = spec["width"], spec["tap"]
    return Machine(
        inputs=(),
        width=width,
        first=1,
        following=f"{{q[{width - 2}:0],q[{width - 1}]^q[{tap}]}}",
        step=lambda q, x: (2 * q) % 2**width + ((q >> (width - 1)) ^ (q >> tap)) % 2,
        words=f"The bits of q move by one place to the left, and the exclusive or of bits {width - 1} and {tap} of the "
        "old q becomes the lowest bit.",
        short=f"lfsr{width}.{tap}",
    )


def _machine(spec: Spec) -> Machine:
    table, lit = spec["table"], spec["lit"]
    rows = [f"(a?{high}:{low})" if low != high else str(high) for low, high in table]
    cases = "".join(f"q=={state}?{row}:" for state, row in enumerate(rows[:-1]))
    return Machine(
        inputs=(("a", 1),),
        width=2,
        first=0,
        following=f"({cases}{rows[-1]})",
        step=lambda q, x: table[q][x["a"]],
        words="The state q depends on the input a:\n"
        + "\n".join(f"from {q}: to {low} if a is 0, to {high} if a is 1" for q, (low, high) in enumerate(table))
        + f"\nThe output y is 1 in states {', '.join(str(q) for q, bit in enumerate(lit) if bit)}, else 0.",
        short="fsm" + ",".join(f"{low}{high}{bit}" for (low, high), bit in zip(table, lit, strict=True)),
        shown="|".join(f"q=={q}" for q, bit in enumerate(lit) if bit),
        seen=lambda q, x: lit[q],
    )


_MACHINES: dict[str, Callable[[Spec], Machine]] = {
    "shift": _shift,
    "edge": _edge,
    "count": _count,
    "gather": _gather,
    "feedback": _feedback,
    "machine": _machine,
}


def reset(spec: Spec) -> Reset:
    return Reset("rst" if spec["high"] else "rst_n", high=spec["high"], asynchronous=spec["asynchronous"])


def ports(spec: Spec) -> tuple[Port, ...]:
    """The ports of the module, in the order of its head."""
    made = machine(spec)
    inputs = (("clk", 1), (reset(spec).name, 1), *made.inputs)
    outputs = (("q", made.width), *((("y", 1),) if made.shown else ()))
    return (*(Port(name, "input", width) for name, width in inputs), *(Port(n, "output", w) for n, w in outputs))


def clock(spec: Spec) -> Clock:
    return Clock("clk", spec["rises"], (reset(spec),))


def header(spec: Spec) -> str:
    """The head of the module, as the question states it."""
    said = []
    for port in ports(spec):
        kind = "output reg" if port.name == "q" else port.direction
        said.append(f"{kind} {f'[{port.width - 1}:0] ' if port.width > 1 else ''}{port.name}")
    return f"module top({', '.join(said)});"


def module(spec: Spec, following: str, shown: str) -> str:
    """The module in which q becomes `following` in each cycle without reset, and y is `shown`."""
    made, on = machine(spec), reset(spec)
    edges = f"{'pos' if spec['rises'] else 'neg'}edge clk"
    if on.asynchronous:
        edges += f" or {'pos' if on.high else 'neg'}edge {on.name}"
    active = on.name if on.high else f"!{on.name}"
    assigned = f" assign y = {shown};" if made.shown else ""
    return (
        f"{header(spec)} always @({edges}) if ({active}) q <= {made.first}; else q <= {following};{assigned} endmodule"
    )


def reference(spec: Spec) -> str:
    made = machine(spec)
    return module(spec, made.following, made.shown)


def circuit(spec: Spec, answer: str) -> str:
    """The module that an answer such as `q=q+1,y=q==3` says; a text without these parts stays as it is."""
    parts: dict[str, str] = {"q": "", "y": ""}
    for part in _parts(answer.strip().removesuffix(";")):
        name, equals, expression = part.partition("=")
        if not equals or name.strip() not in parts:
            return answer
        parts[name.strip()] = expression
    return module(spec, parts["q"], parts["y"])


def _parts(text: str) -> list[str]:
    """The parts of a text between the commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def canonical(spec: Spec) -> str:
    return compact(spec)


def compact(spec: Spec) -> str:
    made = machine(spec)
    edges = f"{'+' if spec['rises'] else '-'}{'!' if spec['asynchronous'] else ''}{reset(spec).name}"
    return f"W {edges} {made.short}"


def natural(spec: Spec) -> str:
    made, on = machine(spec), reset(spec)
    when = f"clk {'rises' if spec['rises'] else 'falls'}"
    at = "at once, whatever clk does" if on.asynchronous else f"when {when}"
    parts = "q becomes and y is" if made.shown else "q becomes"
    example = "q=q+1,y=q==3" if made.shown else "q=q+1"
    return (
        f"Write a circuit with a clock in Verilog with this head:\n\n{header(spec)}\n\nAs long as {on.name} is "
        f"{int(on.high)}, q is set to {made.first} {at}. Else, each time {when}: {made.words}\n\nAll registers take "
        "their clock from clk, at that edge alone. There are no latches, no delays, no system tasks, no macros and no "
        "initial blocks. Give the whole module in a code block that begins with ```verilog. If expressions are enough, "
        f"you may give alone, in \\boxed{{...}}, what {parts} without reset, for example \\boxed{{{example}}}."
    )


def solve(spec: Spec) -> Solution:
    made = machine(spec)
    return Solution(f"q={made.following}" + (f",y={made.shown}" if made.shown else ""))


def wrong_lines(spec: Spec, lines: Sequence[str]) -> int:
    """How many lines of inputs and outputs, as the testbench prints them, contradict the question."""
    return sum(1 for _ in contradictions(spec, lines))


def contradictions(spec: Spec, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each line that contradicts the question, and the outputs that it should have; "" for one that cannot be read.

    A line has the bits of all inputs in the order of the head, then those of the outputs. The clock has acted between
    two lines if it stands differently in them.
    """
    made, on, names = machine(spec), reset(spec), [(port.name, port.width) for port in ports(spec)]
    pattern = re.compile("".join(f"(?P<{name}>[01]{{{width}}})" for name, width in names))
    q, before = made.first, int(not spec["rises"])
    for line in lines:
        match = pattern.fullmatch(line)
        if match is None:
            yield line, ""
            continue
        shown = {name: int(bits, 2) for name, bits in match.groupdict().items()}
        acts = shown["clk"] != before and shown["clk"] == int(spec["rises"])
        before, resets = shown["clk"], shown[on.name] == int(on.high)
        if resets and (acts or on.asynchronous):
            q = made.first
        elif acts:
            q = made.step(q, shown)
        seen = str(int(made.seen(q, shown))) if made.shown else ""
        if shown["q"] != q or seen not in ("", str(shown.get("y"))):
            yield line, f"{q:0{made.width}b}{seen}"
