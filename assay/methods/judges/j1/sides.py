"""A comparison is asked in both orders, or as two questions about one answer each; the two share one reward."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from assay.ask.prompts import reworded
from assay.part import Asking, Rewarding
from assay.tasks.judging import COMPARE, JUDGE, each_alone, in_other_order, written
from assay.types import Episode, Problem, Request, Reward

if TYPE_CHECKING:
    from assay.ask import Codec

Form = Literal["both-orders", "alone"]


def halves(problem: Problem, form: Form) -> tuple[Problem, Problem]:
    """The two problems that are asked in place of a comparison."""
    return (problem, in_other_order(problem)) if form == "both-orders" else each_alone(problem)


def in_halves(requests: Sequence[Request], *, codec: Codec, form: Form) -> list[Request]:
    """Requests with even sample numbers ask the first half of their comparison, the others the second. The answers to
    a half are a group. Problems that compare nothing are asked as they are.
    """
    halves_of: dict[str, tuple[Problem, Problem]] = {}
    result = []
    for request in requests:
        problem = request.problem
        if not problem.task.startswith(COMPARE):
            result.append(request)
            continue
        pair = halves_of[problem.id] = halves_of.get(problem.id) or halves(problem, form)
        side = request.sample % 2
        half = dataclasses.replace(request, problem=pair[side], group=f"{request.group}/{side}")
        result.append(reworded(half, request.prompt.about(pair[side]), codec))
    return result


class InHalves(Asking):
    """Half of the answers of a group read a comparison in one order, the other half in the other order; or each half
    judges one of the two answers alone (J1 2505.10320).

    Comparisons are problems of tasks `compare:NAME`; other problems of a mixture are asked as they are.
    """

    form: Form = "both-orders"  # what takes the place of a comparison
    does = in_halves

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if scale.group_size >= 4 and scale.group_size % 2 == 0:
            return None
        return (
            f"in-halves: each half of a comparison needs as many answers, and two or more, and scale.group_size is "
            f"{scale.group_size}. Set it to 4 or another even number."
        )


def both(episodes: Sequence[Episode], *, by: Literal["verdict", "order"]) -> list[Reward | None]:
    """1 for both judgements of a pair if both are right (`verdict`), or if the better answer has the higher score
    (`order`, a tie is none); else 0. None if one of the two is missing or was not judged. An answer to a problem that
    has no halves earns 1 if it is right.
    """
    pairs: dict[tuple[str, int], dict[str, Episode]] = {}
    for episode in filter(_halved, episodes):
        group, _, side = episode.request.group.rpartition("/")
        pairs.setdefault((group, episode.request.sample // 2), {})[side] = episode
    result: list[Reward | None] = []
    for episode in episodes:
        alone = Reward("alone", float(episode.right))
        if not _halved(episode):
            result.append(Reward("both", alone.value, parts=(alone,)))
            continue
        pair = pairs[episode.request.group.rpartition("/")[0], episode.request.sample // 2]
        whole = len(pair) == 2 and all(e.verified for e in pair.values())
        agree = whole and (_ordered(*pair.values()) if by == "order" else all(e.right for e in pair.values()))
        result.append(Reward("both", float(agree), parts=(alone,)) if whole else None)
    return result


def _halved(episode: Episode) -> bool:
    return episode.request.problem.task.startswith((JUDGE, COMPARE)) and "/" in episode.request.group


def _ordered(first: Episode, second: Episode) -> bool:
    """Whether the better of two answers has the higher score."""
    said = [written(one) for one in (first, second)]
    wanted = [one.request.problem.spec["score"] for one in (first, second)]
    scores = [one.score for one in said if one is not None]
    return len(scores) == 2 and (scores[0] - scores[1]) * (wanted[0] - wanted[1]) > 0


class Both(Rewarding):
    """A judge is rewarded only if it is right about both halves of a comparison, so that a preference for a place
    never pays (J1 2505.10320). `in-halves` of `ask` makes the halves.

    Its part `alone` says how often single judgements are right.
    """

    by: Literal["verdict", "order"] = "verdict"  # both verdicts are right; or the scores are in the right order
    does = both
    needs_verdict = True
    outcome = True
