"""Problems that were posed are answered only if they are unlike those before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.ask import Codec, Sampling
from assay.collect.answers import answered, answers_to
from assay.memory import AdmitPosed, Memory
from assay.memory.posed import STORE, admitted, pool_of
from assay.part import Expansion
from assay.tasks import posing_of, task
from assay.types import Episode, Problem, Request


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """F-measure of ROUGE-L: 2 l / (n + m), with l the length of the longest common subsequence of n and m words."""
    longest = [0] * (len(other) + 1)
    for word in one:
        before = (
            0  # the length for the words of `other` up to, but without, the present one, and one word of `one` less
        )
        for place, present in enumerate(other, start=1):
            above = longest[place]
            longest[place] = before + 1 if word == present else max(above, longest[place - 1])
            before = above
    return 2 * longest[-1] / (len(one) + len(other)) if one or other else 1.0


def unlike(
    episodes: Sequence[Episode], memory: Memory, *, alike: float, place: str = STORE
) -> list[tuple[Episode, Problem]]:
    """The new problems of the step whose likeness to each problem of their pool, and to each one before in the step, is
    below `alike`.
    """
    seen: dict[str, list[list[str]]] = {}
    new = []
    for episode, problem in admitted(episodes, memory, place):
        posing = posing_of(task(problem.task))
        earlier = seen.setdefault(
            problem.task, [posing.write(entry["spec"]).split() for entry in pool_of(memory, problem.task, place)]
        )
        words = posing.write(dict(problem.spec)).split()
        if all(likeness(words, other) < alike for other in earlier):
            new.append((episode, problem))
            earlier.append(words)
    return new


def answer_unlike(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    answers: int,
    alike: float,
    place: str = STORE,
) -> list[Request]:
    """`answers` requests for each new problem that is unlike all others; none once they were asked."""
    if answered(episodes):
        return []
    found = unlike(episodes, memory, alike=alike, place=place)
    return answers_to(found, episodes, memory, sampling=sampling, codec=codec, answers=answers)


class AnswerUnlike(Expansion):
    """The policy answers each new problem of the step that is unlike all earlier ones, several times (SeRL 2505.20347).

    expand=(AnswerUnlike(answers=16, alike=0.7),)
    --mechanism.expand answer-unlike --mechanism.expand.0.alike 0.7
    """

    reads = (AdmitPosed,)

    answers: int = 16
    alike: float = 0.7  # from this likeness on, from 0 to 1, two problems count as one; above 1: only equal ones
    does = answer_unlike

    def refusal(self, **_: Any) -> str | None:
        if self.answers > 1 and self.alike > 0:
            return None
        return (
            "answer-unlike: a vote needs 2 answers or more, and alike must be above 0, not "
            f"{self.answers} and {self.alike:g}."
        )
