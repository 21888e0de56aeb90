"""Worked solutions to be continued, from places at which the policy hesitates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask.prompts import reworded
from assay.memory import Memory
from assay.models import Models
from assay.part import Asking, Count, PositiveProportion
from assay.prompt import Prompt
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
    begun: dict[str, tuple[int, ...]] = {}
    for role in dict.fromkeys(request.role for request in first.values()):
        mine = {name: request for name, request in first.items() if request.role == role}
        texts = {name: codec.encode(request.problem.solution or "") for name, request in mine.items()}
        spans = [Span(mine[name].context, ids, mine[name].temperature) for name, ids in texts.items()]
        for (name, ids), scores in zip(texts.items(), models.play(role).score(spans, entropy=True), strict=True):
            assert scores.entropy is not None
            at = place_of(scores.entropy, memory.key("continue", memory.step, name), share=share)
            begun[name] = tuple(ids[:at].tolist())
    return [_continuing(r, begun[r.group], length, codec) if r.group in begun else r for r in requests]


def _continuing(request: Request, begun: tuple[int, ...], length: int, codec: Codec) -> Request:
    asked = dataclasses.replace(request, max_new=min(length, request.max_new))
    return reworded(asked, dataclasses.replace(request.prompt, begun=begun), codec)


class ContinueText(Asking):
    """Shows a beginning of a problem's worked solution, up to a token at which the policy hesitates, and asks for what
    comes next (2506.08007).

        ask=(ContinueText(share=0.2, length=8),)
        --mechanism.ask continue-text --mechanism.ask.0.length 8
    """

    solutions = "some"
    writes = ("beginning",)

    share: PositiveProportion = 0.2  # of a solution's tokens, those of the highest entropy: a cut may stand before them
    length: Count = 8  # the most tokens of a prediction
    does = continue_text

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.longer(len(codec.encode(problem.solution or ""))),)
