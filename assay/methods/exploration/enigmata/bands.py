"""Problems by difficulty: levels are easy, medium or hard by what was measured of them, and drawn in set ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from assay.memory import Memory
from assay.part import Proportion, Remembering, Source
from assay.source.rows import draw
from assay.types import Episode, Problem

if TYPE_CHECKING:
    from assay.source import Pool, Share

STORE = "level-rates"
Band = Literal["easy", "medium", "hard"]
BANDS: tuple[Band, ...] = ("easy", "medium", "hard")


def rated(memory: Memory, *, episodes: Sequence[Episode], keep: float, place: str = STORE) -> Memory:
    """right <- keep * right + right of the step, and tried likewise, for each task and level that was asked.

    Answers to hinted questions and verdicts that failed for a reason of ours do not count.
    """
    store = memory.store(place)
    counted: dict[str, tuple[int, int]] = {}
    for episode in episodes:
        if not episode.verified or episode.request.helped:
            continue
        name = _name(episode.request.problem.task, episode.request.problem.level)
        right, tried = counted.get(name, (0, 0))
        counted[name] = right + episode.right, tried + 1
    for name, (right, tried) in counted.items():
        before = store.get(name, [0.0, 0.0])
        store[name] = [keep * before[0] + right, keep * before[1] + tried]
    return memory.keep(place, store)


class LevelRates(Remembering):
    """Keeps the pass rate of each task and level, in which a step counts `keep` times as much as the one after it.

    remember=(LevelRates(keep=0.9),)
    --mechanism.remember level-rates --mechanism.remember.0.keep 0.9
    """

    keeps = STORE

    keep: Proportion = 0.9
    does = rated
    needs_verdict = True


def band_of(memory: Memory, share: Share, level: int, *, easy_from: float, hard_to: float, place: str = STORE) -> Band:
    """The band of a level by its pass rate; of one that was never tried, by its place among the share's levels."""
    right, tried = memory.store(place).get(_name(share.task, level), (0.0, 0.0))
    if tried:
        rate = right / tried
        return "easy" if rate >= easy_from else "hard" if rate <= hard_to else "medium"
    levels = sorted(share.levels)
    return BANDS[3 * levels.index(level) // len(levels)]


def banded(
    memory: Memory,
    first: int,
    count: int,
    *,
    pool: Pool,
    easy: int,
    medium: int,
    hard: int,
    easy_from: float,
    hard_to: float,
    place: str = STORE,
) -> list[Problem]:
    """P(level) = ratio(its band) / (sum of the ratios of bands with levels * number of levels in its band)."""
    ratios = {"easy": easy, "medium": medium, "hard": hard}

    def weighed(share: Share) -> Sequence[int]:
        """Each level of a share as often as it is likely."""
        bands: dict[Band, list[int]] = {}
        for level in sorted(share.levels):
            band = band_of(memory, share, level, easy_from=easy_from, hard_to=hard_to, place=place)
            bands.setdefault(band, []).append(level)
        common = math.lcm(*(len(levels) for levels in bands.values()))
        repeated = [
            level
            for band, levels in bands.items()
            for level in levels
            for _ in range(ratios[band] * common // len(levels))
        ]
        return repeated or sorted(share.levels)  # all bands with levels have the ratio 0

    return draw(memory, first, count, pool=pool, levels=weighed)


class DifficultyMix(Source):
    """Draws easy, medium and hard levels of each share in these ratios, by measured pass rates (Enigmata 2505.19914).

    source=DifficultyMix(easy=1, medium=2, hard=1)
    --mechanism.source difficulty-mix --mechanism.source.medium 2
    """

    reads = (LevelRates,)

    easy: int = 1  # the ratio of levels that are mostly solved
    medium: int = 1  # of those between
    hard: int = 1  # of those that are hardly ever solved
    easy_from: float = 0.75  # a level is easy from this pass rate on
    hard_to: float = 0.25  # and hard up to this one
    does = banded


def _name(task: str, level: int) -> str:
    return f"{task}:{level}"
