"""A solver's findings about a program, as rewards. All of them are in the scores of the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from assay.methods.verified.sirl.vote import Instance, elected
from assay.part import Rewarding
from assay.reward.parts import MALFORMED
from assay.types import Episode, Reward, by_group
from assay.verifiers.answers import count_answers

TOLERANCE = 1e-6  # of two optima, relative to |v| + 1


def _score(episode: Episode, name: str) -> float:
    found = episode.verdict.scores.get(name) if episode.verdict else None
    return 0.0 if found is None else found


def formed(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """weight for an answer that is marked once, and weight for a program that can be read."""
    rewards: list[Reward | None] = []
    for episode in episodes:
        marks = count_answers(episode.text, episode.request.problem.wording)
        once = marks == 1 or (marks == 0 and episode.request.problem.wording == "compact")
        readable = episode.verdict is not None and episode.verdict.kind not in MALFORMED
        rewards.append(Reward("format", weight * (once + readable)))
    return rewards


class Formed(Rewarding):
    """The reward of the form: an answer that is marked exactly once, and a program that can be read.

    reward=(Formed(weight=0.5),)
    --mechanism.reward formed --mechanism.reward.0.weight 0.5
    """

    weight: float = 0.5  # of each of the two
    does = formed
    needs = ("texts",)
    needs_verdict = True


def ran(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """weight if the solver came to an optimum of the program."""
    return [Reward("ran", weight * _score(episode, "ran")) for episode in episodes]


class Ran(Rewarding):
    """The reward of a program that a solver solves, whatever its optimum is.

    reward=(Ran(weight=1.0),)
    --mechanism.reward ran --mechanism.reward.0.weight 1.0
    """

    weight: float = 1.0
    does = ran
    needs = ("texts",)
    needs_verdict = True


def overlap(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """weight * H for a right answer, 0 for another one, with H the share of variables with the gold's value."""
    return [Reward("overlap", weight * _score(episode, "overlap") * episode.right) for episode in episodes]


class Overlap(Rewarding):
    """The bonus for the gold's values of the variables, by name; variables that are 0 in both do not count.

    reward=(Overlap(weight=1.0),)
    --mechanism.reward overlap --mechanism.reward.0.weight 1.0
    """

    weight: float = 1.0
    does = overlap
    needs = ("texts",)
    needs_verdict = True


def voted(episodes: Sequence[Episode], *, right: float, wrong: float) -> list[Reward | None]:
    """`right` for an optimum that equals the optimum of the program that the group elects, else `wrong`."""
    worth = [wrong] * len(episodes)
    for group in by_group(episodes).values():
        instances = [_instance(episode) for episode in group.members]
        chosen = elected(instances)
        if chosen is None:
            continue
        label = instances[chosen]
        assert label is not None
        for i, one in zip(group.places, instances, strict=True):
            if one is not None and abs(one.optimum - label.optimum) < TOLERANCE * (abs(label.optimum) + 1):
                worth[i] = right
    return [Reward("voted", value) for value in worth]


def _instance(episode: Episode) -> Instance | None:
    """The solver's report on an episode's program; None if it was not solved."""
    if not _score(episode, "ran"):
        return None
    names = ("optimum", "maximises", "binaries", "integers")
    optimum, maximises, binaries, integers = (_score(episode, name) for name in names)
    return Instance(optimum, maximises > 0, int(binaries), int(integers))


class Voted(Rewarding):
    """The reward without a reference: for an optimum that equals the optimum of the program that the group elects.

    reward=(Voted(right=1.0),)
    --mechanism.reward voted --mechanism.reward.0.right 1.0
    """

    right: float = 1.0
    wrong: float = 0.0
    does = voted
    needs = ("texts",)
    needs_verdict = True
    outcome = True
