"""Collection of answers, in rounds: generate, verify, reward, expand, until `expand` asks for nothing more."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from assay.ask import Codec
from assay.collect.ahead import Ahead
from assay.collect.ask_judges import AskJudge, AskPairs
from assay.collect.continuations import ContinueSteps
from assay.collect.expand import Refill
from assay.collect.lagged import Frozen, Lagged
from assay.collect.teachers import AskTeachers
from assay.collect.trees import Fork
from assay.collect.turns import generate, going_on, halted, in_turns, send, whole
from assay.collect.walks import StepSearch
from assay.collect.when_verified import AtEnd, AtOnce, Verdicts, Verify
from assay.errors import AssayError
from assay.memory import Memory, Promised
from assay.models import Models
from assay.part import asks
from assay.types import Episode, Request, Reward, changed

RewardPart = Callable[..., list[Reward | None]]
"""(episodes of a role, *, everyone, memory, models, ...) -> a reward for each episode, or None.

None also stands for a reward that depends on episodes that are not there yet.
"""

Expand = Callable[..., list[Request]]
"""(episodes so far, *, models, memory, more, ...) -> the requests to generate next; an empty list when it is done.

A part that asks for `noted` gets a dictionary of its own, which is empty when the collection of a step begins. There it
writes its results for an episode, so that it need not compute them again in every round.
"""

Collect = Callable[[Models, Sequence[Request], Memory], tuple[list[Episode], Memory]]
"""(models, requests, memory) -> (episodes of the step, the memory with the episodes that the collector holds back).

A collector changes no weights, so that a run that is stopped while it collects can be saved. Models that follow the
policy are updated by `remember`.
"""


__all__ = [
    "Ahead",
    "AskJudge",
    "AskPairs",
    "AskTeachers",
    "AtEnd",
    "AtOnce",
    "Collect",
    "Collector",
    "ContinueSteps",
    "Fork",
    "Frozen",
    "Lagged",
    "Refill",
    "StepSearch",
    "Verdicts",
    "Verify",
    "Worth",
    "generate",
    "whole",
]


@dataclass(frozen=True)
class Worth:
    """How the answers of a role are valued: whether the task's verifier checks them, and by which rewards."""

    verified: bool  # the task's verifier checks them
    rewards: tuple[RewardPart, ...]


@dataclass(frozen=True)
class Collector:
    """The collector of synchronous training: the current weights generate every round.

    An episode that waits for its next turn goes on in the next round. Parts of `expand` that name `paused` as an
    argument see such episodes; the other parts are asked when no episode waits. An episode that halts at the token
    limit of a request that `pauses` is neither verified nor rewarded. It stays as it is unless a part of `expand`
    continues it.
    """

    verdicts: Verdicts
    worth: Callable[[str], Worth]  # role -> how its answers are verified and rewarded
    expand: tuple[Expand, ...]
    more: Callable[[Models, Memory, int, int], list[Request]]
    codec: Codec
    continues: bool = False  # later rounds continue answers of earlier ones, so that the sampler keeps its cache

    def __call__(self, models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        return self.finish(models, requests, memory, None), memory

    def send(self, models: Models, requests: Sequence[Request], memory: Memory) -> Promised:
        """Asks for the first round of answers. `finish` takes them, when they are there or later."""
        return send(models, requests, memory.key("sample", memory.step), self.codec)

    def single(self, requests: Sequence[Request]) -> bool:
        """Whether the first round of answers to these requests is the last."""
        return not self.expand and not any(map(in_turns, requests))

    def finish(
        self, models: Models, requests: Sequence[Request], memory: Memory, written: Sequence[Episode] | None
    ) -> list[Episode]:
        """The episodes of a step. Those `written` are the first round; None: it is still to be generated."""
        with models.keeping() if self.continues or any(map(in_turns, requests)) else nullcontext():
            return self._rounds(models, requests, memory, written)

    def _rounds(
        self, models: Models, requests: Sequence[Request], memory: Memory, written: Sequence[Episode] | None
    ) -> list[Episode]:
        episodes: list[Episode] = []
        noted: list[dict[str, Any]] = [{} for _ in self.expand]
        asked_ids = {request.id for request in requests}
        # pairs: the request of this round, and the request with which the answer began
        asked = [(request, request) for request in requests]
        while asked:
            fresh, written = self._generate(models, asked, memory, written), None
            paused = [episode for episode in fresh if _paused(episode)]
            episodes = self._reward(episodes + [episode for episode in fresh if not _paused(episode)], models, memory)
            asked = [(going_on(episode), episode.request) for episode in paused]
            further = self._expand(models, episodes, paused, memory, noted)
            if any(request.id in asked_ids for request in further):
                again = next(request for request in further if request.id in asked_ids)
                raise AssayError(
                    f"a part of `expand` asked again for an answer that the step has (role '{again.role}', round "
                    f"{again.round}, draw {again.draw}, sample {again.sample}): it might ask without an end."
                )
            asked_ids.update(request.id for request in further)
            asked += [(request, request) for request in further]
        return episodes

    def _generate(
        self,
        models: Models,
        asked: Sequence[tuple[Request, Request]],
        memory: Memory,
        written: Sequence[Episode] | None,
    ) -> list[Episode]:
        """The episodes of a round, which is `written` or is generated now.

        A complete episode has a verdict if its role is verified. An episode that the sampler failed to write has a
        verdict in any case.
        """
        now, first = zip(*asked, strict=True)

        def asked_first(place: int, episode: Episode) -> Episode:
            return episode if now[place] is first[place] else changed(episode, request=first[place])

        def done(place: int, episode: Episode) -> None:
            if self.worth(first[place].role).verified and episode.finish not in ("pause", "error"):
                self.verdicts.take(place, asked_first(place, episode))
            else:
                self.verdicts.skip(place)

        self.verdicts.begin(first)
        if written is None:
            made = generate(models, now, memory.key("sample", memory.step), self.codec, done)
        else:
            made = list(written)
            for place, episode in enumerate(made):
                done(place, episode)
        verdicts = self.verdicts.end()
        return [
            changed(episode, request=first[place], verdict=verdicts.get(place, episode.verdict))
            for place, episode in enumerate(made)
        ]

    def _reward(self, episodes: Sequence[Episode], models: Models, memory: Memory) -> list[Episode]:
        """The episodes with their rewards. All are computed again after every round, because a reward may depend on
        episodes of a later round. The role that was asked last is rewarded first, so that the reward of a proposer can
        read the rewards of its solvers.
        """
        result = list(episodes)
        for role in reversed(dict.fromkeys(episode.request.role for episode in episodes)):
            mine = [i for i, e in enumerate(episodes) if e.request.role == role and not halted(e)]
            asked = [episodes[i] for i in mine]
            offered = {"everyone": result, "memory": memory, "models": models}
            columns = [part(asked, **offered) for part in self.worth(role).rewards]
            for i, *parts in zip(mine, *columns, strict=True):
                result[i] = changed(episodes[i], rewards=tuple(part for part in parts if part is not None))
        return result

    def _expand(
        self,
        models: Models,
        episodes: Sequence[Episode],
        paused: Sequence[Episode],
        memory: Memory,
        noted: Sequence[dict[str, Any]],
    ) -> list[Request]:
        """The requests of the first part that returns any. A refill is the last part, so that it counts the groups only
        after retries and branches are complete.
        """
        more = functools.partial(self.more, models)
        for part, own in zip(self.expand, noted, strict=True):
            if paused and not asks(part, "paused"):
                continue
            if asked := part(episodes, models=models, memory=memory, more=more, paused=paused, noted=own):
                return asked
        return []


def _paused(episode: Episode) -> bool:
    """Whether the episode waits for its next turn."""
    return episode.finish == "pause" and not halted(episode)
