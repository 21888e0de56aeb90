"""The soft half of VerIF's reward; the hard one is `kept-rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.memory import Memory
from assay.reward.endpoint_judges import Judged, judgeable, question_of, response_of, rewards_by_judge
from assay.types import Episode, Problem, Reward
from assay.verifiers.judges.contentless import has_text
from assay.verifiers.judges.endpoint import Endpoint
from assay.verifiers.judges.questions import Question

COLUMN = "soft"


def judged_rules(episodes: Sequence[Episode], *, endpoint: Endpoint, memory: Memory) -> list[Reward | None]:
    """S_s: 1 if the judge finds every soft rule kept, else 0; 1 without soft rules."""
    name = "judged-rules"
    rules = [soft_rules(episode.request.problem) for episode in episodes]

    def question(episode: Episode, soft: tuple[str, ...] | None) -> Question | float | None:
        text = response_of(episode)
        if soft is None or not judgeable(episode):
            return None
        if not soft or not has_text(text):
            return float(not soft)
        return Question("checklist", question_of(episode.request.problem), (text,), criteria=soft)

    questions = [question(episode, soft) for episode, soft in zip(episodes, rules, strict=True)]
    rewards = rewards_by_judge(
        name,
        endpoint,
        questions,
        memory.key(name, memory.step),
        lambda _, scores: Reward(name, float(all(scores.values))),
    )
    return [
        Reward.unknown(name, "bad_gold") if soft is None else reward
        for reward, soft in zip(rewards, rules, strict=True)
    ]


def soft_rules(problem: Problem) -> tuple[str, ...] | None:
    """The column `soft` of a problem; () without one, None if it is no list of texts."""
    rows = problem.column(COLUMN)
    if rows is None:
        return ()
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, str) and row.strip() for row in rows):
        return None
    return tuple(rows)


class JudgedRules(Judged):
    """1 if a judge finds every rule of the column `soft` kept, else 0 (VerIF 2506.09942).

    reward=(JudgedRules(),)
    --mechanism.reward judged-rules
    """

    does = judged_rules
    needs = ("texts",)

    def lacks(self, problem: Problem) -> str | None:
        return None if problem.column(COLUMN) else f"the column '{COLUMN}'"

    def spoilt(self, problem: Problem) -> str | None:
        if soft_rules(problem) is not None:
            return None
        return f"'{COLUMN}' is a list of texts, not {str(problem.column(COLUMN))[:80]!r}"

    def prepare(self) -> Mapping[str, str]:
        """No judge is needed before a problem has soft rules."""
        return {}
