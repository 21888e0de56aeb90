"""Two players: one writes an abstraction of a problem, the other solves the problem with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.part import Part, scales_with
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.augment import Codec

ROLE = "abstraction"
ASKING = {
    "compact": "{question} ?",
    "natural": "{question}\n\nDo not solve this. Write a short hint to it: a technique, a lemma or a pitfall.",
}
GIVEN = {"compact": "{question} [{hint}]", "natural": "<hint>\n{hint}\n</hint>\n\n{question}"}


@dataclass(frozen=True)
class Abstract(Part):
    """Abstractions are asked for first; the answers follow when they are there (RLAD 2510.02263)."""

    num: int = 4  # abstractions a problem
    longest: int = scales_with("max_new", 1024)
    bare: int = 0  # answers a problem without any
    bare_every: int = 0  # every so many problems all answers are without; 0: never


def abstract(
    requests: Sequence[Request], *, codec: Codec, num: int, longest: int, bare: int, bare_every: int
) -> list[Request]:
    """The requests for abstractions, then the answers that need none, tagged `bare`, in groups of their own."""
    asked, plain = [], []
    for request in requests:
        alone = bare_every > 0 and request.draw % bare_every == bare_every - 1
        if request.sample < num and not alone:
            context = codec.render(worded(ASKING, request.problem))
            changes: dict[str, Any] = {"context": context, "group": f"{request.group}/z", "role": ROLE, "tag": ROLE}
            asked.append(dataclasses.replace(request, max_new=longest, **changes))
        if alone or request.sample < bare:
            plain.append(dataclasses.replace(request, group=f"{request.group}/bare", tag="bare"))
    return asked + plain


def worded(template: dict[str, str], problem: Problem, hint: str = "") -> Any:
    """The question in a template; in a conversation, its last message."""
    fill = template[problem.wording].format
    if isinstance(problem.prompt, str):
        return fill(question=problem.prompt, hint=hint)
    *before, last = problem.prompt
    return (*before, {**last, "content": fill(question=last["content"], hint=hint)})
