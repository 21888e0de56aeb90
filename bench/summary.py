"""Numbers out of paired steps, and tables out of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import kept
from bench.workload import Shape

Step = Mapping[str, float]


def quartiles(values: Sequence[float]) -> list[float]:
    """First quartile, median, third quartile."""
    return [float(q) for q in np.quantile(np.asarray(values, dtype=np.float64), (0.25, 0.5, 0.75))]


def summarise(
    theirs: Sequence[Step], ours: Sequence[Step], *, shape: Shape, train: bool, peak: float
) -> dict[str, Any]:
    """Per side medians; per pair the ratio, of seconds a step (training) or of tokens a second (sampling)."""
    sides = [_side(steps, shape=shape, train=train, peak=peak) for steps in (theirs, ours)]
    measure = "seconds" if train else "seconds_per_token"
    pairs = [_measure(a, measure) / _measure(b, measure) for a, b in zip(theirs, ours, strict=True)]
    return {"theirs": sides[0], "ours": sides[1], "ratio": quartiles(pairs), "ratio_of": measure}


def _measure(step: Step, name: str) -> float:
    return step["seconds"] if name == "seconds" else step["seconds"] / step["tokens"]


def _side(steps: Sequence[Step], *, shape: Shape, train: bool, peak: float) -> dict[str, Any]:
    work = [shape.flops(int(s["tokens"]), train=train) / s["seconds"] / 1e9 for s in steps]
    side: dict[str, Any] = {
        "seconds": quartiles([s["seconds"] for s in steps]),
        "tokens_per_second": quartiles([s["tokens"] / s["seconds"] for s in steps]),
        "mean_length": float(np.mean([s["tokens"] / s["rows"] for s in steps])),
        "peak_mb": max(s["peak_mb"] for s in steps),
        "share_of_ceiling": float(np.median(work)) / peak,
    }
    for name in ("generate_s", "reward"):
        if name in steps[0]:
            side[name] = float(np.median([s[name] for s in steps]))
    return side


def line(result: Mapping[str, Any]) -> str:
    low, middle, high = result["summary"]["ratio"]
    sides = " / ".join(
        f"{side['seconds'][1]:.2f} s, {side['tokens_per_second'][1]:,.0f} tok/s, {side['peak_mb']:,.0f} MB"
        for side in (result["summary"]["theirs"], result["summary"]["ours"])
    )
    return f"{result['name']}: ratio {middle:.2f} [{low:.2f}, {high:.2f}] over {result['pairs']} pairs ({sides})"


def comparisons(folder: Path) -> str:
    """The head of RESULTS.md, and a table for each machine on which others were measured beside ours."""
    results = [*kept.stored(folder, "trl"), *kept.stored(folder, "vllm")]
    text = [
        "# Results",
        "",
        "Written by `python -m bench.run --render` from `results/`, where each measurement is kept by machine and day;",
        "what follows the tables is from `results/notes.md`. Medians of paired steps, quartiles in brackets.",
        "TRL: seconds a step, theirs / ours. vLLM: tokens a second, ours / theirs. Peak: the largest resident size of",
        "the process. Share: useful operations (2N a sampled token, 6N a trained one) of the highest product ceiling.",
    ]
    for machine, group in _by_machine(results):
        text += ["", f"## {machine}", ""]
        text += [
            "| comparison | ratio | seconds: theirs | ours | tokens/s: theirs | ours | mean length: theirs | ours "
            "| peak MB: theirs | ours | share: theirs | ours | pairs | measured |",
            "|" + "---|" * 14,
            *map(_row, group),
            "",
        ]
        text += [f"- {one['name']}, {one['measured']}: {_settings(one)}" for one in group]
    return "\n".join(text) + "\n"


def _row(result: Mapping[str, Any]) -> str:
    s = result["summary"]
    a, b = s["theirs"], s["ours"]
    cells = [result["name"], "**{1:.2f}** [{0:.2f}, {2:.2f}]".format(*s["ratio"])]
    cells += ["{1:.2f} [{0:.2f}, {2:.2f}]".format(*side["seconds"]) for side in (a, b)]
    cells += [f"{side['tokens_per_second'][1]:,.0f}" for side in (a, b)]
    cells += [f"{side['mean_length']:.1f}" for side in (a, b)]
    cells += [f"{side['peak_mb']:,.0f}" for side in (a, b)]
    cells += [f"{side['share_of_ceiling']:.2f}" for side in (a, b)]
    busy = " (machine was busy)" if result["busy"] else ""
    return "| " + " | ".join([*cells, f"{result['pairs']}{busy}", result["measured"]]) + " |"


def _settings(result: Mapping[str, Any]) -> str:
    sides = []
    for side in ("theirs", "ours"):
        told = result["settings"][side]
        facts = ", ".join(f"{k} {v}" for k, v in told["facts"].items() if k not in ("system", "idle_mb"))
        options = ", ".join(f"{k}={v}" for k, v in told["options"].items()) or "defaults"
        sides.append(f"{told['facts']['system']} ({facts}; {options})")
    products = ", ".join(f"{name} {value:.0f}" for name, value in result["machine"]["ceilings_gflops"].items())
    return f"{' against '.join(sides)}; products in GFLOP/s: {products}"


def memory(folder: Path) -> str:
    """The section of `bench.memory`: peaks beside limits and plans, a table for each machine."""
    results = kept.stored(folder, "memory")
    if not results:
        return ""
    text = [
        "## Memory of half a billion parameters",
        "",
        "`python -m bench.memory`: a Qwen2 with random weights and a vocabulary of 151,936, in fp32 on a processor.",
        "Two GRPO steps of 8 answers x 128 tokens to a prompt of 64, each arm in a process of its own (VmHWM, and how",
        "it grew). The plan is what `--dry-run` prints before anything is loaded.",
    ]
    return "\n".join([*text, *(line for _, group in _by_machine(results) for line in _memory_table(group))]) + "\n"


def _memory_table(results: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = "arm | measured GiB | limit GiB | planned GiB | plan / measured | after building, sampling, learning GiB"
    text = ["", f"| {columns} | s a step | measured |", "|" + "---|" * 8]
    for one in results:
        peaks = ", ".join(f"{value / 2**30:.2f}" for value in one["peaks"].values())
        cells = [one["name"], f"**{one['peak'] / 2**30:.2f}**", f"{one['limit']:g}", f"{one['planned'] / 2**30:.2f}"]
        cells += [f"{one['planned'] / one['peak']:.2f}", peaks, ", ".join(f"{s:.0f}" for s in one["seconds"])]
        text.append("| " + " | ".join([*cells, one["measured"]]) + " |")
    first = results[0]
    threads = f"{first['threads']} thread{'s' if first['threads'] > 1 else ''}"
    said = f"{first['machine']['processor']}, {threads}, torch {first['torch']}"
    busy = "; other processes wanted the cores" if any(one["busy"] for one in results) else ""
    return [*text, "", f"{first['parameters'] / 1e6:,.0f}M parameters; {said}{busy}."]


def _by_machine(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for one in sorted(results, key=lambda r: (r["name"], r["measured"])):
        title = kept.title(one["machine"])
        groups.setdefault(title, []).append(one)
    return list(groups.items())
