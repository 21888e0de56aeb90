"""The task of the tests with an environment that asks back."""

from __future__ import annotations

import dataclasses

from tiny import TINY

from assay.tasks.task import Environment

REPLY = "cc"


def reply(spec: object, text: str) -> str | None:
    """Asks back after every b, twice at most."""
    return REPLY if text.endswith("b") and text.count(REPLY) < 2 else None


TALKING = dataclasses.replace(TINY, environment=Environment(stop=("b",), reply=reply))
