"""The testbench of a circuit, from its ports alone. It drives inputs and prints outputs, and knows no right ones.

A circuit with few inputs sees all values of them, any other sees corners and values that a fixed rule makes. The same
testbench runs with the reference circuit in a process of its own, and the two outputs are compared outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.rng import digest

ALL_BITS = 10  # of inputs in all: so few are tried with every value
VECTORS = 1000  # values of more inputs
MOST_BITS = 256


@dataclass(frozen=True)
class Port:
    """A port of a module: `Port("a", "input", 8)`."""

    name: str
    direction: str
    width: int


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


def bench_for(ports: Sequence[Port], circuit: str) -> Testbench:
    """The testbench for a circuit. Its names depend on the circuit's text, so that no text can contain them."""
    nonce = digest("testbench", circuit)
    inputs = [port for port in ports if port.direction == "input"]
    outputs = [port for port in ports if port.direction == "output"]
    bits = sum(port.width for port in inputs)
    drive = "{" + ", ".join(f"x{nonce}_{port.name}" for port in inputs) + "}"
    shown = "{" + ", ".join(f"y{nonce}_{port.name}" for port in outputs) + "}"
    count = 2**bits if bits <= ALL_BITS else VECTORS
    lines = [f"module t{nonce};"]
    lines += [f"reg [{port.width - 1}:0] x{nonce}_{port.name};" for port in inputs]
    lines += [f"wire [{port.width - 1}:0] y{nonce}_{port.name};" for port in outputs]
    wires = [f".{port.name}({'x' if port.direction == 'input' else 'y'}{nonce}_{port.name})" for port in ports]
    lines += [f"top d{nonce}({', '.join(wires)});", f"integer i{nonce};", f"reg [{bits - 1}:0] v{nonce};"]
    lines += [f"initial for (i{nonce} = 0; i{nonce} <= {count}; i{nonce} = i{nonce} + 1) begin"]
    lines += [f'  if (i{nonce} == {count}) begin $display("{nonce}"); $finish; end']
    lines += [f"  {_value(f'v{nonce}', f'i{nonce}', bits)}"]
    lines += [f'  {drive} = v{nonce}; #10 $display("%b", {shown});', "end", "endmodule"]
    return Testbench("\n".join(lines) + "\n", f"t{nonce}", nonce)


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
