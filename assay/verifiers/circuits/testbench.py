"""The testbench of a circuit, from its ports alone. It drives inputs and prints outputs, and knows no right ones.

A circuit with few inputs sees all values of them, any other sees corners and values that a fixed rule makes. A circuit
with a clock sees phases of resets, of inputs that change, and of inputs that are held. The same testbench runs with the
reference circuit in a process of its own, and the two outputs are compared outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.rng import digest

ALL_BITS = 10  # of inputs in all: so few are tried with every value
VECTORS = 1000  # values of more inputs
MOST_BITS = 256
SETTLED = 3  # cycles of a clocked circuit in which all resets are held before anything is shown
PHASES, CHANGING, HELD = 8, 60, 280  # phases; cycles of a phase with changing inputs, or with held inputs


@dataclass(frozen=True)
class Port:
    """A port of a module: `Port("a", "input", 8)`."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class Reset:
    """A reset port: `Reset("rst_n", high=False, asynchronous=True)` resets at once while it is 0."""

    name: str
    high: bool
    asynchronous: bool


@dataclass(frozen=True)
class Clock:
    """The clock of a circuit, and its resets: `Clock("clk", rises=True, resets=())` acts where it rises."""

    name: str
    rises: bool
    resets: tuple[Reset, ...]


@dataclass(frozen=True)
class Testbench:
    """A testbench: its text, its name, and the last line that a whole run prints."""

    text: str
    name: str
    end: str


def unfit(ports: Sequence[Port]) -> str:
    """Why circuits with these ports cannot be compared; "" if they can."""
    directions = {port.direction for port in ports}
    if directions != {"input", "output"}:
        return f"a circuit has inputs and outputs, not {sorted(directions)}"
    if sum(port.width for port in ports if port.direction == "input") > MOST_BITS:
        return f"the inputs have more than {MOST_BITS} bits"
    return ""


def bench_for(ports: Sequence[Port], circuit: str, clock: Clock | None = None) -> Testbench:
    """The testbench for a circuit. Its names depend on the circuit's text, so that no text can contain them."""
    nonce = digest("testbench", circuit)
    text = _clocked(ports, clock, nonce) if clock else _unclocked(ports, nonce)
    return Testbench(text, f"t{nonce}", nonce)


def _declared(ports: Sequence[Port], nonce: str) -> list[str]:
    """The head of the testbench: a variable for each input, a wire for each output, and the circuit."""
    wires = [f".{port.name}({'x' if port.direction == 'input' else 'y'}{nonce}_{port.name})" for port in ports]
    return [
        f"module t{nonce};",
        *(f"reg [{port.width - 1}:0] x{nonce}_{port.name};" for port in ports if port.direction == "input"),
        *(f"wire [{port.width - 1}:0] y{nonce}_{port.name};" for port in ports if port.direction == "output"),
        f"top d{nonce}({', '.join(wires)});",
    ]


def _joined(ports: Sequence[Port], nonce: str, direction: str) -> str:
    """All inputs, or all outputs, as one vector."""
    letter = "x" if direction == "input" else "y"
    chosen = (port.name for port in ports if port.direction == direction)
    return "{" + ", ".join(f"{letter}{nonce}_{name}" for name in chosen) + "}"


def _unclocked(ports: Sequence[Port], nonce: str) -> str:
    bits = sum(port.width for port in ports if port.direction == "input")
    drive, shown = _joined(ports, nonce, "input"), _joined(ports, nonce, "output")
    count = 2**bits if bits <= ALL_BITS else VECTORS
    lines = [*_declared(ports, nonce), f"integer i{nonce};", f"reg [{bits - 1}:0] v{nonce};"]
    lines += [f"initial for (i{nonce} = 0; i{nonce} <= {count}; i{nonce} = i{nonce} + 1) begin"]
    lines += [f'  if (i{nonce} == {count}) begin $display("{nonce}"); $finish; end']
    lines += [f"  {_value(f'v{nonce}', f'i{nonce}', bits)}"]
    lines += [f'  {drive} = v{nonce}; #10 $display("%b", {shown});', "end", "endmodule"]
    return "\n".join(lines) + "\n"


def _value(vector: str, number: str, bits: int) -> str:
    """The statement that sets a vector: counting, or corners and then a linear congruence in pieces of 32 bits."""
    if bits <= ALL_BITS:
        return f"{vector} = {number};"
    ones = f"{vector} = {{{bits}{{1'b1}}}};"
    single = f"{vector} = {{{{{bits - 1}{{1'b0}}}}, 1'b1}} << ({number} - 2);"
    pieces = "".join(
        f" {vector} = ({vector} << 32) | ((({number} * 32'd747796405 + 32'd{277803737 + 40503 * k}) * 32'd2891336453"
        f" + 32'd{k}) >> 7 ^ ({number} * 32'd{2654435769 - 2 * k}));"
        for k in range((bits + 31) // 32)
    )
    return (
        f"{vector} = 0; if ({number} == 1) {ones} else if ({number} > 1 && {number} < {bits + 2}) {single}"
        f" else if ({number} > 1) begin{pieces} end"
    )


def _clocked(ports: Sequence[Port], clock: Clock, nonce: str) -> str:
    """Phases that begin with resets; then inputs change in each cycle while the clock rests, or are held.

    All resets are held before anything is shown, because until then registers hold anything. Each line shows the
    inputs that the testbench drives, then the outputs. Lines are shown after inputs have changed, after the edge that
    acts, and after the other edge, at which nothing may change.
    """
    resets = clock.resets
    data = [port for port in ports if port.direction == "input" and port.name not in _driven(clock)]
    bits = sum(port.width for port in data)
    clk, act, rest = f"x{nonce}_{clock.name}", int(clock.rises), int(not clock.rises)
    idle = " ".join(f"x{nonce}_{reset.name} = {int(not reset.high)};" for reset in resets)
    every = " ".join(f"x{nonce}_{reset.name} = {int(reset.high)};" for reset in resets)
    chosen = " ".join(
        f"x{nonce}_{reset.name} = (i{nonce} % {2 ** len(resets) - 1} + 1) >> {index} & 1 ? {int(reset.high)} :"
        f" {int(not reset.high)};"
        for index, reset in enumerate(resets)
    )
    rarely = " ".join(
        f"x{nonce}_{reset.name} = (r{nonce} >> {5 * index % 27}) % 16 == 3 ? {int(reset.high)} : {int(not reset.high)};"
        for index, reset in enumerate(resets)
    )
    drive = f"{_joined(data, nonce, 'input')} = v{nonce};" if data else ""
    inputs, outputs = _joined(ports, nonce, "input"), _joined(ports, nonce, "output")
    pulse = any(reset.asynchronous for reset in resets)
    return "\n".join(
        [
            *_declared(ports, nonce),
            f"integer i{nonce}, j{nonce}; reg [31:0] r{nonce}; reg [{max(bits, 1) - 1}:0] v{nonce};",
            f"task step{nonce}; begin",
            f"  r{nonce} = r{nonce} ^ (r{nonce} << 13); r{nonce} = r{nonce} ^ (r{nonce} >> 17);",
            f"  r{nonce} = r{nonce} ^ (r{nonce} << 5);",
            "end endtask",
            f"task draw{nonce}; begin",
            *[f"  step{nonce}; v{nonce} = (v{nonce} << 32) | r{nonce};"] * ((bits + 31) // 32),
            f"  step{nonce}; {drive}",
            "end endtask",
            f'task show{nonce}; begin #5 $display("%b", {{{inputs}, {outputs}}}); end endtask',
            f"task cycle{nonce}; begin",
            f"  show{nonce}; {clk} = {act}; show{nonce}; {clk} = {rest}; show{nonce};",
            "end endtask",
            "initial begin",
            f"  r{nonce} = 32'd2463534242; v{nonce} = 0; {clk} = {rest}; {every} {drive}",
            f"  for (i{nonce} = 0; i{nonce} < {SETTLED}; i{nonce} = i{nonce} + 1) begin",
            f"    draw{nonce}; #5 {clk} = {act}; #5 {clk} = {rest}; #5;",
            "  end",
            f"  for (i{nonce} = 0; i{nonce} < {PHASES}; i{nonce} = i{nonce} + 1) begin",
            f"    draw{nonce}; {chosen} show{nonce};",
            *([f"    if (i{nonce} % 4 > 1) begin {idle} show{nonce}; {chosen} show{nonce}; end"] if pulse else []),
            *[f"    cycle{nonce}; draw{nonce};"] * 2,
            f"    {idle} if (i{nonce} % 4 == 1) begin v{nonce} = ~0; {drive} end",
            f"    for (j{nonce} = 0; j{nonce} < (i{nonce} % 2 ? {HELD} : {CHANGING}); j{nonce} = j{nonce} + 1) begin",
            f"      cycle{nonce}; if (i{nonce} % 2 == 0) begin draw{nonce}; {rarely} end",
            "    end",
            "  end",
            f'  $display("{nonce}"); $finish;',
            "end",
            "endmodule",
            "",
        ]
    )


def _driven(clock: Clock) -> list[str]:
    return [clock.name, *(one.name for one in clock.resets)]
