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
_TEXTS = ("completion", "answer", "verdict_kind", "verdict_detail", "finish", "provenance", "seat", "play")
MAX_WALK = 100  # steps of a walk in a world of numbers that are shown


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
    """The rows by group. Answers of the seats of one play stand together, in the group of its first seat."""
    names = list(columns)
    groups: dict[str, list[Json]] = {}
    for values in zip(*columns.values()):
        row = dict(zip(names, values))
        groups.setdefault(_root(row), []).append(row)
    return list(groups.values())


def _root(row: Mapping[str, Any]) -> str:
    """The name of the group, or of that from which the plays of its seats began."""
    play = row.get("play")
    return str(row.get("group")) if play is None else str(play).rpartition("#")[0]


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
        "group": _root(first),
        "task": first.get("task") or "",
        "level": first.get("level"),
        "prompt": first.get("prompt") or "",
        "rows": [_row(row, parts, pieces) | _told_apart(row, first) for row in _by_play(members)],
    }


def _by_play(members: Sequence[Json]) -> list[Json]:
    """The answers, with those of one play side by side."""
    order: dict[Any, int] = {}
    for place, row in enumerate(members):
        order.setdefault(row.get("play") or place, place)
    return [row for _, row in sorted(enumerate(members), key=lambda one: order[one[1].get("play") or one[0]])]


def _told_apart(row: Json, first: Json) -> Json:
    """What another seat read, where it is not the prompt of the group."""
    return {} if row.get("seat") == first.get("seat") else {"prompt": row.get("prompt") or ""}


def _row(row: Json, parts: Sequence[str], pieces: Pieces | None) -> Json:
    shown: Json = {"outcome": outcome(row), "reward": _round(row.get("reward"))}
    shown |= {name: row[name] for name in _TEXTS if row.get(name) not in (None, "")}
    shown |= {"sample": row.get("sample"), "request": row.get("request"), "in_loss": row.get("in_loss", True)}
    if len(parts) > 1:
        shown["parts"] = {name.removeprefix("reward/"): _round(row[name]) for name in parts if row[name] is not None}
    tokens = row.get("tokens") or []
    shown["length"] = len(tokens)
    texts = row.get("pieces") or (pieces(tokens) if pieces and tokens else None)
    if texts and len(texts) == len(tokens):
        shown["tokens"] = texts
        streams = {short: row.get(name) for name, short in _STREAMS.items()}
        streams["lp"] = streams["lp"] or row.get("mu")
        shown |= {name: _compact(values) for name, values in streams.items() if values and len(values) == len(tokens)}
    if row.get("turns") is not None:
        shown["turns"] = [_turn(turn, whole="tokens" not in shown) for turn in row["turns"]]
    return shown | _walk(row)


def _turn(turn: Mapping[str, Any], *, whole: bool) -> Json:
    """A turn of an answer; `whole`: with its text, which the tokens do not say."""
    said: Json = {"author": turn["author"], "tokens": turn["tokens"]}
    said |= {"text": turn["text"]} if whole else {}
    return said | {name: turn[name] for name in ("failed", "earned", "reads") if turn.get(name) not in (None, False)}


def _walk(row: Mapping[str, Any]) -> Json:
    """The first steps of an answer in a world of numbers: what was seen, done and earned."""
    if not row.get("seen"):
        return {}
    tokens = row.get("tokens") or []
    done = row.get("action") or [[action] for action in tokens]
    paid = row.get("earned") or [None] * len(tokens)
    steps = itertools.islice(zip(row["seen"], done, paid), MAX_WALK)
    shown = [[_rounded(seen), _rounded(action), _round(value)] for seen, action, value in steps]
    return {"walk": shown, "return": _round(sum(value or 0.0 for value in paid))}


def _rounded(values: Sequence[Any]) -> list[Any]:
    return [_rounded(value) if isinstance(value, list) else _round(value) for value in values]


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
