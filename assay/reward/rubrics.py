"""Rewards by a rubric: criteria with weights, each met or not, or all of them weighed by the judge at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.memory import Memory
from assay.reward.judged import Judged, graded, judgeable, question_of, response_of
from assay.types import Episode, Problem, Reward
from assay.verifiers.instructions import fault_of, meets
from assay.verifiers.judges.contentless import has_text
from assay.verifiers.judges.endpoint import Endpoint
from assay.verifiers.judges.questions import Grade, Question, weighted

WORTH = {"essential": 1.0, "important": 0.7, "optional": 0.3, "pitfall": 0.8}
"""The weights of RaR 2507.17746. A pitfall is worded so that meeting it is good."""

MOST = 40  # criteria of one problem

Aggregation = Literal["explicit", "implicit"]


@dataclass(frozen=True)
class Criterion:
    """One criterion of a rubric: `Criterion("names the theorem", weight=0.7)`."""

    text: str
    weight: float = 1.0
    rule: tuple[Any, ...] = ()  # code checks it too (assay/verifiers/instructions.py), and counts one half
    veto: bool = False  # an answer that does not meet it has no reward above `vetoed`


def rubric_of(problem: Problem) -> tuple[Criterion, ...] | None:
    """The criteria in the column `rubric` of a problem: texts, or mappings with `text`, and `weight` or `worth`,
    `rule` and `veto`. () without the column, None if the column is wrong.
    """
    columns = problem.spec.get("columns")
    rows = (columns if isinstance(columns, Mapping) else problem.spec).get("rubric", ())
    if not isinstance(rows, (list, tuple)) or len(rows) > MOST:
        return None
    found = [_criterion(row) for row in rows]
    known = tuple(one for one in found if one is not None)
    total = math.fsum(one.weight for one in known)
    return None if len(known) < len(found) or (known and not total > 0) else known


def _criterion(row: Any) -> Criterion | None:
    if isinstance(row, str):
        row = {"text": row}
    if not isinstance(row, Mapping) or not isinstance(row.get("text"), str) or not row["text"].strip():
        return None
    weight = row.get("weight", WORTH.get(str(row.get("worth", "essential")).lower()))
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
        return None
    rule = row.get("rule", ())
    if rule and fault_of(rule):
        return None
    return Criterion(row["text"], float(weight), tuple(rule), row.get("veto") is True)


def by_rubric(
    episodes: Sequence[Episode],
    *,
    endpoint: Endpoint,
    aggregation: Aggregation,
    criteria: tuple[str, ...],
    vetoed: float,
    memory: Memory,
) -> list[Reward | None]:
    """sum_k w_k s_k / sum_k w_k, or the judge's own rating; at most `vetoed` if a criterion with a veto is not met."""
    name = "judge-rubric"
    rubrics = [rubric_of(e.request.problem) for e in episodes]
    used = [tuple(map(Criterion, criteria)) if rubric == () else rubric for rubric in rubrics]
    questions = [_question(e, r, aggregation) for e, r in zip(episodes, used, strict=True)]

    def value(i: int, grade: Grade) -> Reward:
        rubric = used[i] or ()
        if aggregation == "implicit":
            return Reward(name, grade.values[0])
        text = response_of(episodes[i])
        met = [_checked(one, said, text) for one, said in zip(rubric, grade.values, strict=True)]
        found = weighted(met, [one.weight for one in rubric])
        missed = any(one.veto and share < 1 for one, share in zip(rubric, met, strict=True))
        parts = tuple(Reward(f"criterion-{n}", share) for n, share in enumerate(met, 1))
        return Reward(name, min(found, vetoed) if missed else found, parts=parts)

    found = graded(name, endpoint, questions, memory.key(name, memory.step), value)
    return [
        Reward.unknown(name, "bad_gold") if rubric is None else one for one, rubric in zip(found, rubrics, strict=True)
    ]


def _checked(criterion: Criterion, said: float, text: str) -> float:
    """s_k: what the judge said or, where code checks the criterion too, the mean of both (RLCF 2507.18624)."""
    return (said + meets(criterion.rule, text)) / 2 if criterion.rule else said


def _question(
    episode: Episode, rubric: Sequence[Criterion] | None, aggregation: Aggregation
) -> Question | float | None:
    text = response_of(episode)
    if not rubric or not judgeable(episode):
        return None
    if not has_text(text):
        return 0.0
    listed = tuple(one.text if aggregation == "explicit" else f"(weight {one.weight:g}) {one.text}" for one in rubric)
    form: Literal["checklist", "overall"] = "checklist" if aggregation == "explicit" else "overall"
    return Question(form, question_of(episode.request.problem), (text,), criteria=listed)


class JudgedByRubric(Judged):
    """A judge decides for each criterion of the problem's rubric whether the response meets it (RaR 2507.17746).

    The rubric is the column `rubric` of the data: a list of {"text", "weight" or "worth", "rule", "veto"}.

        reward=(JudgedByRubric(aggregation="implicit"),)
        --mechanism.reward judge-rubric --mechanism.reward.0.aggregation implicit
    """

    known_as = "judge-rubric"

    aggregation: Aggregation = "explicit"  # the weighted share of criteria that are met, or one rating by the judge
    criteria: tuple[str, ...] = ()  # for problems without a rubric of their own; (): these have no such reward
    vetoed: float = 0.0  # at most this is left where a criterion with a veto is not met
    does = by_rubric
    outcome = True
