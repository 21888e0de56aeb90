"""The worth of each turn of an answer, by a model that is told what the policy does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.tasks import task
from assay.tasks.abilities import Hidden
from assay.types import Episode, Origin, Problem, asked_in
from assay.verifiers.answers import find_answer

if TYPE_CHECKING:
    from assay.engine.interface import Span
    from assay.models import Models
    from assay.policy.codec import Codec

FORM = {"compact": "{} ", "natural": "In light that the final answer is: {}. "}
"""What stands before all that the policy reads, for the critic alone."""


def hidden(problem: Problem) -> str:
    """What the world of the problem hides from the policy, or else the answer of its worked solution; "" without."""
    known = None if problem.provenance == "data" else task(asked_in(problem.task)).ability(Hidden)
    if known is not None:
        return known.of(problem)
    return find_answer(problem.solution or "", problem.wording) or ""


def privilege(problem: Problem) -> str:
    """The text that tells the critic what is hidden; "" if nothing is."""
    known = hidden(problem)
    return FORM[problem.wording].format(known) if known else ""


def turns_in(episode: Episode) -> list[np.ndarray]:
    """The places of the tokens of each turn that the policy wrote, in order. A turn ends where others write, and where
    a world replaced what is read.
    """
    own = episode.stream("origin") == Origin.POLICY
    starts = {path.start for path in episode.paths()}
    turns: list[list[int]] = []
    for place in np.flatnonzero(own).tolist():
        if not turns or turns[-1][-1] != place - 1 or place in starts:
            turns.append([])
        turns[-1].append(place)
    return [np.array(turn) for turn in turns]


def turn_advantages(logp: np.ndarray, reference: np.ndarray, turns: Sequence[np.ndarray]) -> np.ndarray:
    """A_k = 1/L_k sum over the L_k tokens of turn k of [log phi(a_l | o, a_<l, c) - log ref(a_l | o, a_<l)]."""
    return np.array([float(np.mean(logp[turn] - reference[turn], dtype=np.float64)) for turn in turns])


def told_spans(episodes: Sequence[Episode], codec: Codec, *, told: bool) -> tuple[list[Span], list[int]]:
    """The answers as the critic reads them, which is `told` what is hidden or not: as spans, one for each path, and the
    number of paths of each answer.
    """
    from assay.engine.interface import Span
    from assay.engine.spans import paths_of

    spans, counts = paths_of(episodes, sampled=True)
    before = [codec.encode(privilege(episode.request.problem) if told else "") for episode in episodes]
    hints = [ids for ids, count in zip(before, counts, strict=True) for _ in range(count)]
    made = [
        Span(np.concatenate([ids, span.context]).astype(np.int32), span.ids, span.temperature)
        for ids, span in zip(hints, spans, strict=True)
    ]
    return made, counts


def compared(
    models: Models, episodes: Sequence[Episode], codec: Codec, *, model: str, reference: str, told: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(log phi of the critic, which may be told what is hidden, log ref of the reference, which is not) at the tokens
    of each answer.
    """
    from assay.engine.spans import joined, scored

    if missing := [name for name in (model, reference) if name not in models]:
        raise ConfigError(f"the recipe has no model '{missing[0]}'; its models are {', '.join(models)}.")
    if not episodes:
        return []
    spans, counts = told_spans(episodes, codec, told=told)
    seen = joined([scores.logp for scores in models[model].score(spans)], counts)
    bare = [scores.logp for scores in scored(models[reference], episodes, sampled=True)]
    return list(zip(seen, bare, strict=True))
