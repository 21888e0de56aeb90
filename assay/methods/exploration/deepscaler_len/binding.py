"""A stage begins when the limit of answers binds: more answers are cut than before."""

from __future__ import annotations

from assay.part import Count
from assay.stages import OfMetric, Seen


def limit_binds(seen: Seen, *, metric: str, factor: float, window: int) -> bool:
    """m_n > factor * min(m_window, ..., m_n), where m_t is the mean of the `window` values up to t."""
    values = seen.get(metric, ())
    means = [sum(values[end - window : end]) / window for end in range(window, len(values) + 1)]
    return bool(means) and means[-1] > factor * min(means)


class LimitBinds(OfMetric):
    """The stage begins when the share of truncated answers has risen again: its mean over `window` steps is more than
    `factor` times the lowest such mean of the present stage.
    """

    metric: str = "length/truncated"  # what is watched
    factor: float = 1.5
    window: Count = 50  # steps
    does = limit_binds
