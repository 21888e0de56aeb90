"""Circuits with one clock: the clock and the resets that Yosys finds in a reference, and how such circuits are read.

A flip-flop of the reference takes its clock from an input port, all of them the same port and edge. A reset is an input
port of one bit that sets flip-flops to constants, at the clock's edge or, if it is asynchronous, at once. An answer may
have flip-flops of that clock and that edge alone, and asynchronous resets by those ports alone that are asynchronous in
the reference. Initial values are not looked at: outputs of a circuit before its resets are not compared.
"""

from __future__ import annotations

from typing import Any

from assay.externals.states import Graph, constant

Json = Any

SETTLED = 3  # cycles in which all resets are held before circuits are compared
CYCLES = 20  # that SAT compares where there are too many states to visit, these three with them
_FLATTENED = "memory_collect; memory_map; dffunmap; opt_clean"
_ANALYSED = (
    f"{_FLATTENED}; write_json; setundef -zero; async2sync; dffunmap; techmap; opt_clean; aigmap; opt_clean; "
    "write_aiger -ascii -symbols"
)
BOUNDED = f"sat -verify -seq {CYCLES} -prove-skip {SETTLED} {{resets}} -prove trigger 0 miter"


def analysed() -> str:
    """The passes that print what `read_ports` reads: a circuit, and its graph behind it."""
    return _ANALYSED


def reading(clock: Json) -> str:
    """The passes that read a circuit of this clock, and refuse one that has other memory."""
    edge = int(clock["rises"])
    asynchronous = [f"i:{reset['name']} %co1:+[ARST] %d" for reset in clock["resets"] if reset["asynchronous"]]
    return "; ".join(
        [
            _FLATTENED,
            "setattr -unset init w:*",
            "check -assert",
            "select -assert-none t:$*latch* t:$mem* t:$sr* t:$lut t:$fsm",
            "select -assert-none t:$*ff* t:$dff %d t:$adff %d",
            f"select -assert-none t:$dff t:$adff %u i:{clock['name']} %co1:+[CLK] %d",
            f"select -assert-none t:$dff t:$adff %u r:CLK_POLARITY={edge} %d r:CLK_POLARITY=1'{edge} %d",
            f"select -assert-none t:$adff {' '.join(asynchronous)}".rstrip(),
            "select -clear",
            "async2sync",
            "dffunmap",
        ]
    )


class _Unfit(Exception):
    """Why a reference cannot be compared."""


def remembers(found: Json) -> bool:
    """Whether a circuit that Yosys wrote has memory."""
    return any(_remembers(cell["type"]) for module in found["modules"].values() for cell in module["cells"].values())


def read_ports(found: Json, graph: Graph | None = None) -> Json:
    """{"status": "ports", "said", "ports", "clock"} of a circuit that Yosys wrote; "gold" if its clocks are unfit."""
    top = found["modules"]["top"]
    ports = [[name, port["direction"], len(port["bits"])] for name, port in top["ports"].items()]
    try:
        return {"status": "ports", "said": "", "ports": ports, "clock": _clock(top, graph)}
    except _Unfit as unfit:
        return {"status": "gold", "said": str(unfit)}


def _clock(top: Json, graph: Graph | None) -> Json:
    """The clock of a module, with its resets; None if it has no memory."""
    memory = [cell for cell in top["cells"].values() if _remembers(cell["type"])]
    if not memory:
        return None
    if odd := {cell["type"] for cell in memory} - {"$dff", "$adff"}:
        raise _Unfit(f"its memory is not of flip-flops with one clock: {', '.join(sorted(odd))}")
    clocks = {(cell["connections"]["CLK"][0], _high(cell, "CLK")) for cell in memory}
    if len({bit for bit, _ in clocks}) > 1:
        raise _Unfit("it has more than one clock")
    if len(clocks) > 1:
        raise _Unfit("it uses both edges of its clock")
    inputs = {
        port["bits"][0]: name
        for name, port in top["ports"].items()
        if port["direction"] == "input" and len(port["bits"]) == 1
    }
    ((bit, rises),) = clocks
    if bit not in inputs:
        raise _Unfit("its clock is not an input port of one bit")
    if graph is None:
        raise _Unfit("what it computes cannot be turned into gates")
    resets = _at_once(memory, inputs)
    resets |= _at_the_edge(graph, [name for name in inputs.values() if name not in (inputs[bit], *resets)], resets)
    names = [inputs[bit], *resets]
    if odd := [name for name in names if not name.isidentifier()]:
        raise _Unfit(f"its clock or a reset has no plain name: {odd[0]}")
    if inputs[bit] in resets or _read_by_others(top, bit):
        raise _Unfit("its clock is used for something else too")
    return {"name": inputs[bit], "rises": rises, "resets": list(resets.values())}


def _remembers(kind: str) -> bool:
    return any(part in kind for part in ("ff", "latch", "mem", "$sr"))


def _at_once(memory: list[Json], inputs: dict[Any, str]) -> dict[str, Json]:
    """The asynchronous resets by name."""
    levels: dict[str, set[bool]] = {}
    for cell in memory:
        if cell["type"] == "$adff":
            bit = cell["connections"]["ARST"][0]
            if bit not in inputs:
                raise _Unfit("an asynchronous reset is not an input port of one bit")
            levels.setdefault(inputs[bit], set()).add(_high(cell, "ARST"))
    if odd := [name for name, found in levels.items() if len(found) > 1]:
        raise _Unfit(f"both levels of {odd[0]} are asynchronous resets")
    return {name: {"name": name, "high": found.pop(), "asynchronous": True} for name, found in levels.items()}


def _at_the_edge(graph: Graph, names: list[str], known: dict[str, Json]) -> dict[str, Json]:
    """The resets by name that the other flip-flops need. Each is the input that alone sets most of the rest.

    A flip-flop that both values of an input set to constants holds data, as a shift register does.
    """
    resets: dict[str, Json] = {}
    left = set(range(len(graph.latches))) - constant(graph, {})
    for reset in known.values():
        left -= constant(graph, {reset["name"]: reset["high"]})
    while left:
        sets = {(name, high): constant(graph, {name: high}) & left for name in names for high in (True, False)}
        more = {(name, high): len(places - sets[name, not high]) for (name, high), places in sets.items()}
        name, high = max(more, key=lambda choice: more[choice], default=("", False))
        if not more.get((name, high)):
            break
        resets[name] = {"name": name, "high": high, "asynchronous": False}
        left -= sets[name, high]
    return resets


def _read_by_others(top: Json, bit: Any) -> bool:
    """Whether something else than a clock input of a flip-flop reads this bit."""
    outputs = (port["bits"] for port in top["ports"].values() if port["direction"] == "output")
    wires = (
        bits for cell in top["cells"].values() for name, bits in cell["connections"].items() if name not in ("CLK", "Q")
    )
    return any(bit in bits for bits in (*outputs, *wires))


def _high(cell: Json, what: str) -> bool:
    return int(cell["parameters"][f"{what}_POLARITY"], 2) == 1
