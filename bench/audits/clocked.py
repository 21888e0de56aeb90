"""Circuits with a clock, drawn, rewritten or spoiled in one place, and labelled by a walk through all of their states.

A circuit has one or two registers of the same width, an input e of one bit, sometimes an input a as wide as a register,
and an output. Its expressions are trees, written both in Verilog and in Python: the label of an answer comes from the
Python alone, from all pairs of states that it and its reference can be in together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from assay.verifiers.audit import Labelled

Tree = tuple[Any, ...]
"""("r",), ("const", 3), ("not", x), ("add", x, y), ..., ("if", (comparison, x, y), then, otherwise)."""
BINARY = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "ge": ">="}
OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt"}
SETTLED = 3  # cycles of reset before two circuits are compared


@dataclass(frozen=True)
class Circuit:
    width: int
    registers: tuple[str, ...]
    wide: bool  # whether it has the input a
    following: tuple[Tree, ...]  # of each register
    first: tuple[int, ...]  # values of the reset
    shown: Tree
    high: bool = True  # level of the reset
    asynchronous: bool = False
    rises: bool = True
    unset: str = ""  # a register that no reset sets


# --- what a circuit does --------------------------------------------------------------------------------------


def python(tree: Tree, width: int) -> str:
    """An expression whose value has no more bits than a register."""
    kind, *parts = tree
    if kind == "const":
        return str(parts[0])
    if kind == "if":
        (how, x, y), one, other = parts
        compared = f"{python(x, width)} {COMPARED[how]} {python(y, width)}"
        return f"({python(one, width)} if {compared} else {python(other, width)})"
    mask = 2**width - 1
    if kind == "not":
        return f"(~{python(parts[0], width)} & {mask})"
    if kind in BINARY:
        return f"(({python(parts[0], width)} {BINARY[kind]} {python(parts[1], width)}) & {mask})"
    return kind


@dataclass(frozen=True)
class Walked:
    """Tables of a circuit: (state, input) -> the next state, and -> what is shown before the edge."""

    states: list[tuple[int, ...]]
    after: dict[tuple[Any, Any], tuple[int, ...]]
    shown: dict[tuple[Any, Any], int]


def inputs(one: Circuit) -> list[tuple[int, int, int]]:
    """All values of (reset, e, a)."""
    return [(rst, e, a) for rst in (0, 1) for e in (0, 1) for a in range(2**one.width if one.wide else 1)]


def walked(one: Circuit) -> Walked:
    names = ", ".join([*one.registers, "e", "a"])
    step = eval(f"lambda {names}: ({', '.join(python(tree, one.width) for tree in one.following)},)", {})
    show = eval(f"lambda {names}: {python(one.shown, one.width)}", {})
    states: list[tuple[int, ...]] = [()]
    for _ in one.registers:
        states = [(*state, value) for state in states for value in range(2**one.width)]
    after, shown = {}, {}
    for state in states:
        for given in inputs(one):
            resets = given[0] == int(one.high)
            set_ = tuple(
                start if name != one.unset else held
                for name, start, held in zip(one.registers, one.first, state, strict=True)
            )
            now = set_ if resets and one.asynchronous else state
            then = step(*now, *given[1:])
            if resets:
                then = tuple(
                    start if name != one.unset else new
                    for name, start, new in zip(one.registers, one.first, then, strict=True)
                )
            after[state, given], shown[state, given] = then, show(*now, *given[1:])
    return Walked(states, after, shown)


def reached(one: Walked, other: Walked, given: list[tuple[int, int, int]], level: int) -> set[tuple[Any, Any]]:
    """All pairs of states in which the two can be together once the reset was held."""
    pairs = {(x, y) for x in one.states for y in other.states}
    for _ in range(SETTLED):
        pairs = {(one.after[x, i], other.after[y, i]) for x, y in pairs for i in given if i[0] == level}
    found = set(pairs)
    while pairs:
        pairs = {(one.after[x, i], other.after[y, i]) for x, y in pairs for i in given} - found
        found |= pairs
    return found


def equal(gold: Circuit, answer: Circuit) -> bool:
    """Whether both show the same from the end of the reset on, whatever the inputs."""
    if gold.rises != answer.rises:
        return False
    one, other, given = walked(gold), walked(answer), inputs(gold)
    pairs = reached(one, other, given, int(gold.high))
    return all(one.shown[x, i] == other.shown[y, i] for x, y in pairs for i in given)


def lively(one: Circuit) -> bool:
    """Whether its reset determines it, three states can be reached, and one input shows two values in them."""
    tables, given = walked(one), inputs(one)
    pairs = reached(tables, tables, given, int(one.high))
    shows = any(len({tables.shown[x, i] for x, _ in pairs}) >= 2 for i in given)
    return len(pairs) >= 3 and shows and all(x == y for x, y in pairs)


# --- drawing, rewriting and spoiling --------------------------------------------------------------------------


def tree(draw: random.Random, names: list[str], width: int, depth: int) -> Tree:
    if depth == 0 or draw.random() < 0.2:
        return ("const", draw.randrange(2**width)) if draw.random() < 0.25 else (draw.choice(names),)
    if draw.random() < 0.25:
        compared = (draw.choice(list(COMPARED)), *(tree(draw, names, width, 0) for _ in range(2)))
        return ("if", compared, *(tree(draw, names, width, depth - 1) for _ in range(2)))
    if draw.random() < 0.15:
        return ("not", tree(draw, names, width, depth - 1))
    return (draw.choice(list(BINARY)), *(tree(draw, names, width, depth - 1) for _ in range(2)))


def drawn(draw: random.Random) -> Circuit:
    while True:
        counter = draw.random() < 0.3
        width = draw.randint(5, 8) if counter else draw.randint(2, 3)
        registers = ("r",) if counter else ("r", "s")
        wide = not counter and width == 2 and draw.random() < 0.6
        names = [*registers, *(["a"] if wide else [])]
        following = [tree(draw, names, width, 2) for _ in registers]
        if counter:
            amount = ("const", draw.choice([1, 1, 3, 5]))
            following = [(draw.choice(["add", "sub"]), ("r",), amount)]
        enabled = ("if", ("eq", ("e",), ("const", 1)), following[0], ("r",))
        one = Circuit(
            width,
            registers,
            wide,
            (enabled, *following[1:]),
            tuple(draw.randrange(2**width) for _ in registers),
            ("r",) if counter else tree(draw, names, width, 1),
            high=draw.random() < 0.5,
            asynchronous=draw.random() < 0.5,
            rises=draw.random() < 0.7,
        )
        if lively(one):
            return one


def places(whole: Tree, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Tree]]:
    """All subtrees that are values, with the way to each."""
    found = [(path, whole)]
    for place, part in enumerate(whole[1:], 1):
        if isinstance(part, tuple):
            inside = places(part, (*path, place))
            found += inside[1:] if part[0] in COMPARED else inside
    return found


def put(whole: Tree, path: tuple[int, ...], part: Tree) -> Tree:
    if not path:
        return part
    return tuple(put(old, path[1:], part) if place == path[0] else old for place, old in enumerate(whole))


def rewritten(part: Tree, draw: random.Random, width: int) -> Tree:
    """The same value, written in another way."""
    kind, *inside = part
    ways: list[Tree] = [("not", ("not", part))]
    if kind in ("add", "and", "or", "xor"):
        ways += [(kind, inside[1], inside[0])] * 2
    if kind == "sub":
        ways += [("add", ("add", inside[0], ("not", inside[1])), ("const", 1))] * 2
    if kind == "and":
        ways.append(("not", ("or", ("not", inside[0]), ("not", inside[1]))))
    if kind == "or":
        ways.append(("not", ("and", ("not", inside[0]), ("not", inside[1]))))
    if kind == "xor":
        ways.append(("sub", ("or", *inside), ("and", *inside)))
    if kind == "if":
        (how, x, y), one, other = inside
        ways += [("if", (OPPOSITE[how], x, y), other, one)] * 3
    if kind == "const":
        ways.append(("sub", ("const", 0), ("const", -inside[0] % 2**width)))
    return draw.choice(ways)


def spoiled(part: Tree, draw: random.Random, names: list[str], width: int) -> Tree:
    """Another tree, mostly of another value."""
    kind, *inside = part
    if kind == "const":
        return ("const", (inside[0] + draw.randint(1, 2**width - 1)) % 2**width)
    if kind == "not":
        return inside[0]
    if kind in BINARY:
        other = draw.choice([name for name in BINARY if name != kind])
        return draw.choice([(other, *inside), (kind, inside[1], inside[0]), inside[0]])
    if kind == "if":
        (how, x, y), one, other = inside
        how = draw.choice([name for name in COMPARED if name != how])
        return draw.choice([("if", (how, x, y), one, other), ("if", inside[0], other, one), one])
    return ("not", part) if draw.random() < 0.5 else (draw.choice(names),)


Change = Callable[[Circuit, random.Random], Circuit]


def at_a_place(change: Callable[..., Tree], one: Circuit, draw: random.Random, *more: Any) -> Circuit:
    trees = [*one.following, one.shown]
    which = draw.randrange(len(trees))
    path, part = draw.choice(places(trees[which]))
    trees[which] = put(trees[which], path, change(part, draw, *more, one.width))
    return replace(one, following=tuple(trees[:-1]), shown=trees[-1])


def in_one_state(one: Circuit, draw: random.Random) -> Circuit:
    """Wrong behind one value of the first register alone."""
    rare = ("eq", ("r",), ("const", draw.randrange(2**one.width)))
    wrong = ("if", rare, ("xor", one.following[0], ("const", 1)), one.following[0])
    return replace(one, following=(wrong, *one.following[1:]))


def other_start(one: Circuit, draw: random.Random) -> Circuit:
    which = draw.randrange(len(one.first))
    start = (one.first[which] + draw.randint(1, 2**one.width - 1)) % 2**one.width
    return replace(one, first=(*one.first[:which], start, *one.first[which + 1 :]))


SPOILED: dict[str, Change] = {
    "an expression": lambda one, draw: at_a_place(
        spoiled, one, draw, [*one.registers, "e", *(["a"] if one.wide else [])]
    ),
    "one state": in_one_state,
    "the value after the reset": other_start,
    "the level of the reset": lambda one, draw: replace(one, high=not one.high),
    "when the reset acts": lambda one, draw: replace(one, asynchronous=not one.asynchronous),
    "no reset": lambda one, draw: replace(one, unset=draw.choice(one.registers)),
    "the edge": lambda one, draw: replace(one, rises=not one.rises),
}


# --- Verilog --------------------------------------------------------------------------------------------------


def verilog(whole: Tree, width: int) -> str:
    kind, *parts = whole
    if kind == "const":
        return f"{width}'d{parts[0]}"
    if kind == "not":
        return f"(~{verilog(parts[0], width)})"
    if kind == "if":
        (how, x, y), one, other = parts
        compared = f"{verilog(x, width)} {COMPARED[how]} {verilog(y, width)}"
        return f"(({compared}) ? {verilog(one, width)} : {verilog(other, width)})"
    if kind in BINARY:
        return f"({verilog(parts[0], width)} {BINARY[kind]} {verilog(parts[1], width)})"
    return kind


def text(one: Circuit, gold: Circuit, style: str) -> str:
    """The module, with the ports of its reference."""
    high, reset = one.width - 1, "rst" if gold.high else "rst_n"
    head = f"module top(input clk, input {reset}, input e{f', input [{high}:0] a' if one.wide else ''}, "
    lines = [head + f"output [{high}:0] y);"]
    edge = f"{'posedge' if one.rises else 'negedge'} clk"
    both = f"{edge} or {'posedge' if one.high else 'negedge'} {reset}" if one.asynchronous else edge
    active = reset if one.high else f"!{reset}"
    for name, after, start in zip(one.registers, one.following, one.first, strict=True):
        value, begin = verilog(after, one.width), f"{one.width}'d{start}"
        kept = name
        if style == "inverted":  # the register holds the complement
            kept, value, begin = f"n{name}", f"~{value}", f"~{begin}"
            lines.append(f"wire [{high}:0] {name} = ~{kept};")
        lines.insert(1, f"reg [{high}:0] {kept};")
        if style == "wires":
            lines.append(f"wire [{high}:0] next_{name} = {value};")
            value = f"next_{name}"
        if name == one.unset:
            lines.append(f"always @({edge}) {kept} <= {value};")
        elif style == "later" and not one.asynchronous:
            lines.append(f"always @({edge}) begin {kept} <= {value}; if ({active}) {kept} <= {begin}; end")
        else:
            lines.append(f"always @({both}) if ({active}) {kept} <= {begin}; else {kept} <= {value};")
    return "\n".join([*lines, f"assign y = {verilog(one.shown, one.width)};", "endmodule"])


STYLES = ("plain", "inverted", "wires", "later")


def clocked(count: int, seed: int) -> Iterator[Labelled]:
    """A third rewritten, the others spoiled in one place and mostly rewritten as well; the walk says what is right."""
    draw = random.Random(f"circuits {seed}")
    for number in range(count):
        gold = drawn(draw)
        change, answer = "rewritten", gold
        if number % 3:
            change = draw.choice(list(SPOILED))
            answer = SPOILED[change](answer, draw)
        for _ in range(draw.randint(0, 4)):
            answer = at_a_place(rewritten, answer, draw)
        right = equal(gold, answer)
        origin = "mutant" if number % 3 else "rewritten"
        written = text(answer, gold, draw.choice(STYLES))
        yield Labelled(text(gold, gold, "plain"), written, right, change, origin=origin)
