"""Limits of answers in a world: how often it replies, and how much of earlier replies is still read."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking, for_caller
from assay.tasks.equipment import OfShares, lacking
from assay.types import Request


def limit_calls(requests: Sequence[Request], *, most: int) -> list[Request]:
    """The requests, whose answers end as cut off with the call behind `most` replies."""
    return [dataclasses.replace(request, max_calls=most) for request in requests]


class LimitCalls(Asking):
    """At most `most` turns of an answer are replied to. The next call ends the answer, which is then truncated; with 0
    nothing is ever called. Held-out problems are answered within the same limit.

    With `tools` the recipe is refused on tasks in whose world a policy has none of these tools.

        ask=(LimitCalls(most=8),)
        --mechanism.ask limit-calls --mechanism.ask.0.most 8
    """

    examined = True
    needs = ("texts",)

    most: int = 8  # turns that get a reply
    tools: tuple[str, ...] = for_caller(())  # one of these the world must have, by name; (): whatever it has
    does = limit_calls

    def unfit(self, pool: OfShares) -> str | None:
        return lacking("LimitCalls", pool, self.tools) if self.tools else None


def forget_replies(requests: Sequence[Request], *, keep: int) -> list[Request]:
    """The requests, whose answers are continued with at most so many tokens of each reply before the last one."""
    return [dataclasses.replace(request, recalled=keep) for request in requests]


class ForgetReplies(Asking):
    """Each turn reads the last reply whole, and of those before it at most `keep` tokens: pages that were read do not
    fill the context. Where a reply was shortened, the turns before and behind that place are training rows apart, each
    under what was read. Held-out problems are answered in the same way.

    A reply within a chat template stays whole, because a part of it is no message.

    For your own recipes: where many pages or outputs are read, and the context has room for few.

        ask=(ForgetReplies(keep=32),)
        --mechanism.ask forget-replies --mechanism.ask.0.keep 32
    """

    examined = True
    needs = ("texts",)

    keep: int = 32  # tokens of a reply that are still read when there is a later one
    does = forget_replies
