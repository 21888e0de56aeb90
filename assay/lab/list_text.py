"""The rows of `assay list` as text. It imports no method: rows that were kept are shown without any."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

HEADINGS = {
    "baselines": "baselines: what the reward of an answer is compared with, critics among them",
    "gates": "gates: ratios, clips and masks, how far a step may go",
    "corrections": "corrections: for answers that others sampled, or an older policy",
    "regularisers": "regularisers: KL to a reference, entropy",
    "losses": "losses: of whole answers, pairs and preferences",
    "demonstrations": "demonstrations: worked solutions beside own answers",
    "shaping": "shaping: advantages, lengths, streams, replay",
    "exploration": "exploration: problems, hints, start states, forks, trees, drafts, buffers, teachers, self-play",
    "unlabelled": "unlabelled: certainty, votes and other rewards that nobody checked, and the controls beside them",
    "verified": "verified: rewards from solvers and databases that run what the answer states",
    "judges": "judges: critics and verifiers that write, trained by the same loop as those whom they judge",
    "turns": "turns: answers in turns with a world: credit for turns, searching, computing with tools",
    "others": "of other packages",
}


def listing_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as text, a line for each, below the headings of their groups if they have groups. Up to three papers are
    shown as cards.
    """
    if rows and "cited" in rows[0]:
        from assay.lab import papers

        return papers.text(rows)
    width = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for group, members in itertools.groupby(rows, key=lambda row: row.get("group")):
        indent = ""
        if group is not None:
            indent, heading = "  ", HEADINGS[group]
            lines += [""] * bool(lines) + [heading]
        lines += [f"{indent}{row['name']:<{width}}  {row['summary']}" for row in members]
    return "\n".join(lines)
