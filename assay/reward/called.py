"""Rewards for turns in a world: whether a tool was called, and whether each turn has the form that the world reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.curate.turns import own_turns
from assay.part import Rewarding
from assay.tasks import task
from assay.tasks.equipment import OfShares, lacking
from assay.types import Episode, Reward
from assay.verifiers.answers import count_answers, find_answer
from assay.worlds import Call

if TYPE_CHECKING:
    from assay.policy.codec import Codec


def calls_in(episode: Episode, codec: Codec) -> list[tuple[tuple[Call, ...], bool]]:
    """Of each turn that was replied to its calls, as the world reads them, and whether the reply tells of an error."""
    world = task(episode.request.problem.task).world
    if world is None or world.numbers is not None:
        return []
    world, ids = world.spoken(episode.request.problem.wording), episode.stream("ids")
    return [
        (
            world.act(episode.request.seat, codec.decode(ids[turn.start : turn.stop].tolist()), waits=True).calls,
            turn.failed,
        )
        for turn in own_turns(episode)
        if turn.replied
    ]


def called(
    episodes: Sequence[Episode], *, codec: Codec, tools: Sequence[str], right: float, wrong: float
) -> list[Reward | None]:
    """`right` if a call of one of these tools was answered without an error, else `wrong`."""
    rewards: list[Reward | None] = []
    for episode in episodes:
        used = {call.name for calls, failed in calls_in(episode, codec) if not failed for call in calls}
        rewards.append(Reward("called", right if used & set(tools) or (used and not tools) else wrong))
    return rewards


class Called(Rewarding):
    """Rewards an answer in which a tool was called and told something: for policies that do not call any yet.

    It is worth the same for one call and for many. A recipe with it is refused on tasks whose world has none of the
    tools.

        reward=(Outcome(), Called(tools=("python",), right=0.5))
        --mechanism.reward outcome,called --mechanism.reward.1.tools python
    """

    tools: tuple[str, ...] = ()  # names of tools, one of which is to be called; (): any
    right: float = 0.5  # the reward where a tool was called and told something
    wrong: float = 0.0  # and where not
    does = called
    needs = ("texts",)

    def unfit(self, pool: OfShares) -> str | None:
        return lacking("Called", pool, self.tools) if self.tools else None


def turn_form(
    episodes: Sequence[Episode], *, codec: Codec, right: float, wrong: float, longest: int
) -> list[Reward | None]:
    """`right` if each turn that was replied to is one call that can be read, and the last one gives one answer."""
    return [Reward("turn-form", right if _formed(episode, codec, longest) else wrong) for episode in episodes]


def _formed(episode: Episode, codec: Codec, longest: int) -> bool:
    turns, wording = own_turns(episode), episode.request.problem.wording
    if episode.finish != "stop" or not turns or turns[-1].replied:
        return False
    if any(len(calls) != 1 or calls[0].fault for calls, _ in calls_in(episode, codec)):
        return False
    ids = episode.stream("ids").tolist()
    texts = [codec.decode([i for i in ids[t.start : t.stop] if i not in codec.end_ids]) for t in turns]
    marks = 1 if wording == "natural" or "#" in (episode.request.problem.solution or "") else 0
    answer = find_answer(texts[-1], wording)
    if sum(count_answers(text, wording) for text in texts) != marks or not answer:
        return False
    return not longest or len(answer.split()) <= longest


class TurnForm(Rewarding):
    """Rewards the form of an answer in turns: every turn before the last one is exactly one call that can be read, the
    last one marks exactly one answer, which is not empty, and nothing was cut. What replies say does not count.

        reward=(Outcome(), TurnForm(right=0.0))
        --mechanism.reward outcome,turn-form --mechanism.reward.1.right 0
    """

    right: float = 1.0  # the reward of an answer in this form
    wrong: float = 0.0  # of any other
    longest: int = 0  # words of an answer at most; 0: any number
    does = turn_form
    needs = ("texts",)
