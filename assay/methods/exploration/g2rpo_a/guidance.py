"""Some answers of a group begin with tokens of the worked solution; how many follows from the rewards."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.hints import written_by_others
from assay.errors import DataError
from assay.memory import Memory
from assay.part import Asking, Count, Positive, Remembering, scales_with
from assay.types import Episode, Request

if TYPE_CHECKING:
    from assay.ask import Codec

STORE = "guidance"
GUIDED = "guided"


def adapt_guidance(
    memory: Memory,
    *,
    episodes: Sequence[Episode],
    longest: int,
    window: int,
    grow: float,
    place: str = STORE,
) -> Memory:
    """l <- clip(l mean(r_{k-T+1}, ..., r_k) / r_k, 1, l_max), with r_k the accuracy of the unguided answers of step k;
    l <- l grow where r_k = 0. A step without unguided answers that were judged changes nothing.
    """
    judged = [episode.right for episode in episodes if episode.verified and not episode.request.helped]
    if not judged:
        return memory
    store, rate = memory.store(place), sum(judged) / len(judged)
    rates = [*store.get("rates", []), rate][-window:]
    factor = sum(rates) / len(rates) / rate if rate else grow
    length = min(float(longest), max(1.0, store.get("length", float(longest)) * factor))
    return memory.keep(place, {"length": length, "rates": rates})


class AdaptGuidance(Remembering):
    """The guidance grows when the accuracy falls below its mean over the last steps, and shrinks when it rises.

    The guidance begins at `longest`. The part `guide-answers` reads its length.
    """

    keeps = STORE

    longest: Count = scales_with("max_new", 3072, at=4096)  # tokens
    window: Count = 3  # steps over which the accuracy is averaged, the present one included
    grow: Positive = 1.25  # the factor of the length after a step without a right answer
    does = adapt_guidance
    needs = ("texts",)
    needs_verdict = True


def guide_answers(
    requests: Sequence[Request],
    memory: Memory,
    *,
    codec: Codec,
    group_size: int,
    share: float,
    longest: int,
    place: str = STORE,
) -> list[Request]:
    """The last round(share group_size) answers of each group, at least one, begin with the first l tokens of the worked
    solution. These tokens count towards the limit.
    """
    length = round(memory.store(place).get("length", longest))
    guided = max(1, round(share * group_size)) if share else 0
    return [
        _guided(request, codec, length) if request.sample >= group_size - guided else request for request in requests
    ]


def _guided(request: Request, codec: Codec, length: int) -> Request:
    """The request with its guidance; one that begins with something already stays as it is."""
    if request.prefix:
        return request
    if not request.problem.solution:
        problem = request.problem
        raise DataError(f"problem {problem.id} of '{problem.task}' has no worked solution to begin with.")
    ids = codec.encode(request.problem.solution)[: max(0, min(length, request.max_new - 1))]
    prefix = (written_by_others(ids),) if len(ids) else ()
    return dataclasses.replace(request, prefix=prefix, max_new=request.max_new - len(ids), tag=GUIDED)


class GuideAnswers(Asking):
    """A share of each group begins with the worked solution, for as many tokens as `adapt-guidance` says (G2RPO-A
    2508.13023).
    """

    reads = (AdaptGuidance,)
    solutions = "all"

    share: float = 2 / 12  # of the answers of a group
    longest: Count = scales_with("max_new", 3072, at=4096)  # tokens of the first step
    does = guide_answers

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if 0 <= self.share < 1:
            return None
        return f"guide-answers: share is from 0 to below 1, not {self.share:g}: some answers must be the policy's own."
