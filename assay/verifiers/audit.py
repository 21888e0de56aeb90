"""How well a verifier judges: its verdicts against labels by people or by other programs, for each type of answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.verifiers.known import verifier


@dataclass(frozen=True)
class Labelled:
    """A response to a problem with this gold answer, and a person's label.

    Example:
        Labelled(gold="1/2", answer="\\\\boxed{0.5}", label=True, type="fraction")
    """

    gold: str
    answer: str
    label: bool  # whether the response is right
    type: str = ""
    line: int = 0


def read_rows(path: str | Path) -> list[Labelled]:
    """Lines of {"gold", "answer", "label", "type"}; an error names the line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            rows.append(_row(path, number, line))
    if not rows:
        raise DataError(f"{path} has no rows.")
    return rows


def _row(path: str | Path, number: int, line: str) -> Labelled:
    expected = 'expected {"gold": text, "answer": text, "label": true or false, "type": text}'
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError(f"{path}, line {number}: no JSON ({error}); {expected}.") from None
    right = isinstance(row, dict) and isinstance(row.get("label"), bool)
    if not right or not all(isinstance(row.get(name), str) for name in ("gold", "answer")):
        raise DataError(f"{path}, line {number}: {expected}, came {line.strip()[:80]}.")
    return Labelled(row["gold"], row["answer"], row["label"], str(row.get("type", "")), number)


def audit(rows: Sequence[Labelled], by: str = "mathematics") -> dict[str, Any]:
    """Precision and recall of the verdict "ok", by type and over all rows, and every disagreement with a label.

    An invalid verdict counts as not "ok".
    """
    found = verifier(by).explain([(row.gold, row.answer) for row in rows])
    accepted = [one.verdict.status == "ok" for one in found]
    types = list(dict.fromkeys(row.type for row in rows))
    parts = {name or "-": [i for i, row in enumerate(rows) if row.type == name] for name in types}
    return {
        **_rates(rows, accepted, range(len(rows))),
        "types": {name: _rates(rows, accepted, part) for name, part in parts.items()},
        "disagreements": [
            {
                "line": row.line,
                "gold": row.gold,
                "answer": row.answer[:200],
                "label": row.label,
                "verdict": one.verdict.status,
                "kind": one.verdict.kind or None,
                "layer": one.layer,
                "why": one.why,
            }
            for row, one, yes in zip(rows, found, accepted, strict=True)
            if yes != row.label
        ],
    }


def _rates(rows: Sequence[Labelled], accepted: Sequence[bool], part: Sequence[int] | range) -> dict[str, Any]:
    """Precision: the share of accepted answers that are right. Recall: the share of right answers that are accepted."""
    both = sum(accepted[i] and rows[i].label for i in part)
    yes, right = sum(accepted[i] for i in part), sum(rows[i].label for i in part)
    return {
        "rows": len(part),
        "precision": both / yes if yes else None,
        "recall": both / right if right else None,
    }


def table(found: dict[str, Any]) -> str:
    """The rates as a table in plain text, with the disagreements below."""
    width = max(len(name) for name in (*found["types"], "all"))
    rows = [*found["types"].items(), ("all", found)]
    lines = [f"{'':<{width}}  rows  precision  recall"]
    lines += [
        f"{name:<{width}}  {part['rows']:>4}  {_share(part['precision']):>9}  {_share(part['recall']):>6}"
        for name, part in rows
    ]
    for one in found["disagreements"]:
        label = "right" if one["label"] else "wrong"
        lines.append(
            f"line {one['line']}: {one['gold']!r} and {one['answer']!r} ({label}) came out as {one['verdict']}"
        )
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
