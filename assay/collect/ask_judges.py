"""Judges that write: a role reads what another role answered, alone or beside another answer, and writes a judgement.

A judgement is an answer to a problem of `judge:NAME` or `compare:NAME` (assay/tasks/judging.py), so that the verifier
of NAME says whether it is right. The rule of the role says how this verdict is used.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from assay.ask import Codec, Sampling, first_free_draw, group_of_requests
from assay.ask.demonstrate import demonstrate
from assay.ask.prompts import reworded
from assay.memory import Memory
from assay.part import Count, Expansion
from assay.prompt import Prompt
from assay.tasks import task
from assay.tasks.judging import COMPARE, JUDGE, question_about, to_compare, to_judge, written
from assay.types import Episode, Problem, Request, by_group


def between(one: Episode, other: Episode) -> str:
    """The parent of a comparison: the ids of the two answers, in the order in which the judge reads them."""
    return f"{one.request.id} {other.request.id}"


def judged_before(episodes: Sequence[Episode], role: str) -> set[str]:
    """The parents of the judgements that this role has written."""
    return {episode.request.parent for episode in episodes if episode.request.role == role}


def open_to_judgement(episode: Episode, of: str) -> bool:
    """Whether the answer is complete, is of this role, and has a verdict that is no error of ours."""
    return episode.verified and episode.request.role == of and episode.finish in ("stop", "length")


def request_about(episode: Episode, prompt: Prompt, codec: Codec, *, role: str, group: str, **changes: Any) -> Request:
    """A request to `role` whose prompt shows an answer, in the next round and in a group of its own. It stands under
    the answer's problem, and as a prompt that shows an answer does not count towards its pass rate.
    """
    request = episode.request
    place: dict[str, Any] = {"role": role, "group": group, "round": request.round + 1, "tag": "", "prefix": ()}
    return dataclasses.replace(reworded(request, prompt, codec), train_context=None, **place, **changes)


def ask_judge(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    of: str,
    role: str,
    judgements: int,
    limit: int,
    shown: bool,
) -> list[Request]:
    """`judgements` requests for each answer that was not judged before. The requests of one answer form a group, and
    it is their parent. If they are `shown`, each has the exact judgement as its answer.
    """
    judged, first = judged_before(episodes, role), first_free_draw(episodes)
    unjudged = [e for e in episodes if open_to_judgement(e, of) and e.request.id not in judged]
    asked = []
    for draw, episode in enumerate(unjudged, start=first):
        problem = episode.request.problem
        posed = to_judge(task(problem.task), problem, episode.text, right=episode.right)
        fields = {"role": role, "parent": episode.request.id, **_at_most(limit)}
        asked += group_of_requests(posed, memory, judgements, draw=draw, sampling=sampling, codec=codec, **fields)
    return demonstrate(asked, memory, codec=codec) if shown else asked


def _at_most(limit: int) -> dict[str, int]:
    return {"max_new": limit} if limit else {}


class AskJudge(Expansion):
    """A role judges each answer of another role, `judgements` times: marks for its steps or rules, and a score.

    The judge's problems are those of the task `judge:NAME`, whose verifier knows the score that is right. The judge
    may be the policy itself: then its role is played by the policy's model.

        expand=(AskJudge(role="verifier", judgements=4),)
        --mechanism.expand ask-judge --mechanism.expand.0.role verifier --mechanism.expand.0.judgements 4
    """

    role: str = "judge"  # who judges; a name in the recipe's `roles`
    of: str = "policy"  # the role whose answers are judged
    judgements: Count = 1  # of each answer
    limit: int = 0  # tokens of a judgement; 0: as many as of an answer
    shown: bool = False  # the role writes nothing: it is shown the judgement of the verifier, to imitate
    does = ask_judge
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (_about_answers(JUDGE, problem, max_new, self.limit),)

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        return _of_itself("ask-judge", self.role, self.of)


def _of_itself(name: str, role: str, of: str) -> str | None:
    if role != of:
        return None
    return f"{name}: '{role}' would judge its own judgements. Name the judge's role differently from `of`."


def _about_answers(kind: str, problem: Problem, max_new: int, limit: int) -> Prompt:
    """The question about answers of `max_new` tokens each, with room for them and for a longer judgement than these."""
    answers = 1 if kind == JUDGE else 2
    asked = question_about(kind, task(problem.task), problem, [""] * answers)
    return Prompt(asked, problem.wording).longer(answers * max_new + max(0, limit - max_new))


def most_disputed(episodes: Sequence[Episode], of: str) -> list[Episode]:
    """Of each problem, the judgements of the answer whose scores vary most; only those that can be read."""
    asked_for = {episode.request.id: episode.request.group for episode in episodes}
    scores: dict[str, dict[str, list[tuple[float, Episode]]]] = {}
    for episode in episodes:
        found = written(episode) if episode.request.role == of else None
        if found is not None:
            problem = scores.setdefault(asked_for.get(episode.request.parent, ""), {})
            problem.setdefault(episode.request.parent, []).append((found.score, episode))
    chosen = []
    for answers in scores.values():
        most = max(answers.values(), key=lambda said: float(np.var([score for score, _ in said])))
        chosen += [episode for _, episode in most]
    return chosen


def pairs_in(episodes: Sequence[Episode], of: str, most: int) -> Iterator[tuple[Episode, Episode]]:
    """Of each group, the pairs of answers with different texts, as a round robin takes them: first each with the next
    one, then each with the next but one, at most `most` of a group.
    """
    for group in by_group([episode for episode in episodes if open_to_judgement(episode, of)]).values():
        members = group.members
        every = sorted(itertools.combinations(range(len(members)), 2), key=lambda pair: (pair[1] - pair[0], pair[0]))
        different = [(members[i], members[j]) for i, j in every if members[i].text != members[j].text]
        yield from different[: most or len(different)]


def ask_pairs(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    of: str,
    role: str,
    most: int,
    judgements: int,
    disputed: bool,
    limit: int,
) -> list[Request]:
    """`judgements` requests for each order of each pair of answers. The requests of one order form a group."""
    judged, first = judged_before(episodes, role), first_free_draw(episodes)
    compared = most_disputed(episodes, of) if disputed else episodes
    asked = []
    new = [pair for pair in pairs_in(compared, of, most) if between(*pair) not in judged]
    orders = [order for pair in new for order in (pair, pair[::-1])]
    for draw, (answer, other) in enumerate(orders, start=first):
        problem = answer.request.problem
        rights, texts = (answer.right, other.right), (answer.text, other.text)
        posed = to_compare(task(problem.task), problem, texts, rights=rights)
        fields = {"role": role, "parent": between(answer, other), **_at_most(limit)}
        asked += group_of_requests(posed, memory, judgements, draw=draw, sampling=sampling, codec=codec, **fields)
    return asked


class AskPairs(Expansion):
    """A role compares the answers of a group two by two, each pair in both orders, `judgements` times each.

    The judgements of a pair in one order form a group. Answers with the same text are not compared. A group of G
    different answers has G (G - 1) / 2 pairs.

        expand=(AskPairs(role="critic"),)
        --mechanism.expand ask-pairs --mechanism.expand.0.role critic
    """

    role: str = "judge"  # who compares; a name in the recipe's `roles`
    of: str = "policy"  # the role whose answers are compared
    most: int = 0  # pairs of a group; 0: all
    judgements: Count = 1  # of each pair in each order
    limit: int = 0  # tokens of a judgement; 0: as many as of an answer
    disputed: bool = False  # `of` judges: of each problem, only what it said of the answer whose scores vary most
    does = ask_pairs
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (_about_answers(COMPARE, problem, max_new, self.limit),)

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if scale.group_size < 2:
            return "ask-pairs compares the answers of a group, and scale.group_size is 1. Set it to 2 or more."
        return _of_itself("ask-pairs", self.role, self.of)
