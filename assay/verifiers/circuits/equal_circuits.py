"""Verdicts on circuits: is this module, for all inputs, equal to the reference?

A simulation is quick, and shows most wrong circuits. If it shows no difference, Yosys is asked: it proves that the two
are equal for all inputs, or finds inputs for which they are not. The simulation of the answer knows nothing of the
reference: outputs are compared here. Circuits with a clock are compared from the end of their resets on. The layer of a
success names what decided: `states` (all states that can be reached were visited), `induction`, or `bounded` (no
difference in the simulation, nor in the first cycles for any inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Verdict
from assay.verifiers.circuits.testbench import Clock, Port, Reset, Testbench, bench_for, unfit
from assay.verifiers.circuits.text import fenced, refusal
from assay.verifiers.explained import Explained, Verified, explain_blocks
from assay.verifiers.unfinished import starved, unfinished

Ask = Callable[[str, Sequence[Any]], list[Outcome]]
"""(the external's name, jobs) -> outcomes."""

_KEPT = 4096  # references whose findings are kept
_SLOW = {"time": ("time", "no end within the time limit"), "output": ("output", "too much output")}


def _ask(name: str, jobs: Sequence[Any]) -> list[Outcome]:
    return workers_of(name).map(jobs)


@dataclass(frozen=True)
class Reference:
    """The findings about a reference: its ports, its clock and what its simulation prints, or what is wrong with it."""

    ports: tuple[Port, ...] = ()
    outputs: tuple[str, ...] | None = None  # None: not simulated yet
    wrong: Verdict | None = None
    clock: Clock | None = None  # None: it has no memory


def verify(pairs: Sequence[tuple[str, str]], ask: Ask = _ask) -> list[Verified]:
    """Verdicts on pairs of a reference and an answer, each the text of modules with a module `top`."""
    refused = {i: refusal(answer) for i, (_, answer) in enumerate(pairs)}
    verified = {i: Verified(Verdict.fail(*why)) for i, why in refused.items() if why}
    golds = _read(list(dict.fromkeys(pairs[i][0] for i in range(len(pairs)) if i not in verified)), ask)
    run = [i for i in range(len(pairs)) if i not in verified and golds[pairs[i][0]].wrong is None]
    golds, outcomes = _simulated([pairs[i] for i in run], golds, ask)
    for i in range(len(pairs)):
        if i not in verified and (wrong := golds[pairs[i][0]].wrong) is not None:
            verified[i] = Verified(wrong)
    for i, (outcome, end) in zip(run, outcomes, strict=True):
        if i not in verified and (verdict := _compared(outcome, golds[pairs[i][0]].outputs or (), end)) is not None:
            verified[i] = Verified(verdict, "simulation")
    rest = [i for i in run if i not in verified]
    if rest:
        verified |= zip(rest, _proved([(*pairs[i], golds[pairs[i][0]]) for i in rest], ask), strict=True)
    return [verified[i] for i in range(len(pairs))]


_references: dict[str, Reference] = {}


def _read(golds: Sequence[str], ask: Ask) -> dict[str, Reference]:
    """The findings of Yosys about each reference. They are kept for later calls."""
    kept = _references if ask is _ask else {}
    new = [gold for gold in golds if gold not in kept]
    if len(kept) + len(new) > _KEPT:
        kept.clear()
        new = golds
    fresh = dict(zip(new, map(_ports, ask("yosys", [{"gold": gold} for gold in new])), strict=True)) if new else {}
    clocked = [gold for gold, reference in fresh.items() if reference.clock and reference.wrong is None]
    if clocked:
        for gold, outcome in zip(
            clocked, ask("yosys", [_pair(gold, gold, fresh[gold]) for gold in clocked]), strict=True
        ):
            fresh[gold] = replace(fresh[gold], wrong=_undetermined(outcome))
    _keep(kept, fresh)
    return {gold: fresh.get(gold) or kept[gold] for gold in golds}


def _keep(known: dict[str, Reference], fresh: dict[str, Reference]) -> None:
    """Keeps what was found out, but not that a program was lost."""
    known.update({gold: one for gold, one in fresh.items() if one.wrong is None or one.wrong.kind == "bad_gold"})


def _ports(outcome: Outcome) -> Reference:
    if outcome.status != "done":
        return Reference(wrong=_lost("yosys", outcome))
    if outcome.result["status"] != "ports":
        return Reference(wrong=Verdict.invalid("bad_gold", f"the reference: {outcome.result['said']}"))
    ports = tuple(Port(*port) for port in outcome.result["ports"])
    trouble = unfit(ports)
    clock = outcome.result["clock"]
    if clock:
        clock = Clock(clock["name"], clock["rises"], tuple(Reset(**reset) for reset in clock["resets"]))
    return Reference(ports, wrong=Verdict.invalid("bad_gold", trouble) if trouble else None, clock=clock)


def _undetermined(outcome: Outcome) -> Verdict | None:
    """The verdict if a clocked reference is not equal to itself; None if its resets determine what it does."""
    one = _decided(outcome, "").verdict
    if one.status == "ok" or one.status == "invalid":
        return one if one.status == "invalid" else None
    if one.kind == "wrong":
        return Verdict.invalid("bad_gold", "what the reference gives is not determined when its resets have been held")
    return Verdict.invalid("bad_gold", f"the reference: {one.detail}")


def _outputs(found: Reference, outcome: Outcome, end: str) -> Reference:
    """The reference with what it printed, or with what is wrong."""
    if outcome.status != "done" or outcome.result["status"] == "starved":
        return Reference(wrong=_lost("iverilog", outcome))
    *lines, last = outcome.result["output"].split() or [""]
    if outcome.result["status"] != "ran" or last != end or not set("".join(lines)) <= set("01"):
        said = outcome.result["said"] or "it gives x or z, or ends early"
        return Reference(wrong=Verdict.invalid("bad_gold", f"the reference does not run: {said}"))
    return replace(found, outputs=tuple(lines))


def _lost(program: str, outcome: Outcome) -> Verdict:
    return Verdict.invalid("worker_lost", f"{program}: {outcome.status} {outcome.detail}".rstrip())


def _job(circuit: str, bench: Testbench) -> dict[str, str]:
    return {"circuit": circuit, "testbench": bench.text, "top": bench.name}


def _simulated(
    pairs: Sequence[tuple[str, str]], golds: dict[str, Reference], ask: Ask
) -> tuple[dict[str, Reference], list[tuple[Outcome, str]]]:
    """(the references with their outputs, (what became of an answer, the last line it has to print) of each answer).

    References that were not simulated before run beside the answers, each in a process of its own.
    """
    new = [gold for gold in dict.fromkeys(gold for gold, _ in pairs) if golds[gold].outputs is None]
    circuits = [(gold, golds[gold]) for gold in new] + [(answer, golds[gold]) for gold, answer in pairs]
    benches = [bench_for(reference.ports, circuit, reference.clock) for circuit, reference in circuits]
    jobs = [_job(circuit, bench) for (circuit, _), bench in zip(circuits, benches, strict=True)]
    ran = ask("iverilog", jobs) if jobs else []
    outcomes = [(outcome, bench.end) for outcome, bench in zip(ran, benches, strict=True)]
    fresh = {gold: _outputs(golds[gold], outcome, end) for gold, (outcome, end) in zip(new, outcomes, strict=False)}
    if ask is _ask:
        _keep(_references, fresh)
    return golds | fresh, outcomes[len(new) :]


def _compared(outcome: Outcome, right: Sequence[str], end: str) -> Verdict | None:
    """The verdict if the printed outputs differ, or if there are none; None if they are equal."""
    shown = _shown(outcome, end)
    return shown if isinstance(shown, Verdict) else _differing(shown, right)


def _shown(outcome: Outcome, end: str) -> Verdict | tuple[str, ...]:
    """The lines that a simulation printed before its last; the verdict if it did not come to its end."""
    if (verdict := unfinished(outcome, "iverilog")) is not None:
        return verdict
    status, said = outcome.result["status"], outcome.result["said"]
    if status == "starved":
        return starved("iverilog")
    if status in _SLOW:
        return Verdict.fail(*_SLOW[status])
    if status == "compile":
        return Verdict.fail("compile", said[:300])
    shown = outcome.result["output"].split()
    if not shown or shown[-1] != end:
        return Verdict.fail("runtime", f"the simulation ends early. {said[:200]}")
    return tuple(shown[:-1])


def _differing(shown: Sequence[str], right: Sequence[str]) -> Verdict | None:
    if len(shown) != len(right):
        return Verdict.fail("runtime", f"the simulation prints {len(shown)} lines instead of {len(right)}")
    wrong = sum(a != b for a, b in zip(shown, right, strict=True))
    return Verdict.fail("wrong", f"{wrong} of {len(right)} outputs differ") if wrong else None


def has_outputs(items: Sequence[tuple[str, Sequence[Port], Sequence[str]]], ask: Ask = _ask) -> list[Verdict]:
    """Verdicts on circuits by the outputs that are known of all inputs in the testbench's order, and by nothing else.

    has_outputs([(circuit, (Port("a", "input", 1), Port("y", "output", 1)), ("1", "0"))])  # is it a negation?
    """
    shown = printed([(circuit, ports, None) for circuit, ports, _ in items], ask)
    found = [lines if isinstance(lines, Verdict) else _differing(lines, item[2]) for lines, item in zip(shown, items)]
    return [verdict or Verdict.ok(item[0].strip()) for verdict, item in zip(found, items, strict=True)]


def printed(
    items: Sequence[tuple[str, Sequence[Port], Clock | None]], ask: Ask = _ask
) -> list[Verdict | tuple[str, ...]]:
    """The lines that the testbench prints of each circuit, or the verdict on a circuit that does not run to its end."""
    refused = {i: refusal(circuit) for i, (circuit, _, _) in enumerate(items)}
    found: list[Verdict | tuple[str, ...]] = [Verdict.fail(*why) if why else () for why in refused.values()]
    run = [i for i, why in refused.items() if not why]
    benches = [bench_for(items[i][1], items[i][0], items[i][2]) for i in run]
    jobs = [_job(items[i][0], bench) for i, bench in zip(run, benches, strict=True)]
    for i, outcome, bench in zip(run, ask("iverilog", jobs) if jobs else [], benches, strict=True):
        found[i] = _shown(outcome, bench.end)
    return found


def _pair(gold: str, answer: str, found: Reference) -> dict[str, Any]:
    """The job that compares a reference with an answer."""
    return {"gold": gold, "circuit": answer, "clock": asdict(found.clock) if found.clock else None}


def _proved(items: Sequence[tuple[str, str, Reference]], ask: Ask) -> list[Verified]:
    outcomes = ask("yosys", [_pair(*item) for item in items])
    return [_decided(outcome, answer) for outcome, (_, answer, _) in zip(outcomes, items, strict=True)]


def _decided(outcome: Outcome, answer: str) -> Verified:
    if (verdict := unfinished(outcome, "yosys")) is not None:
        return Verified(verdict, "proof")
    status, detail = outcome.result["status"], outcome.result["said"]
    layer = outcome.result.get("by", "proof")
    match status:
        case "equal":
            verdict = Verdict.ok(answer.strip())
        case "refuted" if layer == "proof":
            verdict = Verdict.fail("wrong", "an input that no vector tried gives another output")
        case "refuted":
            verdict = Verdict.fail("wrong", f"inputs that no simulation tried give {detail}")
        case "gold":
            verdict = Verdict.invalid("bad_gold", detail)
        case "starved":
            verdict = starved("yosys")
        case "time" | "output":
            verdict = Verdict.fail(*_SLOW[status])
        case "ports":
            verdict = Verdict.fail("compile", f"the ports differ from those that were asked for: {detail}")
        case _:
            verdict = Verdict.fail("compile", f"it is no circuit that can be compared with the reference: {detail}")
    return Verified(verdict, layer)


_PROVED = {
    "proof": "equal for all inputs, by SAT",
    "states": "equal in all states that can be reached after the resets, for all inputs",
    "induction": "equal after the resets, by SAT for the first cycles and by induction for all others",
    "bounded": "equal in the first cycles after the resets for all inputs, by SAT and in simulation; not proved beyond",
}


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Judges pairs of a reference module `top` and a module, or a response with a code block of Verilog."""
    found = explain_blocks(pairs, fenced, verify, "")
    return [replace(one, why=_PROVED[one.layer]) if one.verdict.status == "ok" else one for one in found]
