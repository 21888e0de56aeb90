"""Fewer rows of a group train than were sampled."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.memory import Memory
from assay.part import Count, Curator, scales_with
from assay.types import Row, by_group
from assay.verifiers.answers import count_answers


def resample_on_correct(rows: Sequence[Row], memory: Memory, *, keep: int, least: int) -> list[Row]:
    """Keeps right rows by penalty, with random choice among equals, and random wrong rows, so that failures stay
    diverse.
    """
    out: set[int] = set()
    for group in by_group(rows).values():
        alive = [i for i in group.places if rows[i].in_loss]
        if len(alive) <= keep:
            continue
        lots = {i: memory.key("resample", memory.step, rows[i].episode.request.id).bits for i in alive}
        right = sorted((i for i in alive if _positive(rows[i])), key=lambda i: (penalty(rows[i]), lots[i]))
        wrong = sorted((i for i in alive if not _positive(rows[i])), key=lots.__getitem__)
        of_right, of_wrong = quotas(len(right), len(wrong), keep, least)
        out |= {*right[of_right:], *wrong[of_wrong:]}
    return leave_out(rows, out)


class ResampleOnCorrect(Curator):
    """Of each group `keep` rows train: the right rows with the lowest penalty, and random wrong rows (GRPO-RoC).

    curate=(ResampleOnCorrect(keep=16),)
    --mechanism.curate resample-on-correct --mechanism.curate.0.keep 16
    """

    keep: Count = scales_with("group_size", 16, at=32)
    least: int = 2  # the least number of right and of wrong rows that are kept, if there are so many
    does = resample_on_correct
    needs = ("texts",)


def quotas(right: int, wrong: int, keep: int, least: int) -> tuple[int, int]:
    """The number of right and of wrong rows to keep: in proportion, but at least `least` of each kind if it has as
    many.
    """
    of_right = round(right * keep / (right + wrong))
    of_right = min(max(of_right, min(least, right)), keep - min(least, wrong))
    return of_right, keep - of_right


def penalty(row: Row) -> float:
    """The share of tool errors among the replies (1/2 without replies), plus the answers given beyond the first,
    divided by the number of turns.
    """
    segments = [segment for segment in row.episode.segments if len(segment)]
    replies = [segment for segment in segments if segment.is_reply]
    errors = sum(segment.failed for segment in replies) / len(replies) if replies else 0.5
    answers = count_answers(row.episode.text, row.episode.request.problem.wording)
    turns = max(1, len(segments) - len(replies))
    return errors + (min((answers - 1) / turns, 1.0) if answers else 1.0)


def _positive(row: Row) -> bool:
    """The paper divides the answers of a group by their rewards."""
    return (row.reward or 0.0) > 0
