"""Several experts: one policy under different instructions, each with a group of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.hints import answered
from assay.ask.prompts import reworded
from assay.errors import DataError
from assay.part import Asking, Expansion
from assay.prompt import Prompt
from assay.tasks import task
from assay.types import Episode, Problem, Request, by_group

if TYPE_CHECKING:
    from assay.ask import Codec

GOLD = "gold"
MANNERS = (
    {"compact": "{question}", "natural": "{question}"},
    {"compact": "{question} (", "natural": "Work it out in small steps, and check each before the next.\n\n{question}"},
    {"compact": "{question} )", "natural": "Look first at what is asked, and work towards it.\n\n{question}"},
)
"""The instruction of each expert. The first has none: held-out problems are asked as it is asked."""


def expert_of(request: Request) -> int:
    """The number of the expert who answers, read from the group; -1 for a request of no expert."""
    _, mark, number = request.group.partition("/e")
    return int(number.split("/")[0]) if mark else -1


def as_experts(requests: Sequence[Request], *, codec: Codec, experts: int) -> list[Request]:
    """The requests of a group go to the experts in turn; the answers of an expert are a group."""
    result = []
    for request in requests:
        expert = request.sample % experts
        own = dataclasses.replace(request, group=f"{request.group}/e{expert}")
        result.append(reworded(own, own.prompt.within(MANNERS[expert]), codec))
    return result


class AsExperts(Asking):
    """Each group becomes several: the same problem under the instruction of each expert, whose answers are compared
    with each other alone (MEML-GRPO 2508.09670).
    """

    experts: int = 3  # 2 or 3
    does = as_experts

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return [prompt.within(manner) for manner in MANNERS[: self.experts]]

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if not 2 <= self.experts <= len(MANNERS):
            return f"as-experts: there are instructions for 2 to {len(MANNERS)} experts, not {self.experts}."
        if scale.group_size >= 2 * self.experts:
            return None
        return (
            f"as-experts: {scale.group_size} answers are too few for {self.experts} experts with two each. Set "
            f"scale.group_size to {2 * self.experts} or more."
        )


def taught_experts(requests: Sequence[Request], *, codec: Codec) -> list[Request]:
    """Each expert's requests are answered by a worked solution of its own, if the problem has several."""
    result = []
    for request in requests:
        traces = task(request.problem.task).traces(request.problem)
        if not traces:
            problem = request.problem
            raise DataError(f"problem {problem.id} of '{problem.task}' has no worked solution to teach.")
        result.append(answered(request, traces[expert_of(request) % len(traces)], codec))
    return result


class TaughtExperts(Asking):
    """Imitation: the answers of each expert are one of the problem's worked solutions, another one for each expert as
    far as there are several.
    """

    solutions = "all"
    imitates = True
    does = taught_experts


def gold_after_failure(episodes: Sequence[Episode], *, codec: Codec, more_than: float) -> list[Request]:
    """A worked solution under the instruction of each expert of whose judged answers more than this share failed."""
    groups = by_group(episodes)
    asked = []
    for name, group in groups.items():
        request, judged = group.members[0].request, group.right
        if expert_of(request) < 0 or request.tag == GOLD or f"{name}/{GOLD}" in groups or not request.problem.solution:
            continue
        if judged.count(False) > more_than * len(judged):
            place = {"group": f"{name}/{GOLD}", "tag": GOLD, "sample": expert_of(request)}
            gold = dataclasses.replace(request, **place, round=request.round + 1, prefix=())
            asked.append(answered(gold, request.problem.solution, codec))
    return asked


class GoldAfterFailure(Expansion):
    """An expert that failed nearly always is shown the worked solution, to be imitated beside the step (MEML-GRPO
    2508.09670).
    """

    solutions = "some"

    more_than: float = 6 / 8  # the share of failures from which on the solution is shown
    does = gold_after_failure
    needs_verdict = True
