"""The format of the response, said in the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from assay.ask.hints import lengthened, reworded
from assay.part import Asking
from assay.policy.messages import retold
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec

R1 = (
    "First think about the problem, and then answer. Write your reasoning within <think> </think> and the final "
    "answer, in \\boxed{}, within <answer> </answer>, each exactly once and nothing outside of them."
)


def with_template(problem: Problem) -> Any:
    """The prompt with the template at its end; in compact wording, for small models, the prompt as it is."""
    if problem.wording == "compact":
        return problem.prompt
    if isinstance(problem.prompt, str):
        return f"{problem.prompt}\n\n{R1}"
    *before, last = problem.prompt
    return (*before, {**last, "content": retold(last["content"], lambda text: f"{text}\n\n{R1}")})


def templated(requests: Sequence[Request], *, codec: Codec) -> list[Request]:
    """The requests with the template in their prompts."""
    result = []
    for request in requests:
        plain = request.problem.wording == "compact"
        prompt = with_template(request.problem)
        result.append(request if plain else reworded(request, prompt, codec, hinted=request.hinted))
    return result


def worded(template: Mapping[str, str], problem: Problem, hint: str = "", **more: str) -> Any:
    """The question inside the template of its wording, at `{question}`, with other texts at their names; in a
    conversation, its last message.
    """
    fill = template[problem.wording].format
    if isinstance(problem.prompt, str):
        return fill(question=problem.prompt, hint=hint, **more)
    *before, last = problem.prompt
    content = retold(last["content"], lambda text: fill(question=text, hint=hint, **more))
    return (*before, {**last, "content": content})


class Templated(Asking):
    """Prompts in natural wording end with R1's template: <think> reasoning </think> <answer> answer </answer>.

    ask=(Templated(),)
    --mechanism.ask templated
    """

    examined: ClassVar[bool] = True
    does = templated

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return lengthened(problem, with_template(problem), codec)
