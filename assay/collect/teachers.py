"""Teachers: worked solutions that join the groups in which the policy found no right answer, or too few."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.ask import Codec
from assay.ask.hints import answered
from assay.memory import Memory
from assay.models import Models
from assay.part import Expansion
from assay.tasks import task
from assay.types import Episode, Request, by_group
from assay.verifiers.answers import before_answer, find_answer


def ask_teachers(
    episodes: Sequence[Episode],
    *,
    models: Models,
    memory: Memory,
    codec: Codec,
    most: int,
    right: int,
    choice: str,
) -> list[Request]:
    """Requests whose whole answer is a teacher's trace, for each group with too few right answers; once a group."""
    asked: list[Request] = []
    for name, group in by_group(episodes).items():
        judged = group.right
        if not judged or sum(judged) > right or any(e.provenance == "teacher" for e in group.members):
            continue
        request = group.members[0].request
        traces = task(request.problem.task).traces(request.problem)
        if choice == "random":
            order = memory.key("teachers", memory.step, name).generator().permutation(len(traces)).tolist()
        else:
            sign = 1.0 if choice == "best" else -1.0
            worth = comprehension(request, traces, models, codec) if len(traces) > 1 else [0.0]
            order = sorted(range(len(traces)), key=lambda i: (-sign * worth[i], len(traces[i]), i))
        free = 1 + max(member.request.sample for member in group.members)
        asked += [_answered(request, traces[i], codec, sample=free + rank) for rank, i in enumerate(order[:most])]
    return asked


class AskTeachers(Expansion):
    """Up to `most` worked solutions join a group with no more than `right` right answers (AMPO 2510.02227).

    They are answers of the group like any other: the verifier checks them and its verdict gives their reward.

        expand=(AskTeachers(most=2, right=0),)
        --mechanism.expand ask-teachers --mechanism.expand.0.most 2
    """

    solutions = "some"

    most: int = 2
    right: int = 0
    choice: Literal["best", "random", "worst"] = "best"  # the solutions that the policy comprehends best, worst, or any
    does = ask_teachers
    needs_verdict = True


def comprehension(request: Request, traces: Sequence[str], models: Models, codec: Codec) -> list[float]:
    """c of each trace = max(0, p(answer | question, trace without its answer) - p(answer | question)).

    p is the mean probability of the answer's tokens a_j, mean_j pi(a_j | ..., a_<j): not a mean of log-probs.
    """
    from assay.engine.interface import Span

    wording = request.problem.wording
    answer = codec.encode(find_answer(traces[0], wording) or "")
    bare = before_answer(traces[0], wording)[-1:] if wording == "compact" else "Answer: \\boxed{"
    contexts = [np.concatenate([request.context, codec.encode(before_answer(t, wording))]) for t in traces]
    contexts.append(np.concatenate([request.context, codec.encode(bare)]))
    spans = [Span(context.astype(np.int32), answer, request.temperature) for context in contexts]
    *seen, alone = (float(np.exp(scores.logp).mean()) for scores in models.play(request.role).score(spans))
    return [max(0.0, value - alone) for value in seen]


def _answered(request: Request, trace: str, codec: Codec, *, sample: int) -> Request:
    return dataclasses.replace(answered(request, trace, codec), sample=sample, tag="teacher")
