"""Continuations: several answers from the end of each step of an answer, to see what the step is worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from assay.ask import Codec
from assay.collect.trees import branch
from assay.curate.continued import CONTINUATION, start_of, state
from assay.part import Expansion
from assay.reward.within import steps_of
from assay.types import Episode, Origin, Request


def continued(episodes: Sequence[Episode], places: Callable[[Episode], Iterable[int]], branches: int) -> list[Request]:
    """`branches` requests from these tokens of every verified answer, each state once.

    Nothing continues from a token that the policy did not write, nor from within what an answer began with.
    """
    seen = {start_of(episode.request) for episode in episodes if episode.request.tag == CONTINUATION}
    asked = []
    for episode in episodes:
        if not episode.verified or episode.request.tag == CONTINUATION or episode.provenance != "fresh":
            continue
        tokens, origin = episode.stream("ids"), episode.stream("origin")
        for at in sorted(set(places(episode))):
            if episode.request.given <= at < len(episode) and origin[at] == Origin.POLICY:
                start = state(episode.request, tokens[:at])
                asked += [] if start in seen else _from(episode, at, branches)
                seen.add(start)
    return asked


def _from(episode: Episode, at: int, branches: int) -> list[Request]:
    """Requests that continue an answer from token `at` on, as a group of their own."""
    group = f"{episode.request.group}/{episode.request.sample}@{at}"
    asked = [branch(episode, at, sample=i) for i in range(branches)]
    return [dataclasses.replace(request, group=group, tag=CONTINUATION) for request in asked]


def continue_steps(
    episodes: Sequence[Episode], *, codec: Codec, branches: int, prompt: bool, marks: str
) -> list[Request]:
    """`branches` requests from the end of each step but the last of every verified answer, each state once."""

    def places(episode: Episode) -> list[int]:
        given = episode.request.given
        ends = [end + 1 for end, _ in steps_of(episode.stream("ids").tolist(), codec, marks) if end >= given]
        return [given, *ends] if prompt else ends

    return continued(episodes, places, branches)


class ContinueSteps(Expansion):
    """Samples `branches` answers from the end of each step of every answer, and thus measures what the step is worth.

    They have the tag `continuation`; `statistics-only` of `curate` keeps them from training. Steps end at `marks`.
    A beginning that several answers share is continued once. An answer of K steps costs K - 1 times `branches` more.

        expand=(ContinueSteps(branches=8),)
        --mechanism.expand continue-steps --mechanism.expand.0.branches 8
    """

    continues = True

    branches: int = 8  # answers from each place; 0: nothing is continued
    prompt: bool = False  # also from the prompt, before the first step
    marks: str = "\n,|"  # the characters that end a step
    does = continue_steps
    needs_verdict = True
