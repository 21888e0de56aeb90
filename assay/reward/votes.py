"""Rewards by the vote of a group, or of several roles. No reference answer is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward, by_group
from assay.verifiers.elections import answer_of, majority, top_share

Members = Sequence[int]


def voted(
    name: str, episodes: Sequence[Episode], voters: Mapping[str, Members], worth: Callable[[bool], float]
) -> list[Reward | None]:
    """The worth of agreeing with the answer that most of the voters of a group give; None where they give none."""
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
    voters = {name: group.places for name, group in by_group(episodes).items()}
    return voted("group-vote", episodes, voters, lambda same: agrees if same else differs)


class GroupVote(Rewarding):
    """The majority of the group stands for the right answer (TTRL 2504.16084). A group without answers has no reward.

    reward=(GroupVote(),)
    --mechanism.reward group-vote
    """

    agrees: float = 1.0  # the reward of an answer that most of the group give
    differs: float = 0.0  # of any other answer
    does = group_vote
    outcome = True


def collective_vote(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], gamma: float, voters: Sequence[str]
) -> list[Reward | None]:
    """1 if the answer is argmax_a sum_n c_n^gamma n_a of its question, else 0. n_a counts the answers a of role n, and
    c_n is the share of the most frequent one (RLCCF 2508.12338). Of equal answers the first is elected.
    """
    elected = {draw: _elected(said, gamma) for draw, said in _by_question(everyone, voters).items()}
    result: list[Reward | None] = []
    for episode in episodes:
        label = elected.get(episode.request.draw)
        agrees = label is not None and answer_of(episode) == label
        result.append(None if label is None else Reward("collective-vote", float(agrees)))
    return result


def _by_question(everyone: Sequence[Episode], voters: Sequence[str]) -> dict[int, dict[str, list[str | None]]]:
    """The ordinal of a draw in the step -> role -> its answers."""
    found: dict[int, dict[str, list[str | None]]] = {}
    for episode in everyone:
        if not voters or episode.request.role in voters:
            mine = found.setdefault(episode.request.draw, {})
            mine.setdefault(episode.request.role, []).append(answer_of(episode))
    return found


def _elected(said: Mapping[str, Sequence[str | None]], gamma: float) -> str | None:
    weight: dict[str, float] = {}
    for answers in said.values():
        trust = top_share(answers) ** gamma
        for answer in answers:
            if answer is not None:
                weight[answer] = weight.get(answer, 0.0) + trust
    return max(weight, key=weight.__getitem__, default=None)


class CollectiveVote(Rewarding):
    """Several roles vote on each question, each with the weight c^gamma, c the share of its most frequent answer (RLCCF
    2508.12338). A question that nobody answers has no reward.

    With one role as `voters` its majority judges the others (a teacher).

        reward=(CollectiveVote(voters=("teacher",)),)
        --mechanism.reward collective-vote --mechanism.reward.0.voters teacher
    """

    gamma: float = 1.0  # 0: every answer has one vote
    voters: tuple[str, ...] = ()  # the roles that vote; (): all
    does = collective_vote
    outcome = True
