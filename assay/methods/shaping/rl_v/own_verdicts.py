"""The policy learns, beside its task, to say whether its own answers are right, and its verdicts weigh their vote."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask.prompts import reworded
from assay.ask.yes_or_no import asked_whether_right, chances_right, verdict_tokens, with_verdict
from assay.forwards.agreement import ranked
from assay.memory import Memory
from assay.models import Models
from assay.part import Curator, Forward
from assay.prompt import Prompt
from assay.types import Origin, Problem, Row, Segment, Stats, by_group
from assay.verifiers.elections import answer_of, best, majority, weighted

if TYPE_CHECKING:
    from assay.ask import Codec

VERDICT = "verdict"


def own_verdicts(rows: Sequence[Row], *, codec: Codec, memory: Memory, role: str) -> list[Row]:
    """Adds a row for as many right answers as wrong ones, drawn at random from all answers of the step: the question
    whether the answer is right, and the true verdict as one token.

    They are in no group statistics and not in the denominator: only their own term of the loss trains them.
    """
    judged = [row for row in rows if row.role == role and not row.tag and _judged(row)]
    kinds = [[row for row in judged if row.right is right] for right in (True, False)]
    count = min(map(len, kinds))
    key = memory.key("own-verdicts", memory.step)
    added = []
    for name, kind in zip(("right", "wrong"), kinds, strict=True):
        order = key(name).generator().permutation(len(kind))[:count]
        added += [_verdict_on(kind[i], codec) for i in sorted(order.tolist())]
    return [*rows, *added]


def _judged(row: Row) -> bool:
    return row.verified and row.episode.provenance == "fresh"


def _verdict_on(row: Row, codec: Codec) -> Row:
    """The lesson on one answer."""
    episode = row.episode
    request, problem = episode.request, episode.request.problem
    yes, no = verdict_tokens(problem.wording, codec)
    word = np.array([yes if episode.right else no], np.int32)
    asked = dataclasses.replace(
        reworded(request, asked_whether_right(request.prompt, episode.text), codec),
        train_context=None,
        prefix=(),
        group=f"{request.group}/{VERDICT}",
        tag=VERDICT,
        temperature=1.0,
        max_new=1,
    )
    lesson = dataclasses.replace(
        episode,
        request=asked,
        segments=(Segment(word, np.full(1, Origin.POLICY, np.int8)),),
        text=codec.decode(word.tolist()),
        context=None,
        path=(),
    )
    return Row(lesson, in_group=False, in_denominator=False, tag=VERDICT)


class OwnVerdicts(Curator):
    """The policy also learns to say Yes or No to its own answers, by the term of the loss that is `tagged` with
    `verdict` (RL^V 2505.04842). As many right answers as wrong ones are asked about, so that saying always the same
    teaches nothing; if all are right or all wrong, none is.

    It stands before parts that leave groups out: answers of groups that are all right or all wrong are asked about too.
    """

    writes = ("rows", "group")

    role: str = "policy"  # whose answers
    does = own_verdicts
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (with_verdict(prompt),)


def vote_by_verdicts(rows: Sequence[Row], *, models: Models, codec: Codec, role: str) -> tuple[list[Row], Stats]:
    """The rows as they are, and how often the answer that a group elects is right: by the most votes, by the largest
    sum of s, and by the largest s, where s is the chance that the policy gives to Yes.
    """
    judged = [row for row in rows if row.role == role and row.tag != VERDICT and _judged(row)]
    asked = [(row.episode.request.problem, row.episode.text) for row in judged]
    chances = chances_right(models.play(role), asked, codec)
    won = pairs = 0.0
    right_of: dict[str, list[bool]] = {"majority": [], "weighted": [], "best": []}
    for group in by_group(judged).values():
        s, right = chances[group.places], np.array([row.right for row in group.members], bool)
        more, count = ranked(s, right)
        won, pairs = won + more, pairs + count
        answers = [answer_of(row.episode) for row in group.members]
        chosen = {
            "majority": majority(answers),
            "weighted": weighted(answers, s.tolist()),
            "best": best(answers, s.tolist()),
        }
        for name, answer in chosen.items():
            mine = [ok for ok, other in zip(right.tolist(), answers, strict=True) if other == answer]
            right_of[name].append(answer is not None and any(mine))
    stats: Stats = {f"verdict/{name}": float(np.mean(hits)) for name, hits in right_of.items() if hits}
    return list(rows), stats | ({"verdict/auroc": won / pairs} if pairs else {})


class VoteByVerdicts(Forward):
    """Metrics of votes that the policy's own verdicts weigh, before the update (RL^V 2505.04842).

    `verdict/weighted`, `verdict/best` and `verdict/majority`: how often the answer that a group elects is right.
    `verdict/auroc`: the share of pairs of a right and a wrong answer of a group in which the right one has the higher
    chance of Yes.
    """

    role: str = "policy"  # whose answers, and whose verdicts
    does = vote_by_verdicts
    needs_verdict = True
