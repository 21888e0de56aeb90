"""The results of a run: held-out pass@k before and after training, with intervals, and their paired difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.record.folder import RunFolder
from assay.scoring.bank import Bank, difference, powers
from assay.view.elicited import beside_examples
from assay.view.text import ABSENT, bounds, change, columns, score


def outcome(path: Path | str, *, step: int | None = None) -> dict[str, Any]:
    """The results as JSON data: steps, cost, pass@k of the first and the last test, their difference, best checkpoint.

    With `step`: the cost up to this step, and the test of the weights after it, if there was one.
    """
    folder = RunFolder.read_only(path)
    metrics = [record for record in folder.read("metrics") if step is None or record["step"] <= step]
    entries = folder.read("evals")
    tests = [entry for entry in entries if entry["set"] == "test"]
    tests = [entry for i, entry in enumerate(tests) if step is None or i == 0 or entry["step"] == step]
    best = folder.best()
    last: Mapping[str, Any] = metrics[-1] if metrics else {}
    result: dict[str, Any] = {
        "run": str(path),
        "recipe": str(folder.document.get("recipe", "")),
        "steps": len(metrics),
        "seconds": last.get("time/total"),
        "generated_tokens": last.get("budget/generated_tokens"),
        "best": None if best is None else {"step": best.step, "score": best.score},
        "before": _brief(tests[0]) if tests else None,
        "after": _brief(tests[-1]) if len(tests) > 1 else None,
        "difference": None,
        "examples": beside_examples(entries) if step is None else None,
    }
    if len(tests) > 1:
        first, after = Bank.from_json(tests[0]["bank"]), Bank.from_json(tests[-1]["bank"])
        least = min(int(bank.n[bank.n > 0].min()) for bank in (first, after))
        result["difference"] = difference(first, after, powers(least))
    return result


def _brief(entry: Mapping[str, Any]) -> dict[str, Any]:
    names = ("step", "problems", "samples", "invalid", "truncated", "length", "pass", "scores", "open")
    return {name: entry[name] for name in names if name in entry}


def table(result: Mapping[str, Any]) -> str:
    """pass@k before and after training and the difference, as a table of plain text."""
    before, after = result["before"], result["after"]
    if before is None:
        return "no held-out evaluation yet"
    rows: list[Sequence[str]] = [("", "before", "after", "difference")]
    for k, first in before["pass"].items():
        row = [f"pass@{k}", score(first)]
        if after is not None:
            row += [score(after["pass"].get(k)), change(result["difference"]["pass"].get(k))]
        rows.append((*row, "", "")[:4])
    for name, first in before.get("scores", {}).items():
        then = ABSENT if after is None else score(after.get("scores", {}).get(name))
        moved = (result["difference"] or {}).get("scores", {}).get(name)
        rows.append((f"mean {name}", score(first), then, change(moved) if moved else ""))
    shape = f"{before['problems']} held-out problems x {before['samples']} samples"
    heading = f"{result['recipe']}: {result['steps']} steps, {shape}"
    told = _of_examples(result.get("examples"))
    return "\n".join([heading, *columns(rows), *_of_open(before), "intervals: 95 %, over problems", *told])


def _of_examples(found: Mapping[str, Any] | None) -> list[str]:
    """The line of a table on the untrained model with worked examples; none if it was not examined so."""
    if found is None:
        return []
    curve = ", ".join(f"pass@{k} {score(value)}" for k, value in found["pass"].items() if int(k) in (1, 16))
    return [found["verdict"] or f"untrained, with worked examples before each question: {curve}"]


def _of_open(found: Mapping[str, Any]) -> list[str]:
    """The line of a table on open problems; none if there were none."""
    count, scored = found.get("open", 0), found.get("scores")
    if not count:
        return []
    instead = "the means are what the recipe's rewards say" if scored else "no reward rates an answer by itself"
    return [f"no verifier checks {count} of {found['problems']} problems, so that they have no pass rate; {instead}"]


def eval_table(summary: Mapping[str, Any]) -> str:
    """pass@k of one evaluation as a table of plain text, for `assay eval`."""
    rows = [("", "pass", "95 % interval")]
    for k, value in summary["pass"].items():
        rows.append((f"pass@{k}", f"{value['mean']:.3f}", bounds(value)))
    for name, value in summary.get("scores", {}).items():
        rows.append((f"mean {name}", f"{value['mean']:.3f}", bounds(value)))
    truncated = f"{summary['truncated']:.1%} cut at the length limit"
    shape = f"{summary['problems']} problems x {summary['samples']} samples, {truncated}"
    lines = [shape, *columns(rows), *_of_open(summary)]
    if summary["invalid"]:
        lines.append(
            f"The verifier failed on {summary['invalid']} answers; {summary['unjudged']} problems have too few "
            "others for the largest k, and are left out."
        )
    return "\n".join(lines)
