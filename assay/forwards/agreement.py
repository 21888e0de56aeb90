"""How well a reward without labels agrees with the truth: metrics, by verdicts that train nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Forward
from assay.types import Row, Stats, by_group
from assay.verifiers.elections import answer_of, majority


def ranked(reward: np.ndarray, right: np.ndarray) -> tuple[float, int]:
    """(pairs of a right and a wrong answer in which the right one has the higher reward, ties half; number of pairs).

    Their ratio is the area under the ROC curve of the reward.
    """
    apart = reward[right][:, None] - reward[~right][None, :]
    return float((apart > 0).sum() + 0.5 * (apart == 0).sum()), apart.size


def agreement(rows: Sequence[Row], *, role: str) -> tuple[list[Row], Stats]:
    """The rows as they are. Answers without a verdict or without a reward do not count."""
    won = pairs = 0.0
    share, elected, hits = [], [], []
    for group in by_group(rows).values():
        if role and group.members[0].role != role:
            continue
        judged = [row for row in group.members if row.episode.verdict is not None and row.reward is not None]
        right = np.array([row.right for row in judged], bool)
        more, count = ranked(np.array([row.reward for row in judged], np.float64), right)
        won, pairs = won + more, pairs + count
        answers = [answer_of(row.episode) for row in judged]
        if (label := majority(answers)) is not None:
            votes = np.array([answer == label for answer in answers])
            share.append(votes.mean())
            elected.append(bool(right[votes].any()))
            hits += (votes == right).tolist()
    stats: Stats = {"reward/auroc": won / pairs} if pairs else {}
    if share:
        stats |= {"vote/share": float(np.mean(share)), "vote/label_accuracy": float(np.mean(elected))}
        stats["vote/reward_accuracy"] = float(np.mean(hits))
    return list(rows), stats


class Agreement(Forward):
    """Metrics of how the reward and the vote of a group agree with the verifier, whose verdicts train nothing.

    `reward/auroc`: the share of pairs of a right and a wrong answer of a group in which the right one earns more.
    `vote/share`: the share of the group that gives its most frequent answer; `vote/label_accuracy`: how often that
    answer is right; `vote/reward_accuracy`: how often the vote says of an answer what the verifier says.

        forwards=(Agreement(),)
        --mechanism.forwards agreement
    """

    role: str = ""  # the answers of this role alone are looked at; "": all answers
    does = agreement
