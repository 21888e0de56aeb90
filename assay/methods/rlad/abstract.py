"""Two players: one writes an abstraction of a problem, the other solves the problem with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.ask.hints import answered, hint_of, holds_answer, lengthened, reworded, sometimes
from assay.errors import DataError
from assay.part import Asking, scales_with
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


def abstract(
    requests: Sequence[Request], *, codec: Codec, num: int, longest: int, bare: int, bare_every: int
) -> list[Request]:
    """The requests for abstractions, then the answers that need none, tagged `bare`, in groups of their own."""
    asked, plain = [], []
    for request in requests:
        alone = bare_every > 0 and request.draw % bare_every == bare_every - 1
        if request.sample < num and not alone:
            changes: dict[str, Any] = {"group": f"{request.group}/z", "role": ROLE, "tag": ROLE}
            writing = dataclasses.replace(request, max_new=min(longest, request.max_new), **changes)
            asked.append(reworded(writing, worded(ASKING, request.problem), codec, hinted=False))
        if alone or request.sample < bare:
            plain.append(dataclasses.replace(request, group=f"{request.group}/bare", tag="bare"))
    return asked + plain


@dataclass(frozen=True)
class Abstract(Asking):
    """Abstractions are asked for first; the answers follow when they are there (RLAD 2510.02263).

        ask=(Abstract(num=1),)
        --mechanism.ask abstract --mechanism.ask.0.num 1
    """

    num: int = 4  # abstractions a problem
    longest: int = 1024  # tokens of one, where an answer may have as many
    bare: int = 0  # answers a problem without any
    bare_every: int = 0  # every so many problems all answers are without; 0: never
    does = abstract

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        asked = lengthened(problem, worded(ASKING, problem), codec)
        given = lengthened(problem, worded(GIVEN, problem), codec) + min(self.longest, max_new)
        return max(asked, given)


def write_then_solve(requests: Sequence[Request], *, codec: Codec) -> list[Request]:
    return [reworded(one, worded(JOINT, one.problem), codec, hinted=False) for one in requests]


@dataclass(frozen=True)
class WriteThenSolve(Asking):
    """The abstraction and the answer are one text: whatever the answer earns, the abstraction earns (RLAD-Joint).

        ask=(WriteThenSolve(),)
        --mechanism.ask write-then-solve
    """

    does = write_then_solve

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return lengthened(problem, worded(JOINT, problem), codec)


def distilled(requests: Sequence[Request], *, codec: Codec, share: float, shortest: int, least: int) -> list[Request]:
    result = []
    for request in requests:
        problem = request.problem
        if not problem.hints and not problem.solution:
            raise DataError(
                f"problem {problem.id} of '{problem.task}' has neither a hint nor a worked solution to begin with. "
                "Without that stage: --stages.0.share 0, with a model that can write hints."
            )
        text = hint_of(problem, share=share)
        if len(text) >= max(1, shortest) and not holds_answer(problem, text, least=least):
            result.append(answered(request, text, codec))
    return result


@dataclass(frozen=True)
class Distilled(Asking):
    """Abstractions that are asked for are there: the problem's own hint, else this share of its worked steps.

    None where that is shorter than `shortest` characters, or where it has the answer in it.

        ask=(Distilled(share=0.5),)
        --stages.0.mechanism.ask distilled --stages.0.mechanism.ask.0.share 0.5
    """

    solutions = "all"

    share: float = 0.5
    shortest: int = scales_with("max_new", 40, at=16384)
    least: int = 3  # characters of an answer below which finding it in the abstraction means nothing
    does = distilled


def teach_abstractions(requests: Sequence[Request], memory: Memory, *, codec: Codec, share: float) -> list[Request]:
    """What has a single step is asked as it was."""
    result = []
    for request in requests:
        hint = sometimes(request, memory, "abstractions", share=share)
        asked = reworded(request, worded(ASKING, request.problem), codec, hinted=False)
        result.append(answered(asked, hint, codec) if hint else request)
    return result


@dataclass(frozen=True)
class TeachAbstractions(Asking):
    """For bases: a `share` of the requests asks for an abstraction, and the first steps of the solution are one."""

    share: float = 0.3
    does = teach_abstractions

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return lengthened(problem, worded(ASKING, problem), codec)


def worded(template: dict[str, str], problem: Problem, hint: str = "") -> Any:
    """The question in a template; in a conversation, its last message."""
    fill = template[problem.wording].format
    if isinstance(problem.prompt, str):
        return fill(question=problem.prompt, hint=hint)
    *before, last = problem.prompt
    return (*before, {**last, "content": fill(question=last["content"], hint=hint)})
