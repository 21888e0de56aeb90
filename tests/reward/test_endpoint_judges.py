"""Rewards by a judge: what each of them asks, what it pays, and that no fault of the judge becomes a number."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from fake_judge import Act, blocks, endpoint, serving
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.memory import Memory
from assay.part import Rewarding, bind
from assay.reward import Cascade, JudgedAlone, JudgedByReference, JudgedByRubric, JudgedInPairs, Outcome, Saturated
from assay.reward.anchors import Anchors
from assay.reward.rubrics import rubric_of
from assay.types import Episode, Problem, Reward, Verdict

PROBLEM = Problem("data", "How many?", {"gold": "12"}, "p", solution="It is \\boxed{12}", wording="natural")


def answers(*texts: str, problem: Problem = PROBLEM, right: Sequence[str] = ()) -> list[Episode]:
    made = []
    for i, text in enumerate(texts):
        base = episode([1], sample=i)
        request = dataclasses.replace(base.request, problem=problem, sample=i)
        verdict = Verdict.ok() if text in right else Verdict.fail("wrong")
        made.append(dataclasses.replace(base, request=request, text=text, verdict=verdict, finish="stop"))
    return made


def rewards(part: Rewarding, episodes: Sequence[Episode]) -> list[Reward | None]:
    return bind(part, num_steps=1, max_new=8)(episodes, everyone=episodes, memory=Memory(0))


def values(part: Rewarding, episodes: Sequence[Episode]) -> list[float | str | None]:
    return [None if r is None else r.invalid or r.value for r in rewards(part, episodes)]


def said(value: Any) -> Act:
    return Act(text=json.dumps(value))


def boxed(text: str) -> str:
    return f"So \\boxed{{{text}}}"


def test_the_rule_decides_first_and_the_judge_sees_only_what_it_refuses() -> None:
    """12 is right by the rule; 'a dozen' by the judge alone; 13 by nobody; a cut and an unmarked answer by nobody."""
    episodes = answers(boxed("12"), boxed("a dozen"), boxed("13"), "no box", right=[boxed("12")])
    episodes.append(dataclasses.replace(answers(boxed("a dozen"))[0], finish="length"))
    with serving(lambda n, asked: said({"verdict": blocks(asked)["candidate"] == "a dozen"})) as server:
        part = Cascade(first=Outcome(), then=JudgedByReference(endpoint(server), missing=-0.5))
        assert values(part, episodes) == [1.0, 1.0, 0.0, -0.5, -0.5]
        seen = [blocks(body) for body in server.bodies]
        assert sorted(one["candidate"] for one in seen) == ["13", "a dozen"]
        assert all(one["reference answer"] == "12" and one["problem"] == "How many?" for one in seen)


def test_without_a_reference_or_without_a_verdict_nothing_is_asked() -> None:
    no_gold = dataclasses.replace(PROBLEM, spec={}, solution=None)
    lost = [dataclasses.replace(e, verdict=Verdict.invalid("worker_lost")) for e in answers(boxed("a dozen"))]
    with serving([said({"verdict": True})]) as server:
        part = JudgedByReference(endpoint(server))
        assert values(part, [*answers(boxed("a dozen"), problem=no_gold), *lost]) == [None, None]
        assert server.bodies == []


@pytest.mark.parametrize("act", [Act(text="Correct? No."), Act(status=400), Act(body=b"")], ids=["garbage", "400", "-"])
def test_a_fault_of_the_judge_leaves_no_reward(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.verifiers.judges.client.PAUSE", 0.0)
    rubric = dataclasses.replace(PROBLEM, spec={"rubric": ["short"]})
    with serving([act]) as server:
        judge = endpoint(server, attempts=1)
        cases: list[tuple[Rewarding, Problem]] = [
            (JudgedByReference(judge), PROBLEM),
            (JudgedAlone(judge), PROBLEM),
            (JudgedInPairs(judge), PROBLEM),
            (JudgedByRubric(judge), rubric),
            (Cascade(then=JudgedByReference(judge)), PROBLEM),
        ]
        for part, problem in cases:
            episodes = answers(boxed("twelve"), boxed("dozen"), problem=problem)
            for found, answer in zip(rewards(part, episodes), episodes, strict=True):
                assert found is not None and found.invalid.startswith("judge_") and math.isnan(found.value)
                assert dataclasses.replace(answer, rewards=(found,)).reward is None


def test_a_rating_is_a_tenth_and_the_judge_does_not_see_thoughts() -> None:
    with serving([said({"rating": 7})]) as server:
        part = JudgedAlone(endpoint(server))
        cut = dataclasses.replace(answers("Twelve. And")[0], finish="length")
        assert values(part, [cut]) == [0.0]
        assert values(part, answers('<think>{"rating": 10}</think>Twelve.', "", "...")) == [0.7, 0.0, 0.0]
        assert [blocks(body)["candidate"] for body in server.bodies] == ["Twelve."]


def longer(_: int, asked: dict[str, Any]) -> Act:
    """A judge without a bias: the longer response wins."""
    found = blocks(asked)
    a, b = len(found["response A"]), len(found["response B"])
    return said({"winner": "tie" if a == b else "A" if a > b else "B"})


def first(_: int, asked: dict[str, Any]) -> Act:
    return said({"winner": "A"})


def test_pairs_of_a_group_by_hand() -> None:
    """Lengths 3, 1, 2, and an empty one: wins 3, 1, 2, 0 of three comparisons each."""
    with serving(longer) as server:
        part = JudgedInPairs(endpoint(server))
        assert values(part, answers("xyz", "x", "xy", "")) == pytest.approx([1.0, 1 / 3, 2 / 3, 0.0])
        assert len(server.bodies) == 6
        assert values(part, answers("xyz")) == [None]
        assert values(part, answers("xy", "xy")) == [0.5, 0.5]


def test_a_judge_that_prefers_the_first_place_moves_nothing() -> None:
    with serving(first) as server:
        assert values(JudgedInPairs(endpoint(server)), answers("p", "q", "r")) == [0.5, 0.5, 0.5]
        against = JudgedInPairs(endpoint(server), against="reference")
        assert values(against, answers("p", "It is \\boxed{12}")) == [0.5, 0.5]


@pytest.mark.slow
@given(st.lists(st.text("xyz", min_size=0, max_size=3), min_size=2, max_size=5))
def test_wins_of_a_group_add_up_to_half_of_its_comparisons(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        from assay.verifiers.judges.client import Judge
        from assay.verifiers.judges.endpoint import Endpoint, Said

        def post(_: Endpoint, messages: Any, seconds: float) -> Said:
            return Said(longer(0, {"messages": messages}).text, "m")

        judge = Judge(Endpoint(url="http://127.0.0.1:1/v1", model="m"), post=post)
        patch.setattr("assay.verifiers.judges.client.judge_of", lambda place: judge)
        found = values(JudgedInPairs(), answers(*texts))
    assert math.fsum(v for v in found if isinstance(v, float)) == pytest.approx(len(texts) / 2)


RUBRIC = [
    {"text": "names the number", "worth": "essential"},
    {"text": "gives a reason", "worth": "important"},
    {"text": "does not guess", "worth": "pitfall", "veto": True},
    {"text": "is short", "weight": 0.5},
]


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ([True] * 4, 1.0),
        ([True, False, True, False], 1.8 / 3.0),  # (1 + 0.8) / (1 + 0.7 + 0.8 + 0.5)
        ([False, False, True, False], 0.8 / 3.0),
        ([True, True, False, True], 0.1),  # 2.2 / 3, but for the veto
        ([False] * 4, 0.0),
    ],
)
def test_a_rubric_by_hand(met: list[bool], expected: float) -> None:
    problem = dataclasses.replace(PROBLEM, spec={"columns": {"rubric": RUBRIC}})
    with serving([said({"met": met})]) as server:
        (found,) = rewards(
            JudgedByRubric(endpoint(server), anchors=Anchors(vetoed=0.1)), answers("Twelve.", problem=problem)
        )
        assert found is not None and found.value == pytest.approx(expected)
        assert [part.value for part in found.parts] == [float(one) for one in met]
        assert blocks(server.bodies[0])["criteria"].splitlines()[1] == "2. gives a reason"
        (eased,) = rewards(Saturated(of=JudgedByRubric(endpoint(server)), above=0.5), answers("12!", problem=problem))
        assert eased is not None and eased.value == pytest.approx(min(0.5, 0.0 if not met[2] else expected))


def test_code_checks_one_half_of_a_criterion_that_it_can_check() -> None:
    """The judge says yes to both; the text has three words, so that the second counts one half: (1 + 0.5 * 2) / 3."""
    rows = [{"text": "clear"}, {"text": "two words", "weight": 2, "rule": ["words", 2]}]
    problem = dataclasses.replace(PROBLEM, spec={"rubric": rows})
    with serving([said({"met": [True, True]})]) as server:
        part = JudgedByRubric(endpoint(server))
        assert values(part, answers("one two three", "one two", problem=problem)) == pytest.approx([2 / 3, 1.0])


def test_one_rating_over_the_whole_rubric_and_a_rubric_for_all() -> None:
    problem = dataclasses.replace(PROBLEM, spec={"rubric": RUBRIC})
    with serving([said({"rating": 6})]) as server:
        assert values(JudgedByRubric(endpoint(server), aggregation="implicit"), answers("12", problem=problem)) == [0.6]
        assert "(weight 0.7) gives a reason" in blocks(server.bodies[0])["criteria"]
    with serving([said({"met": [True, False]})]) as server:
        fixed = JudgedByRubric(endpoint(server), criteria=("clear", "short"))
        assert values(fixed, answers("12", "")) == [0.5, 0.0]
        assert values(JudgedByRubric(endpoint(server)), answers("12")) == [None]


@pytest.mark.parametrize(
    "rows",
    [
        *(
            "x",
            {"a": 1},
            [1],
            [""],
            [{"text": 3}],
            ["a"] * 99,
            [{"text": "a", "worth": "?"}],
            [{"text": "a", "rule": ["?"]}],
        ),
        *([{"text": "a", "weight": weight}] for weight in (-1, True, float("nan"), 0)),
    ],
    ids=range(12),
)
def test_a_rubric_that_is_none_is_an_error_of_ours(rows: Any) -> None:
    problem = dataclasses.replace(PROBLEM, spec={"rubric": rows})
    assert rubric_of(problem) is None
    with serving([said({"met": [True]})]) as server:
        assert values(JudgedByRubric(endpoint(server)), answers("12", problem=problem)) == ["bad_gold"]
        assert server.bodies == []
