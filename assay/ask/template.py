"""The format of the response, said in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from assay.ask.prompts import reworded
from assay.part import Asking
from assay.prompt import Prompt
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec

R1 = (
    "First think about the problem, and then answer. Write your reasoning within <think> </think> and the final "
    "answer, in \\boxed{}, within <answer> </answer>, each exactly once and nothing outside of them."
)


def with_template(prompt: Prompt) -> Prompt:
    """The prompt with the template; in compact wording, for small models, the prompt as it is."""
    return prompt if prompt.wording == "compact" else prompt.with_template(R1)


def templated(requests: Sequence[Request], *, codec: Codec) -> list[Request]:
    """The requests with the template in their prompts."""
    asked = [(request, with_template(request.prompt)) for request in requests]
    return [request if prompt.template == "" else reworded(request, prompt, codec) for request, prompt in asked]


class Templated(Asking):
    """Prompts in natural wording end with R1's template: <think> reasoning </think> <answer> answer </answer>.

    ask=(Templated(),)
    --mechanism.ask templated
    """

    examined: ClassVar[bool] = True
    does = templated

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (with_template(prompt),)
