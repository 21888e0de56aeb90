"""Answers of a solver that a verifier is asked about, and what its verdicts earn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.hints import answered
from assay.ask.yes_or_no import NO, YES, asked_whether_right, said, with_verdict
from assay.collect.ask_judges import request_about
from assay.memory import Memory
from assay.part import Count, Expansion, Rewarding
from assay.prompt import Prompt
from assay.types import Episode, Problem, Request, Reward, by_group

if TYPE_CHECKING:
    from assay.ask import Codec

PREFIX = "verdict/"


def ask_verdicts(
    episodes: Sequence[Episode], *, codec: Codec, memory: Memory, role: str, verifier: str, most: int, length: int
) -> list[Request]:
    """For each group that has both, up to `most` right answers of `role` and as many wrong ones, drawn at random: a
    request to `verifier` whether the answer is right.
    """
    if any(episode.request.role == verifier for episode in episodes):
        return []
    asked = []
    for group, own in by_group([e for e in episodes if e.request.role == role and e.verified]).items():
        kinds = [[e for e in own.members if e.right], [e for e in own.members if not e.right]]
        count = min(most, *map(len, kinds))
        for name, kind in zip(("right", "wrong"), kinds, strict=True):
            key = memory.key("ask-verdicts", memory.step, group, name)
            order = sorted(key.generator().permutation(len(kind))[:count].tolist())
            asked += [_about(kind[i], codec, verifier, length) for i in order]
    return asked


def _about(episode: Episode, codec: Codec, verifier: str, length: int) -> Request:
    prompt = asked_whether_right(episode.request.prompt, episode.text)
    group = f"{PREFIX}{episode.request.id}"
    return request_about(episode, prompt, codec, role=verifier, group=group, max_new=length)


class AskVerdicts(Expansion):
    """A verifier is asked whether answers are right, as many right ones as wrong ones of a problem (Heimdall
    2504.10337). Problems whose answers are all right or all wrong are left out: there the verdict could be read off the
    problem.
    """

    role: str = "policy"  # whose answers
    verifier: str = "verifier"  # the role that is asked
    most: Count = 2  # right answers of a problem, and wrong ones
    length: Count = 1  # the most tokens of a verdict; the reasoning before it counts too
    does = ask_verdicts
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (with_verdict(prompt, self.length),)


def show_verdicts(
    episodes: Sequence[Episode], *, codec: Codec, memory: Memory, role: str, verifier: str, most: int
) -> list[Request]:
    """The requests of `ask_verdicts`, answered already: Yes or No, by a coin."""
    asked = ask_verdicts(episodes, codec=codec, memory=memory, role=role, verifier=verifier, most=most, length=1)
    shown = []
    for request in asked:
        heads = memory.key("show-verdicts", memory.step, request.id).bits % 2 == 0
        shown.append(answered(request, (YES if heads else NO)[request.problem.wording], codec))
    return shown


class ShowVerdicts(Expansion):
    """A verifier is shown the form of verdicts, as texts to be imitated. A coin decides each verdict, so that nothing
    is taught about the answer.
    """

    role: str = "policy"  # whose answers
    verifier: str = "verifier"  # the role that is shown
    most: Count = 2  # right answers of a problem, and wrong ones
    does = show_verdicts
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (with_verdict(prompt, 2),)


def verdict_agrees(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], right: float, wrong: float
) -> list[Reward | None]:
    """`right` if the reply ends with the verdict of the task on the answer that it is about, else `wrong`."""
    truth = {f"{PREFIX}{episode.request.id}": episode for episode in everyone}
    result: list[Reward | None] = []
    for episode in episodes:
        about = truth.get(episode.request.group)
        if about is None:
            result.append(None)
            continue
        agrees = said(episode.text, episode.request.problem.wording) == about.right
        result.append(Reward("verdict-agrees", right if agrees else wrong))
    return result


class VerdictAgrees(Rewarding):
    """The reward of a verdict on an answer: the task itself knows whether the answer is right (Heimdall 2504.10337)."""

    right: float = 1.0
    wrong: float = -1.0
    does = verdict_agrees
    needs = ("texts",)
    needs_verdict = True
