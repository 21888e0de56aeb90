"""A reward for the words that an answer and its reference have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from assay.part import Rewarding
from assay.reward.endpoint_judges import gold_of
from assay.tasks.own_pages import plain
from assay.types import Episode, Problem, Reward
from assay.verifiers.answers import find_answer

Words = Literal["bag", "set"]
ALONE = ("yes", "no", "noanswer")  # answers that have nothing in common with another one


def f1(answer: str, reference: str, *, words: Words) -> float:
    """2 p r / (p + r), of the words that both have: p of those of the answer, r of those of the reference. Capitals,
    articles and punctuation do not count; `set`: a word counts once.
    """
    mine, theirs = plain(answer).split(), plain(reference).split()
    if not mine or not theirs or (mine != theirs and {" ".join(mine), " ".join(theirs)} & set(ALONE)):
        return 0.0
    if words == "set":
        mine, theirs = list(set(mine)), list(set(theirs))
    both = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * both / (len(mine) + len(theirs))


def answer_f1(episodes: Sequence[Episode], *, words: Words) -> list[Reward | None]:
    """The best F1 over the references; 1 if the verifier calls the answer right, 0 if there is none."""
    return [Reward("answer-f1", _f1(episode, words)) for episode in episodes]


def _f1(episode: Episode, words: Words) -> float:
    if episode.right:
        return 1.0
    answer = find_answer(episode.text, episode.request.problem.wording) if episode.finish == "stop" else None
    return max((f1(answer or "", gold, words=words) for gold in references(episode.request.problem)), default=0.0)


def references(problem: Problem) -> list[str]:
    """The right answers to a problem: several where its task accepts several."""
    golds = problem.spec.get("golds")
    return [str(gold) for gold in golds] if golds else [gold] if (gold := gold_of(problem)) else []


class AnswerF1(Rewarding):
    """The outcome reward by words: the F1 of the answer and the reference, as SQuAD measures it. An answer that the
    verifier calls right has 1, a cut or missing one 0.

        reward=(AnswerF1(),)
        --mechanism.reward answer-f1
    """

    words: Words = "bag"  # bag: a word counts as often as both have it; set: once
    does = answer_f1
    needs = ("texts",)
    needs_verdict = True
    outcome = True

    def lacks(self, problem: Problem) -> str | None:
        return None if references(problem) else "a reference answer"
