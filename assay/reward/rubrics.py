"""Rewards by a rubric: criteria with weights, each met or not, or all of them weighed by the judge at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.memory import Memory
from assay.reward.anchors import Anchors, anchored
from assay.reward.composed import whole
from assay.reward.endpoint_judges import Judged, judgeable, question_of, response_of, rewards_by_judge
from assay.types import Episode, Problem, Reward
from assay.verifiers.instructions import fault_of, meets
from assay.verifiers.judges.contentless import has_text
from assay.verifiers.judges.endpoint import Endpoint
from assay.verifiers.judges.questions import JudgeScores, Question

WORTH = {"essential": 1.0, "important": 0.7, "optional": 0.3, "pitfall": 0.8}
"""The weights of RaR 2507.17746. A pitfall is worded so that meeting it is good."""

COLUMN = "rubric"
MOST = 40  # criteria of one problem

NOT_OR_MET = ("not met", "met")
"""The tiers of a criterion without tiers of its own, where others of the rubric have some."""

Aggregation = Literal["explicit", "implicit"]


@dataclass(frozen=True)
class Criterion:
    """One criterion of a rubric: `Criterion("names the theorem", weight=0.7)`."""

    text: str
    weight: float = 1.0
    rule: tuple[Any, ...] = ()  # code checks it too (assay/verifiers/instructions.py), and counts one half
    tiers: tuple[
        str, ...
    ] = ()  # what the response is like, from the worst to the best; (): the criterion is met or not
    factual: bool = False  # it is about what the answer says, not about the way to it; only `Anchors.facts` asks
    veto: bool = False  # an answer that does not meet it has no reward above `Anchors.vetoed`


def rubric_of(problem: Problem) -> tuple[Criterion, ...] | None:
    """The criteria in the column `rubric` of a problem: texts, or mappings with `text`, and `weight` or `worth`,
    `rule`, `tiers`, `factual` and `veto`. () without the column, None if the column is wrong.
    """
    rows = problem.column(COLUMN)
    rows = () if rows is None else rows
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
    tiers = row.get("tiers", ())
    if not isinstance(tiers, (list, tuple)) or len(tiers) == 1 or not all(isinstance(t, str) and t for t in tiers):
        return None
    return Criterion(
        row["text"], float(weight), tuple(rule), tuple(tiers), row.get("factual") is True, row.get("veto") is True
    )


def of_vector(name: str, rubric: Sequence[Criterion], scores: Sequence[float], anchors: Anchors) -> Reward:
    """The reward of an answer whose criteria have these scores. They stay apart, as its parts."""
    parts = [
        Reward(f"criterion-{n}", score, about=one.text)
        for n, (one, score) in enumerate(zip(rubric, scores, strict=True), 1)
    ]
    facts = [score for one, score in zip(rubric, scores, strict=True) if one.factual] if anchors.facts else []
    settled = [1.0] * len(scores) if facts and min(facts) >= 1 else scores
    veto = any(one.veto and score < anchors.least for one, score in zip(rubric, scores, strict=True))
    value = anchored(settled, [one.weight for one in rubric], anchors, veto=veto)
    return whole(name, value, tuple(parts))


def unmet_in(episode: Episode) -> list[str] | None:
    """The criteria that an answer does not meet in full, in words; None if no reward of it has criteria."""
    scored = [part for reward in episode.rewards for _, part in reward.named() if part.about and not part.unread]
    return [part.about for part in scored if part.value < 1] if scored else None


def by_rubric(
    episodes: Sequence[Episode],
    *,
    endpoint: Endpoint,
    aggregation: Aggregation,
    criteria: tuple[str, ...],
    guards: tuple[str, ...],
    anchors: Anchors,
    memory: Memory,
) -> list[Reward | None]:
    """The judge's scores of the criteria as one reward (`anchored`), or the judge's own rating over all of them."""
    name = "judge-rubric"
    rubrics = [rubric_of(e.request.problem) for e in episodes]
    fixed, guarding = tuple(map(Criterion, criteria)), tuple(Criterion(text, 0.0, veto=True) for text in guards)
    own = [fixed if rubric == () else rubric for rubric in rubrics]
    used = [(*rubric, *guarding) if rubric else () for rubric in own]
    questions = [_question(e, r, aggregation) for e, r in zip(episodes, used, strict=True)]

    def value(i: int, given: JudgeScores) -> Reward:
        if aggregation == "implicit":
            return Reward(name, given.values[0])
        text = response_of(episodes[i])
        scores = [_checked(criterion, score, text) for criterion, score in zip(used[i], given.values, strict=True)]
        return of_vector(name, used[i], scores, anchors)

    rewards = rewards_by_judge(name, endpoint, questions, memory.key(name, memory.step), value)
    return [
        Reward.unknown(name, "bad_gold") if rubric is None else reward
        for reward, rubric in zip(rewards, rubrics, strict=True)
    ]


def _checked(criterion: Criterion, said: float, text: str) -> float:
    """s_k: what the judge said or, where code checks the criterion too, the mean of both (RLCF 2507.18624)."""
    return (said + meets(criterion.rule, text)) / 2 if criterion.rule else said


def _question(episode: Episode, rubric: Sequence[Criterion], aggregation: Aggregation) -> Question | float | None:
    text = response_of(episode)
    if not rubric or not judgeable(episode):
        return None
    if not has_text(text):
        return 0.0
    problem = question_of(episode.request.problem)
    if aggregation == "implicit":
        weighted = tuple(f"(weight {criterion.weight:g}) {criterion.text}" for criterion in rubric)
        return Question("overall", problem, (text,), criteria=weighted)
    if not any(criterion.tiers for criterion in rubric):
        return Question("checklist", problem, (text,), criteria=tuple(criterion.text for criterion in rubric))
    tiers = [criterion.tiers or NOT_OR_MET for criterion in rubric]
    return Question(
        "tiers", problem, (text,), criteria=tuple(map(_tiered, rubric, tiers)), tiers=tuple(map(len, tiers))
    )


def _tiered(criterion: Criterion, tiers: Sequence[str]) -> str:
    return f"{criterion.text} ({'; '.join(f'{n}: {tier}' for n, tier in enumerate(tiers, 1))})"


class JudgedByRubric(Judged):
    """A judge decides for each criterion of the problem's rubric whether, or how well, the response meets it (RaR
    2507.17746, Rubicon 2508.12790).

    The rubric is the column `rubric` of the data: a list of {"text", "weight" or "worth", "rule", "tiers", "factual",
    "veto"}.

        reward=(JudgedByRubric(aggregation="implicit"),)
        --mechanism.reward judge-rubric --mechanism.reward.0.aggregation implicit
    """

    known_as = "judge-rubric"

    aggregation: Aggregation = "explicit"  # one answer for each criterion, or one rating by the judge
    criteria: tuple[str, ...] = ()  # for problems without a rubric of their own; (): these have no such reward
    guards: tuple[str, ...] = ()  # further criteria of every rubric, which earn nothing and have a veto
    anchors: Anchors = Anchors()  # how the criteria become one number; by default the weighted share that is met
    does = by_rubric
    needs = ("texts",)

    def lacks(self, problem: Problem) -> str | None:
        return None if self.criteria or problem.column(COLUMN) else f"the column '{COLUMN}'"

    def spoilt(self, problem: Problem) -> str | None:
        if rubric_of(problem) is not None:
            return None
        return f"'{COLUMN}' is no list of up to {MOST} criteria: texts, or objects with \"text\" (docs/judges.md)"

    def refusal(self, **_: Any) -> str | None:
        if self.aggregation == "implicit" and (self.guards or self.anchors != Anchors()):
            return (
                "judge-rubric: with aggregation=implicit the judge itself rates the whole rubric, and guards and "
                "anchors have no effect. Set aggregation to explicit, or drop them."
            )
        fault = self.anchors.fault
        return f"judge-rubric.anchors: {fault}." if fault else None
