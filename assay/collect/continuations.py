"""Continuations: several answers from the end of each step of an answer, to see what the step is worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from assay.ask import Codec
from assay.collect.trees import branch
from assay.part import Expansion
from assay.reward.continued import CONTINUATION, start_of, state
from assay.reward.within import steps_of
from assay.types import Episode, Origin, Request


def continue_steps(
    episodes: Sequence[Episode], *, codec: Codec, branches: int, prompt: bool, marks: str
) -> list[Request]:
    """`branches` requests from the end of each step but the last of every judged answer, each state once."""
    seen = {start_of(episode.request) for episode in episodes if episode.request.tag == CONTINUATION}
    asked = []
    for episode in episodes:
        judged = episode.verdict is not None and episode.verdict.status != "invalid"
        if not judged or episode.request.tag == CONTINUATION or episode.provenance != "fresh":
            continue
        tokens = episode.stream("ids")
        for at in _boundaries(episode, codec, prompt, marks):
            place = state(episode.request, tokens[:at])
            if place not in seen:
                seen.add(place)
                asked += _from(episode, at, branches)
    return asked


def _boundaries(episode: Episode, codec: Codec, prompt: bool, marks: str) -> Iterator[int]:
    """Tokens before which a step begins that the policy wrote; the first step, which begins after the prompt, only with
    `prompt`.
    """
    given, origin = episode.request.given, episode.stream("origin")
    ends = [end + 1 for end, _ in steps_of(episode.stream("ids").tolist(), codec, marks)]
    for at in sorted({given, *ends}) if prompt else ends:
        if (at > given or prompt) and given <= at < len(episode) and origin[at] == Origin.POLICY:
            yield at


def _from(episode: Episode, at: int, branches: int) -> list[Request]:
    """Requests that continue an answer from token `at` on, as a group of their own."""
    group = f"{episode.request.group}/{episode.request.sample}@{at}"
    asked = [branch(episode, at, sample=i) for i in range(branches)]
    return [dataclasses.replace(request, group=group, tag=CONTINUATION) for request in asked]


class ContinueSteps(Expansion):
    """Samples `branches` answers from the end of each step of every answer, and thus measures what the step is worth.

    They have the tag `continuation`; `statistics-only` of `curate` keeps them from training. Steps end at `marks`.
    A beginning that several answers share is continued once. An answer of K steps costs K - 1 times `branches` more.

        expand=(ContinueSteps(branches=8),)
        --mechanism.expand continue-steps --mechanism.expand.0.branches 8
    """

    continues = True

    branches: int = 8  # answers from each place
    prompt: bool = False  # also from the prompt, before the first step
    marks: str = "\n,|"  # the characters that end a step
    does = continue_steps

    def refusal(self, **_: Any) -> str | None:
        if self.branches >= 0:
            return None
        return f"continue-steps: branches must be 0 or more, not {self.branches}. With 0 nothing is continued."
