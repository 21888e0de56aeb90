"""A branch trains on its own tokens, not on the prefix that it shares with its trunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Curator
from assay.types import Row


def own_tokens(rows: Sequence[Row], memory: object) -> list[Row]:
    """keep_t = 0 on the prefix of a branch."""
    result = []
    for row in rows:
        request, count = row.episode.request, len(row.episode)
        own = np.arange(count) >= (request.given if request.parent else 0)
        result.append(row if own.all() else row.mark(keep=own if row.keep is None else own & row.keep))
    return result


class OwnTokens(Curator):
    """A row trains on the tokens that its own request sampled, so that a prefix shared by branches trains once, in its
    trunk.

        curate=(OwnTokens(),)
        --mechanism.curate own-tokens
    """

    writes = ("rows",)
    does = own_tokens
