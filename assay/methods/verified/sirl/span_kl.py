"""The KL penalty in the reward, on the tokens of the program alone: reasoning before it may move freely."""

from __future__ import annotations

from collections.abc import Sequence

from assay.ask import Codec
from assay.forwards import TokenKL
from assay.models import Models
from assay.part import Forward
from assay.types import Row, Stats
from assay.verifiers.answer_tokens import token_with


def span_kl(
    rows: Sequence[Row], *, models: Models, codec: Codec, weight: float, compact: str, natural: str
) -> tuple[list[Row], Stats]:
    """Adds - weight (log pi_old - log pi_ref) to the per-token rewards from the mark of the program on."""
    penalised, stats = TokenKL.does(rows, models=models, weight=weight, estimator="k1")
    result = list(rows)
    for i, (before, after) in enumerate(zip(rows, penalised, strict=True)):
        if after is before:
            continue
        mark = compact if before.episode.request.problem.wording == "compact" else natural
        begin = first_token(before.episode.stream("ids").tolist(), mark, codec)
        process = after.process.copy()  # the row keeps its own array: a mask in place would also reach the loss
        process[:begin] = 0.0 if before.process is None else before.process[:begin]
        result[i] = before.mark(process=process)
    return result, stats


def first_token(ids: Sequence[int], mark: str, codec: Codec) -> int:
    """The index of the token in which the first mark begins; 0 if there is no mark, so that all tokens count."""
    place = codec.decode(ids).find(mark)
    return 0 if place < 0 else token_with(ids, place, codec)


class SpanKL(Forward):
    """The KL penalty in the reward of each token, from the mark of the answer on (SIRL 2505.11792).

    An answer without a mark is penalised as a whole.

        forwards=(SpanKL(weight=0.0005),)
        --mechanism.forwards span-kl --mechanism.forwards.0.weight 0.0005
    """

    weight: float = 5e-4
    compact: str = "#"  # the mark in compact wording
    natural: str = "\\boxed{"  # the mark in natural wording
    does = span_kl
