"""Critiques of many answers to one problem, written by a script that knows the solution."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.hints import ENDS, answered, lines_of
from assay.ask.prompts import reworded
from assay.memory import Memory
from assay.part import Count, Expansion, Source
from assay.prompt import Prompt
from assay.source.epochs import set_of
from assay.types import Episode, Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.source import Pool

CRITIQUE = "critique"
ASKING = {
    "compact": "{question} [{hint}] ~",
    "natural": "{question}\n\nThis answer was given:\n{hint}\n\nJudge it step by step, and say whether it is right.",
}
RIGHT = {"compact": "+", "natural": "Every step holds. The answer is right."}
WRONG = {
    "compact": "-{number}:{line}",
    "natural": "Step {number} is wrong. It should read: {line}\nThe answer is wrong.",
}


def one_problem(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    """`count` times the same problem, which depends on pool and seed alone."""
    (problem,) = set_of(pool, memory.seed, 1)
    return [problem] * count


class OneProblem(Source):
    """Draws one problem throughout the run; another seed has another problem."""

    does = one_problem
    needs = ("texts",)


def critique_of(problem: Problem, text: str, *, right: bool) -> str:
    """The critique of an answer: that it is right, or the number of its first line that differs from the worked
    solution, and that line of the solution; '' for the line if the solution has ended.
    """
    if right:
        return RIGHT[problem.wording]
    wanted = [line.strip() for line in lines_of(problem)]
    found = [line.strip() for line in re.findall(ENDS[problem.wording], text)]
    same = 0
    while same < min(len(wanted), len(found)) and wanted[same] == found[same]:
        same += 1
    line = wanted[same] if same < len(wanted) else ""
    return WRONG[problem.wording].format(number=same + 1, line=line)


def to_criticise(prompt: Prompt, text: str) -> Prompt:
    """The prompt that asks for the critique of an answer to the question."""
    return prompt.within(ASKING, instead=True, hint=text)


def criticise(episodes: Sequence[Episode], *, codec: Codec, most: int) -> list[Request]:
    """A request for the critique of each of the first `most` different answers, answered already by the script."""
    if any(episode.request.tag == CRITIQUE for episode in episodes):
        return []
    different: dict[str, Episode] = {}
    for episode in episodes:
        if episode.text.strip() and episode.verified:
            different.setdefault(episode.text.strip(), episode)
    asked = []
    for text, episode in list(different.items())[:most]:
        request = dataclasses.replace(
            episode.request, tag=CRITIQUE, group=f"{episode.request.group}/{CRITIQUE}", round=episode.request.round + 1
        )
        problem = request.problem
        reading = reworded(request, to_criticise(request.prompt, text), codec)
        asked.append(answered(reading, critique_of(problem, text, right=episode.right), codec))
    return asked


class Criticise(Expansion):
    """Different answers of the step get a critique each, as a text to be imitated (CFT 2506.03295).

    The critique names the first line that differs from the worked solution. Answers that differ from it and are right
    are called right.
    """

    solutions = "all"

    most: Count = 100  # different answers that are criticised
    does = criticise
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        script = WRONG[problem.wording].format(number=99, line=max(lines_of(problem), key=len).strip())
        return (to_criticise(prompt, "").longer(max(max_new, len(codec.encode(script)) + 1)),)
