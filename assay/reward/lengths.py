"""What length is worth: by the limit, beside the other answers of the group, or against a budget in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.part import Rewarding, scales_with
from assay.types import Episode, Reward


def soft_overlong(episodes: Sequence[Episode], *, max_new: int, buffer: int, factor: float) -> list[Reward | None]:
    """min(0, (L - buffer - T) / buffer) * factor, T the answer's length and L the generation limit. 2503.14476.

    Replies of tools count in T, as they do in L.
    """
    return [Reward("overlong", min(0.0, (max_new - buffer - len(episode)) / buffer) * factor) for episode in episodes]


@dataclass(frozen=True)
class SoftOverlong(Rewarding):
    """DAPO's soft punishment of answers that come near the generation limit. Right and wrong ones alike."""

    deducts: ClassVar[bool] = True
    buffer: int = scales_with("max_new", 4096, at=20480)
    factor: float = 1.0
    does = soft_overlong
