"""Verdicts on circuits: is this module, for all inputs, equal to the reference?

A wrong circuit mostly shows in a simulation, which is quick; one that does not is asked of Yosys, which proves that the
two are equal for all inputs or finds some for which they are not. Only a proof is a success. The simulation of the
answer knows nothing of the reference: outputs are compared here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Verdict
from assay.verifiers.circuits.testbench import Port, Testbench, bench_for, unfit
from assay.verifiers.circuits.text import fenced, refusal
from assay.verifiers.explained import Explained, Judged, explain_blocks

Ask = Callable[[str, Sequence[Any]], list[Outcome]]
"""(the external's name, jobs) -> outcomes."""

_KEPT = 4096  # references of which is kept what was found out
_SLOW = {"time": ("time", "no end within the time limit"), "output": ("output", "too much output")}


def _ask(name: str, jobs: Sequence[Any]) -> list[Outcome]:
    return workers_of(name).map(jobs)


@dataclass(frozen=True)
class Reference:
    """What is known of a reference: its ports and the outputs that a simulation of it prints, or what is wrong."""

    ports: tuple[Port, ...] = ()
    outputs: tuple[str, ...] = ()
    wrong: Verdict | None = None


def judge(pairs: Sequence[tuple[str, str]], ask: Ask = _ask) -> list[Judged]:
    """Verdicts on pairs of a reference and an answer, each the text of modules with a module `top`."""
    refused = {i: refusal(answer) for i, (_, answer) in enumerate(pairs)}
    found = {i: Judged(Verdict.fail(*why)) for i, why in refused.items() if why}
    golds = references(dict.fromkeys(pairs[i][0] for i in range(len(pairs)) if i not in found), ask)
    for i in [i for i in range(len(pairs)) if i not in found]:
        if (wrong := golds[pairs[i][0]].wrong) is not None:
            found[i] = Judged(wrong)
    for step in (_simulated, _proved):
        rest = [i for i in range(len(pairs)) if i not in found]
        if rest:
            judged = step([(*pairs[i], golds[pairs[i][0]]) for i in rest], ask)
            found |= {i: one for i, one in zip(rest, judged, strict=True) if one is not None}
    return [found[i] for i in range(len(pairs))]


_references: dict[str, Reference] = {}


def references(golds: Iterable[str], ask: Ask = _ask) -> dict[str, Reference]:
    """What is known of each reference; what was found out once is kept."""
    golds = list(golds)
    known = _references if ask is _ask else {}
    new = [gold for gold in golds if gold not in known]
    if len(known) + len(new) > _KEPT:
        known.clear()
        new = golds
    fresh = dict(zip(new, _found_out(new, ask), strict=True))
    known.update({gold: one for gold, one in fresh.items() if one.wrong is None or one.wrong.kind == "bad_gold"})
    return {gold: fresh.get(gold) or known[gold] for gold in golds}


def _found_out(golds: Sequence[str], ask: Ask) -> list[Reference]:
    read = ask("yosys", [{"gold": gold} for gold in golds]) if golds else []
    ports = [_ports(outcome) for outcome in read]
    fit = [i for i, one in enumerate(ports) if one.wrong is None]
    benches = {i: bench_for(ports[i].ports, golds[i]) for i in fit}
    ran = ask("iverilog", [_job(golds[i], benches[i]) for i in fit]) if fit else []
    for i, outcome in zip(fit, ran, strict=True):
        ports[i] = _outputs(ports[i], outcome, benches[i].end)
    return ports


def _ports(outcome: Outcome) -> Reference:
    if outcome.status != "done":
        return Reference(wrong=Verdict.invalid("worker_lost", f"yosys: {outcome.status} {outcome.detail}"))
    if outcome.result["status"] != "ports":
        return Reference(wrong=Verdict.invalid("bad_gold", f"the reference: {outcome.result['said']}"))
    ports = tuple(Port(*port) for port in outcome.result["ports"])
    trouble = unfit(ports)
    return Reference(ports, wrong=Verdict.invalid("bad_gold", trouble) if trouble else None)


def _outputs(found: Reference, outcome: Outcome, end: str) -> Reference:
    if lost := _lost(outcome):
        return Reference(wrong=lost)
    *lines, last = outcome.result["output"].split() or [""]
    if outcome.result["status"] != "ran" or last != end or not set("".join(lines)) <= set("01"):
        return Reference(wrong=Verdict.invalid("bad_gold", f"the reference does not run: {outcome.result['said']}"))
    return Reference(found.ports, tuple(lines))


def _lost(outcome: Outcome) -> Verdict | None:
    """The verdict if Icarus did not come to an end for a reason of ours."""
    if outcome.status == "done" and outcome.result["status"] != "starved":
        return None
    return Verdict.invalid("worker_lost", f"iverilog: {outcome.status} {outcome.detail}")


def _job(circuit: str, bench: Testbench) -> dict[str, str]:
    return {"circuit": circuit, "testbench": bench.text, "top": bench.name}


def _simulated(items: Sequence[tuple[str, str, Reference]], ask: Ask) -> list[Judged | None]:
    """Verdicts on circuits that the simulation refuses; None for those whose outputs are all right."""
    benches = [bench_for(gold.ports, answer) for _, answer, gold in items]
    outcomes = ask("iverilog", [_job(item[1], bench) for item, bench in zip(items, benches, strict=True)])
    verdicts = [
        _compared(outcome, gold.outputs, bench.end)
        for outcome, (*_, gold), bench in zip(outcomes, items, benches, strict=True)
    ]
    return [None if verdict is None else Judged(verdict, "simulation") for verdict in verdicts]


def _compared(outcome: Outcome, right: Sequence[str], end: str) -> Verdict | None:
    """The verdict if the printed outputs differ, or if there are none; None if they are equal."""
    if lost := _lost(outcome):
        return lost
    status, said = outcome.result["status"], outcome.result["said"]
    if status in _SLOW:
        return Verdict.fail(*_SLOW[status])
    if status == "compile":
        return Verdict.fail("compile", said[:300])
    shown = outcome.result["output"].split()
    if len(shown) != len(right) + 1 or shown[-1] != end:
        return Verdict.fail("runtime", f"the simulation ends early. {said[:200]}")
    wrong = sum(a != b for a, b in zip(shown, right, strict=False))
    return Verdict.fail("wrong", f"{wrong} of {len(right)} outputs differ") if wrong else None


def _proved(items: Sequence[tuple[str, str, Reference]], ask: Ask) -> list[Judged]:
    outcomes = ask("yosys", [{"gold": gold, "circuit": answer} for gold, answer, _ in items])
    return [_decided(outcome, answer) for outcome, (_, answer, _) in zip(outcomes, items, strict=True)]


def _decided(outcome: Outcome, answer: str) -> Judged:
    if outcome.status != "done":
        return Judged(Verdict.invalid("worker_lost", f"yosys: {outcome.status} {outcome.detail}"), "proof")
    status, said = outcome.result["status"], outcome.result["said"]
    match status:
        case "equal":
            verdict = Verdict.ok(answer.strip())
        case "refuted":
            verdict = Verdict.fail("wrong", "an input that no vector tried gives another output")
        case "gold":
            verdict = Verdict.invalid("bad_gold", said)
        case "starved":
            verdict = Verdict.invalid("worker_lost", "yosys was given no processor time")
        case "time" | "output":
            verdict = Verdict.fail(*_SLOW[status])
        case "ports":
            verdict = Verdict.fail("compile", f"the ports differ from those that were asked for: {said}")
        case _:
            verdict = Verdict.fail("compile", f"it is no circuit without memory that can be compared: {said}")
    return Judged(verdict, "proof")


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Judges pairs of a reference module `top` and a module, or a response with a code block of Verilog."""
    return explain_blocks(pairs, fenced, judge, "equal for all inputs, by SAT")
