"""Statistics of given answers under a model, token by token, without keeping logits.

One forward pass over all answers; the output layer and its softmax are computed in fp32 for some positions at a time,
so that no more than these logits are held at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from assay.engine.interface import Scores, Span
from assay.engine.layout import Layout

POSITIONS = 256  # whose logits are held at once
MASS = 0.95  # of which the smallest set of tokens is counted


class Predicting(Protocol):
    """An engine that hands out the hidden states or logits that predict a token: the engines of torch."""

    def laid(self, spans: Sequence[Span]) -> Iterator[tuple[list[int], Layout, np.ndarray, np.ndarray]]:
        """The spans in parts that are read at once (`LocalEngine.laid`)."""
        ...

    def predicting(self, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """Hidden states [M, D] and the output layer's weight [V, D]; or the logits [M, V] and None."""
        ...

    def score(self, spans: Sequence[Span]) -> list[Scores]: ...


@dataclass(frozen=True, eq=False)
class TokenStatistics:
    """For each token of an answer, under the full softmax at temperature 1: float32 arrays of the answer's length.

    The end token counts, because it decides when an answer stops.
    """

    nll: np.ndarray  # the negative log-probability of the token
    entropy: np.ndarray  # of the distribution
    rank: np.ndarray  # 1 + the number of tokens that are likelier
    top: np.ndarray  # the probability of the likeliest token
    nucleus: np.ndarray  # the fewest tokens that have at least `MASS` of the probability
    kl: np.ndarray | None = None  # KL(model || other) over all tokens, exactly


@torch.no_grad()
def token_statistics(
    engine: Predicting, spans: Sequence[Span], *, against: Predicting | None = None, mass: float = MASS
) -> list[TokenStatistics]:
    """The statistics of each span's tokens; with `against`, also how far the model is from that one.

    (found,) = token_statistics(engine, [Span(prompt_ids, answer_ids)])
    np.exp(found.nll.mean())  # the perplexity of the answer
    """
    results: dict[int, TokenStatistics] = {}
    for part, layout, ids, at in engine.laid(spans):
        hidden, head = engine.predicting(layout)
        other = None if against is None else against.predicting(layout)
        tokens = torch.from_numpy(ids).to(hidden.device)
        pieces = []
        for start in range(0, len(tokens), POSITIONS):
            rows = slice(start, start + POSITIONS)
            beside = None if other is None else _log_softmax(other[0][rows], other[1])
            pieces.append(_of_rows(_log_softmax(hidden[rows], head), tokens[rows], beside, mass))
        columns = [torch.cat(column).cpu().numpy() for column in zip(*pieces, strict=True)]
        for j, i in enumerate(part):
            mine = slice(int(at[j]), int(at[j + 1]))
            results[i] = TokenStatistics(*(column[mine] for column in columns))
    return [results[i] for i in range(len(spans))]


def _log_softmax(hidden: Tensor, head: Tensor | None) -> Tensor:
    """Log-probabilities [rows, V] in fp32; without a head, `hidden` are the logits."""
    logits = hidden.float() if head is None else hidden.float() @ head.float().T
    return logits.log_softmax(-1)


def _of_rows(logp: Tensor, ids: Tensor, other: Tensor | None, mass: float) -> list[Tensor]:
    """The columns of `TokenStatistics` for some positions."""
    own = logp.gather(-1, ids[:, None])
    p = logp.exp()
    falling = p.sort(-1, descending=True).values
    before = falling.cumsum(-1) - falling  # the mass of the tokens that are likelier
    columns = [
        -own.squeeze(-1),
        -(p * logp.clamp_min(torch.finfo(logp.dtype).min)).sum(-1),
        1.0 + (logp > own).sum(-1).float(),
        falling[:, 0],
        (before < mass).sum(-1).float(),
    ]
    if other is not None:
        columns.append((p * (logp - other)).sum(-1))
    return columns
