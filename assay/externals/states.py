"""All states that two circuits can reach together, from an and-inverter graph of their comparison in AIGER's text form.

The graph of a comparison has one output, which is 1 where the outputs of the two circuits differ. The resets are held
for some cycles from unknown states, other inputs unknown as well. From the state in which this ends, or from all states
that it may end in, all inputs are tried in all states that are reached. Many states are computed at once: a whole
number holds one bit of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

MOST_LATCHES = 60  # a state is a number of 64 bits
MOST_INPUTS = 12
MOST_UNKNOWN = 8  # bits of a state that the resets leave open
MOST_STATES = 1 << 17
MOST_CYCLES = 1 << 12
MOST_STEPS = 1 << 22  # pairs of a state and an input
MOST_GATES = 1 << 23  # evaluated in all, each for many pairs
_AT_ONCE = 1 << 14  # of these pairs


@dataclass(frozen=True)
class Graph:
    """An and-inverter graph. A literal is twice the number of a variable, and 1 more if it is inverted; 0 is false."""

    inputs: tuple[tuple[str, int], ...]  # (name, literal)
    latches: tuple[tuple[int, int], ...]  # (literal, literal of the next value)
    outputs: tuple[int, ...]
    gates: tuple[tuple[int, int, int], ...]  # (literal, and two whose conjunction it is), in an order of evaluation


@dataclass(frozen=True)
class Difference:
    """`equal` or `refuted`, with a sentence."""

    status: Literal["equal", "refuted"]
    said: str


def read(text: str) -> Graph | None:
    """The graph that stands in a log; None if there is none."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("aag ")), None)
    if start is None:
        return None
    _, num_inputs, num_latches, num_outputs, num_gates = map(int, lines[start].split()[1:6])
    body = [[int(word) for word in line.split()] for line in lines[start + 1 :][: num_inputs + num_latches]]
    rest = lines[start + 1 + num_inputs + num_latches :]
    gates = [tuple(map(int, line.split())) for line in rest[num_outputs:][:num_gates]]
    names = [f"{i}" for i in range(num_inputs)]
    for line in rest[num_outputs + num_gates :]:
        kind, *words = line.split()
        if kind[:1] != "i" or not kind[1:].isdecimal():
            break
        names[int(kind[1:])] = words[-1]
    return Graph(
        tuple((name, row[0]) for name, row in zip(names, body, strict=False)),
        tuple((row[0], row[1]) for row in body[num_inputs:]),
        tuple(map(int, rest[:num_outputs])),
        tuple((gate[0], gate[1], gate[2]) for gate in gates),
    )


def differ(text: str, resets: Mapping[str, bool], settled: int) -> Difference | None:
    """Whether two circuits differ after `settled` cycles of these resets, where True is 1; None if it is not decided.

    differ(log, {"in_rst": True}, 3)  # Difference("equal", "256 states, all inputs")
    """
    graph = read(text)
    if graph is None or len(graph.outputs) != 1 or len(graph.latches) > MOST_LATCHES:
        return None
    first, exact = _after_resets(graph, resets, settled)
    if first is None:
        return None
    used = _used(graph)
    inputs = [literal for _, literal in graph.inputs if literal in used]
    if len(inputs) > MOST_INPUTS:
        return None
    return _visited(graph, inputs, first, exact)


def _used(graph: Graph) -> set[int]:
    """The variables, as literals, on which something depends."""
    literals = [*(literal for gate in graph.gates for literal in gate[1:]), *graph.outputs]
    literals += [after for _, after in graph.latches]
    return {literal & ~1 for literal in literals}


def constant(graph: Graph, fixed: Mapping[str, bool]) -> set[int]:
    """The places of those latches whose next value follows from these inputs alone.

    constant(graph, {"rst": True})  # {0, 1, 2, 3}: this input resets four latches
    """
    after = _next(graph, [(1, 1)] * len(graph.latches), fixed)
    return {place for place, may in enumerate(after) if may != (1, 1)}


def _next(graph: Graph, state: Sequence[tuple[int, int]], fixed: Mapping[str, bool]) -> list[tuple[int, int]]:
    """The next values of the latches. A value has two bits: whether it may be 0, and whether it may be 1."""
    value = {0: (1, 0), 1: (0, 1)}

    def put(literal: int, may: tuple[int, int]) -> None:
        value[literal], value[literal ^ 1] = may, (may[1], may[0])

    for name, literal in graph.inputs:
        put(literal, (int(not fixed[name]), int(fixed[name])) if name in fixed else (1, 1))
    for (literal, _), may in zip(graph.latches, state, strict=True):
        put(literal, may)
    for literal, one, other in graph.gates:
        put(literal, (value[one][0] | value[other][0], value[one][1] & value[other][1]))
    return [value[after] for _, after in graph.latches]


def _after_resets(graph: Graph, resets: Mapping[str, bool], settled: int) -> tuple[np.ndarray | None, bool]:
    """(the states in which the circuits may be after their resets, whether it is one); None if these are too many."""
    state: list[tuple[int, int]] = [(1, 1)] * len(graph.latches)
    for _ in range(settled):
        state = _next(graph, state, resets)
    unknown = [place for place, may in enumerate(state) if may == (1, 1)]
    if len(unknown) > MOST_UNKNOWN:
        return None, False
    known = sum(1 << place for place, may in enumerate(state) if may == (0, 1))
    states = np.array([known], dtype=np.uint64)
    for place in unknown:
        states = np.concatenate([states, states | np.uint64(1 << place)])
    return states, not unknown


def _visited(graph: Graph, inputs: Sequence[int], first: np.ndarray, exact: bool) -> Difference | None:
    """A search in breadth, cycle by cycle."""
    seen: set[int] = set()
    frontier, tried, cycle = first, 0, 0
    at_once = max(1, _AT_ONCE >> len(inputs))
    evaluated = 0
    while frontier.size:
        seen.update(frontier.tolist())
        tried += frontier.size << len(inputs)
        evaluated += len(graph.gates) * -(-frontier.size // at_once)
        if len(seen) > MOST_STATES or cycle > MOST_CYCLES or tried > MOST_STEPS or evaluated > MOST_GATES:
            return None
        reached: list[np.ndarray] = []
        for start in range(0, frontier.size, at_once):
            wrong, following = _stepped(graph, inputs, frontier[start : start + at_once])
            if wrong:
                detail = f"another output in cycle {cycle + 1} after the resets"
                return Difference("refuted", detail) if exact else None
            reached.append(following)
        new = [state for state in np.unique(np.concatenate(reached)).tolist() if state not in seen]
        frontier = np.array(new, dtype=np.uint64)
        cycle += 1
    return Difference("equal", f"{len(seen)} states, all inputs")


def _stepped(graph: Graph, inputs: Sequence[int], states: np.ndarray) -> tuple[bool, np.ndarray]:
    """Whether an output differs in one of these states, and the states that follow, each once."""
    choices = 1 << len(inputs)
    width = states.size * choices
    ones = (1 << width) - 1
    value = {0: 0, 1: ones}
    tried = np.tile(np.arange(choices, dtype=np.uint64), states.size)
    held = np.repeat(states, choices)
    for index, literal in enumerate(inputs):
        value[literal] = _column(tried, index)
    for index, (literal, _) in enumerate(graph.latches):
        value[literal] = _column(held, index)
    for literal in [literal for literal in value if literal > 1]:
        value[literal ^ 1] = value[literal] ^ ones
    for literal, left, right in graph.gates:
        both = value[left] & value[right]
        value[literal], value[literal ^ 1] = both, both ^ ones
    following = np.zeros(width, dtype=np.uint64)
    for index, (_, after) in enumerate(graph.latches):
        packed = np.frombuffer(value[after].to_bytes((width + 7) // 8, "little"), dtype=np.uint8)
        bits = np.unpackbits(packed, count=width, bitorder="little")
        following |= bits.astype(np.uint64) << np.uint64(index)
    return value[graph.outputs[0]] != 0, np.unique(following)


def _column(numbers: np.ndarray, place: int) -> int:
    """One bit of each number, as a whole number."""
    bits = ((numbers >> np.uint64(place)) & np.uint64(1)).astype(np.uint8)
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
