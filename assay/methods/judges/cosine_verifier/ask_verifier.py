"""A role verifies the final answers of another role, as problems of the task `equivalence`, whose tools it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.ask import Codec, Sampling, first_free_draw, group_of_requests
from assay.collect.ask_judges import open_to_judgement
from assay.memory import Memory
from assay.part import Count, Expansion
from assay.prompt import Prompt
from assay.reward.endpoint_judges import gold_of
from assay.tasks.judging import asked_text
from assay.types import Episode, Problem, Request
from assay.verifiers.elections import answer_of

GREEDY = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}

Answered = tuple[str, str]
"""A problem, and a final answer to it."""


def answered(episode: Episode) -> Answered | None:
    """What is verified of an answer; None if it has no final answer, or if nobody knows the right one."""
    candidate, problem = answer_of(episode), episode.request.problem
    return (problem.id, candidate) if candidate is not None and gold_of(problem) else None


def verdicts_of(episodes: Sequence[Episode], role: str) -> dict[Answered, Episode]:
    """What the verifier has written about which answer."""
    own = [(e.request.problem.spec, e) for e in episodes if e.request.role == role]
    return {(spec["of"], spec["candidate"]): episode for spec, episode in own if "of" in spec and "label" in spec}


def ask_verifier(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    of: str,
    role: str,
    turns: int,
    limit: int,
) -> list[Request]:
    """A request for each different final answer to a problem that was not verified before. The first of those who gave
    it is the parent.
    """
    seen, requests = set(verdicts_of(episodes, role)), list[Request]()
    first = first_free_draw(episodes)
    for episode in episodes:
        key = answered(episode) if open_to_judgement(episode, of) else None
        if key is None or key in seen:
            continue
        seen.add(key)
        posed = _posed(episode.request.problem, key[1], right=episode.right)
        about: dict[str, Any] = {"role": role, "parent": episode.request.id, "max_calls": turns - 1, **GREEDY}
        about |= {"max_new": limit} if limit else {}
        draw = first + len(requests)
        requests += group_of_requests(posed, memory, 1, draw=draw, sampling=sampling, codec=codec, **about)
    return requests


def _posed(problem: Problem, candidate: str, *, right: bool) -> Problem:
    from assay.tasks.equivalence import to_verify  # its world is for runs, and whoever lists recipes starts none

    return to_verify(problem, asked_text(problem), gold_of(problem), candidate, right=right)


class AskVerifier(Expansion):
    """A role that has tools verifies the final answers of another role against the reference, greedily: each different
    answer to a problem once (CoSineVerifier 2512.01224).

    What it is asked is a problem of the task `equivalence`, with Python and a conversion of units. Of an answer it
    reads the final answer alone. The verdict of the answer's own task is the label of the problem, which says how often
    the verifier is right, and is told nobody.

        expand=(AskVerifier(role="verifier"),), reward=(VerifiedBy(role="verifier"),)
        --mechanism.expand ask-verifier --mechanism.reward verified-by
    """

    role: str = "verifier"  # who verifies; a name in the recipe's `roles`
    of: str = "policy"  # the role whose answers are verified
    turns: Count = 5  # of the verifier; the last one is for its verdict
    limit: int = 0  # tokens of the verifier; 0: as many as of an answer
    does = ask_verifier
    needs_verdict = True
    needs = ("texts",)

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        asked = _posed(problem, "", right=False)
        return (Prompt(asked.prompt, problem.wording).longer(max_new + max(0, self.limit - max_new)),)

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if self.role != self.of:
            return None
        return f"ask-verifier: '{self.role}' would verify its own verdicts. Name its role differently from `of`."
