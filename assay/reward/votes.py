"""Rewards by the vote of a group, and of the group of a related problem. No reference answer is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward
from assay.verifiers.elections import answer_of, majority

Members = Sequence[int]


def groups_of(episodes: Sequence[Episode]) -> dict[str, list[int]]:
    """Name of the group -> its members, as indices."""
    found: dict[str, list[int]] = {}
    for i, episode in enumerate(episodes):
        found.setdefault(episode.request.group, []).append(i)
    return found


def paired_groups(episodes: Sequence[Episode]) -> dict[str, str]:
    """Name of a group -> the group it is paired with: the first one whose problem is the parent of its own, or a child.

    A problem names its parents (`Problem.parents`), for example the problem that it says in other words.
    """
    first = {name: episodes[members[0]].request.problem for name, members in groups_of(episodes).items()}
    found: dict[str, str] = {}
    for name, problem in first.items():
        for other, theirs in first.items():
            if problem.id in theirs.parents or theirs.id in problem.parents:
                found.setdefault(name, other)
    return found


def _voted(
    name: str, episodes: Sequence[Episode], voters: Mapping[str, Members], worth: Callable[[bool], float]
) -> list[Reward | None]:
    answers = [answer_of(episode) for episode in episodes]
    elected = {group: majority([answers[i] for i in members]) for group, members in voters.items()}
    result: list[Reward | None] = []
    for episode, answer in zip(episodes, answers, strict=True):
        winner = elected.get(episode.request.group)
        agrees = answer is not None and answer == winner
        result.append(None if winner is None else Reward(name, worth(agrees)))
    return result


def group_vote(episodes: Sequence[Episode], *, agrees: float, differs: float) -> list[Reward | None]:
    """`agrees` if the answer is the one that most answers of the group give, else `differs`."""
    return _voted("group-vote", episodes, groups_of(episodes), lambda same: agrees if same else differs)


class GroupVote(Rewarding):
    """The majority of the group stands for the right answer (TTRL 2504.16084). A group without answers has no reward.

    reward=(GroupVote(),)
    --mechanism.reward group-vote
    """

    agrees: float = 1.0  # the reward of an answer that most of the group give
    differs: float = 0.0  # of any other answer
    does = group_vote
    outcome = True


def partner_vote(episodes: Sequence[Episode], *, agrees: float, differs: float) -> list[Reward | None]:
    """`agrees` if the answer is the one that most answers of the paired group give, else `differs`."""
    members, pairs = groups_of(episodes), paired_groups(episodes)
    voters = {group: members[other] for group, other in pairs.items()}
    return _voted("partner-vote", episodes, voters, lambda same: agrees if same else differs)


class PartnerVote(Rewarding):
    """The majority of the paired group stands for the right answer (Co-rewarding 2508.00410): each wording of a problem
    is judged by the answers to the other one. A group without a partner has no reward.

        reward=(PartnerVote(),)
        --mechanism.reward partner-vote
    """

    agrees: float = 1.0  # the reward of an answer that most of the other group give
    differs: float = 0.0  # of any other answer
    does = partner_vote
    outcome = True
