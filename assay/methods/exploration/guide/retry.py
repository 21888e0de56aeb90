"""A second try with a hint for groups that failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from assay.ask import Codec
from assay.ask.hints import hint_of
from assay.ask.prompts import reworded
from assay.part import Expansion, Proportion
from assay.prompt import Prompt
from assay.types import Episode, Problem, Request, by_group

HINT = "hint"


def retry_with_hint(
    episodes: Sequence[Episode], *, codec: Codec, below: float, share: float, trained: str
) -> list[Request]:
    """Requests for the same answers with the hint in the context; none for a problem without a hint."""
    groups = by_group(episodes)
    asked = []
    for name, group in groups.items():
        first, judged = group.members[0].request, group.right
        if first.tag == HINT or f"{name}/{HINT}" in groups or not judged:
            continue
        if sum(judged) >= below * len(judged) or not (hint := hint_of(first.problem, share=share)):
            continue
        asked += [
            dataclasses.replace(
                reworded(e.request, e.request.prompt.with_hint(hint), codec),
                train_context=e.request.context if trained == "question" else None,
                group=f"{name}/{HINT}",
                tag=HINT,
                round=e.request.round + 1,
            )
            for e in group.members
        ]
    return asked


class RetryWithHint(Expansion):
    """A group with a pass rate below `below` is asked once more, with a hint (Guide 2506.13923).

    The retry is a group of its own, tagged `hint`. If it is trained on the question, its ratio is pi(y | question)
    over pi_old(y | question, hint).

        expand=(RetryWithHint(share=0.5),)
        --mechanism.expand retry-with-hint --mechanism.expand.0.share 0.5
    """

    solutions = "some"

    below: float = 0.001
    share: Proportion = 0.5  # the hint is this share of the worked solution's steps, if the problem has no hint
    trained: Literal["question", "hinted"] = "question"  # the prompt under which the retry is trained
    does = retry_with_hint
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.with_hint(hint_of(problem, share=self.share)),)
