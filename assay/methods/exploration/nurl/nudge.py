"""Problems that every answer fails get a hint, which the policy itself writes; one answer of the new group goes
without.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from assay.ask.hints import hint_of, holds_answer
from assay.ask.prompts import reworded
from assay.part import Count, Expansion, Proportion
from assay.prompt import Prompt
from assay.types import Episode, Problem, Request, by_group
from assay.verifiers.answers import find_answer

if TYPE_CHECKING:
    from assay.ask import Codec

ROLE = "hinter"
NUDGED = "nudged"
ASKING = {
    "compact": "{question} [{answer}] ?",
    "natural": "{question}\n\nThe answer is {answer}. Name the idea that one must know to find it, in a sentence or "
    "two, in general terms: neither the answer nor the steps.",
}


def nudge(
    episodes: Sequence[Episode],
    *,
    codec: Codec,
    group_size: int,
    writer: str,
    longest: int,
    share: float,
    least: int,
) -> list[Request]:
    """For each group without a right answer a hint is asked for, if the policy writes it, and then a group of
    group_size - 1 answers with the hint and one without it. A group is nudged once.
    """
    groups = by_group(episodes)
    asked: list[Request] = []
    for name, group in groups.items():
        first, judged = group.members[0].request, group.right
        if first.role == ROLE or first.tag == NUDGED or f"{name}/{NUDGED}" in groups or not judged or any(judged):
            continue
        written = groups.get(f"{name}/{ROLE}")
        if writer == "policy" and written is None:
            asked += _writing(first, codec, longest)
            continue
        hint = hint_of(first.problem, share=share) if written is None else hint_in(written.members[0], least=least)
        if hint:
            asked += _answering(first, hint, codec, group_size)
    return asked


class Nudge(Expansion):
    """A group in which all answers are wrong is asked again: all but one with a hint in the question, trained as they
    were asked (NuRL 2509.25666).

    The policy writes the hint, from question and answer; a hint that was cut, or that contains the answer, is not used.
    With writer=solution it is the problem's own hint, else the first steps of the worked solution.
    """

    solutions = "some"

    writer: Literal["policy", "solution"] = "policy"
    longest: Count = 512  # the most tokens of a hint that the policy writes; the limit of answers holds too
    share: Proportion = 0.5  # of the steps of the worked solution, with writer=solution
    least: int = 3  # characters; a shorter answer may occur in a hint by chance
    does = nudge
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        if self.writer == "solution":
            return (prompt.with_hint(hint_of(problem, share=self.share)),)
        asking = prompt.within(ASKING, instead=True, answer=answer_of(problem))
        return asking, prompt.with_hint("?").longer(min(self.longest, max_new))


def answer_of(problem: Problem) -> str:
    """The answer that the worked solution gives; '' if there is none."""
    return find_answer(problem.solution or "", problem.wording) or ""


def hint_in(written: Episode, *, least: int) -> str:
    """The hint of this text; '' if it was cut or contains the answer."""
    text = written.text.strip()
    return text if written.finish == "stop" and not holds_answer(written.request.problem, text, least=least) else ""


def _writing(first: Request, codec: Codec, longest: int) -> list[Request]:
    """A request for the hint of a problem; none for a problem without a known answer."""
    if not (answer := answer_of(first.problem)):
        return []
    place = {"group": f"{first.group}/{ROLE}", "role": ROLE, "tag": ROLE, "sample": 0, "round": first.round + 1}
    writing = dataclasses.replace(first, max_new=min(longest, first.max_new), **place)
    return [reworded(writing, first.prompt.within(ASKING, instead=True, answer=answer), codec)]


def _answering(first: Request, hint: str, codec: Codec, group_size: int) -> list[Request]:
    """The new group. Its one answer without the hint comes last; it is a second try at a problem that was chosen for
    its failure, and counts as helped, so that pass rates do not count it.
    """
    place = {"group": f"{first.group}/{NUDGED}", "tag": NUDGED, "round": first.round + 2}
    again = [dataclasses.replace(first, **place, sample=sample) for sample in range(group_size)]
    prompt = first.prompt.with_hint(hint)
    bare = dataclasses.replace(again[-1], train_context=first.context)
    return [*(reworded(request, prompt, codec) for request in again[:-1]), bare]
