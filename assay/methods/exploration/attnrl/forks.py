"""Answers fork at the steps to which later steps attend most, the more of them the harder the problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.collect.trees import branch
from assay.memory import Memory
from assay.methods.exploration.attnrl.places import fork_steps, forked, step_ends
from assay.models import Models
from assay.part import Count, Expansion, Proportion, scales_with
from assay.types import Episode, Request, by_group

if TYPE_CHECKING:
    from assay.ask import Codec


def fork_attended(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    models: Models,
    codec: Codec,
    places: int,
    gap: int,
    share: float,
    apart: int,
) -> list[Request]:
    """One branch from each of `places` steps of the answers that fork; once a group, when its answers are judged.

    A group of right answers forks if its mean score is above the mean of such groups of the step.
    """
    waiting: list[tuple[list[Episode], list[int]]] = []
    last: dict[str, int] = {}
    for group in by_group(episodes).values():
        if any(e.request.parent for e in group.members) or places == 0:
            continue
        written = [e for e in group.verified if len(e) > e.request.given]
        if written:
            key = memory.key("fork-attended", memory.step, group.name)
            waiting.append((written, forked([e.right for e in written], key)))
            last[group.name] = max(e.request.sample for e in group.members)
    solved = [members for members, _ in waiting if all(e.right for e in members)]
    asked_of = {id(e): e for members in solved for e in members}
    asked_of |= {id(members[i]): members[i] for members, chosen in waiting for i in chosen}
    scored_steps = _scores(list(asked_of.values()), models, codec, gap)
    means = {id(members): float(np.mean([scored_steps[id(e)][0].mean() for e in members])) for members in solved}
    usual = float(np.mean(list(means.values()))) if means else 0.0
    requests: list[Request] = []
    for members, chosen in waiting:
        if id(members) in means and means[id(members)] <= usual:
            continue
        sample = 1 + last[members[0].group]
        for i in chosen:
            scores, starts, usable = scored_steps[id(members[i])]
            for step in fork_steps(scores, starts, usable, share=share, apart=apart, count=places):
                at = members[i].request.given + starts[step]
                requests.append(branch(members[i], at, sample=sample))
                sample += 1
    return requests


Known = tuple[np.ndarray, list[int], int]
"""The scores of the steps of an answer, where they start, and how many are of its reasoning."""


def _scores(episodes: Sequence[Episode], models: Models, codec: Codec, gap: int) -> dict[int, Known]:
    """By the identity of the episode; each role's model reads its own answers."""
    from assay.engine.interface import Span

    scored_steps: dict[int, Known] = {}
    for role in dict.fromkeys(e.request.role for e in episodes):
        mine = [e for e in episodes if e.request.role == role]
        spans, steps = [], []
        for e in mine:
            ids, given = e.stream("ids").astype(np.int32), e.request.given
            spans.append(Span(np.concatenate([e.request.context, ids[:given]]).astype(np.int32), ids[given:]))
            steps.append(step_ends([codec.decode([int(token)]) for token in ids[given:]], e.request.problem.wording))
        scores = models.play(role).influence(spans, [ends for ends, _ in steps], gap=gap)
        for e, values, (ends, usable) in zip(mine, scores, steps, strict=True):
            scored_steps[id(e)] = values, [0, *ends[:-1]], usable
    return scored_steps


class ForkAttended(Expansion):
    """Answers fork at steps to which later steps attend (AttnRL 2509.26628).

    The score of a step is the attention that the steps `gap` or more behind it pay to it, in the head that pays most.
    The model reads the answers once more for that. If no answer solves a problem, all its answers fork; for
    easier problems fewer answers fork, and the answers with the rarer verdict come first.
    """

    continues = True
    reads = ("attention",)

    places: int = 2  # forks of an answer, each with one branch
    gap: Count = 4  # the attention of a step counts from this many steps behind
    share: Proportion = 0.8  # steps at this quantile of the scores or above come first
    apart: int = scales_with("max_new", 512, at=8192)  # tokens between forks, and before the first
    does = fork_attended
    needs_verdict = True
