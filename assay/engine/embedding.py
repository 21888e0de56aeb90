"""The input of a network: the embedding of each token, or a blend of the embeddings of two tokens."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def embedded(ids: Tensor, table: Callable[[Tensor], Tensor], blend: Tensor | None, share: Tensor | None) -> Tensor:
    """(1 - share) e(ids) + share e(blend); e(ids) itself where there is no second token or both are the same."""
    x = table(ids)
    if blend is None or share is None:
        return x
    return x + share.to(x.dtype).unsqueeze(-1) * (table(blend) - x)
