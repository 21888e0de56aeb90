"""The worth of each step of an answer: how many of the answers that continue after the step are right."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.ask import Codec
from assay.collect.trees import branch
from assay.part import Count, Expansion
from assay.tasks.task import STEP_MARKS
from assay.types import Episode, Origin, Request

COMPLETION = "completion"


def complete_steps(episodes: Sequence[Episode], *, codec: Codec, num: int) -> list[Request]:
    """Requests for completions, once a step of the run; the completions after one step are a group of their own."""
    if any(episode.request.tag == COMPLETION for episode in episodes):
        return []
    asked = []
    for episode in episodes:
        for at in step_ends(episode, codec)[:-1]:
            group = place_of(episode, at)
            asked += [
                dataclasses.replace(branch(episode, at, sample=i), group=group, tag=COMPLETION) for i in range(num)
            ]
    return asked


class CompleteSteps(Expansion):
    """Samples `num` completions after every step of an answer but the last.

    expand=(CompleteSteps(num=4),)
    --mechanism.expand complete-steps --mechanism.expand.0.num 4
    """

    continues = True

    num: Count = 4
    does = complete_steps


def place_of(episode: Episode, at: int) -> str:
    """The name of the group of completions that continue after `at` tokens of an answer."""
    return f"{episode.request.group}/{COMPLETION} {episode.request.sample} {at}"


def step_ends(episode: Episode, codec: Codec) -> list[int]:
    """The number of tokens after which each step of an answer ends, the last step at the end of the answer.

    A step ends at a token of the policy that contains one of the marks that separate steps in worked solutions. A step
    without any other text belongs to the step before it.
    """
    ids, origin = episode.stream("ids").tolist(), episode.stream("origin")
    marks = STEP_MARKS[episode.request.problem.wording]
    ends: list[int] = []
    has_text = False  # whether the present step has any text besides marks
    for at, (token, who) in enumerate(zip(ids, origin, strict=True), start=1):
        text = "" if token in codec.end_ids else codec.decode([token])
        has_text |= bool(text.strip(marks).strip())
        if at == len(ids) or (who == Origin.POLICY and any(mark in text for mark in marks)):
            ends = [*ends, at] if has_text or not ends else [*ends[:-1], at]
            has_text = False
    return ends
