"""The question whether an answer is right, to which the whole reply is one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assay.ask.prompts import rendered
from assay.errors import DataError
from assay.prompt import Prompt
from assay.types import Problem
from assay.verifiers.answers import Wording

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.engine.interface import Scores, Span

ASKING: dict[str, str] = {
    "compact": "{question} [{hint}] ?",
    "natural": "{question}\n\nThis solution was given:\n{hint}\n\nIs this solution correct? Answer Yes or No.",
}
YES: dict[Wording, str] = {"compact": "+", "natural": "Yes"}
NO: dict[Wording, str] = {"compact": "-", "natural": "No"}


class Scoring(Protocol):
    """The part of an engine that verdicts need: the log-probs of given tokens."""

    def score(self, spans: Sequence[Span]) -> list[Scores]: ...


def asked_whether_right(prompt: Prompt, text: str) -> Prompt:
    """The prompt that asks whether this text answers the question of this prompt."""
    return prompt.within(ASKING, instead=True, hint=text)


def said(text: str, wording: Wording) -> bool | None:
    """The verdict with which a reply ends; None if it gives none."""
    end = text.strip().rstrip(".")
    return True if end.endswith(YES[wording]) else False if end.endswith(NO[wording]) else None


def verdict_tokens(wording: Wording, codec: Codec) -> tuple[int, int]:
    """The tokens with which the words Yes and No begin."""
    yes, no = codec.encode(YES[wording]), codec.encode(NO[wording])
    if not len(yes) or not len(no) or yes[0] == no[0]:
        raise DataError(
            f"the tokenizer cannot tell the verdicts '{YES[wording]}' and '{NO[wording]}' apart by their first token: "
            f"{yes.tolist()} and {no.tolist()}. Take a model whose tokenizer knows these words."
        )
    return int(yes[0]), int(no[0])


def with_verdict(prompt: Prompt, length: int = 1) -> Prompt:
    """The prompt that asks whether an answer is right, with room for a verdict of so many tokens. An answer takes the
    room that answers have, so that the text alone counts that is around it.
    """
    return asked_whether_right(prompt, "").longer(length)


def chances_right(engine: Scoring, asked: Sequence[tuple[Problem, str]], codec: Codec) -> np.ndarray:
    """s(x, y) = pi(Yes | v(x, y)) / (pi(Yes | v) + pi(No | v)) of each problem and text, at temperature 1."""
    from assay.engine.interface import Span
    from assay.engine.spans import distinct

    spans = []
    for problem, text in asked:
        context = rendered(asked_whether_right(Prompt.of(problem), text), codec)
        spans += [Span(context, np.array([word], np.int32)) for word in verdict_tokens(problem.wording, codec)]
    different, of = distinct(spans)
    found = [float(one.logp[0]) for one in (engine.score(different) if different else [])]
    logp = np.array([found[place] for place in of]).reshape(-1, 2)
    return 1 / (1 + np.exp(logp[:, 1] - logp[:, 0]))
