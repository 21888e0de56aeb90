"""The input of a network: the embedding of each token, or a blend of the embeddings of two tokens."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def embedded(ids: Tensor, table: Callable[[Tensor], Tensor], beside: Tensor | None, share: Tensor | None) -> Tensor:
    """e(ids) + share (e(beside) - e(ids)); e(ids) itself where nothing is beside or both are the same."""
    x = table(ids)
    if beside is None or share is None:
        return x
    return x + share.to(x.dtype).unsqueeze(-1) * (table(beside) - x)
