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
from assay.collect.fragments import Fragments
from assay.collect.games import in_play
from assay.collect.lagged import Frozen, Lagged
from assay.collect.plays import Acted, Plays, Turn, played
from assay.collect.spoken import earned_by_turn
from assay.collect.teachers import AskTeachers
from assay.collect.trees import Fork
from assay.collect.turns import generate, send
from assay.collect.walks import StepSearch
from assay.collect.when_verified import AtEnd, AtOnce, Verdicts, Verify
from assay.errors import AssayError
from assay.memory import Memory, Promised
from assay.models import Models
from assay.part import asks
from assay.rng import Key
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
    "Fragments",
    "Frozen",
    "Lagged",
    "Refill",
    "StepSearch",
    "Verdicts",
    "Verify",
    "Worth",
    "generate",
    "played",
]


@dataclass(frozen=True)
class Worth:
    """How the answers of a role are valued: whether the task's verifier checks them, and by which rewards."""

    verified: bool  # the task's verifier checks them
    rewards: tuple[RewardPart, ...]


@dataclass(frozen=True)
class Collector:
    """The collector of synchronous training: the current weights generate every round.

    An answer to which a world replies goes on in the next round. Parts of `expand` that name `paused` as an argument
    see the answers that wait for their next turn; the other parts are asked when none waits. Rewards are computed when
    somebody reads them: by such parts, and at the end. An answer that halts at the token limit of a request that
    `pauses` is neither verified nor rewarded. It stays as it is unless a part of `expand` continues it.
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
        with self._plays(models, memory) as plays:
            turns = plays.begin(requests)
        lost = {place: turn.lost for place, turn in enumerate(turns) if turn.lost is not None}
        return send(models, [turn.now for turn in turns], self._key(memory), self.codec, requests, lost)

    def single(self, requests: Sequence[Request]) -> bool:
        """Whether the first round of answers to these requests is the last."""
        return not self.expand and not any(map(in_play, requests))

    def finish(
        self, models: Models, requests: Sequence[Request], memory: Memory, written: Sequence[Episode] | None
    ) -> list[Episode]:
        """The episodes of a step. Those `written` are the first round; None: it is still to be generated."""
        keeps = self.continues or any(map(in_play, requests))
        with models.keeping() if keeps else nullcontext(), self._plays(models, memory) as plays:
            return self._rounds(models, requests, memory, written, plays)

    def _key(self, memory: Memory) -> Key:
        return memory.key("sample", memory.step)

    def _plays(self, models: Models, memory: Memory) -> Plays:
        return Plays(self.codec, self._key(memory), models, forks=self.continues, step=memory.step)

    def _rounds(
        self,
        models: Models,
        requests: Sequence[Request],
        memory: Memory,
        written: Sequence[Episode] | None,
        plays: Plays,
    ) -> list[Episode]:
        episodes: list[Episode] = []
        noted: list[dict[str, Any]] = [{} for _ in self.expand]
        asked_ids = {request.id for request in requests}
        turns = plays.begin(requests)
        while turns or plays.waiting:
            late, replied = self._late(plays, wait=not turns)
            fresh, turns = self._generate(models, [*turns, *replied], memory, written, plays)
            episodes, written = [*episodes, *late, *fresh], None
            if plays.waiting or (turns and not self._watches):
                continue
            episodes = self.rewarded(plays.in_order(episodes) if plays.free else episodes, models, memory)
            further = self._expand(models, episodes, plays.so_far(turns), memory, noted)
            if any(request.id in asked_ids for request in further):
                again = next(request for request in further if request.id in asked_ids)
                raise AssayError(
                    f"a part of `expand` asked again for an answer that the step has (role '{again.role}', round "
                    f"{again.round}, draw {again.draw}, sample {again.sample}): it might ask without an end."
                )
            asked_ids.update(request.id for request in further)
            turns += plays.begin(further)
        return episodes

    @property
    def _watches(self) -> bool:
        """Whether a part of `expand` is asked while answers wait for their next turn."""
        return any(asks(part, "paused") for part in self.expand)

    def _generate(
        self,
        models: Models,
        turns: Sequence[Turn],
        memory: Memory,
        written: Sequence[Episode] | None,
        plays: Plays,
    ) -> tuple[list[Episode], list[Turn]]:
        """The answers that are complete after a round, which is `written` or is generated now, and the turns that wait.

        A complete answer has a verdict if its role is verified. One that the sampler failed to write has a verdict in
        any case, and so has one on which its world decides.
        """
        results: dict[int, Acted] = {}

        def done(place: int, episode: Episode) -> None:
            results[place] = plays.acted(turns[place], episode)
            if results[place].waiting is None:
                self._give(place, results[place])

        self.verdicts.begin([turn.first for turn in turns])
        if written is None:
            generate(models, [turn.now for turn in turns], self._key(memory), self.codec, done)
        else:
            for place, episode in enumerate(written):
                done(place, episode)
        for place in range(len(turns)):
            if (waiting := results[place].waiting) is None:
                continue
            if plays.free:
                plays.waiting.append(waiting)
            else:
                results[place] = plays.heard(waiting)
            self._give(place, results[place])
        return self._come_to([results[place] for place in range(len(turns))])

    def _late(self, plays: Plays, *, wait: bool) -> tuple[list[Episode], list[Turn]]:
        """The answers that are complete, and the turns that go on, since plays apart have replied."""
        if not plays.waiting:
            return [], []
        results = plays.settled(wait=wait)
        complete = [result for result in results if result.complete]
        self.verdicts.begin([result.complete[0].request for result in complete])
        for place, result in enumerate(complete):
            self._give(place, result)
        answers, _ = self._come_to(complete)
        return answers, [result.further for result in results if result.further]

    def _give(self, place: int, result: Acted) -> None:
        """Gives the complete answer at a place of the round to the verifier, if the verifier judges it."""
        if result.complete and self._to_verify(result.complete[0]):
            self.verdicts.take(place, result.complete[0])
        else:
            self.verdicts.skip(place)

    def _come_to(self, results: Sequence[Acted]) -> tuple[list[Episode], list[Turn]]:
        """The complete answers of a round, the first of each play with its verdict, and the turns that go on."""
        verdicts = self.verdicts.end()
        episodes: list[Episode] = []
        for place, result in enumerate(results):
            for answer in result.complete[:1]:
                episodes.append(changed(answer, verdict=verdicts.get(place, answer.verdict)))
            episodes += result.complete[1:]
        return episodes, [result.further for result in results if result.further]

    def _to_verify(self, answer: Episode) -> bool:
        """Whether the verifier of the task says if the answer is right."""
        judged = answer.verdict is not None or answer.finish == "pause"
        return self.worth(answer.request.role).verified and not judged

    def rewarded(self, episodes: Sequence[Episode], models: Models, memory: Memory) -> list[Episode]:
        """The episodes with their rewards. All are computed again when a part of `expand` has asked for more, because a
        reward may depend on those episodes. The role that was asked last is rewarded first, so that the reward of a
        proposer can read the rewards of its solvers.
        """
        result = list(episodes)
        for role in reversed(dict.fromkeys(episode.request.role for episode in episodes)):
            mine = [i for i, e in enumerate(episodes) if e.request.role == role and e.finish != "pause"]
            asked = [episodes[i] for i in mine]
            offered = {"everyone": result, "memory": memory, "models": models}
            columns = [part(asked, **offered) for part in self.worth(role).rewards]
            for i, *parts in zip(mine, *columns, strict=True):
                given = tuple(part for part in parts if part is not None)
                result[i] = changed(episodes[i], rewards=given + earned_by_turn(episodes[i]))
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
