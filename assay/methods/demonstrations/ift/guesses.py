"""The policy's own guesses, which the learner reads beside the tokens of the answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.engine.spans import read_again
from assay.models import Models
from assay.part import Forward, Proportion
from assay.types import Origin, Row, Stats


def guesses(rows: Sequence[Row], *, models: Models, micro_tokens: int, share: float) -> tuple[list[Row], Stats]:
    """Mixes this share of the embedding of argmax pi into each of the answer's own tokens; tokens of an environment
    stay.
    """
    from assay.engine.interface import Want

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role]
        episodes = [rows[i].episode for i in places]
        settings = {"sampled": False, "tokens": micro_tokens, "temperature": 1.0}
        likeliest = read_again(models.play(role), episodes, Want(likeliest=1), "likeliest", **settings)
        for i, (best,) in zip(places, likeliest, strict=True):
            weight = np.float32(share) * (rows[i].episode.stream("origin") != Origin.ENV)
            result[i] = rows[i].mark(blend_ids=best[:, 0].astype(np.int32), blend_share=weight.astype(np.float32))
    return result, {}


class Guesses(Forward):
    """The learner reads, mixed into every token of an answer, the token that the policy would have written there (the
    residual connection of IFT 2405.11870).

    The weights before the first update of the step make the guesses.

        forwards=(Guesses(share=0.2),)
        --mechanism.forwards guesses --mechanism.forwards.0.share 0.2
    """

    share: Proportion = 0.2
    does = guesses
    needs = ("texts",)
