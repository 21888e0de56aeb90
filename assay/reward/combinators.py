"""Rewards that are made of rewards: sum, product, gate, cascade, veto, and one for some tasks alone.

`assay/reward/composed.py` says what they share.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from assay.part import Rewarding
from assay.reward.composed import Child, combined, scope_of
from assay.reward.parts import Outcome
from assay.types import Episode, Problem, Reward, RewardScope


class OfSeveral(Rewarding):
    """A reward that is made of several rewards."""

    of: tuple[Rewarding, ...] = (Outcome(),)
    name: str = ""  # in metrics and rollouts; "": the name of the part

    @property
    def gives(self) -> RewardScope:
        return scope_of(self.of)

    def refusal(self, **_: Any) -> str | None:
        scopes = {child.gives for child in self.of if child.gives != "episode"}
        if not self.of:
            return f"{type(self).__name__} is made of no rewards: give it one or more in `of`."
        if len(scopes) > 1:
            return (
                f"{type(self).__name__} mixes rewards of {' and '.join(sorted(scopes))} scope, which have values at "
                "different places: put them beside each other in `reward`."
            )
        return None


def total(
    episodes: Sequence[Episode], *, of: Sequence[Child], name: str, weights: Sequence[float]
) -> list[Reward | None]:
    """sum_k w_k r_k over the children that have something to say; None if none of them has."""
    columns = [child(episodes) for child in of]
    used = weights or [1.0] * len(of)
    return [_summed(name or "sum", [*zip(row, used, strict=True)]) for row in zip(*columns, strict=True)]


def _summed(name: str, row: Sequence[tuple[Reward | None, float]]) -> Reward | None:
    unread = [child for child, _ in row if child is not None and child.unread]
    known = [(child, weight) for child, weight in row if child is not None and not child.unread]

    def weighed(*values: float) -> float:
        return math.fsum(weight * value for (_, weight), value in zip(known, values, strict=True))

    whole = combined(name, [child for child, _ in known] or unread, weighed) if known or unread else None
    return dataclasses.replace(whole, parts=(*whole.parts, *unread)) if whole and known and unread else whole


class Sum(OfSeveral):
    """The weighted sum of several rewards. A reward that does not apply to an answer adds nothing to it.

    reward=(Sum(of=(Outcome(), Scored()), weights=(1.0, 0.5)),)
    --mechanism.reward sum --mechanism.reward.0.of outcome,scored --mechanism.reward.0.weights 1,0.5
    """

    weights: tuple[float, ...] = ()  # one for each reward; empty: 1 each
    does = total

    def refusal(self, **values: Any) -> str | None:
        if self.weights and len(self.weights) != len(self.of):
            return f"sum: {len(self.weights)} weights came for {len(self.of)} rewards; give one for each, or none."
        return super().refusal(**values)


def product(episodes: Sequence[Episode], *, of: Sequence[Child], name: str) -> list[Reward | None]:
    """prod_k r_k."""
    columns = [child(episodes) for child in of]
    return [combined(name or "product", row, lambda *values: math.prod(values)) for row in zip(*columns, strict=True)]


class Product(OfSeveral):
    """The product of several rewards: all of them must be high at once.

    reward=(Product(of=(Outcome(), WellFormed())),)
    --mechanism.reward product --mechanism.reward.0.of outcome,well-formed
    """

    does = product


def gated(
    episodes: Sequence[Episode],
    *,
    gate: Child,
    of: Child,
    opens: float,
    closed: float,
    name: str,
) -> list[Reward | None]:
    """r if the gate's reward is at least `opens`, else `closed`. Answers at a closed gate are not rewarded by `of`."""
    gates = gate(episodes)
    through = [i for i, reward in enumerate(gates) if reward is not None and reward.value >= opens]
    inner = of([episodes[i] for i in through]) if through else []
    behind = dict(zip(through, inner, strict=True))
    title, result = name or "gate", []
    for i, reward in enumerate(gates):
        if i in behind:
            result.append(combined(title, [reward, behind[i]], lambda _, value: value))
        else:
            result.append(combined(title, [reward], lambda _: closed))
    return result


class Gated(Rewarding):
    """The reward `of`, for answers that pass a gate; `closed` for all others.

    reward=(Gated(gate=Scored(), of=Outcome(), closed=-1.0),)
    --mechanism.reward gate --mechanism.reward.0.gate scored --mechanism.reward.0.closed -1
    """

    known_as = "gate"

    gate: Rewarding = Outcome()  # a reward of the whole answer
    of: Rewarding = Outcome()
    opens: float = 1.0  # the least value of `gate` that passes
    closed: float = 0.0  # the reward of an answer that does not pass
    name: str = ""  # in metrics and rollouts; "": the name of the part
    does = gated

    @property
    def gives(self) -> RewardScope:
        return self.of.gives

    def refusal(self, **_: Any) -> str | None:
        return _needs_whole("gate", self.gate) or (
            f"gate: an answer that does not pass has no {self.of.gives}s, so `closed` must be 0, not {self.closed:g}."
            if self.of.gives != "episode" and self.closed
            else None
        )


def cascade(
    episodes: Sequence[Episode], *, first: Child, then: Child, accepts: float, name: str
) -> list[Reward | None]:
    """The reward of `first` where it is at least `accepts`, else that of `then`. `then` sees only these answers."""
    ruled = first(episodes)
    refused = [i for i, reward in enumerate(ruled) if reward is not None and reward.value < accepts]
    asked = then([episodes[i] for i in refused]) if refused else []
    second, title = dict(zip(refused, asked, strict=True)), name or "cascade"
    result: list[Reward | None] = []
    for i, reward in enumerate(ruled):
        other = second.get(i)
        if other is None:  # accepted, or `then` has nothing to say either
            result.append(combined(title, [reward], float))
        else:
            result.append(combined(title, [reward, other], lambda _, value: value))
    return result


class Cascade(Rewarding):
    """The rule first, and another reward only for the answers that the rule refuses, for example a judge.

    Where the second has nothing to say, the first stands.

    For your own recipes: where a rule refuses some right answers, and what decides about these is dear or easy to
    deceive.

        reward=(Cascade(first=Outcome(), then=JudgedByReference()),)
        --mechanism.reward cascade --mechanism.reward.0.then judge-reference
    """

    first: Rewarding = Outcome()
    then: Rewarding = Outcome()
    accepts: float = 1.0  # the least value of `first` that stands without a second look
    name: str = ""  # in metrics and rollouts; "": the name of the part
    does = cascade

    def refusal(self, **_: Any) -> str | None:
        return _needs_whole("cascade", self.first) or _needs_whole("cascade", self.then)


def veto(
    episodes: Sequence[Episode],
    *,
    of: Child,
    critical: Sequence[Child],
    least: float,
    vetoed: float,
    name: str,
) -> list[Reward | None]:
    """min(r, vetoed) if one critical reward is below `least`, else r."""
    columns = [child(episodes) for child in (of, *critical)]

    def rule(value: float, *others: float) -> float:
        return min(value, vetoed) if any(other < least for other in others) else value

    return [combined(name or "veto", row, rule) for row in zip(*columns, strict=True)]


class Veto(Rewarding):
    """A reward that falls to `vetoed` if one of the critical rewards is too low. A veto never raises a reward.

    Groups in which all answers are vetoed teach nothing: begin with a `vetoed` above the worst reward, as a penalty.

    For your own recipes: against an exploit that was seen, which the reward would pay for.

        reward=(Veto(of=Outcome(), critical=(WellFormed(),), least=0.5),)
        --mechanism.reward veto --mechanism.reward.0.critical well-formed --mechanism.reward.0.least 0.5
    """

    of: Rewarding = Outcome()
    critical: tuple[Rewarding, ...] = (Outcome(),)  # rewards of the whole answer
    least: float = 1.0  # the least value of a critical reward that is no veto
    vetoed: float = 0.0  # at most this is left of the reward
    name: str = ""  # in metrics and rollouts; "": the name of the part
    does = veto

    @property
    def gives(self) -> RewardScope:
        return self.of.gives

    def refusal(self, **_: Any) -> str | None:
        return next((said for child in self.critical if (said := _needs_whole("veto", child))), None)


def of_tasks(episodes: Sequence[Episode], *, of: Child, tasks: Sequence[str], others: bool) -> list[Reward | None]:
    """r of the answers to these tasks, or with `others` of the answers to all other tasks; None of the rest."""
    mine = [i for i, episode in enumerate(episodes) if (episode.request.problem.task in tasks) != others]
    found = dict(zip(mine, of([episodes[i] for i in mine]), strict=True)) if mine else {}
    return [found.get(i) for i in range(len(episodes))]


class OfTasks(Rewarding):
    """A reward for answers to some tasks alone. Two of them give each kind of task a reward of its own.

    For your own recipes: on a mixture of tasks that are not to be paid alike.

    reward=(OfTasks(of=WellFormed(), tasks=("countdown",)),)
    --mechanism.reward of-tasks --mechanism.reward.0.of well-formed --mechanism.reward.0.tasks countdown
    """

    of: Rewarding = Outcome()
    tasks: tuple[str, ...] = ()
    others: bool = False  # for the answers to all other tasks than these
    does = of_tasks

    def concerns(self, problem: Problem) -> bool:
        return (problem.task in self.tasks) != self.others

    def lacks(self, problem: Problem) -> str | None:
        return self.of.lacks(problem) if self.concerns(problem) else ""

    @property
    def gives(self) -> RewardScope:
        return self.of.gives


def _needs_whole(name: str, child: Rewarding) -> str | None:
    if child.gives == "episode":
        return None
    return (
        f"{name}: {type(child).__name__} has values for each {child.gives}, and a decision about a whole answer needs "
        "one number. Take a reward of the whole answer there."
    )
