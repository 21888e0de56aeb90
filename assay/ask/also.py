"""The same questions for other roles."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking
from assay.types import Request


def also_ask(requests: Sequence[Request], *, roles: Sequence[str]) -> list[Request]:
    """The requests, and each of them once more for each of these roles, in a group of its own."""
    more = [dataclasses.replace(r, role=role, group=f"{r.group}/{role}") for role in roles for r in requests]
    return [*requests, *more]


class AlsoAsk(Asking):
    """Other roles get the same questions as the policy, each as many times. Their answers form groups of their own.

    ask=(AlsoAsk(roles=("second",)),)
    --mechanism.ask also-ask --mechanism.ask.0.roles second
    """

    roles: tuple[str, ...] = ()  # names in the recipe's `roles`
    does = also_ask
