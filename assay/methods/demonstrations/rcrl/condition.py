"""A label in the prompt that says how good an answer is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from assay.ask.prompts import reworded
from assay.part import Asking
from assay.prompt import Prompt
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec

Label = Literal["GOOD", "BAD"]
GOOD: Label = "GOOD"
BAD: Label = "BAD"
LABELS = GOOD, BAD


def conditioned(requests: Sequence[Request], *, codec: Codec, label: str) -> list[Request]:
    """The requests with the label at the end of each prompt."""
    return [reworded(request, labelled(request.prompt, label), codec) for request in requests]


class Conditioned(Asking):
    """Adds this label to every prompt, also of held-out problems: the policy is asked for such an answer.

    ask=(Conditioned(label="GOOD"),)
    --mechanism.ask conditioned --mechanism.ask.0.label GOOD
    """

    examined = True

    label: Label = GOOD
    does = conditioned

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (labelled(prompt, self.label),)


def labelled(prompt: Prompt, label: str) -> Prompt:
    """The prompt with the label in brackets, in place of another label."""
    return prompt.with_note("label", label if prompt.wording == "compact" else f"[{label}]")
