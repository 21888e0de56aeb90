"""Hints: the first steps of a worked solution, written into the prompt or given as a prefix of the answer."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask.prompts import reworded
from assay.errors import DataError
from assay.memory import Memory
from assay.part import Asking, Proportion
from assay.prompt import Prompt
from assay.tasks.task import steps_of
from assay.types import Origin, Problem, Request, Segment
from assay.verifiers.answers import find_answer

if TYPE_CHECKING:
    from assay.ask import Codec


def hint_of(problem: Problem, *, share: float) -> str:
    """The problem's own hint if it has one, else the first `share` of the steps of its worked solution: at least one
    step, never the last one. '' if the problem has neither.
    """
    if problem.hints:
        return problem.hints[0]
    steps = steps_of(problem)
    count = min(max(1, round(share * len(steps))), len(steps) - 1) if share > 0 else 0
    return "".join(steps[:count]).rstrip(",|\n") if count > 0 else ""


def written_by_others(ids: np.ndarray) -> Segment:
    """A segment of tokens that the policy did not write, for the prefix of an answer."""
    return Segment(ids=ids, origin=np.full(len(ids), Origin.INJECTED, dtype=np.int8))


def sometimes(request: Request, memory: Memory, purpose: str, *, share: float) -> str:
    """With probability `share` a hint: a random number of the first steps of the solution, never all. Else ''."""
    draw, length = memory.key(purpose, memory.step, request.id).generator().random(2).tolist()
    return hint_of(request.problem, share=length) if draw < share else ""


def hinted(requests: Sequence[Request], memory: Memory, *, codec: Codec, share: float) -> list[Request]:
    """Each request gets a hint in its prompt with probability `share`."""
    result = []
    for request in requests:
        hint = sometimes(request, memory, "hinted", share=share)
        result.append(reworded(request, request.prompt.with_hint(hint), codec) if hint else request)
    return result


class Hinted(Asking):
    """Some requests have a hint in their prompt: the first steps of the worked solution, a random number, never all.

    For your own recipes: where a model is to learn to use hints, as the bases of some studies are.

    ask=(Hinted(share=0.3),)
    --mechanism.ask hinted --mechanism.ask.0.share 0.3
    """

    share: Proportion = 0.3  # the probability that a request has a hint
    does = hinted

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.with_hint(hint_of(problem, share=1.0)) if self.share > 0 else prompt,)


# wording -> a regular expression for one line of a solution with its end
ENDS = {"natural": r"[^\n]*\n|[^\n]+", "compact": r"[^,#]*[,#]|[^,#]+"}


def lines_of(problem: Problem) -> list[str]:
    """The lines of the worked solution; in compact wording a line ends at a comma and before the answer. Joined, the
    lines are the solution again. Each line is to be encoded by itself, so that no token reaches over a cut.
    """
    if not problem.solution:
        raise DataError(f"problem {problem.id} of '{problem.task}' has no worked solution to start inside of.")
    return re.findall(ENDS[problem.wording], problem.solution)


def answered(request: Request, text: str, codec: Codec) -> Request:
    """The request with this text and an end token as its whole answer: the policy generates nothing."""
    end = np.array([min(codec.end_ids)], dtype=np.int32)
    return dataclasses.replace(
        request, prefix=(written_by_others(np.concatenate([codec.encode(text), end])),), max_new=0
    )


def holds_answer(problem: Problem, text: str, *, least: int = 1) -> bool:
    """Whether the text contains the problem's answer. An answer of fewer than `least` characters never counts, because
    it may be in any text by chance.
    """
    answer = find_answer(problem.solution or "", problem.wording)
    return answer is not None and len(answer) >= max(1, least) and answer in text
