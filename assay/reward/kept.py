"""A reward for the rules of a problem that code checks."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay.part import Rewarding
from assay.reward.endpoint_judges import judgeable
from assay.types import Episode, Problem, Reward
from assay.verifiers.instructions import Rule, fault_of, share
from assay.verifiers.judges.questions import without_thought

COLUMN = "rules"


def rules_of(problem: Problem) -> tuple[Rule, ...]:
    """The hard rules of a row of data: its column `rules`, or its instructions of IFEval; () without any.
    They are as the task `constraints` has them: [["words-at-most", 50], ["lowercase"]].
    """
    if problem.spec.get("ruled"):
        return tuple(json.loads(problem.spec["gold"] or "[]"))
    rows = problem.column(COLUMN)
    return () if rows is None else tuple(rows)


def kept_rules(episodes: Sequence[Episode], *, score: str) -> list[Reward | None]:
    """S_h: the share of rules that the answer keeps, 0 if it was cut. The rules of a row of data are its column
    `rules`, and S_h = 1 without one; those of a task are its verdict's score, else that the answer is right.
    """
    return [_of_row(e) if e.request.problem.provenance == "data" else _of_task(e, score) for e in episodes]


def _of_row(episode: Episode) -> Reward | None:
    problem = episode.request.problem
    if KeptRules().spoilt(problem):
        return Reward.unknown("kept-rules", "bad_gold")
    if not judgeable(episode):
        return None
    ended = episode.finish != "length"
    return Reward("kept-rules", share(rules_of(problem), without_thought(episode.text)) if ended else 0.0)


def _of_task(episode: Episode, score: str) -> Reward:
    said = (episode.verdict.scores if episode.verdict else {}).get(score)
    plain = float(episode.right)
    return Reward("kept-rules", plain if said is None or episode.finish != "stop" else said)


class KeptRules(Rewarding):
    """The share of rules that code finds kept (VerIF 2506.09942); 0 for an answer that was cut, 1 for any other to a
    row of data without the column `rules`.

    reward=(KeptRules(),)
    --mechanism.reward kept-rules
    """

    score: str = "rules"  # of a problem of a task: the score's name in the verdict
    does = kept_rules
    needs = ("texts",)

    def lacks(self, problem: Problem) -> str | None:
        asked = problem.provenance == "data" and not problem.column(COLUMN) and not problem.spec.get("ruled")
        return f"the column '{COLUMN}'" if asked else None

    def spoilt(self, problem: Problem) -> str | None:
        own = problem.provenance == "data" and not problem.spec.get("ruled")  # instructions were read with their row
        rows = problem.column(COLUMN) if own else None
        if rows is not None and not isinstance(rows, (list, tuple)):
            return f"'{COLUMN}' is a list of rules, not {str(rows)[:80]!r}"
        return next((f"'{COLUMN}': {fault}" for rule in rows or () if (fault := fault_of(rule))), None)
