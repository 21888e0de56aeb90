"""how often a verifier is right: its verdicts against labels by people or by other programs, with intervals.

A set of labelled answers is a file of lines of JSON. `read_rows` says what a line holds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.types import Verdict
from assay.verifiers.explainers import verifier
from assay.verifiers.rates import SURE, bound_of_none, wilson

EXPECTED = (
    'expected {"gold": text, "answer": text, "label": true or false} and, if known, "type", "kind", "origin": text'
)
_SHOWN = 200  # characters of a text in a table


@dataclass(frozen=True)
class Labelled:
    """A response to a problem with this gold answer, and the verdict that it deserves.

    Example:
        Labelled(gold="1/2", answer="\\\\boxed{0.5}", label=True, type="fraction")
    """

    gold: str
    answer: str
    label: bool  # whether the response is right
    type: str = ""  # of the problem or of the change; rates are told for each
    kind: str = ""  # of a wrong response: the kind of failure that it deserves, as `format`; "": any
    origin: str = ""  # who made the response: hand, mutant, ...
    line: int = 0

    @property
    def deserves(self) -> str:
        return "ok" if self.label else f"fail({self.kind})" if self.kind else "fail"


def read_rows(path: str | Path) -> list[Labelled]:
    """Lines of {"gold", "answer", "label"} and, if known, "type", "kind" and "origin"; an error names the line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    rows = []
    for number, line in enumerate(text.split("\n"), 1):  # `splitlines` would cut a line at a separator within a text
        if line.strip():
            rows.append(_row(path, number, line))
    if not rows:
        raise DataError(f"{path} has no rows.")
    return rows


def _row(path: str | Path, number: int, line: str) -> Labelled:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: no JSON ({error}); {EXPECTED}.") from None
    right = isinstance(row, dict) and isinstance(row.get("label"), bool)
    if not right or not all(isinstance(row.get(name), str) for name in ("gold", "answer")):
        raise DataError(f"{path}, line {number}: {EXPECTED}, came {line.strip()[:80]}.")
    type_, kind, origin = (row.get(name, "") for name in ("type", "kind", "origin"))
    if not all(isinstance(value, str) for value in (type_, kind, origin)) or (kind and row["label"]):
        raise DataError(f"{path}, line {number}: {EXPECTED}; only a wrong answer has a kind. Came {line.strip()[:80]}.")
    return Labelled(row["gold"], row["answer"], row["label"], type_, kind, origin, number)


def audit(rows: Sequence[Labelled], by: str = "mathematics") -> dict[str, Any]:
    """The rates of the verdict "ok" over all rows, by type and by origin, and every disagreement with a label.

    An invalid verdict counts as not "ok"; `invalid` says how many there are.
    """
    explanations = verifier(by).explain([(row.gold, row.answer) for row in rows])
    verdicts = [explanation.verdict for explanation in explanations]
    return {
        "verifier": by,
        "confidence": SURE,
        **_rates(rows, verdicts),
        "types": _parts(rows, verdicts, [row.type for row in rows]),
        "origins": _parts(rows, verdicts, [row.origin for row in rows]),
        "disagreements": [
            {
                "line": row.line,
                "gold": row.gold,
                "answer": row.answer[:_SHOWN],
                "label": row.label,
                "verdict": explanation.verdict.status,
                "kind": explanation.verdict.kind or None,
                "layer": explanation.layer,
                "why": explanation.why,
            }
            for row, explanation in zip(rows, explanations, strict=True)
            if (explanation.verdict.status == "ok") != row.label
        ],
    }


def _parts(rows: Sequence[Labelled], verdicts: Sequence[Verdict], names: Sequence[str]) -> dict[str, Any]:
    """The rates of the rows of each name, in the order in which the names come."""
    found = {}
    for name in dict.fromkeys(names):
        held = [i for i, one in enumerate(names) if one == name]
        found[name or "-"] = _rates([rows[i] for i in held], [verdicts[i] for i in held])
    return found


def _rates(rows: Sequence[Labelled], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Counts and shares. Precision: the share of the accepted answers that are right. Recall: the share of the right
    answers that are accepted. `false_positives`: the share of the wrong answers that are accepted.
    """
    accepted = [verdict.status == "ok" for verdict in verdicts]
    both = sum(yes and row.label for yes, row in zip(accepted, rows, strict=True))
    right, yes = sum(row.label for row in rows), sum(accepted)
    wrong = len(rows) - right
    confusion: dict[str, Counter[str]] = {}
    for row, verdict in zip(rows, verdicts, strict=True):
        confusion.setdefault(row.deserves, Counter())[_said(verdict)] += 1
    shares = {
        "precision": _share(both, yes),
        "recall": _share(both, right),
        "false_positives": _share(yes - both, wrong),
        "false_negatives": _share(right - both, right),
    }
    return {
        "rows": len(rows),
        "right": right,
        "wrong": wrong,
        "invalid": sum(verdict.status == "invalid" for verdict in verdicts),
        "precision": shares["precision"]["share"],
        "recall": shares["recall"]["share"],
        "shares": shares,
        "confusion": {deserved: dict(sorted(counts.items())) for deserved, counts in sorted(confusion.items())},
    }


def _said(verdict: Verdict) -> str:
    return f"{verdict.status}({verdict.kind})" if verdict.kind else verdict.status


def _share(count: int, total: int) -> dict[str, Any]:
    """A share with its interval; where none was counted, also the bound that follows. The share of nothing is None."""
    low, high = wilson(count, total)
    share = {"count": count, "of": total, "share": count / total if total else None, "low": low, "high": high}
    return share | ({"bound": bound_of_none(total)} if total and not count else {})


# --- table --------------------------------------------------------------------------------------------------


def table(found: dict[str, Any]) -> str:
    """The rates as tables in plain text: by type, by origin and of all rows; the confusion; the disagreements."""
    parts = [*found["types"].items()] if list(found["types"]) != ["-"] else []
    origins = [(f"from {name}", part) for name, part in found["origins"].items()] if len(found["origins"]) > 1 else []
    rows = [*parts, *origins, ("all", found)]
    cells = [["", "rows", "precision", "recall", "wrong accepted", "right refused"]]
    cells += [
        [
            name,
            str(part["rows"]),
            *(_told(part["shares"][key]) for key in ("precision", "recall")),
            *map(_counted, _errors(part)),
        ]
        for name, part in rows
    ]
    lines = _aligned(cells)
    sure = f"{found['confidence']:.0%}"
    lines.append(f"[ , ]: Wilson's interval of {sure}; (< x): none was seen, and with {sure} there are fewer than x")
    if found["invalid"]:
        lines.append(f"{found['invalid']} verdicts are invalid: errors of ours, counted as not accepted")
    return "\n".join([*lines, "", *_confusion(found["confusion"]), *_disagreements(found["disagreements"])])


def _errors(part: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return part["shares"]["false_positives"], part["shares"]["false_negatives"]


def _told(share: dict[str, Any]) -> str:
    return "-" if share["share"] is None else f"{share['share']:.3f} [{share['low']:.3f}, {share['high']:.3f}]"


def _counted(share: dict[str, Any]) -> str:
    if share["share"] is None:
        return "-"
    bound = f" (< {share['bound']:.2g})" if "bound" in share else f" [{share['low']:.2g}, {share['high']:.2g}]"
    return f"{share['count']} of {share['of']}{bound}"


def _confusion(confusion: dict[str, dict[str, int]]) -> list[str]:
    columns = sorted({verdict for counts in confusion.values() for verdict in counts})
    rows = [[deserved, *(str(counts.get(one, 0)) for one in columns)] for deserved, counts in confusion.items()]
    return _aligned([["deserved", *columns], *rows])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of one width, the first to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
        for row in rows
    ]


def _disagreements(found: Sequence[dict[str, Any]]) -> list[str]:
    told = []
    for one in found:
        label, kind = "right" if one["label"] else "wrong", f"({one['kind']})" if one["kind"] else ""
        told.append(
            f"line {one['line']}: {one['gold'][:_SHOWN]!r} and {one['answer']!r} ({label}) came out as "
            f"{one['verdict']}{kind}: {one['why'][:_SHOWN]}"
        )
    return ["", *told] if told else []
