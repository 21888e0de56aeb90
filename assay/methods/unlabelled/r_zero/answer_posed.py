"""Each problem that was posed is answered several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.ask import Codec, Sampling
from assay.collect.answers import answered, answers_to
from assay.memory import Memory
from assay.memory.posed import posed
from assay.part import Expansion
from assay.types import Episode, Request


def answer_posed(
    episodes: Sequence[Episode], memory: Memory, *, sampling: Sampling, codec: Codec, answers: int
) -> list[Request]:
    """`answers` requests for each problem that an episode poses; none once they were asked."""
    if answered(episodes):
        return []
    found = [(episode, problem) for episode in episodes if (problem := posed(episode)) is not None]
    return answers_to(found, episodes, memory, sampling=sampling, codec=codec, answers=answers)


class AnswerPosed(Expansion):
    """The policy answers each problem that was posed in this step, several times; these answers train (R-Zero
    2508.05004).

        expand=(AnswerPosed(answers=8),)
        --mechanism.expand answer-posed --mechanism.expand.0.answers 8
    """

    answers: int = 8
    does = answer_posed

    def refusal(self, **_: Any) -> str | None:
        return None if self.answers > 1 else f"answer-posed: a vote needs 2 answers or more, not {self.answers}."
