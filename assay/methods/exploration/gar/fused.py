"""A fuser makes a harder theorem of two, and is paid for those that the prover seldom proves as they are stated."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask import Codec, Sampling
from assay.collect.answers import answers_to
from assay.curate.grouping import spread
from assay.curate.parts import leave_out
from assay.memory import Memory
from assay.memory.posed import posed
from assay.part import Credit, Curator, Expansion, Positive, Proportion, Rewarding
from assay.source.pose import Posing
from assay.tasks import posing_of, task
from assay.tasks.abilities import Proving
from assay.tasks.pose import PREFIX
from assay.types import Episode, Problem, Request, Reward, Row, by_group

if TYPE_CHECKING:
    from assay.source import Pool


def fuse_pairs(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    """Prompts for a theorem made of two that are drawn anew, or of as many as posing a problem of the task takes."""
    result = []
    for ordinal in range(first, first + count):
        key = memory.key("fuse", memory.step, ordinal)
        begun = pool.problem(key("first"))
        posing, poses = posing_of(task(begun.task)), task(PREFIX + begun.task)
        number = max(2, posing.shown)
        others = [task(begun.task).problem(key(i), level=begun.level) for i in range(1, number)]
        spec = {"shown": [one.spec for one in (begun, *others)], "example": posing.seed}
        made = poses.pose(spec, level=poses.generator.levels[0], wording=pool.wording)
        parents = tuple(dict.fromkeys(one.id for one in (begun, *others)))
        result.append(dataclasses.replace(made, solution=None, parents=parents, provenance="posed"))
    return result


class FusePairs(Posing):
    """Asks for a harder theorem made of two that are drawn from the pool (GAR 2510.11769).

    source=FusePairs()
    --mechanism.source fuse-pairs
    """

    does = fuse_pairs
    needs = ("texts",)


def prove_fused(
    episodes: Sequence[Episode], memory: Memory, *, sampling: Sampling, codec: Codec, group_size: int
) -> list[Request]:
    """`group_size` requests for each theorem that an episode poses, unless it is held out; none once they are there."""
    if any(not episode.request.problem.task.startswith(PREFIX) for episode in episodes):
        return []
    stated = [(episode, problem) for episode in episodes if (problem := posed(episode)) is not None]
    own = [(episode, problem) for episode, problem in stated if task(problem.task).split_of(problem.spec) == "train"]
    return answers_to(own, episodes, memory, sampling=sampling, codec=codec, answers=group_size)


class ProveFused(Expansion):
    """The prover tries to prove each theorem of the fuser, as often as a group has answers (GAR 2510.11769).

    expand=(ProveFused(),)
    --mechanism.expand prove-fused
    """

    does = prove_fused
    needs = ("texts",)


def changed(episode: Episode) -> bool:
    """Whether an answer that is not right proves another statement than was asked."""
    problem = episode.request.problem
    proving = None if problem.task.startswith(PREFIX) else task(problem.task).ability(Proving)
    if proving is None or episode.right or not episode.verified:
        return False
    answer = task(problem.task).wordings.answer_in(episode.text, problem.wording)
    return answer is not None and proving.proves_else(problem.spec, answer)


def kept_statement(episodes: Sequence[Episode], *, penalty: float) -> list[Reward | None]:
    """1 for a proof of the statement, 1 - penalty for a proof of another one, 0 for what proves nothing."""
    return [
        Reward("kept-statement", 1.0 if episode.right else 1 - penalty if changed(episode) else 0.0)
        for episode in episodes
    ]


class KeptStatement(Rewarding):
    """r = 1[accepted] (1 - penalty m), where m is 1 if the answer proves another statement than was asked (GAR
    2510.11769). Without an ability of the task to tell this, it is the verdict.

        reward=(KeptStatement(penalty=0.5),)
        --mechanism.reward kept-statement --mechanism.reward.0.penalty 0.5
    """

    penalty: Proportion = 0.5
    outcome = True
    does = kept_statement
    needs_verdict = True
    needs = ("texts",)


def shares(own: Sequence[Episode]) -> tuple[float, float]:
    """(p, m) of verified answers: the shares that prove something, and that prove another statement."""
    others = sum(map(changed, own))
    return (sum(episode.right for episode in own) + others) / len(own), others / len(own)


def fusion(episodes: Sequence[Episode], *, everyone: Sequence[Episode], unproved: float) -> list[Reward | None]:
    """(1 - p) (1 - m) of the answers to a theorem, `unproved` if p = 0; 0 for what is none. None without a verdict."""
    tries: dict[str, list[Episode]] = {}
    for other in everyone:
        if other.verified:
            tries.setdefault(other.request.parent, []).append(other)
    result: list[Reward | None] = []
    for episode in episodes:
        own = tries.get(episode.request.id)
        if not own:
            result.append(Reward("fusion", 0.0) if posed(episode) is None else None)
            continue
        p, m = shares(own)
        result.append(Reward("fusion", (1 - p) * (1 - m) if p > 0 else unproved))
    return result


class Fusion(Rewarding):
    """r = (1 - p)(1 - m) 1[p > 0] for a theorem of the fuser: p of its answers prove something, and m prove another
    statement than was asked (GAR 2510.11769). Text that is no theorem earns 0.

        Rule("proposer", reward=(Fusion(),))
        --mechanism.rules.0.reward fusion
    """

    unproved: Proportion = 0.0  # the worth of a theorem that no answer proves; with 1 no prover validates theorems
    does = fusion
    needs = ("texts",)


def provable(rows: Sequence[Row], *, most: float) -> list[Row]:
    """Groups of answers to theorems train if a share 0 < p <= most of their answers proves something."""
    out: set[int] = set()
    for group in by_group(rows).values():
        own = [row.episode for row in group.members if row.verified]
        posing = group.members[0].episode.request.problem.task.startswith(PREFIX)
        if not posing and not (own and 0 < shares(own)[0] <= most):
            out.update(group.places)
    return leave_out(rows, out)


class Provable(Curator):
    """Theorems train the prover if a share 0 < p <= `most` of the answers proves something (GAR 2510.11769).

    curate=(Provable(most=0.5),)
    --mechanism.curate provable --mechanism.curate.0.most 0.5
    """

    most: Proportion = 0.5
    does = provable
    needs_verdict = True
    needs = ("texts",)


def over_all(rows: Sequence[Row], *, epsilon: float) -> list[Row]:
    """A_i = (R_i - mean R) / (std R + epsilon) over all rows that count in the statistics; 0 if all R are equal."""
    rewards = np.array([row.reward for row in rows if row.in_group], dtype=np.float64)
    if len(rewards) < 2 or not spread(rewards.tolist()):
        return [row.mark(advantage=np.zeros(len(row.episode))) for row in rows]
    mean, deviation = rewards.mean(), rewards.std(ddof=1) + epsilon
    return [
        row.mark(advantage=np.full(len(row.episode), ((row.reward if row.in_group else mean) - mean) / deviation))
        for row in rows
    ]


class OverAll(Credit):
    """A_i = (R_i - mean R) / (std R + epsilon) over all rows, whatever their groups (the fuser of GAR 2510.11769).

    credit=OverAll()
    --mechanism.credit over-all
    """

    epsilon: Positive = 1e-6
    does = over_all
