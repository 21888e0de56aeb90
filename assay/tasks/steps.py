"""Steps of a chain of thought, each with a verdict of its own: exactly verified, as the answer is.

A task that can verify steps has a `Reading`. The code here is the same for every task: it finds the steps of a
response, their verdicts, and whether the final answer follows from what the steps say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.verifiers.answers import Wording, find_answer

StepVerdict = Literal["valid", "useless", "wrong"]
"""`valid`: true, derivable from what stands before it, and needed for the answer; `useless`: true, but not needed;
`wrong`: false, not derivable from what stands before it, or not readable.
"""

Ending = Literal["faithful", "contrary", "shortcut", "none"]
"""`faithful`: the final answer is what the steps say, right or wrong; `contrary`: the steps say something else;
`shortcut`: the steps do not reach an answer, and one is given; `none`: no answer is given.
"""

Read = tuple[Sequence[StepVerdict], Ending]
Reading = Callable[[Mapping[str, Any], Sequence[str], str | None], Read]
"""(spec, texts of the steps, the answer or None) -> a verdict for each step, and the ending. It never raises."""

ReadingMany = Callable[[Sequence[tuple[Mapping[str, Any], Sequence[str], str | None]]], Sequence[Read | None]]
"""The same for many responses at once, where steps are run. None is an error of ours: nothing is known of the steps."""

STEP_MARKS: dict[Wording, str] = {"compact": ",|", "natural": "\n"}  # the characters that end a step of a solution
TAKE_BACK = "~"  # a step that says that the step before it is wrong
_CLAIMS = re.compile(r"[=0-9~<]")  # a line without any of these claims nothing that could be verified
_NUMBERS = re.compile(r"[0-9 ,]*")
_PIECES = {wording: re.compile(f"[^{re.escape(marks)}]+") for wording, marks in STEP_MARKS.items()}


@dataclass(frozen=True)
class Step:
    """A step of a response.

    Step(0, 5, "valid")  # of the response "3+9=2,2*4=1#1"
    """

    begin: int  # the step is response[begin:end]
    end: int
    verdict: StepVerdict


@dataclass(frozen=True)
class Chain:
    """The steps of a response in their order, and how they end.

    Chain((Step(0, 5, "valid"), Step(6, 11, "wrong")), "faithful").share("valid")  # 0.5
    """

    steps: tuple[Step, ...]
    ending: Ending

    def share(self, verdict: StepVerdict) -> float:
        """The share of the steps with this verdict; 0 if there are no steps."""
        return sum(step.verdict == verdict for step in self.steps) / max(1, len(self.steps))


def chain(reading: Reading, spec: Mapping[str, Any], text: str, wording: Wording) -> Chain:
    """The chain of thought in a response, read by a task's `reading`."""
    spans, steps, answer = parts(text, wording)
    return _chained(spans, reading(spec, steps, answer))


def chains(reading: ReadingMany, asked: Sequence[tuple[Mapping[str, Any], str, Wording]]) -> list[Chain | None]:
    """The chains of thought in responses to (spec, text, wording), read all at once; None where reading failed."""
    divided_ones = [parts(text, wording) for _, text, wording in asked]
    found = reading([(spec, steps, answer) for (spec, *_), (_, steps, answer) in zip(asked, divided_ones, strict=True)])
    told = zip(divided_ones, found, strict=True)
    return [None if read is None else _chained(spans, read) for (spans, *_), read in told]


def _chained(spans: Sequence[tuple[int, int]], read: Read) -> Chain:
    verdicts, ending = read
    return Chain(tuple(Step(*span, verdict) for span, verdict in zip(spans, verdicts, strict=True)), ending)


def parts(text: str, wording: Wording) -> tuple[list[tuple[int, int]], list[str], str | None]:
    """The places of the steps of a response, their texts, and the final answer or None."""
    body, answer = divided(text, wording)
    spans = spans_of(body, wording)
    return spans, [body[begin:end] for begin, end in spans], answer


def divided(text: str, wording: Wording) -> tuple[str, str | None]:
    """(the text before the final answer of a response; the answer, or None).

    In compact wording, a response without '#' is an answer alone, or, if it has the mark of a step and more than
    numbers, steps alone. In natural wording, the line of the answer belongs to the answer.
    """
    if wording == "compact":
        body, mark, answer = text.rpartition("#")
        if not mark and not _is_answer_alone(text):
            return text, None
        return body, answer.strip() or None
    answer = find_answer(text, "natural")
    if answer is None:
        return text, None
    return text[: text.rfind("\n", 0, text.rfind("\\boxed{")) + 1], answer or None


def behind_thought(text: str, wording: Wording) -> int | None:
    """The place at which the reasoning of a response has ended: behind the last `</think>`, in compact wording behind
    the last '#'. None if the reasoning has no such end. In compact wording, a response without '#' that has numbers
    alone, or no mark of a step, is an answer alone and has no reasoning.
    """
    mark = "#" if wording == "compact" else "</think>"
    place = text.rfind(mark)
    if place >= 0:
        return place + len(mark)
    return 0 if wording == "compact" and _is_answer_alone(text) else None


def _is_answer_alone(text: str) -> bool:
    """Whether a compact response without '#' is an answer alone."""
    return _NUMBERS.fullmatch(text) is not None or not any(mark in text for mark in STEP_MARKS["compact"])


def spans_of(body: str, wording: Wording) -> list[tuple[int, int]]:
    """(begin, end) of each step, without the space around it. In natural wording, lines that claim nothing are no
    steps.
    """
    found = []
    for match in _PIECES[wording].finditer(body):
        piece = match[0].strip()
        if piece and (wording == "compact" or _CLAIMS.search(piece)):
            begin = match.start() + match[0].index(piece)
            found.append((begin, begin + len(piece)))
    return found
