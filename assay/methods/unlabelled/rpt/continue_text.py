"""Worked solutions to be continued, from places at which the policy hesitates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.memory import Memory
from assay.models import Models
from assay.part import Asking, Count, PositiveProportion
from assay.rng import Key
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec


def place_of(entropy: np.ndarray, key: Key, *, share: float) -> int:
    """One of the max(1, round(share T)) tokens of the highest entropy, each with the same probability."""
    count = max(1, round(share * len(entropy)))
    candidates = np.argsort(-entropy, kind="stable")[:count]
    return int(candidates[key.bits % count])


def continue_text(
    requests: Sequence[Request], *, models: Models, memory: Memory, codec: Codec, share: float, length: int
) -> list[Request]:
    """Each request with the beginning of its problem's solution behind the question, cut before one token; the answers
    of a group continue one text. A problem without a solution is asked as it is.
    """
    from assay.engine.interface import Span

    first = {request.group: request for request in requests if request.problem.solution}
    begun: dict[str, np.ndarray] = {}
    for role in dict.fromkeys(request.role for request in first.values()):
        mine = {name: request for name, request in first.items() if request.role == role}
        texts = {name: codec.encode(request.problem.solution or "") for name, request in mine.items()}
        spans = [Span(mine[name].context, ids, mine[name].temperature) for name, ids in texts.items()]
        for (name, ids), scores in zip(texts.items(), models.play(role).score(spans, entropy=True), strict=True):
            assert scores.entropy is not None
            at = place_of(scores.entropy, memory.key("continue", memory.step, name), share=share)
            begun[name] = np.concatenate([mine[name].context, ids[:at]]).astype(np.int32)
    return [
        dataclasses.replace(r, context=begun[r.group], max_new=min(length, r.max_new), hinted=True)
        if r.group in begun
        else r
        for r in requests
    ]


class ContinueText(Asking):
    """Shows a beginning of a problem's worked solution, up to a token at which the policy hesitates, and asks for what
    comes next (2506.08007).

        ask=(ContinueText(share=0.2, length=8),)
        --mechanism.ask continue-text --mechanism.ask.0.length 8
    """

    solutions = "some"
    replies = False

    share: PositiveProportion = 0.2  # of a solution's tokens, those of the highest entropy: a cut may stand before them
    length: Count = 8  # the most tokens of a prediction
    does = continue_text

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return len(codec.encode(problem.solution or ""))
