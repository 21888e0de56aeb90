"""SIRL: rewards from the solver's findings, the vote of instances, the penalty on the program alone."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from paid import earned
from tiny import Letters, episode

from assay.forwards import TokenKL
from assay.lab import papers
from assay.methods.verified.sirl import SIRL, SIRL_VOTE, span_kl
from assay.methods.verified.sirl.rewards import Formed, Overlap, Ran, Voted
from assay.methods.verified.sirl.span_kl import first_token
from assay.methods.verified.sirl.vote import Instance, elected
from assay.tasks import task
from assay.types import Episode, Row, Stats, Verdict

RIGHT = dataclasses.replace(
    Verdict.ok(), scores={"ran": 1.0, "agrees": 1.0, "overlap": 0.5, "optimum": 0.0, "maximises": 1.0, "integers": 2.0}
)
OTHER = dataclasses.replace(
    Verdict.fail("wrong"), scores={"ran": 1.0, "agrees": 1.0, "overlap": 1.0, "optimum": 7.0, "maximises": 1.0}
)
STUCK = dataclasses.replace(Verdict.fail("runtime"), scores={"ran": 0.0})
UNREAD, OURS = Verdict.fail("format"), Verdict.invalid("worker_lost")


def answers(*verdicts: Verdict, text: str = "max a", group: str = "g") -> list[Episode]:
    made = [dataclasses.replace(episode([1], group=group, sample=i), text=text) for i in range(len(verdicts))]
    return [dataclasses.replace(one, verdict=verdict) for one, verdict in zip(made, verdicts, strict=True)]


def test_the_two_stages_pay_what_the_paper_pays() -> None:
    """Stage 1: 0.5 F + E + C with F of at most 2; stage 2: E + C + C H. An optimum of 0 scores like any other."""
    made = answers(RIGHT, OTHER, STUCK, UNREAD)
    stage = SIRL.stages[0].mechanism
    assert stage is not None and SIRL.stages[1].mechanism is None
    first, second = (np.sum([earned(part, made) for part in of.reward], axis=0) for of in (stage, SIRL.mechanism))
    assert first.tolist() == [1 + 1 + 1, 1 + 1, 1, 0.5]
    assert second.tolist() == [1 + 1 + 0.5, 1, 0, 0]


def test_the_form_is_one_mark_and_a_program_that_can_be_read() -> None:
    def form(text: str, verdict: Verdict) -> float:
        return earned(Formed(weight=0.5), answers(verdict, text=text))[0]

    assert form("think#max a", RIGHT) == form("max a", OTHER) == 1.0
    assert form("#max a#max b", RIGHT) == 0.5
    assert form("#", UNREAD) == 0.5 and form("##", UNREAD) == 0.0


def test_the_values_count_only_for_a_right_answer() -> None:
    assert earned(Overlap(weight=2.0), answers(RIGHT, OTHER, UNREAD)) == [1.0, 0.0, 0.0]
    assert earned(Ran(weight=3.0), answers(RIGHT, OTHER, STUCK, OURS)) == [3.0, 3.0, 0.0, 0.0]


def test_the_score_of_the_vote_is_a_sum_of_roots() -> None:
    """Two programs share the optimum 5, three the direction; the odd one out has the kinds of the majority."""
    five, also, odd = Instance(5, True, 0, 2), Instance(5, True, 1, 0), Instance(7, True, 0, 2)
    # five: sqrt 2 + sqrt 3 + sqrt 2 + sqrt 2; also: sqrt 2 + sqrt 3 + 1 + 1; odd: 1 + sqrt 3 + sqrt 2 + sqrt 2
    assert elected([odd, also, five]) == 2
    assert 3 * math.sqrt(2) > max(math.sqrt(2) + 2, 1 + 2 * math.sqrt(2))
    assert elected([None, odd, None]) == 1 and elected([None, None]) is None and elected([]) is None
    assert elected([also, five, also, five, odd]) == 1, "of equal optima the kinds of variables decide"


def test_what_the_group_elects_is_right() -> None:
    three = dataclasses.replace(OTHER, scores={**OTHER.scores, "optimum": 3.0})
    near = dataclasses.replace(OTHER, scores={**OTHER.scores, "optimum": 7.000001})
    mixed = [
        *answers(OTHER, three, near, OTHER, STUCK, UNREAD),
        *answers(three, group="h"),
        *answers(UNREAD, group="i"),
    ]
    assert earned(Voted(), mixed) == [1, 0, 1, 1, 0, 0, 1, 0]
    assert not any(type(part).__name__ == "Outcome" for part in SIRL_VOTE.mechanism.reward)


def test_the_penalty_begins_with_the_token_of_the_mark() -> None:
    letters = Letters()
    spread = [letters.encode(c)[0] for c in "abcd"]
    assert [first_token(spread, mark, letters) for mark in ("a", "c", "d", "cd")] == [0, 2, 3, 2]
    assert first_token(spread, "x", letters) == 0 == first_token([], "a", letters)


def test_reasoning_is_free_and_the_loss_keeps_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = Letters()
    ids = [int(letters.encode(c)[0]) for c in "abcb"]
    far = np.array([1.0, 2.0, 3.0, 4.0])

    def penalise(rows: list[Row], *, models: object, weight: float, estimator: str) -> tuple[list[Row], Stats]:
        assert estimator == "k1"
        whole = [row.mark(process=(0.0 if row.process is None else row.process) - weight * far) for row in rows[:-1]]
        return [*whole, rows[-1]], {"policy/reference_kl": 1.0}

    monkeypatch.setattr(TokenKL, "does", penalise)
    before = np.array([0.5, 0.5, 0.5, 0.5])
    rows = [Row(episode(ids)), Row(episode(ids)).mark(process=before), Row(episode(ids)).mark(in_loss=False)]
    found, _ = span_kl.span_kl(rows, models=None, codec=letters, weight=0.1, compact="c", natural="?")  # type: ignore[arg-type]
    assert found[0].process is not None and found[1].process is not None
    assert found[0].process.tolist() == pytest.approx([0, 0, -0.3, -0.4])
    assert found[1].process.tolist() == pytest.approx([0.5, 0.5, 0.2, 0.1])
    assert found[2] is rows[2] and before.tolist() == [0.5] * 4 and found[0].keep is None


@pytest.mark.external("highs")
def test_verdicts_of_the_task_carry_what_the_rewards_read() -> None:
    problem = task("linear-program").pose(
        {"least": False, "whole": True, "prices": [3, 2], "uses": [[1, 1], [1, 3]], "stocks": [4, 6], "most": [],
         "program": "max 3a+2b;a+b<=4;a+3b<=6;int a b"}, level=3,
    )  # fmt: skip
    texts = [problem.solution or "", "max 3a+2b;a=4;b=0;int a b", "max 3a+2b", "twelve"]
    judge = task("linear-program").checker.verify_many
    assert judge is not None
    made = answers(*judge([(problem, text) for text in texts]))
    assert earned(Ran(), made) == [1, 1, 0, 0] and earned(Overlap(), made) == [1, 0, 0, 0]
    assert [one.right for one in made] == [True, False, False, False]


def test_its_paper_says_what_runs_and_what_does_not() -> None:
    (found,) = papers.find("sirl")
    assert (found.here, found.recipes) == ("simplified", ("sirl", "sirl-vote")) and "Python" in found.missing
