"""Which rollouts the report shows, with the text of each token. Groups are shown whole, to compare their answers."""

from __future__ import annotations

import codecs
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.errors import AssayError
from assay.record import RunFolder

Json = dict[str, Any]
Pieces = Callable[[Sequence[int]], list[str]]

MAX_STEPS = 12
MAX_ROWS = 600
MAX_BYTES = 1_700_000
_STREAMS = {"advantage": "adv", "entropy": "ent", "old": "lp"}
_TEXTS = ("prompt", "completion", "answer", "verdict_kind", "verdict_detail", "finish", "provenance")


def rollouts_to_read(run: RunFolder) -> Json:
    """Groups from evenly spaced steps, as many as the page may hold, with all kinds of groups among them.

    The kind of a group is the set of its answers' outcomes, for example "right wrong".
    """
    steps = spread_out(run.rollout_steps(), MAX_STEPS)
    pieces = token_pieces(run)
    groups: list[Json] = []
    saved = rows = size = 0
    for position, step in enumerate(steps, start=1):
        columns = run.rollouts(step)
        ordered = by_turns(_groups(columns), kind=_kind)
        saved += sum(len(members) for members in ordered)
        for members in ordered:
            group = _group(columns, members, pieces)
            cost = len(json.dumps(group))
            # Every step may use its share of the page, and what earlier steps have left of theirs.
            if rows + len(members) > MAX_ROWS * position // len(steps) or size + cost > MAX_BYTES * position // len(
                steps
            ):
                break
            rows, size = rows + len(members), size + cost
            groups.append(group)
    return {"groups": groups, "shown": rows, "saved": saved, "steps": steps}


def spread_out(items: Sequence[Any], count: int) -> list[Any]:
    """At most `count` items at even distances, with the first and the last."""
    if len(items) <= count:
        return list(items)
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def by_turns(groups: Sequence[Any], *, kind: Callable[[Any], str]) -> list[Any]:
    """The groups reordered, so that rare kinds come early: the first of each kind, then the second of each, ..."""
    piles: dict[str, list[Any]] = {}
    for group in groups:
        piles.setdefault(kind(group), []).append(group)
    turns = itertools.zip_longest(*piles.values())
    return [group for turn in turns for group in turn if group is not None]


def _groups(columns: Mapping[str, Sequence[Any]]) -> list[list[Json]]:
    names = list(columns)
    found: dict[str, list[Json]] = {}
    for values in zip(*columns.values()):
        row = dict(zip(names, values))
        found.setdefault(str(row.get("group")), []).append(row)
    return list(found.values())


def outcome(row: Mapping[str, Any]) -> str:
    """The outcome of an answer: right, wrong, truncated, invalid (the verifier failed) or `unjudged` (no verdict)."""
    verdict = row.get("verdict")
    if verdict == "invalid":
        return "invalid"
    if verdict == "ok":
        return "right"
    if row.get("finish") == "length":
        return "truncated"
    return "wrong" if verdict == "fail" else "unjudged"


def _kind(members: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(sorted({outcome(row) for row in members}))


def _group(columns: Mapping[str, Sequence[Any]], members: Sequence[Json], pieces: Pieces | None) -> Json:
    first = members[0]
    parts = [name for name in columns if name.startswith("reward/")]
    return {
        "step": first.get("step"),
        "group": str(first.get("group")),
        "task": first.get("task") or "",
        "level": first.get("level"),
        "prompt": first.get("prompt") or "",
        "rows": [_row(row, parts, pieces) for row in members],
    }


def _row(row: Json, parts: Sequence[str], pieces: Pieces | None) -> Json:
    found: Json = {"outcome": outcome(row), "reward": _round(row.get("reward"))}
    found |= {name: row[name] for name in _TEXTS if name != "prompt" and row.get(name) not in (None, "")}
    found |= {"sample": row.get("sample"), "request": row.get("request"), "in_loss": row.get("in_loss", True)}
    if len(parts) > 1:
        found["parts"] = {name.removeprefix("reward/"): _round(row[name]) for name in parts if row[name] is not None}
    tokens = row.get("tokens") or []
    found["length"] = len(tokens)
    texts = row.get("pieces") or (pieces(tokens) if pieces and tokens else None)
    if texts and len(texts) == len(tokens):
        found["tokens"] = texts
        streams = {short: row.get(name) for name, short in _STREAMS.items()}
        streams["lp"] = streams["lp"] or row.get("mu")
        found |= {name: _compact(values) for name, values in streams.items() if values and len(values) == len(tokens)}
    return found


def _compact(values: Sequence[float | None]) -> float | list[float | None] | None:
    """The values rounded; a single number if all are equal, as the advantages of one answer often are."""
    rounded = [_round(value) for value in values]
    return rounded[0] if len(set(rounded)) == 1 else rounded


def _round(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.3g}")


def token_pieces(run: RunFolder) -> Pieces | None:
    """A function from tokens to their texts, by the tokenizer of the newest checkpoint; None without a checkpoint."""
    paths = sorted((run.path / "ckpt").glob("**/tokenizer.json"), reverse=True)
    if not paths:
        return None
    from assay.policy.tokenizer import load_tokenizer

    try:
        tokenizer = load_tokenizer(paths[0].parent)
    except (AssayError, OSError):
        return None  # the page then shows answers without their tokens; loading the checkpoint reports the damage

    def pieces(tokens: Sequence[int]) -> list[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        return [decoder.decode(tokenizer.token_bytes(token)) for token in tokens]

    return pieces
