"""A label in the prompt that says how good an answer is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from assay.ask.hints import lengthened, reworded, with_hint
from assay.part import Asking
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec

Label = Literal["GOOD", "BAD"]
GOOD: Label = "GOOD"
BAD: Label = "BAD"
LABELS = GOOD, BAD


def conditioned(requests: Sequence[Request], *, codec: Codec, label: str) -> list[Request]:
    """The requests with the label at the end of each prompt."""
    return [reworded(request, labelled(request.problem, label), codec, hinted=False) for request in requests]


class Conditioned(Asking):
    """Adds this label to every prompt, those of held-out problems included; the policy is asked for such an answer.

    ask=(Conditioned(label="GOOD"),)
    --mechanism.ask conditioned --mechanism.ask.0.label GOOD
    """

    examined = True

    label: Label = GOOD
    does = conditioned

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return lengthened(problem, labelled(problem, self.label), codec)


def labelled(problem: Problem, label: str) -> Any:
    """The problem with the label in brackets at the end of its prompt."""
    return with_hint(problem, label if problem.wording == "compact" else f"[{label}]", title="")
