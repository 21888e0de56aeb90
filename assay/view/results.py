"""The results of a run: held-out pass@k before and after training, with intervals, and their paired difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.record.folder import RunFolder
from assay.scoring.bank import Bank, difference, powers
from assay.view.elicited import beside_examples
from assay.view.judged import VERIFIER, judged, otherwise, remarks, side_by_side, spoken
from assay.view.plays import PLAYS, fault_line, faults_of, play_lines, play_rows
from assay.view.text import ABSENT, bounds, change, columns, listed, score


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
        "before": _brief(tests[0], folder.document) if tests else None,
        "after": _brief(tests[-1], folder.document) if len(tests) > 1 else None,
        "difference": None,
        "judges": side_by_side(tests[0], tests[-1] if len(tests) > 1 else None, folder.document) if tests else [],
        "examples": beside_examples(entries, folder.document) if step is None else None,
    }
    if len(tests) > 1 and (why := otherwise(tests[0], tests[-1], folder.document)):
        return result | {"no_difference": why}
    if len(tests) > 1:
        first, after = Bank.from_json(tests[0]["bank"]), Bank.from_json(tests[-1]["bank"])
        least = min(int(bank.n[bank.n > 0].min()) for bank in (first, after))
        result["difference"] = difference(first, after, powers(least))
    return result


def _brief(entry: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    names = ("step", "problems", "samples", "invalid", "truncated", "length", "pass", "scores", "open", "silent", PLAYS)
    brief = {name: entry[name] for name in names if name in entry}
    scored = judged(entry, document)
    return brief | {"judge": scored[0].judge if scored else None, "judges": [one.to_json() for one in scored]}


def table(result: Mapping[str, Any]) -> str:
    """pass@k before and after training and the difference, by each judge, as a table of plain text."""
    before = result["before"]
    if before is None:
        return "no held-out evaluation yet"
    shape = f"{before['problems']} held-out problems x {before['samples']} samples"
    heading = f"{result['recipe']}: {result['steps']} steps, {shape}"
    examples = _of_examples(result.get("examples"))
    rows = [HEAD, *score_rows(result)]
    return "\n".join([heading, *columns(rows), *caveats(result), "intervals: 95 %, over problems", *examples])


HEAD = ("", "judge", "before", "after", "difference")


def score_rows(result: Mapping[str, Any]) -> list[Sequence[str]]:
    """What was measured, who judged, the scores before and after training and their difference, one row each."""
    before, after = result["before"], result["after"]
    if before is None:
        return []
    rows = [row for beside in result["judges"] for row in _passes(beside, trained=after is not None)]
    for name, first in before.get("scores", {}).items():
        then = ABSENT if after is None else score(after.get("scores", {}).get(name))
        moved = (result["difference"] or {}).get("scores", {}).get(name)
        rows.append((f"mean {name}", "", score(first), then, change(moved) if moved else ""))
    return [*rows, *((label, "", first, then, "") for label, first, then in play_rows(before, after))]


def caveats(result: Mapping[str, Any]) -> list[str]:
    """What a reader must know of the judges beside the scores: problems and answers that one of them did not judge."""
    before, after = result["before"], result["after"]
    lost = faults_of(after or before)
    lines = [*remarks(after or before, result["judges"]), *_of_open(before), *[fault_line(lost)] * bool(lost)]
    return [*lines, str(result["no_difference"])] if result.get("no_difference") else lines


def _passes(beside: Mapping[str, Any], *, trained: bool) -> list[Sequence[str]]:
    """The rows of one judge."""
    first, last, moved = (beside[name] or {} for name in ("before", "after", "difference"))
    return [
        (
            f"pass@{k}",
            beside["judge"],
            score(first.get(k)),
            *((score(last.get(k)), change(moved.get(k))) if trained else ("", "")),
        )
        for k in dict.fromkeys([*first, *last])
    ]


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
    if others := [spoken(one["judge"]) for one in found.get("judges", ())[1:]]:
        return [f"no verifier checks {count} of {found['problems']} problems; all are judged by {listed(others)}"]
    instead = "the means are what the recipe's rewards say" if scored else "no reward rates an answer by itself"
    return [f"no verifier checks {count} of {found['problems']} problems, so that they have no pass rate; {instead}"]


def eval_table(summary: Mapping[str, Any]) -> str:
    """pass@k of one evaluation as a table of plain text, for `assay eval`."""
    rows = [("", "judge", "pass", "95 % interval")]
    judges = summary.get("judges") or [{"judge": "", **summary}]
    for by in judges:
        rows += [(f"pass@{k}", by["judge"], f"{v['mean']:.3f}", bounds(v)) for k, v in by["pass"].items()]
    for name, value in summary.get("scores", {}).items():
        rows.append((f"mean {name}", "", f"{value['mean']:.3f}", bounds(value)))
    truncated = f"{summary['truncated']:.1%} cut at the length limit"
    shape = f"{summary['problems']} problems x {summary['samples']} samples, {truncated}"
    lines = [shape, *columns(rows), *_of_open(summary)]
    if rates := summary.get("instructions"):
        shares = ", ".join(f"{name.replace('_', ' ')} {rate:.3f}" for name, rate in rates.items())
        lines.append(f"followed: {shares}")
    lines += [*play_lines(summary), *remarks(summary, judges[1:])]
    if summary["invalid"]:
        judge = spoken(summary.get("judge") or VERIFIER)
        lost = summary["invalid"] - faults_of(summary)
        failed = f"{judge[0].upper()}{judge[1:]} failed on {lost} answers; " if lost else ""
        lines.append(f"{failed}{summary['unjudged']} problems have too few others for the largest k, and are left out.")
    return "\n".join(lines)
