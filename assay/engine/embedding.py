"""What a network reads: embeddings of tokens, or of two at once."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def embedded(ids: Tensor, table: Callable[[Tensor], Tensor], blend: Tensor | None, share: Tensor | None) -> Tensor:
    """(1 - share) e(ids) + share e(blend); e(ids) itself where there is no second token or both are the same."""
    x = table(ids)
    if blend is None or share is None:
        return x
    return x + share.to(x.dtype).unsqueeze(-1) * (table(blend) - x)
