"""The vote of the group of a related problem."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.reward.votes import voted
from assay.types import Episode, Reward, by_group


def paired_groups(episodes: Sequence[Episode]) -> dict[str, str]:
    """Name of a group -> the group it is paired with: the first one whose problem is the parent of its own, or a child.

    A problem names its parents (`Problem.parents`), for example the problem that it says in other words.
    """
    first = {name: group.members[0].request.problem for name, group in by_group(episodes).items()}
    found: dict[str, str] = {}
    for name, problem in first.items():
        for other, theirs in first.items():
            if name != other and (problem.id in theirs.parents or theirs.id in problem.parents):
                found.setdefault(name, other)
    return found


def partner_vote(episodes: Sequence[Episode], *, agrees: float, differs: float) -> list[Reward | None]:
    """`agrees` if the answer is the one that most answers of the paired group give, else `differs`."""
    groups, pairs = by_group(episodes), paired_groups(episodes)
    voters = {name: groups[other].places for name, other in pairs.items()}
    return voted("partner-vote", episodes, voters, lambda same: agrees if same else differs)


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
