"""Several actions at each turn of an answer, their worth by the critic, and pairs of better and worse ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from assay.ask import Codec
from assay.collect.spoken import going_on
from assay.curate.pairs import SIDES
from assay.memory import Memory
from assay.methods.losses.sweet_rl.privileged import compared, privilege, turn_advantages, turns_in
from assay.models import Models
from assay.part import Count, Curator, Expansion, Rewarding
from assay.prompt import Prompt
from assay.rng import Key
from assay.types import Episode, Problem, Request, Reward, Row, by_group, changed


def turn_actions(episodes: Sequence[Episode], *, role: str, of: str, count: int, most: int) -> list[Request]:
    """`count` requests at each turn of the first `most` answers of each group, each for one action of that turn. The
    actions at one turn are a group. Nobody replies to them.
    """
    if any(episode.request.role == role for episode in episodes):
        return []
    told = [e for e in episodes if e.request.role == of and e.provenance == "fresh" and e.finish != "error"]
    asked = []
    for group in by_group(told).values():
        for episode in group.members[:most]:
            for number, now in enumerate(_beginnings(episode)):
                place = {"group": f"{now.group}/{episode.request.sample}@{number}", "round": now.round + 1}
                one = dataclasses.replace(now, role=role, seat="", tag="", **place)
                asked += [dataclasses.replace(one, sample=sample) for sample in range(count)]
    return asked


def _beginnings(episode: Episode) -> Iterator[Request]:
    """For each turn that the policy wrote, the request for what comes behind all that stands before it."""
    heard = True
    for place, segment in enumerate(episode.segments):
        begins = heard or segment.context is not None
        if place >= len(episode.request.prefix) and len(segment) and not segment.is_reply:
            if begins:
                now, _ = going_on(changed(episode, segments=episode.segments[:place]))
                if segment.context is not None:
                    now = dataclasses.replace(now, context=segment.context, prefix=())
                if now.max_new > 0:
                    yield now
            heard = False
        elif len(segment):
            heard = True


class TurnActions(Expansion):
    """At each turn of an answer, `count` actions are sampled after the same beginning (SWEET-RL 2503.15478). They are
    answers of a role of their own, to which nobody replies, and none goes on.

        expand=(TurnActions(role="turn", count=16),)
        --mechanism.expand turn-actions --mechanism.expand.0.count 8
    """

    continues = True

    role: str = "turn"  # the role that writes the actions
    of: str = "policy"  # the role whose answers they are in
    count: Count = 16  # actions at a turn
    most: Count = 1  # answers of a group that have such turns
    does = turn_actions


def turn_advantage(
    episodes: Sequence[Episode], *, models: Models, codec: Codec, model: str, reference: str, told: bool
) -> list[Reward | None]:
    """The advantage of the last turn of each answer, by the critic."""
    found: list[Reward | None] = []
    seen = compared(models, episodes, codec, model=model, reference=reference, told=told)
    for episode, logps in zip(episodes, seen, strict=True):
        turns = turns_in(episode)
        found.append(Reward("turn-advantage", float(turn_advantages(*logps, turns[-1:])[0])) if turns else None)
    return found


class TurnAdvantage(Rewarding):
    """The worth of an action: the mean over its tokens of log phi of a critic that is told what is hidden from the
    policy, less log ref without it (SWEET-RL 2503.15478). `learn-turns` of `forwards` trains the critic.

        Rule("turn", verified=False, reward=(TurnAdvantage(model="critic"),))
        --mechanism.rules.0.reward turn-advantage --mechanism.rules.0.reward.0.model critic
    """

    model: str = "critic"  # its name in the recipe's `models`
    reference: str = "reference"  # the frozen model that it is compared with
    told: bool = True  # as of `learn-turns`
    does = turn_advantage

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.longer(len(codec.encode(privilege(problem)))) if self.told else prompt,)


def half_pairs(scores: Sequence[float], *, most: int, key: Key) -> list[tuple[int, int]]:
    """(winner, loser) of `most` pairs: one drawn from the better half, one from the other. Two of equal worth are no
    pair.
    """
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    half = len(order) // 2
    if not half:
        return []
    random = key.generator()
    drawn = [(order[random.integers(half)], order[half + random.integers(len(order) - half)]) for _ in range(most)]
    return [(int(winner), int(loser)) for winner, loser in drawn if scores[winner] > scores[loser]]


def halves(rows: Sequence[Row], *, memory: Memory, role: str, most: int) -> list[Row]:
    """Writes SIDES[most] on every row: 1 on the winner of a pair of its group, -1 on the loser, 0 on all other rows.
    Rows in no pair do not train.
    """
    signs = np.zeros((len(rows), most), np.float32)
    for name, group in by_group(rows).items():
        able = [i for i in group.places if rows[i].role == role and rows[i].in_loss and rows[i].reward is not None]
        key = memory.key("halves", memory.step, name)
        for k, (winner, loser) in enumerate(half_pairs([rows[i].reward or 0.0 for i in able], most=most, key=key)):
            signs[able[winner], k], signs[able[loser], k] = 1.0, -1.0
    return [_paired(row, sign) for row, sign in zip(rows, signs, strict=True)]


def _paired(row: Row, signs: np.ndarray) -> Row:
    row = row.mark(constants={**row.constants, SIDES: signs})
    return row if signs.any() else row.mark(in_loss=False, in_denominator=False)


class Halves(Curator):
    """Pairs of an answer from the better half of its group, by reward, and one from the other half, drawn at random
    (SWEET-RL 2503.15478); rows in no pair do not train.

        curate=(Halves(role="turn", most=4),)
        --mechanism.curate halves --mechanism.curate.0.most 4
    """

    writes = ("rows", SIDES)

    role: str = "turn"  # whose answers
    most: Count = 4  # pairs of a group
    does = halves
