"""Rounds of answers with hints of adapted length."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.ask import Codec
from assay.methods.exploration.seele.begin import begun, with_beginning
from assay.methods.exploration.seele.rates import points_of, rate_for
from assay.part import Count, Expansion, Proportion
from assay.prompt import Prompt
from assay.tasks.task import steps_of
from assay.types import Episode, Problem, Request, by_group


def hint_rounds(episodes: Sequence[Episode], *, codec: Codec, rounds: int, target: float) -> list[Request]:
    """Requests for the next round of each group."""
    asked: list[Request] = []
    for group in by_group(episodes).values():
        done = 1 + max(episode.request.round for episode in group.members)
        if done < rounds:
            rate = rate_for(points_of(group.members), target, len(steps_of(group.members[0].request.problem)))
            first = [episode.request for episode in group.members if episode.request.round == 0]
            asked += [dataclasses.replace(begun(request, rate, codec), round=done) for request in first]
    return asked


class HintRounds(Expansion):
    """Asks for several rounds of answers to each problem, all in one group (SEELE 2509.06923).

    After each round a new share of the solution is chosen, such that a share `target` of the next answers should be
    right.

        expand=(HintRounds(rounds=4),)
        --mechanism.expand hint-rounds --mechanism.expand.0.rounds 4
    """

    solutions = "some"

    continues = True

    rounds: Count = 4  # number of rounds of answers to each problem, including the first
    target: Proportion = 0.5  # the pass rate that the next round should have
    does = hint_rounds

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (with_beginning(prompt, problem, codec),)
