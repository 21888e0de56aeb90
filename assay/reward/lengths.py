"""What length is worth: by the limit, beside the other answers of the group, or against a budget in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.augment.budget import budget_of
from assay.errors import ConfigError
from assay.part import Part, scales_with
from assay.types import Episode, Reward


@dataclass(frozen=True)
class SoftOverlong(Part):
    """DAPO's soft punishment of answers that come near the generation limit. Right and wrong ones alike."""

    buffer: int = scales_with("max_new", 4096)
    factor: float = 1.0


def soft_overlong(episodes: Sequence[Episode], *, max_new: int, buffer: int, factor: float) -> list[Reward | None]:
    """min(0, (L - buffer - T) / buffer) * factor, T the answer's length and L the generation limit. 2503.14476."""
    return [Reward("overlong", min(0.0, (max_new - buffer - len(episode)) / buffer) * factor) for episode in episodes]


@dataclass(frozen=True)
class StopProperly(Part):
    """What a right and a wrong answer are worth, and less where a limit cut it (ProRL's stop-properly)."""

    right: float = 1.0
    wrong: float = 0.0
    cut: float = 0.0  # from 0 to 1: times what it were worth otherwise; below 0: that instead


def stop_properly(episodes: Sequence[Episode], *, right: float, wrong: float, cut: float) -> list[Reward | None]:
    if cut > 1:
        raise ConfigError(f"reward.cut is a factor from 0 to 1, or a reward below 0, not {cut:g}.")
    worth = [right if episode.right else wrong for episode in episodes]
    cuts = [episode.finish == "length" for episode in episodes]
    paid = [(cut if cut < 0 else cut * w) if is_cut else w for w, is_cut in zip(worth, cuts, strict=True)]
    return [Reward("outcome", value) for value in paid]


@dataclass(frozen=True)
class Shortness(Part):
    """Short beside the other answers of the group is worth up to half a reward, long costs as much (Kimi k1.5
    2501.12599). A wrong answer earns nothing by it.
    """

    weight: float = 1.0


def shortness(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """weight * l_i, or of wrong answers weight * min(0, l_i), l_i = 1/2 - (T_i - min T) / (max T - min T); 0 where all
    lengths of the group are one.
    """
    lengths: dict[str, list[int]] = {}
    for episode in episodes:
        lengths.setdefault(episode.request.group, []).append(len(episode))
    result: list[Reward | None] = []
    for episode in episodes:
        group = lengths[episode.request.group]
        low, high = min(group), max(group)
        worth = 0.5 - (len(episode) - low) / (high - low) if high > low else 0.0
        result.append(Reward("shortness", weight * (worth if episode.right else min(0.0, worth))))
    return result


@dataclass(frozen=True)
class Adherence(Part):
    """What it costs to miss the budget of n tokens that the prompt gives (L1 2503.04697; `augment` budget).

    Told n exactly, |n - T| / unit. Told n at most, a right answer keeps clip((n - T) / unit + margin, 0, 1) of its 1.
    """

    unit: int = scales_with("max_new", 3333)  # tokens beside the budget that cost a whole reward
    margin: float = 0.5  # what a right answer of the very length of its limit is worth


def adherence(episodes: Sequence[Episode], *, unit: int, margin: float) -> list[Reward | None]:
    """0 where a prompt gives no budget."""
    result: list[Reward | None] = []
    for episode in episodes:
        budget, cost = budget_of(episode.request), 0.0
        if budget is not None and budget.most:
            share = min(1.0, max(0.0, (budget.tokens - len(episode)) / unit + margin))
            cost = (1.0 - share) * episode.right
        elif budget is not None:
            cost = abs(budget.tokens - len(episode)) / unit
        result.append(Reward("adherence", -cost))
    return result
