"""What one step measured, from what was collected. Pure; names are stable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate import groups, measure, spread
from assay.types import Episode, Row, Stats


def step_stats(episodes: Sequence[Episode], rows: Sequence[Row]) -> Stats:
    """Rewards, lengths and entropy of what was generated; groups before any filter; what curation left."""
    valid = [episode for episode in episodes if episode.reward is not None]
    if not episodes:
        return {"rollouts": 0.0}
    stats: Stats = {"rollouts": float(len(episodes)), "reward/verifier_failed": float(len(episodes) - len(valid))}
    if valid:
        rewards = np.array([episode.reward for episode in valid], dtype=np.float64)
        stats["reward/mean"] = float(rewards.mean())
        stats["reward/std"] = float(rewards.std())
        judged = [episode.verdict.status == "ok" for episode in valid if episode.verdict is not None]
        if judged:
            stats["reward/accuracy"] = float(np.mean(judged))
        stats |= _parts(valid)
    stats |= _lengths(episodes) | _groups(rows)
    entropies = [s.entropy for e in episodes for s in e.segments if s.entropy is not None and len(s)]
    if entropies:
        stats["policy/entropy"] = float(np.nanmean(np.concatenate(entropies)))
    return stats


def _parts(episodes: Sequence[Episode]) -> Stats:
    """Mean of each named part of the reward, where there is more than one."""
    values: dict[str, list[float]] = {}
    for episode in episodes:
        for part in episode.rewards:
            values.setdefault(part.name, []).append(part.value)
    return {f"reward/{name}": float(np.mean(v)) for name, v in values.items()} if len(values) > 1 else {}


def _lengths(episodes: Sequence[Episode]) -> Stats:
    lengths = np.array([len(episode) for episode in episodes])
    right = np.array([e.verdict is not None and e.verdict.status == "ok" for e in episodes], dtype=bool)
    given = sum(len(segment) for episode in episodes for segment in episode.request.prefix)
    stats = {
        "length/mean": float(lengths.mean()),
        "length/max": float(lengths.max()),
        "length/given": given / max(1, int(lengths.sum())),  # share of tokens that stood there before any was written
        "length/truncated": float(np.mean([episode.finish == "length" for episode in episodes])),
    }
    if right.any() and not right.all():
        stats["length/right"], stats["length/wrong"] = float(lengths[right].mean()), float(lengths[~right].mean())
    return stats


def _groups(rows: Sequence[Row]) -> Stats:
    """Shares of groups that are all right, all wrong, alike in reward, judged on everything that was collected."""
    whole = ([rows[i] for i in members if rows[i].reward is not None] for members in groups(rows).values())
    judged = [members for members in whole if len(members) > 1]
    stats = {"group/kept_rows": float(np.mean([row.in_loss for row in rows]))}
    if judged:
        accuracy = [[measure(row, "accuracy") for row in members] for members in judged]
        stats["group/all_right"] = float(np.mean([min(a) == 1.0 for a in accuracy]))
        stats["group/all_wrong"] = float(np.mean([max(a) == 0.0 for a in accuracy]))
        alike = [not spread([measure(row, "reward") for row in members]) for members in judged]
        stats["group/uniform_fraction"] = float(np.mean(alike))
    return stats
