"""The metrics of one step that follow from its episodes and rows. Names of metrics do not change between versions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate.grouping import measure, spread
from assay.record.panel import FAULTS
from assay.record.turns import lost_to_the_world
from assay.tasks import TASKS, chains_of
from assay.tasks.judging import COMPARE, JUDGE, written
from assay.tasks.steps import StepVerdict
from assay.types import Episode, Row, Segment, Stats, by_group


def step_stats(episodes: Sequence[Episode], rows: Sequence[Row]) -> Stats:
    """Metrics of a step: rewards, lengths and entropy of its episodes, its groups, and the share of rows that train.

    Groups are measured before any filter removes rows.
    """
    sampled = [segment for e in episodes for segment in e.segments[len(e.request.prefix) :]]
    episodes = [episode for episode in episodes if episode.finish != "pause"]  # a paused answer is not finished
    rows = [row for row in rows if row.episode.finish != "pause"]
    valid = [episode for episode in episodes if episode.reward is not None]
    if not episodes:
        return {"rollouts": 0.0}
    stats: Stats = {"rollouts": float(len(episodes)), "reward/verifier_failed": float(len(episodes) - len(valid))}
    stats |= _unknown(episodes) | _unsettled(episodes) | _unread(episodes) | _faults(episodes)
    if valid:
        rewards = np.array([_worth(episode) for episode in valid], dtype=np.float64)
        stats["reward/mean"] = float(rewards.mean())
        stats["reward/std"] = float(rewards.std())
        written = [e for e in valid if e.provenance != "teacher" and e.request.temperature > 0] or valid
        judged = [episode.right for episode in written if episode.verdict is not None]
        if judged:
            stats["reward/accuracy"] = float(np.mean(judged))
        stats |= _parts(valid) | _scores(valid)
    collected = [
        r for r in rows if r.episode.provenance != "replay" and not r.waited and r.episode.request.temperature > 0
    ]
    stats |= _judgements(episodes) | _lengths(episodes) | _replies(episodes) | _steps(episodes) | _groups(collected)
    stats |= _branches(episodes, sampled) | _rounds(collected)
    stats["problem/level"] = float(np.mean([episode.request.problem.level for episode in episodes]))
    stats["sampling/temperature"] = float(np.mean([episode.request.temperature for episode in episodes]))
    entropy = np.concatenate([np.zeros(0), *(s.entropy for s in sampled if s.entropy is not None)])
    if np.isfinite(entropy).any():
        stats["policy/entropy"] = float(np.nanmean(entropy))
    stats |= _entropy_whole(episodes)
    return stats


def _worth(episode: Episode) -> float:
    """The reward of an answer, with what its world paid for its steps."""
    paid = episode.dense if episode.paid else None
    return (episode.reward or 0.0) + (0.0 if paid is None else float(paid.sum()))


def _entropy_whole(episodes: Sequence[Episode]) -> Stats:
    """The mean entropy over the tokens of answers that the policy wrote from their first token on.

    Answers that continue another answer consist of late tokens, which have lower entropy. Without these answers the
    value can be compared with that of runs that have none.
    """
    whole = [
        s.entropy for e in episodes if not e.request.prefix for s in e.segments if s.entropy is not None and len(s)
    ]
    return {"policy/entropy_whole": float(np.nanmean(np.concatenate(whole)))} if whole else {}


def _parts(episodes: Sequence[Episode]) -> Stats:
    """The mean of each named part of the reward, and of the rewards of which it is made, if there is more than one."""
    values: dict[str, list[float]] = {}
    for episode in episodes:
        for path, part in (found for whole in episode.rewards for found in whole.named()):
            if not part.unread:
                values.setdefault(path, []).append(part.value)
    return {f"reward/{name}": float(np.mean(v)) for name, v in values.items()} if len(values) > 1 else {}


def _unknown(episodes: Sequence[Episode]) -> Stats:
    """The number of answers with a reward that could not be computed, for each kind of error."""
    kinds = [{p.invalid for p in e.rewards} - {""} for e in episodes if any(p.invalid for p in e.rewards)]
    return {f"reward/invalid/{kind}": float(sum(kind in found for found in kinds)) for kind in set().union(*kinds)}


def _faults(episodes: Sequence[Episode]) -> Stats:
    """Of answers in worlds: the number that an error of the world's cost."""
    played = [episode for episode in episodes if episode.request.seat]
    return {FAULTS: float(sum(map(lost_to_the_world, played)))} if played else {}


UNSETTLED = ("undecided", "time")


def _unsettled(episodes: Sequence[Episode]) -> Stats:
    """The number of answers that failed because their verifier could not decide about them within the means that an
    answer has, or because they used up its time.
    """
    kinds = [e.verdict.kind for e in episodes if e.verdict is not None and e.verdict.status == "fail"]
    return {f"reward/failed/{kind}": float(kinds.count(kind)) for kind in UNSETTLED if kind in kinds}


def _unread(episodes: Sequence[Episode]) -> Stats:
    """The number of answers without a judgement that can be read, though a role was asked for one: by reward."""
    named = [{path for whole in e.rewards for path, part in whole.named() if part.unread} for e in episodes]
    return {f"reward/unread/{path}": float(sum(path in found for found in named)) for path in set().union(*named)}


def _judgements(episodes: Sequence[Episode]) -> Stats:
    """The share of the judgements that roles wrote which cannot be read."""
    said = [written(e) for e in episodes if e.request.problem.task.startswith((JUDGE, COMPARE))]
    return {"judgements/unread": said.count(None) / len(said)} if said else {}


def _scores(episodes: Sequence[Episode]) -> Stats:
    """The mean score of each reward function before its weight, over the episodes that it gave a score."""
    values: dict[str, list[float]] = {}
    for episode in episodes:
        for name, score in (episode.verdict.scores if episode.verdict else {}).items():
            if score is not None:
                values.setdefault(name, []).append(score)
    return {f"reward/{name}/mean": float(np.mean(v)) for name, v in values.items()}


def _lengths(episodes: Sequence[Episode]) -> Stats:
    lengths = np.array([len(episode) for episode in episodes])
    right = np.array([e.right for e in episodes], dtype=bool)
    given = sum(len(segment) for episode in episodes for segment in episode.request.prefix)
    stats = {
        "length/mean": float(lengths.mean()),
        "length/max": float(lengths.max()),
        "length/given": given / max(1, int(lengths.sum())),  # share of tokens that were given as a beginning
        "length/truncated": float(np.mean([episode.finish == "length" for episode in episodes])),
    }
    if right.any() and not right.all():
        stats["length/right"], stats["length/wrong"] = float(lengths[right].mean()), float(lengths[~right].mean())
    return stats


def _rounds(rows: Sequence[Row]) -> Stats:
    """For each of several rounds: the accuracy, and the mean distance of a group's accuracy from one half."""
    rounds: dict[int, list[Row]] = {}
    for row in rows:
        if row.reward is not None:
            rounds.setdefault(row.episode.request.round, []).append(row)
    stats: Stats = {}
    for number, some in sorted(rounds.items()) if len(rounds) > 1 else ():
        means = [float(np.mean([row.right for row in group.members])) for group in by_group(some).values()]
        stats[f"round/{number}/accuracy"] = float(np.mean(means))
        stats[f"round/{number}/distance_from_half"] = float(np.mean([abs(mean - 0.5) for mean in means]))
    return stats


def _replies(episodes: Sequence[Episode]) -> Stats:
    """Replies of environments: their number in the step, their mean number in an answer, and the share of errors."""
    replies = [[s for s in e.segments if s.is_reply] for e in episodes]
    counts = np.array([len(segments) for segments in replies])
    if not counts.any():  # there are none, or held answers have theirs within one segment
        return {}
    fresh = sum(s.is_reply for e in episodes for s in e.segments[len(e.request.prefix) :])
    failed = np.array([sum(s.failed for s in segments) for segments in replies])
    stats = {"replies/asked": float(fresh), "replies/mean": float(counts.mean())}
    stats["replies/failed"] = float(failed.sum() / counts.sum())
    right = np.array([e.right for e in episodes], dtype=bool)
    if counts[right].any():
        stats["replies/right"] = float(counts[right].mean())
        stats["replies/failed_right"] = float(failed[right].sum() / counts[right].sum())
    return stats


def _steps(episodes: Sequence[Episode]) -> Stats:
    """Of the tasks that verify steps: the shares of steps by verdict, steps in an answer, and answers by their ending.

    `steps/faithful` and `steps/shortcut` are shares of the answers that give a final answer.
    """
    asked = [(e.request.problem, e.text) for e in episodes if e.request.problem.task in TASKS]
    chains = [chain for chain in chains_of(asked) if chain is not None]
    if not chains:
        return {}
    verdicts = [step.verdict for chain in chains for step in chain.steps]
    ended = [chain.ending for chain in chains if chain.ending != "none"]
    stats: Stats = {"steps/mean": len(verdicts) / len(chains)}
    if verdicts:
        kinds: tuple[StepVerdict, ...] = ("valid", "useless", "wrong")
        stats |= {f"steps/{kind}": verdicts.count(kind) / len(verdicts) for kind in kinds}
    if ended:
        stats |= {f"steps/{kind}": ended.count(kind) / len(ended) for kind in ("faithful", "shortcut")}
    return stats


def _groups(rows: Sequence[Row]) -> Stats:
    """The shares of groups whose answers are all right, all wrong, or all alike in reward."""
    whole = ([row for row in group.members if row.reward is not None] for group in by_group(rows).values())
    judged = [members for members in whole if len(members) > 1]
    stats = {"group/kept_rows": float(np.mean([row.in_loss for row in rows]))} if rows else {}
    if judged:
        known = [[row for row in _written(members) if row.episode.verdict is not None] for members in judged]
        accuracy = [[row.right for row in members] for members in known if members]
        if accuracy:
            stats["group/all_right"] = float(np.mean([all(rights) for rights in accuracy]))
            stats["group/all_wrong"] = float(np.mean([not any(rights) for rights in accuracy]))
        alike = [not spread([measure(row, "reward") for row in members]) for members in judged]
        stats["group/uniform_fraction"] = float(np.mean(alike))
    return stats


def _branches(episodes: Sequence[Episode], sampled: Sequence[Segment]) -> Stats:
    """Answers that branch off another answer: their number, the mean position of the fork, and the sampled share.

    The sampled share is the number of sampled tokens divided by the number of tokens in all answers together.
    """
    leaves = [e for e in episodes if e.provenance == "fresh" and e.request.max_new > 0]
    starts = [e.request.given for e in leaves if e.request.parent]
    if not starts:
        return {}
    tokens, total = sum(map(len, sampled)), sum(len(episode) for episode in leaves)
    return {
        "tree/branches": float(len(starts)),
        "tree/fork": float(np.mean(starts)),
        "tree/sampled_fraction": tokens / max(1, total),
    }


def _written(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows that the policy wrote, or all rows if it wrote none of them."""
    return [row for row in rows if row.episode.provenance != "teacher"] or rows
