"""Answers on which our own code raised. They have no reward; what they said is kept, so that the fault can be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.types import Episode

Record = Mapping[str, Any]


def records(step: int, episodes: Sequence[Episode]) -> list[Record]:
    """A record of each answer of a step whose verdict is `invalid(bug)`; equal answers to one problem have one.

    records(3, episodes)[0]["text"]
    """
    first: dict[tuple[str, str], Record] = {}
    for episode in episodes:
        verdict, problem = episode.verdict, episode.request.problem
        if verdict is not None and (verdict.status, verdict.kind) == ("invalid", "bug"):
            first.setdefault(
                (problem.id, episode.text),
                {
                    "step": step,
                    "task": problem.task,
                    "problem": problem.id,
                    "wording": problem.wording,
                    "raised": verdict.detail,
                    "spec": dict(problem.spec),
                    "prompt": problem.prompt,
                    "text": episode.text.encode(errors="backslashreplace").decode(),
                },
            )
    return list(first.values())


def told(raised: Sequence[Record], path: Path | None) -> str:
    """A sentence on these records, which are in this file; None if it could not be written."""
    count = "one answer" if len(raised) == 1 else f"{len(raised)} different answers"
    kept = f"it is kept in {path}" if path else "it could not be kept, because the disk failed"
    return (
        f"our own code raised on {count} ({raised[0]['raised']}), which has no reward and does not train: a fault of "
        f"Assay; {kept}"
    )
