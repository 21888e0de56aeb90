"""The table of `bench.update_cost`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import kept
from bench.summary import quartiles

MOST = 1.10  # of the bare update, what an objective of tokens or rows may cost
MAIN = "demo"

Run = Mapping[str, Any]


def section(folder: Path) -> str:
    """Of RESULTS.md: in a line what holds on each machine, model and engine; the whole is in update_cost.md."""
    found = [(name, run) for runs in kept.stored(folder, "update_cost") for name, run in runs.items()]
    if not found:
        return ""
    lines = [
        "## What a method's update costs",
        "",
        "`python -m bench.update_cost`: ratios of the processor's time of an objective's optimiser step to that of the",
        "bare weighted likelihood on the same batch, pair by pair; medians. Counted are those that cost at most",
        f"{MOST:.2f}. Every objective of every recipe: [the table](results/update_cost.md).",
        "",
        "| machine | model, engine | of tokens or rows | largest | of the step, without survey | with it | measured |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_line(name, run) for name, run in found)]) + "\n"


def _line(name: str, run: Run) -> str:
    costs = [run["objectives"][one["objective"]] for one in run["cases"].values()]
    cells = [kept.title(run["machine"]), ", ".join(name.split())]
    for scope in ("row", "step"):
        ratios = [_middle(cost["update"]) for cost in costs if cost["scope"] == scope]
        within = sum(ratio <= MOST for ratio in ratios)
        largest = f"{max(ratios):.3f}" if ratios else ""
        cells += (
            [f"{within} of {len(ratios)}", largest] if scope == "row" else [f"{within} of {len(ratios)}, {largest}"]
        )
    whole = [_middle(cost["whole"]) for cost in costs if cost["scope"] == "step"]
    cells += [f"{min(whole):.2f} to {max(whole):.2f}" if whole else "", run["measured"]]
    return "| " + " | ".join(cells) + " |"


def pages(folder: Path) -> str:
    """update_cost.md: the page of each machine and day."""
    return "\n".join(render(runs) for runs in kept.stored(folder, "update_cost"))


def render(runs: Mapping[str, Run]) -> str:
    """Every recipe on the main shape, and of the others what is beyond the limit."""
    shapes = list(dict.fromkeys(name.split()[0] for name in runs))
    text = ["# What an update costs beside the bare weighted likelihood", *_HEAD]
    for shape in sorted(shapes, key=lambda s: (s != MAIN, s)):
        engines = {name.split()[1]: run for name, run in runs.items() if name.split()[0] == shape}
        text += ["", f"## {shape}", "", *(_said(kind, run) for kind, run in engines.items())]
        if shape == MAIN:
            text += ["", *_table(engines)]
    return "\n".join(text) + "\n"


_HEAD = (
    "",
    "Written by `python -m bench.update_cost`; raw figures in `update_cost--*.json`. Ratios of the processor's time to",
    "that of the bare update beside it, at one thread, on 128 answers: medians, first and third quartile in brackets.",
    "",
    "- update: one optimiser step without its survey. What sees tokens or whole rows (scope `row`) has none.",
    "- survey: the pass with which a step of scope `step` begins. Nothing is spent where the weights of now sampled",
    "  all rows and the sampler's numbers are the learner's bit for bit: on the core in the first step after sampling.",
    "- before: what `forwards` does for a rollout batch at the laptop profile, in passes over all answers: `1f`",
    "  without a gradient, `1t` that trains (a critic, a process model). Its cost is for all optimiser steps of that",
    "  batch.",
)


def _said(kind: str, run: Run) -> str:
    """How many recipes are within the limit, and which are not."""
    cases = {name: run["objectives"][one["objective"]] for name, one in run["cases"].items()}
    machine, loop = run["machine"], _ratio(run["loop"]["update"])
    bare = _middle([second for cost in cases.values() for second in cost["seconds"]])
    steps = [cost["whole"] for cost in cases.values() if cost["scope"] == "step"]
    said = [_within(scope, {n: c for n, c in cases.items() if c["scope"] == scope}) for scope in ("row", "step")]
    if steps:
        least, most = (choose(map(_middle, steps)) for choose in (min, max))
        said.append(f"With the survey a step of that scope costs {least:.2f} to {most:.2f}")
    said.append(f"The bare update takes {bare:.3f} s, {loop} of the engine's calls alone")
    where = f"{machine['processor']}, torch {run['torch']}, {run['others']:.0f} others wanted a core"
    how = f"`{run['command']}`, {run['pairs']} pairs, {run['measured']}"
    return f"- {kind}: {'. '.join(filter(None, said))}. ({how}; {where}.)"


def _within(scope: str, cases: Mapping[str, Mapping[str, Any]]) -> str:
    if not cases:
        return ""
    ratios = {name: _middle(cost["update"]) for name, cost in cases.items()}
    beyond = [f"{name} {_ratio(cost['update'])}" for name, cost in cases.items() if ratios[name] > MOST]
    rest = f"; beyond it {', '.join(beyond)}" if beyond else ""
    return (
        f"of scope `{scope}` {len(ratios) - len(beyond)} of {len(ratios)} within {MOST:.2f}, median "
        f"{_middle(list(ratios.values())):.3f}, largest {max(ratios.values()):.3f}{rest}"
    )


def _table(engines: Mapping[str, Run]) -> list[str]:
    kinds = list(engines)
    columns = ["recipe", "scope", "outputs", *(f"update, {kind}" for kind in kinds), "survey"]
    columns += [f"its cost, {kind}" for kind in kinds]
    columns += [column for kind in kinds for column in (f"before, {kind}", "its cost")]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    names = dict.fromkeys(name for run in engines.values() for name in run["cases"])
    return lines + [_row(name, list(engines.values())) for name in names]


def _row(name: str, runs: Sequence[Run]) -> str:
    cases = [run["cases"].get(name) for run in runs]
    costs = [case and run["objectives"][case["objective"]] for case, run in zip(cases, runs, strict=True)]
    known = next(cost for cost in costs if cost)
    outputs = ", ".join(want for want in known["wants"] if want in ("entropy", "top", "mean"))
    cells = [name, known["scope"], outputs, *(_ratio(cost["update"]) if cost else "" for cost in costs)]
    cells.append(f"{known['surveyed'][0]:.2g}f" if known["surveyed"][0] else "")
    cells += [f"{_middle(cost['survey']):.2f}" if cost and cost["surveyed"][0] else "" for cost in costs]
    for case in cases:
        passes = [f"{case[kind][0]:.2g}{kind[0]}" for kind in KINDS if case[kind][0]] if case else []
        cells += [", ".join(passes).replace("s", "f"), f"{_middle(case['before']):.2f}" if passes else ""]
    return "| " + " | ".join(cells) + " |"


KINDS = ("scored", "trained")


def _middle(values: Sequence[float]) -> float:
    return quartiles(values)[1] if values else 0.0


def _ratio(values: Sequence[float]) -> str:
    low, middle, high = quartiles(values)
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"
