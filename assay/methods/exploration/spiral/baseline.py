"""A baseline for each role of each game: the moving mean of what it has won so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.credit.pack import earned
from assay.memory import Memory
from assay.part import Credit, Proportion, Remembering
from assay.types import Row

if TYPE_CHECKING:
    from assay.recipe import Mechanism
    from assay.scale import Scale

STORE = "role-means"


def role_advantage(
    rewards: Sequence[float], roles: Sequence[str], means: Mapping[str, float], *, keep: float
) -> tuple[list[float], dict[str, float]]:
    """A_i = R_i - b, then b <- keep b + (1 - keep) R_i, with a b of its own for each role, in the order of the answers.

    b starts at 0. It never contains the reward that it is subtracted from, so that it does not bias the gradient.
    Returns the advantages, and the means after all answers.
    """
    after, advantages = dict(means), []
    for reward, role in zip(rewards, roles, strict=True):
        before = after.get(role, 0.0)
        advantages.append(reward - before)
        after[role] = keep * before + (1 - keep) * reward
    return advantages, after


def role_of(row: Row) -> str:
    """The game and the seat of an answer; outside of games, the task and the role of the recipe."""
    request = row.episode.request
    return f"{request.problem.task}/{request.seat or request.role}"


def counts(row: Row) -> bool:
    """Whether an answer is among those whose rewards a mean is of."""
    return row.in_group and row.reward is not None


def remember_means(memory: Memory, *, rows: Sequence[Row], keep: float, place: str = STORE) -> Memory:
    """The means after the rows of the step that have a reward."""
    counted = [row for row in rows if counts(row)]
    _, after = role_advantage(
        [earned(row) for row in counted], [role_of(row) for row in counted], memory.store(place), keep=keep
    )
    return memory.keep(place, after)


class RoleMeans(Remembering):
    """The moving mean of the rewards of each role of each game (SPIRAL 2506.24119).

    remember=(RoleMeans(keep=0.95),)
    --mechanism.remember role-means --mechanism.remember.0.keep 0.95
    """

    keeps = STORE

    keep: Proportion = 0.95  # the share of a mean that stays when an answer is added
    does = remember_means


def role_baseline(rows: Sequence[Row], memory: Memory, *, keep: float, place: str = STORE) -> list[Row]:
    """The rows with the advantages of `role_advantage`, the same at every token of an answer. An answer without a
    reward, or out of its group, has none and changes no mean.
    """
    counted = [row for row in rows if counts(row)]
    advantages, _ = role_advantage(
        [earned(row) for row in counted], [role_of(row) for row in counted], memory.store(place), keep=keep
    )
    found = iter(advantages)
    return [row.mark(advantage=np.full(len(row.episode), next(found))) if counts(row) else row for row in rows]


class RoleBaseline(Credit):
    """A_i = R_i - b, where b is the moving mean of earlier rewards of the same role in the same game (SPIRAL
    2506.24119). No group is needed: who moves first may win more, and each role is compared with itself.

    credit=RoleBaseline(keep=0.95)
    --mechanism.credit role-baseline --mechanism.credit.keep 0.95 --mechanism.remember role-means
    """

    reads = (RoleMeans,)

    keep: Proportion = 0.95  # the same as of `role-means`
    does = role_baseline

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        kept = [part.keep for part in mechanism.remember if isinstance(part, RoleMeans)]
        if kept == [self.keep]:
            return None
        if not kept:
            return "role-baseline reads the means that `role-means` keeps. Add it to `remember`."
        return f"role-baseline keeps {self.keep:g} of a mean, and role-means {kept[0]:g}. Give both the same `keep`."
