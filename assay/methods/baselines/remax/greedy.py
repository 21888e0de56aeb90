"""One greedy answer beside the sampled answers of each group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking
from assay.types import Request, by_group


def greedy(requests: Sequence[Request], *, tag: str) -> list[Request]:
    """The requests, with a greedy one after the samples of each group; it ignores top-p and the like."""
    plain = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "tag": tag}
    result = []
    for group in by_group(requests).values():
        number = 1 + max(request.sample for request in group.members)
        result += [*group.members, dataclasses.replace(group.members[0], sample=number, **plain)]
    return result


class Greedy(Asking):
    """Adds one greedy answer to each group, with the same limit and the same verifier (ReMax 2310.10505).

    ask=(Greedy(tag="greedy"),)
    --mechanism.ask greedy --mechanism.ask.0.tag greedy
    """

    tag: str = "greedy"  # the tag of the greedy answers, by which other parts find them
    does = greedy
