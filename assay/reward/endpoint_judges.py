"""Rewards by a judge: a model behind an endpoint that compares, rates, or decides whether an answer is right.

A judge that does not answer, or answers garbage, leaves the answer without a reward (`invalid`). Answers that say
nothing are refused without asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from assay.memory import Memory
from assay.part import Rewarding
from assay.prompt import text_of
from assay.reward.votes import answer_of
from assay.rng import Key
from assay.types import Episode, Problem, Reward, by_group
from assay.verifiers.answers import find_answer
from assay.verifiers.judges.contentless import has_text, says_something
from assay.verifiers.judges.endpoint import Endpoint, Fault
from assay.verifiers.judges.questions import JudgeScores, Question, win, without_thought


class Judged(Rewarding):
    """A reward that asks a judge."""

    endpoint: Endpoint = Endpoint()  # where the judge answers; its key comes from the environment

    def prepare(self) -> Mapping[str, str]:
        from assay.verifiers.judges.client import examine

        return examine(self.endpoint)


def judge_scores(endpoint: Endpoint, questions: Sequence[Question], key: Key) -> list[JudgeScores | Fault]:
    """The judge's answer to each question: its scores, or a fault. The client is imported only for a question."""
    if not questions:
        return []
    from assay.verifiers.judges.client import judge_of

    return judge_of(endpoint).scores(questions, key)


def question_of(problem: Problem) -> str:
    """The prompt as text."""
    if isinstance(problem.prompt, str):
        return problem.prompt
    return "\n\n".join(
        f"{message.get('role', '')}: {text_of(message.get('content', ''))}" for message in problem.prompt
    )


def gold_of(problem: Problem) -> str:
    """The reference answer: of a row of data its gold, else the answer of the worked solution; '' if there is none."""
    gold = problem.spec.get("gold")
    if gold is None and problem.solution:
        gold = find_answer(problem.solution, problem.wording)
    return "" if gold is None else str(gold)


def rewards_by_judge(
    name: str,
    endpoint: Endpoint,
    questions: Sequence[Question | float | None],
    key: Key,
    value: Callable[[int, JudgeScores], Reward],
) -> list[Reward | None]:
    """The reward of each answer: None without a question, a number without asking, else by the judge's scores."""
    asked = [(i, question) for i, question in enumerate(questions) if isinstance(question, Question)]
    replies = judge_scores(endpoint, [question for _, question in asked], key)
    scores = {i: reply for (i, _), reply in zip(asked, replies, strict=True)}
    result: list[Reward | None] = []
    for i, question in enumerate(questions):
        outcome = scores.get(i)
        if isinstance(outcome, Fault):
            result.append(Reward.unknown(name, outcome.kind))
        elif outcome is not None:
            result.append(value(i, outcome))
        else:
            result.append(Reward(name, question) if isinstance(question, float) else None)
    return result


def judgeable(episode: Episode) -> bool:
    """Whether there is an answer to judge: there is none if an error of ours left the verifier without a verdict."""
    return episode.finish != "error" and (episode.verdict is None or episode.verdict.status != "invalid")


def response_of(episode: Episode) -> str:
    """The text that a judge reads of an answer: without its reasoning, and empty if the answer was cut. A cut answer
    may be right so far, and would be paid for never ending.
    """
    return "" if episode.finish == "length" else without_thought(episode.text)


def by_reference(
    episodes: Sequence[Episode],
    *,
    endpoint: Endpoint,
    right: float,
    wrong: float,
    missing: float,
    memory: Memory,
) -> list[Reward | None]:
    """`right` if the judge finds the final answer equivalent to the reference, else `wrong`; `missing` without one."""

    def question(episode: Episode) -> Question | float | None:
        problem = episode.request.problem
        gold, answer = gold_of(problem), answer_of(episode)
        if not gold or not judgeable(episode):
            return None
        if answer is None:
            return missing
        if says_something(gold) and not says_something(answer):
            return wrong
        return Question("reference", question_of(problem), (answer,), reference=gold)

    name = "judge-reference"
    key = memory.key(name, memory.step)
    return rewards_by_judge(
        name,
        endpoint,
        [question(episode) for episode in episodes],
        key,
        lambda _, scores: Reward(name, right if scores.values[0] else wrong),
    )


class JudgedByReference(Judged):
    """A judge decides whether the final answer is equivalent to the reference answer (General-Reasoner 2505.14652).

    As the second of a cascade it sees only what the rule refuses. A problem without a reference has no such reward.

    For your own recipes: where a rule cannot compare an answer with its reference, with a judge behind an endpoint
    (docs/judges.md).

        reward=(Cascade(then=JudgedByReference()),)
        --mechanism.reward cascade --mechanism.reward.0.then judge-reference
    """

    known_as = "judge-reference"

    right: float = 1.0
    wrong: float = 0.0
    missing: float = 0.0  # the reward of a response without a final answer, or cut
    does = by_reference
    needs = ("texts",)

    def lacks(self, problem: Problem) -> str | None:
        return None if gold_of(problem) else "a reference answer"


def alone(episodes: Sequence[Episode], *, endpoint: Endpoint, memory: Memory) -> list[Reward | None]:
    """rating / 10 of the response; 0 if it is empty or cut."""

    def question(episode: Episode) -> Question | float | None:
        text = response_of(episode)
        if not judgeable(episode):
            return None
        return Question("rating", question_of(episode.request.problem), (text,)) if has_text(text) else 0.0

    name = "judge-single"
    questions = [question(episode) for episode in episodes]
    return rewards_by_judge(
        name, endpoint, questions, memory.key(name, memory.step), lambda _, scores: Reward(name, scores.values[0])
    )


class JudgedAlone(Judged):
    """A judge rates each response by itself, from 1 to 10; the reward is a tenth of that (MT-Bench 2306.05685).

    Many answers of a group get the same rating, and then teach nothing; `judge-pairs` tells them apart.

    For your own recipes: for rows without a reference answer, with a judge behind an endpoint (docs/judges.md).

        reward=(JudgedAlone(),)
        --mechanism.reward judge-single
    """

    known_as = "judge-single"

    does = alone
    needs = ("texts",)


Against = Literal["group", "reference"]


def in_pairs(
    episodes: Sequence[Episode], *, endpoint: Endpoint, against: Against, memory: Memory
) -> list[Reward | None]:
    """R_i = mean_j w_ij over the other answers j of the group, or w of the answer against the worked solution.

    A comparison without a score counts for neither of its answers. Otherwise one answer on which the judge fails would
    cost the whole group its rewards.
    """
    name = "judge-pairs"
    pairs = list(_group_pairs(episodes)) if against == "group" else list(_with_solution(episodes))
    texts = [response_of(episode) for episode in episodes]
    questions: dict[tuple[str, str, str], None] = {}
    for i, j in pairs:
        first, second = texts[i], _other(episodes, texts, i, j)
        if _plain_win(first, second) is None:
            prompt = question_of(episodes[i].request.problem)
            questions |= {(prompt, first, second): None, (prompt, second, first): None}
    asked = [Question("pair", prompt, (a, b)) for prompt, a, b in questions]
    replies = judge_scores(endpoint, asked, memory.key(name, memory.step))
    scores = dict(zip(questions, replies, strict=True))
    wins: dict[int, list[float | Fault]] = {}
    for i, j in pairs:
        prompt, first, second = question_of(episodes[i].request.problem), texts[i], _other(episodes, texts, i, j)
        plain = _plain_win(first, second)
        both = (scores.get((prompt, first, second)), scores.get((prompt, second, first)))
        wins.setdefault(i, []).append(_win(plain, *both))
    return [_mean_win(name, wins.get(i, [])) for i in range(len(episodes))]


def _group_pairs(episodes: Sequence[Episode]) -> Iterator[tuple[int, int]]:
    """(i, j) of all answers of a group that can be judged, in both directions."""
    for group in by_group(episodes).values():
        there = [i for i in group.places if judgeable(episodes[i])]
        yield from ((i, j) for i in there for j in there if i != j)


def _with_solution(episodes: Sequence[Episode]) -> Iterator[tuple[int, int]]:
    yield from ((i, -1) for i, e in enumerate(episodes) if judgeable(e) and e.request.problem.solution)


def _other(episodes: Sequence[Episode], texts: Sequence[str], i: int, j: int) -> str:
    return texts[j] if j >= 0 else episodes[i].request.problem.solution or ""


def _plain_win(first: str, second: str) -> float | None:
    """The win of the first text without asking: one half if the texts are equal or both empty, all or nothing if only
    one of them has text; None if the judge decides.
    """
    says = (has_text(first), has_text(second))
    if first == second or not any(says):
        return 0.5
    return None if all(says) else float(says[0])


def _win(plain: float | None, forth: JudgeScores | Fault | None, back: JudgeScores | Fault | None) -> float | Fault:
    if plain is not None:
        return plain
    if isinstance(forth, JudgeScores) and isinstance(back, JudgeScores):
        return win(forth, back)
    return next(one for one in (forth, back) if isinstance(one, Fault))


def _mean_win(name: str, wins: Sequence[float | Fault]) -> Reward | None:
    if not wins:
        return None
    lost = [one for one in wins if isinstance(one, Fault)]
    known = [one for one in wins if not isinstance(one, Fault)]
    if not known:
        return Reward.unknown(name, lost[0].kind)
    return Reward(name, sum(known) / len(known), parts=(Reward.no_judgement("comparison"),) if lost else ())


class JudgedInPairs(Judged):
    """A judge compares answers two by two, each pair in both orders; a win must be one in both (MT-Bench 2306.05685).

    The reward is the share of comparisons won, a tie being half a win. A group of G takes G (G - 1) questions.

    For your own recipes: for rows without a reference answer whose ratings are all alike, with a judge behind an
    endpoint (docs/judges.md).

        reward=(JudgedInPairs(against="reference"),)
        --mechanism.reward judge-pairs --mechanism.reward.0.against reference
    """

    known_as = "judge-pairs"

    against: Against = "group"  # the other answers of the group, or the worked solution
    does = in_pairs
    needs = ("texts",)

    @property
    def relative(self) -> bool:
        return self.against == "group"

    def lacks(self, problem: Problem) -> str | None:
        return None if self.against == "group" or problem.solution else "a worked solution"

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if self.against == "group" and scale.group_size < 2:
            return "judge-pairs compares the answers of a group, and scale.group_size is 1. Set it to 2 or more."
        return None
