"""Continuations: answers that measure what a beginning of an answer is worth, and the states from which they go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from assay.types import Episode, Request, end_to_end

CONTINUATION = "continuation"  # the tag of answers that measure what a beginning is worth; they do not train

Prompt = tuple[str, bytes]
"""Role and context of a request."""

Values = dict[Prompt, dict[bytes, float]]
"""Prompt -> tokens of a beginning of an answer -> its value. Equal beginnings of several answers are one state."""


def state(request: Request, tokens: np.ndarray) -> tuple[Prompt, bytes]:
    """The state after these tokens of an answer to the request."""
    return (request.role, request.context.astype("<i4").tobytes()), tokens.astype("<i4").tobytes()


def start_of(request: Request) -> tuple[Prompt, bytes]:
    """The state that a continuation continues."""
    return state(request, end_to_end(request.prefix, "ids"))


def values_from(
    scores: Iterable[tuple[Request, float]], estimate: Callable[[Sequence[float]], float | np.floating]
) -> Values:
    """The value of each state, estimated from the scores of its continuations."""
    found: dict[Prompt, dict[bytes, list[float]]] = {}
    for request, score in scores:
        prompt, tokens = start_of(request)
        found.setdefault(prompt, {}).setdefault(tokens, []).append(score)
    return {prompt: {t: float(estimate(s)) for t, s in states.items()} for prompt, states in found.items()}


def states_in(episode: Episode, values: Values) -> list[tuple[int, float]]:
    """(number of tokens before it, value) of each state within an answer that has a value, in their order."""
    tokens = episode.stream("ids")
    prompt, every = state(episode.request, tokens)
    states = values.get(prompt, {})
    ends = sorted({len(beginning) for beginning in states})
    return [(end // 4, states[every[:end]]) for end in ends if end < len(every) and every[:end] in states]
