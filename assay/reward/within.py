"""Rewards of turns, spans and tokens: what happens within an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from assay.part import Count, Rewarding
from assay.types import Episode, Reward, RewardScope


class Decoder(Protocol):
    """The half of a tokenizer that turns ids into text."""

    def decode(self, ids: Sequence[int]) -> str: ...


def failed_replies(episodes: Sequence[Episode], *, cost: float) -> list[Reward | None]:
    """-cost at the last token before each reply that tells of an error, 0 before every other reply."""
    return [_turns(episode, cost) for episode in episodes]


def _turns(episode: Episode, cost: float) -> Reward:
    ends = np.cumsum([len(segment) for segment in episode.segments])
    replies = [
        (int(end) - len(segment) - 1, segment.failed)
        for segment, end in zip(episode.segments, ends, strict=True)
        if segment.is_reply and end > len(segment)
    ]
    values = np.array([-cost if failed else 0.0 for _, failed in replies])
    at = np.array([place for place, _ in replies], dtype=np.int32)
    return Reward("failed-replies", float(values.sum()), "turn", values, at)


class FailedReplies(Rewarding):
    """Each turn that ends in a call which the world answers with an error costs `cost`.

    For your own recipes: on tasks with a world (docs/world.md), against calls that fail.

    reward=(Outcome(), FailedReplies(cost=0.1))
    --mechanism.reward outcome,failed-replies --mechanism.reward.1.cost 0.1
    """

    cost: float = 0.1
    does = failed_replies
    needs = ("texts",)

    @property
    def gives(self) -> RewardScope:
        return "turn"


def repeated_steps(episodes: Sequence[Episode], *, codec: Decoder, cost: float, marks: str) -> list[Reward | None]:
    """-cost at the last token of each step whose text is that of an earlier step of the answer, else 0."""
    return [_steps(episode, codec, cost, marks) for episode in episodes]


def _steps(episode: Episode, codec: Decoder, cost: float, marks: str) -> Reward:
    spans = steps_of(episode.stream("ids").tolist(), codec, marks)
    seen: set[str] = set()
    values = []
    for _, text in spans:
        values.append(-cost if text in seen else 0.0)
        seen.add(text)
    at = np.array([end for end, _ in spans], dtype=np.int32)
    return Reward("repeated-steps", float(sum(values)), "span", np.array(values), at)


def steps_of(ids: Sequence[int], codec: Decoder, marks: str) -> list[tuple[int, str]]:
    """(index of its last token, text without the mark) of each step. A step ends with a token that has a mark in it, or
    with the answer; steps without any text are left out.
    """
    found, begin = [], 0
    for place, token in enumerate(ids):
        last = place == len(ids) - 1
        if last or any(mark in codec.decode([token]) for mark in marks):
            text = codec.decode(list(ids[begin : place + 1])).strip(marks + " \t\n")
            found += [(place, text)] if text else []
            begin = place + 1
    return found


class RepeatedSteps(Rewarding):
    """Each step of an answer that repeats an earlier step word for word costs `cost`.

    For your own recipes: against answers that repeat their steps; also within `delta`, as the scores of steps.

    reward=(Outcome(), RepeatedSteps(cost=0.1))
    --mechanism.reward outcome,repeated-steps --mechanism.reward.1.cost 0.1
    """

    cost: float = 0.1
    marks: str = "\n,|"  # the characters that end a step
    does = repeated_steps

    @property
    def gives(self) -> RewardScope:
        return "span"


def repeated_ngrams(episodes: Sequence[Episode], *, length: int, cost: float) -> list[Reward | None]:
    """-cost at each token of an n-gram that stood in the answer before, else 0."""
    return [_tokens(episode, length, cost) for episode in episodes]


def _tokens(episode: Episode, length: int, cost: float) -> Reward:
    ids = episode.stream("ids").tolist()
    seen: set[tuple[int, ...]] = set()
    values = np.zeros(len(ids))
    for end in range(length, len(ids) + 1):
        gram = tuple(ids[end - length : end])
        if gram in seen:
            values[end - length : end] = -cost
        seen.add(gram)
    return Reward("repeated-ngrams", float(values.sum()), "token", values)


class RepeatedNgrams(Rewarding):
    """Each token within an n-gram that stood in the answer before costs `cost` (2502.03373).

    For your own recipes: against answers that go round in circles until the limit cuts them.

    reward=(Outcome(), RepeatedNgrams(length=40, cost=0.05))
    --mechanism.reward outcome,repeated-ngrams --mechanism.reward.1.length 40
    """

    length: Count = 40  # n
    cost: float = 0.05
    does = repeated_ngrams

    @property
    def gives(self) -> RewardScope:
        return "token"
