"""A partial solution as part of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from assay.ask.hints import holds_answer
from assay.ask.prompts import reworded
from assay.errors import DataError
from assay.memory import Memory
from assay.part import Asking, Proportion, Within, scales_with
from assay.prompt import Prompt
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec

TITLE = "## Hint."


def partial_solution(
    requests: Sequence[Request], *, codec: Codec, percent: float, unit: str, least: int, leaks: str
) -> list[Request]:
    """The requests with the hint after the question; without a hint if none is left after the cut."""
    result = []
    for request in requests:
        text = given_hint(request.problem, percent=percent, unit=unit, least=least, leaks=leaks)
        result.append(reworded(request, request.prompt.with_hint(text, title=TITLE), codec) if text else request)
    return result


class PartialSolution(Asking):
    """Adds the first `percent` of the worked solution to the question, in training too (QuestA 2507.13266).

    ask=(PartialSolution(percent=50),)
    --mechanism.ask partial-solution --mechanism.ask.0.percent 50
    """

    solutions = "all"

    percent: Annotated[float, Within(0, 100)] = 50.0
    unit: Literal["characters", "steps"] = "characters"  # where the solution may be cut
    least: int = scales_with("max_new", 10, at=24000)  # characters: a shorter hint is left out
    leaks: Literal["keep", "bare"] = "keep"  # keep or leave out a hint that contains the answer
    does = partial_solution

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        if problem.solution is None:
            return (prompt,)
        text = given_hint(problem, percent=self.percent, unit=self.unit, least=self.least, leaks=self.leaks)
        return (prompt.with_hint(text, title=TITLE),)


def given_hint(problem: Problem, *, percent: float, unit: str, least: int, leaks: str) -> str:
    """The hint for the question; '' if the hint would be too short, or contains the answer and leaks is `bare`."""
    text = hint(problem, percent=percent, unit=unit)
    return "" if len(text) < max(1, least) or (leaks == "bare" and holds_answer(problem, text)) else text


def hint(problem: Problem, *, percent: float, unit: str) -> str:
    """The first floor(percent / 100 * |s|) characters of the solution s, with unit `steps` up to the
    last whole step.
    """
    if problem.solution is None:
        raise DataError(
            f"problem {problem.id} of '{problem.task}' has no worked solution from which a hint could be taken."
        )
    text = problem.solution[: int(len(problem.solution) * percent / 100)]
    if unit == "characters":
        return text
    return text[: 1 + max(text.rfind("\n"), text.rfind(",") if problem.wording == "compact" else -1)]


def cut_anywhere(requests: Sequence[Request], memory: Memory, *, codec: Codec, share: float) -> list[Request]:
    """A share of the requests with a beginning of the solution in the prompt."""
    result = []
    for request in requests:
        draw, length = memory.key("cut-anywhere", memory.step, request.id).generator().random(2).tolist()
        text = hint(request.problem, percent=100 * length, unit="characters") if draw < share else ""
        result.append(reworded(request, request.prompt.with_hint(text), codec) if text else request)
    return result


class CutAnywhere(Asking):
    """A `share` of the requests has a beginning of the worked solution in its prompt, cut at any character.

    ask=(CutAnywhere(share=0.3),)
    --mechanism.ask cut-anywhere --mechanism.ask.0.share 0.3
    """

    solutions = "all"

    share: Proportion = 0.3
    does = cut_anywhere

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.with_hint(problem.solution or "") if self.share > 0 else prompt,)
