"""A length in the prompt: how many tokens the answer should have, exactly or at most."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.ask.prompts import reworded
from assay.memory import Memory
from assay.part import Asking, Count, Proportion, scales_with
from assay.prompt import Prompt
from assay.types import Problem, Request
from assay.verifiers.answers import Wording

if TYPE_CHECKING:
    from assay.ask import Codec

EXACTLY, AT_MOST = "exactly", "at most"  # the first words of a request's tag


@dataclass(frozen=True)
class Limit:
    """The length of an answer that the prompt of a request asks for."""

    tokens: int
    most: bool  # the prompt asks for at most this length, rather than exactly this length


def budget(
    requests: Sequence[Request], memory: Memory, *, codec: Codec, low: int, high: int, at_most: float
) -> list[Request]:
    """The requests with a budget, uniform on {low, ..., high} and equal within a group; the tag tells the reward."""
    result = []
    for request in requests:
        generator = memory.key("budget", memory.step, request.group).generator()
        limit = Limit(int(generator.integers(low, high + 1)), bool(generator.random() < at_most))
        kind = AT_MOST if limit.most else EXACTLY
        tagged = dataclasses.replace(request, tag=f"{kind} {limit.tokens}")
        result.append(reworded(tagged, limited(request.prompt, limit), codec))
    return result


class Budget(Asking):
    """Adds a length to every prompt, a number of tokens drawn anew for each group (L1 2503.04697).

    ask=(Budget(high=4000),)
    --mechanism.ask budget --mechanism.ask.0.high 4000
    """

    low: int = scales_with("max_new", 100, at=4096)
    high: Count = scales_with("max_new", 4000, at=4096)
    at_most: Proportion = 0.0  # share of the groups whose prompt says "at most" rather than "exactly"
    does = budget

    def refusal(self, **_: Any) -> str | None:
        if self.low <= self.high:
            return None
        return f"budget: low must be at most high, and is {self.low}, where high is {self.high}."

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return [limited(prompt, Limit(self.high, most)) for most in (False, True)]


def limited(prompt: Prompt, limit: Limit) -> Prompt:
    """The prompt with the instruction."""
    return prompt.with_note("length", told(prompt.wording, limit))


def told(wording: Wording, limit: Limit) -> str:
    """The instruction in this wording."""
    if wording == "compact":
        return f"{'<' if limit.most else '='}{limit.tokens}"
    return f"Think for {'maximum ' if limit.most else ''}{limit.tokens} tokens."


def budget_of(request: Request) -> Limit | None:
    """The budget that the request's prompt gives; None if it gives none."""
    kind, _, tokens = request.tag.rpartition(" ")
    return Limit(int(tokens), kind == AT_MOST) if kind in (EXACTLY, AT_MOST) else None
