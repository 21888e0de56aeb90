"""The best answer of a group is refined by what the rubric finds missing, and the result joins the group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.hints import answered
from assay.ask.prompts import reworded
from assay.errors import DataError
from assay.memory import Memory
from assay.methods.shaping.rgr_grpo.rubric import steps_in, worked_rubric
from assay.part import Asking, Expansion
from assay.prompt import Prompt
from assay.reward.rubrics import unmet_in
from assay.types import Episode, Problem, Request, by_group

if TYPE_CHECKING:
    from assay.ask import Codec

REFINED = "refined"
ASKING = {
    "compact": "{question} [{hint}] [{unmet}]",
    "natural": "{question}\n\nThis answer was given:\n{hint}\n\nIt does not meet these criteria:\n{unmet}\n\nWrite a "
    "better answer to the problem. It must stand alone: name neither the answer above nor the criteria.",
}
BETWEEN = {"compact": ",", "natural": "\n"}


def asking(prompt: Prompt, text: str, unmet: Sequence[str]) -> Prompt:
    """The prompt for a better answer than this one."""
    return prompt.within(ASKING, hint=text, unmet=BETWEEN[prompt.wording].join(unmet))


def as_long_as(texts: Sequence[str], codec: Codec, tokens: int, between: str) -> list[str]:
    """The first of these texts, as many as fit in so many tokens. Each text counts with the separator before it."""
    found: list[str] = []
    for text in texts:
        tokens -= len(codec.encode(between + text))
        if tokens < 0:
            break
        found.append(text)
    return found


def all_but_one(requests: Sequence[Request], *, group_size: int) -> list[Request]:
    """The requests without the last sample of each group of `group_size`."""
    return [request for request in requests if request.sample < group_size - 1]


class AllButOne(Asking):
    """The last answer of each group is not asked for yet: `refine` of `expand` asks for it."""

    does = all_but_one
    needs = ("texts",)

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if scale.group_size > 2:
            return None
        return f"all-but-one: of {scale.group_size} answers too few are left. Set scale.group_size to 3 or more."


def refine(episodes: Sequence[Episode], *, codec: Codec) -> list[Request]:
    """One more request for each group. y* is the answer with the highest reward. If it meets all criteria, or if no
    answer has criteria, an ordinary request; else a better answer than y* is asked for, and trained under the question.
    The criteria that are shown have at most as many tokens as an answer.
    """
    groups = by_group(episodes).values()
    return [_last(g.members, codec) for g in groups if all(e.request.round == 0 for e in g.members)]


def _last(members: Sequence[Episode], codec: Codec) -> Request:
    judged = [e for e in members if e.reward is not None and unmet_in(e) is not None]
    last = max(members, key=lambda e: e.request.sample).request
    plain = dataclasses.replace(last, sample=last.sample + 1, round=1)
    best = max(judged, key=lambda e: e.reward or 0.0, default=None)
    if best is None:
        return plain
    unmet = as_long_as(unmet_in(best) or (), codec, plain.max_new, BETWEEN[plain.problem.wording])
    if not unmet:
        return plain
    again = dataclasses.replace(plain, tag=REFINED, train_context=plain.context)
    return reworded(again, asking(plain.prompt, best.text, unmet), codec)


class Refine(Expansion):
    """The best answer of a group is shown to the policy with the criteria that it does not meet, and the policy writes
    a better one. It joins the group, tagged `refined`, and is trained under the question alone (RGR-GRPO 2511.12344).
    Criteria are shown as far as they have no more tokens than an answer may have.
    """

    does = refine

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (asking(prompt, "", ()).longer(2 * max_new),)


def taught_refinement(requests: Sequence[Request], memory: Memory, *, codec: Codec) -> list[Request]:
    """Each request is answered by the worked solution. Every other one shows a spoilt solution and what it lacks."""
    result = []
    for request in requests:
        problem = request.problem
        if not problem.solution:
            raise DataError(f"problem {problem.id} of '{problem.task}' has no worked solution to refine an answer by.")
        if request.sample % 2 == 0:
            result.append(answered(request, problem.solution, codec))
            continue
        generator = memory.key("spoil", memory.step, request.id).generator()
        spoilt = spoil(problem, float(generator.random()))
        written = set(steps_in(problem, spoilt))
        unmet = [
            criterion.text for criterion in worked_rubric(problem) if criterion.factual or criterion.text not in written
        ]
        shown = as_long_as(unmet, codec, request.max_new, BETWEEN[problem.wording])
        reading = reworded(request, asking(request.prompt, spoilt, shown), codec)
        result.append(answered(reading, problem.solution, codec))
    return result


def spoil(problem: Problem, share: float) -> str:
    """The worked solution, with each digit behind this share of its characters replaced by the next one."""
    text = problem.solution or ""
    place = int(share * len(text))
    return text[:place] + text[place:].translate(str.maketrans("0123456789", "1234567890"))


class TaughtRefinement(Asking):
    """Imitation of refining, for a model that cannot follow the instruction: a spoilt worked solution and what it lacks
    stand in every other question, and the worked solution is the answer. The plain questions between keep the model
    from forgetting how it answers these.
    """

    solutions = "all"
    imitates = True
    does = taught_refinement

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return Refine().prompts(prompt, problem, codec, max_new)
