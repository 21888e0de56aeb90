"""The prompts of two players: one writes an abstraction of a problem, the other solves the problem with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.hints import answered, hint_of, holds_answer, sometimes
from assay.ask.prompts import reworded
from assay.errors import DataError
from assay.part import Asking, Count, Proportion, scales_with
from assay.prompt import Prompt
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.memory import Memory

ROLE = "abstraction"
ASKING = {
    "compact": "{question} ?",
    "natural": "{question}\n\nDo not solve this. Write a short hint to it: a technique, a lemma or a pitfall.",
}
JOINT = {
    "compact": "{question} !",
    "natural": "First write a short hint to the following, a technique, a lemma or a pitfall but not the answer, "
    "between <hint> and </hint>. Then use it and solve the problem.\n\n{question}",
}
GIVEN = {"compact": "{question} [{hint}]", "natural": "<hint>\n{hint}\n</hint>\n\n{question}"}


def to_abstract(prompt: Prompt) -> Prompt:
    """The prompt that asks for an abstraction of the question."""
    return prompt.within(ASKING, instead=True)


def abstract(
    requests: Sequence[Request], *, codec: Codec, num: int, longest: int, bare: int, bare_every: int
) -> list[Request]:
    """Requests for abstractions, then requests for answers without one, tagged `bare`, in groups of their own."""
    asked, plain = [], []
    for request in requests:
        alone = bare_every > 0 and request.draw % bare_every == bare_every - 1
        if request.sample < num and not alone:
            changes: dict[str, Any] = {"group": f"{request.group}/z", "role": ROLE, "tag": ROLE}
            writing = dataclasses.replace(request, max_new=min(longest, request.max_new), **changes)
            asked.append(reworded(writing, to_abstract(request.prompt), codec))
        if alone or request.sample < bare:
            plain.append(dataclasses.replace(request, group=f"{request.group}/bare", tag="bare"))
    return asked + plain


class Abstract(Asking):
    """Asks for abstractions first; the part `solve-with` asks for answers with them (RLAD 2510.02263).

    ask=(Abstract(num=1),)
    --mechanism.ask abstract --mechanism.ask.0.num 1
    """

    num: Count = 4  # number of abstractions of each problem
    longest: Count = 1024  # the most tokens of an abstraction; the limit of answers holds too
    bare: int = 0  # answers to each problem without an abstraction
    bare_every: int = 0  # one in so many problems is solved without any abstraction; 0: none
    does = abstract

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return to_abstract(prompt), prompt.within(GIVEN, hint="").longer(min(self.longest, max_new))


def write_then_solve(requests: Sequence[Request], *, codec: Codec) -> list[Request]:
    """The requests, each for an abstraction followed by the answer."""
    return [reworded(one, one.prompt.within(JOINT), codec) for one in requests]


class WriteThenSolve(Asking):
    """Asks for the abstraction and the answer in one text, which earns one reward (RLAD-Joint).

    ask=(WriteThenSolve(),)
    --mechanism.ask write-then-solve
    """

    does = write_then_solve

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.within(JOINT),)


def distilled(requests: Sequence[Request], *, codec: Codec, share: float, shortest: int, least: int) -> list[Request]:
    """Requests for abstractions that are answered already: by the hint or the first steps of the solution."""
    result = []
    for request in requests:
        problem = request.problem
        if not problem.hints and not problem.solution:
            raise DataError(
                f"problem {problem.id} of '{problem.task}' has neither a hint nor a worked solution to begin with. To "
                "leave that stage out: --stages.0.share 0, with a model that can write hints."
            )
        text = hint_of(problem, share=share)
        if len(text) >= max(1, shortest) and not holds_answer(problem, text, least=least):
            result.append(answered(request, text, codec))
    return result


class Distilled(Asking):
    """Answers each request for an abstraction by the problem's own hint, else by this share of its worked steps.

    An abstraction shorter than `shortest` characters, or one that contains the answer, is left out.

        ask=(Distilled(share=0.5),)
        --stages.0.mechanism.ask distilled --stages.0.mechanism.ask.0.share 0.5
    """

    solutions = "all"

    share: Proportion = 0.5
    shortest: int = scales_with("max_new", 40, at=16384)
    least: int = 3  # characters; a shorter answer may occur in the abstraction by chance
    does = distilled


def teach_abstractions(requests: Sequence[Request], memory: Memory, *, codec: Codec, share: float) -> list[Request]:
    """The requests, some of them for abstractions; a problem whose solution has a single step is asked as before."""
    result = []
    for request in requests:
        hint = sometimes(request, memory, "abstractions", share=share)
        asked = reworded(request, to_abstract(request.prompt), codec)
        result.append(answered(asked, hint, codec) if hint else request)
    return result


class TeachAbstractions(Asking):
    """For training base models: a `share` of the requests asks for an abstraction, which the first steps of the
    solution answer.

        ask=(TeachAbstractions(share=0.3),)
        --mechanism.ask teach-abstractions --mechanism.ask.0.share 0.3
    """

    share: Proportion = 0.3
    does = teach_abstractions

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (to_abstract(prompt),)
