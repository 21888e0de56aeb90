"""Combinational circuits: rewritten, changed or broken. Their truth is the value of an expression for all inputs.

An expression is drawn as a tree; its value is computed here, in Python, on words of three bits that wrap round. What
is written in Verilog cuts every inner result to three bits (`a + b` stands in a wire of its own), so that no rule on
widths of the language is needed to know what it means.
"""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

from assay.verifiers.audit import Labelled

Tree = Any  # "a", 5, ("+", "a", "b") or ("~", "a")
Draw = random.Random

TWO: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
INPUTS = [dict(zip("abc", values, strict=True)) for values in itertools.product(range(8), repeat=3)]
HEAD = "module top(input [2:0] a, input [2:0] b, input [2:0] c, output [2:0] y);"


def value(tree: Tree, given: dict[str, int]) -> int:
    """value(("+", "a", 1), {"a": 7}) is 0: words have three bits."""
    if not isinstance(tree, tuple):
        return given[tree] if isinstance(tree, str) else tree
    found = [value(one, given) for one in tree[1:]]
    if tree[0] == "~":
        return 7 - found[0]
    if tree[0] == "?":
        return found[1] if found[0] else found[2]
    return int(TWO[tree[0]](*found)) % 8


def table(tree: Tree) -> list[int]:
    return [value(tree, given) for given in INPUTS]


def drawn(d: Draw, depth: int) -> Tree:
    if depth == 0:
        return d.choice(["a", "b", "c", "a", "b", "c", d.randrange(8)])
    inner = [drawn(d, depth - 1) for _ in range(3)]
    if d.random() < 0.15:
        return "~", inner[0]
    return ("?", *inner) if d.random() < 0.15 else (d.choice(list(TWO)), *inner[:2])


def laws(tree: Tree) -> list[Tree]:
    """Trees of the same value."""
    if not isinstance(tree, tuple):
        return [("~", ("~", tree)), ("^", tree, 0)]
    head, one, *rest = tree
    other = rest[0] if rest else 0
    found = {
        "+": [("-", one, ("+", ("~", other), 1)), ("+", other, one)],
        "-": [("+", one, ("+", ("~", other), 1)), ("~", ("+", ("~", one), other))],
        "&": [("~", ("|", ("~", one), ("~", other))), ("&", other, one)],
        "|": [("~", ("&", ("~", one), ("~", other))), ("|", other, one)],
        "^": [("-", ("|", one, other), ("&", one, other)), ("^", other, one)],
        "<": [(">", other, one)],
        ">": [("<", other, one)],
        "==": [("==", other, one), ("==", ("^", one, other), 0)],
        "~": [("-", 7, one), ("^", one, 7)],
        "?": [("?", ("==", one, 0), *rest[::-1])],
    }
    return found[head]


def changes(d: Draw, tree: Tree) -> list[Tree]:
    """Trees in which one thing of the head is another."""
    if isinstance(tree, int):
        return [(tree + d.choice([1, 7])) % 8]
    if isinstance(tree, str):
        return [d.choice([name for name in "abc" if name != tree]), ("~", tree)]
    head, one, *rest = tree
    if head == "~":
        return [one]
    if head == "?":
        return [("?", one, *rest[::-1]), rest[0]]
    return [(d.choice([name for name in TWO if name != head]), one, rest[0]), (head, rest[0], one), one]


def somewhere(d: Draw, tree: Tree, change: Callable[[Tree], list[Tree]]) -> Tree:
    """The tree with one change at a drawn place."""
    if isinstance(tree, tuple) and d.random() < 0.6:
        at = d.randrange(1, len(tree))
        return (*tree[:at], somewhere(d, tree[at], change), *tree[at + 1 :])
    return d.choice(change(tree))


def assigned(tree: Tree) -> str:
    """A module of wires: one for each operation."""
    lines: list[str] = []

    def wire(one: Tree) -> str:
        if not isinstance(one, tuple):
            return one if isinstance(one, str) else f"3'd{one}"
        names = [wire(inner) for inner in one[1:]]
        right = f"~{names[0]}" if one[0] == "~" else f"{names[0]} {one[0]} {names[1]}"
        right = f"{names[0]} != 3'd0 ? {names[1]} : {names[2]}" if one[0] == "?" else right
        lines.append(f"  wire [2:0] w{len(lines)} = {right};")
        return f"w{len(lines) - 1}"

    last = wire(tree)
    return "\n".join([HEAD, *lines, f"  assign y = {last};", "endmodule"])


def listed(d: Draw, tree: Tree) -> str:
    """A module that knows its outputs by heart, in a case statement."""
    cases = [
        f"      9'd{64 * one['a'] + 8 * one['b'] + one['c']}: y = 3'd{out};"
        for one, out in zip(INPUTS, table(tree), strict=True)
    ]
    d.shuffle(cases)
    head = HEAD.replace("output [2:0]", "output reg [2:0]")
    return "\n".join([head, "  always @* begin", "    case ({a, b, c})", *cases, "    endcase", "  end", "endmodule"])


def _broken(d: Draw, text: str, tree: Tree) -> dict[str, str]:
    known = d.choice(INPUTS)
    out = (value(tree, known) + d.randint(1, 7)) % 8
    place = f"{{a, b, c}} == 9'd{64 * known['a'] + 8 * known['b'] + known['c']}"
    return {
        "wrong at one input": text.replace("assign y = ", f"assign y = {place} ? 3'd{out} : "),
        "unknown at one input": text.replace("assign y = ", f"assign y = {place} ? 3'bx : "),
        "no output": text.replace("  assign y = ", "  wire [2:0] z = "),
        "a port less": text.replace("input [2:0] c, ", ""),
        "a wider output": text.replace("output [2:0] y", "output [3:0] y"),
        "another module": text.replace("module top", "module circuit"),
        "a printed word": text.replace("endmodule", '  initial $display("ok");\nendmodule'),
        "a loop of wires": text.replace("assign y = ", "assign y = y ^ "),
        "no end": text.removesuffix("endmodule"),
        "an attribute": text.replace("  assign", "  (* keep *) assign"),
        "empty": "",
    }


def verilog(count: int, seed: int) -> Iterator[Labelled]:
    """Circuits by laws, by heart, changed in a place, wrong for one input of 512, or broken."""
    d = random.Random(f"verilog {seed}")
    made = 0
    while made < count:
        gold = drawn(d, 2)
        outputs = table(gold)
        if len(set(outputs)) < 2:
            continue
        text, way = assigned(gold), made % 5
        if way == 4:
            ways = _broken(d, text, gold)
            name = d.choice(list(ways))
            answer, label = ways[name], False
        elif way == 3 and d.random() < 0.2:
            name, answer, label = "by heart", listed(d, gold), True
        else:
            other = gold
            for _ in range(d.randint(1, 3)) if way in (0, 3) else range(1):
                other = somewhere(d, other, laws if way in (0, 3) else lambda tree: changes(d, tree))
            label, answer = table(other) == outputs, assigned(other)
            name = "rewritten" if way in (0, 3) else "changed"
            assert label or name == "changed", f"a law changed the value of {gold}"
        if answer == text:
            continue
        made += 1
        answer = f"```verilog\n{answer}\n```" if answer and d.random() < 0.3 else answer
        yield Labelled(text, answer, label, name, origin=("rewritten", "mutant", "mutant", "rewritten", "trick")[way])
