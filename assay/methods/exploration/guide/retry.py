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
from assay.types import Episode, Problem, Request

HINT = "hint"


def retry_with_hint(
    episodes: Sequence[Episode], *, codec: Codec, below: float, share: float, trained: str
) -> list[Request]:
    """Requests for the same answers with the hint in the context; none for a problem without a hint."""
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.request.group, []).append(episode)
    asked = []
    for group, members in groups.items():
        judged = [e.verdict.status == "ok" for e in members if e.verdict and e.verdict.status != "invalid"]
        problem = members[0].request.problem
        if members[0].request.tag == HINT or f"{group}/{HINT}" in groups or not judged:
            continue
        if sum(judged) >= below * len(judged) or not (hint := hint_of(problem, share=share)):
            continue
        asked += [
            dataclasses.replace(
                reworded(e.request, e.request.prompt.with_hint(hint), codec),
                train_context=e.request.context if trained == "question" else None,
                group=f"{group}/{HINT}",
                tag=HINT,
                round=e.request.round + 1,
            )
            for e in members
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
