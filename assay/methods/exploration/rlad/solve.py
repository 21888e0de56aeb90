"""Answers to a problem with each of its abstractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.prompts import rendered
from assay.methods.exploration.rlad.abstract import GIVEN, ROLE
from assay.part import Count, Expansion
from assay.types import Episode, Request

if TYPE_CHECKING:
    from assay.ask import Codec, Sampling


def solve_with(episodes: Sequence[Episode], *, codec: Codec, sampling: Sampling, samples: int) -> list[Request]:
    """Requests for answers once the abstractions exist; the parent of an answer is the request of its abstraction."""
    done = {episode.request.parent for episode in episodes}
    result = []
    for episode in episodes:
        asked = episode.request
        if asked.role != ROLE or asked.id in done:
            continue
        prompt = asked.prompt.for_an_answer().within(GIVEN, hint=episode.text)
        context = rendered(prompt, codec)
        fields = {"draw": asked.draw, "round": asked.round + 1, "parent": asked.id}
        group = asked.group.removesuffix("/z")
        for sample in range(samples):
            values = sampling.of(asked.problem) | fields
            result.append(Request(asked.problem, context, group, sample=sample, worded=prompt, **values))
    return result


class SolveWith(Expansion):
    """Asks for `samples` answers with each abstraction; all answers to a problem are one group.

    expand=(SolveWith(samples=16),)
    --mechanism.expand solve-with --mechanism.expand.0.samples 16
    """

    samples: Count = 4  # answers with each abstraction
    does = solve_with
