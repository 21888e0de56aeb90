"""Who is asked to judge what, and what scores are worth to those who are judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import judged
import pytest
from judged import NAME, RULED, Signs, answer, asked, comparison, judgement, worth
from tiny import recipe_of
from worded import grown

from assay.ask import Sampling
from assay.collect import AskJudge, AskPairs
from assay.memory import Memory
from assay.part import bind
from assay.reward import OfTasks, Outcome, ScoredBy
from assay.types import Episode, Request


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def expand(part: Any, episodes: Sequence[Episode], *, step: int = 0) -> list[Request]:
    return bind(part, sampling=Sampling(12), codec=Signs())(episodes, memory=Memory(0, step=step))


# Who is asked


def test_each_answer_is_judged_several_times_in_a_group_of_its_own() -> None:
    answers = [answer("a,b#b", sample=0), answer("a,b#a", sample=1), answer("a,", sample=2, finish="length")]
    lost = dataclasses.replace(answers[0], verdict=None)
    requests = expand(AskJudge(role="verifier", judgements=2), [*answers, lost], step=3)
    assert [(r.group, r.draw, r.sample, r.role) for r in requests] == [
        (f"3:{draw}", draw, sample, "verifier") for draw in (1, 2, 3) for sample in (0, 1)
    ]
    assert [r.parent for r in requests] == [a.request.id for a in answers for _ in range(2)]
    assert Signs().decode(requests[2].context.tolist()) == "J ab [a,b#a] "
    assert [r.problem.spec["score"] for r in requests] == [1, 1, 0, 0, 0, 0]
    assert len({r.id for r in requests}) == 6


def test_nothing_is_judged_twice_and_later_answers_are_judged_too() -> None:
    first, later = answer("a,b#b", sample=0), answer("b", sample=1)
    done = judgement(first, "++#1")
    assert [r.parent for r in expand(AskJudge(), [first, done, later])] == [later.request.id]
    assert expand(AskJudge(), [first, done]) == []


def test_pairs_are_compared_in_both_orders_and_equal_texts_are_not() -> None:
    one, same, other = (answer(text, sample=i) for i, text in enumerate(["b", "b", "a"]))
    requests = expand(AskPairs(role="critic"), [one, same, other])
    ids = [e.request.id for e in (one, same, other)]
    assert [r.parent.split() for r in requests] == [
        [ids[1], ids[2]], [ids[2], ids[1]], [ids[0], ids[2]], [ids[2], ids[0]],
    ]  # fmt: skip
    assert [r.group for r in requests] == ["0:1", "0:2", "0:3", "0:4"]
    assert [r.problem.spec["score"] for r in requests] == [1, 2, 1, 2]
    assert {r.max_new for r in requests} == {12}
    assert {r.max_new for r in expand(AskPairs(limit=5), [one, other])} == {5}
    assert len(expand(AskPairs(most=1, judgements=3), [one, same, other])) == 6
    said = [answer("1", r.problem, role="critic", parent=r.parent) for r in requests]
    assert expand(AskPairs(role="critic"), [one, same, other, *said]) == []


def test_of_each_problem_the_most_disputed_answer_has_its_judgements_compared() -> None:
    clear, disputed = answer("b", sample=0), answer("a", sample=1)
    said = [judgement(clear, text, sample=i) for i, text in enumerate("110")]
    said += [judgement(disputed, text, sample=i) for i, text in enumerate(["1", "0", "x", "+#0"])]
    requests = expand(AskPairs(role="meta", of="judge", disputed=True), [clear, disputed, *said])
    told = {e.request.id: e.text for e in said}
    pairs = [tuple(told[one] for one in r.parent.split()) for r in requests]
    assert {r.problem.task for r in requests} == {f"compare:judge:{NAME}"}
    # variances 2/9 of 1, 1, 0 and of 1, 0, 0: the first of them, and of it each with each but for equal texts
    assert pairs == [("1", "0"), ("0", "1"), ("1", "0"), ("0", "1")]


def test_prompts_grow_by_the_answers_that_they_quote() -> None:
    problem, codec = asked("ab"), Signs()
    for part, count in ((AskJudge(), 1), (AskPairs(), 2)):
        texts = ["a" * 12] * count
        long = expand(part, [answer(texts[0]), answer("b" * 12, sample=1)])[0]
        assert grown(part, problem, codec, 12) == len(long.context) - len(codec.render(problem.prompt))


def test_what_cannot_be_judged_is_refused() -> None:
    scale = recipe_of("grpo", group_size=1).scale
    refused = [
        AskJudge(role="policy").refusal(scale=scale, mechanism=None),
        AskPairs().refusal(scale=scale, mechanism=None),
    ]
    assert all(refused) and "scale.group_size is 1" in str(refused[1])
    assert AskJudge().refusal(scale=scale, mechanism=None) is None


# What it is worth


def test_scores_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two rules: means of 2, 1 and 0 of 2; what cannot be read does not count, nor a score of 3."""
    judged.register(monkeypatch, RULED)
    problem = asked("ab", RULED)
    one, other, nobody = (answer(text, problem, sample=i) for i, text in enumerate(["ab", "aa", "b"]))
    said = [judgement(one, text, sample=i) for i, text in enumerate(["++#2", "+-#1", "#", "#3"])]
    said += [judgement(other, "--#0"), judgement(other, "+#2", sample=1, finish="length"), judgement(nobody, "+")]
    assert worth(ScoredBy(), [one, other, nobody], *said) == [0.75, 0.0, "unread"]
    assert worth(ScoredBy(), [nobody]) == [None], "nobody was asked"


def test_each_kind_of_task_has_a_reward_of_its_own() -> None:
    a, b = answer("b"), answer("a", sample=1)
    assert worth(OfTasks(of=Outcome(), tasks=(NAME,)), [a, b]) == [1.0, 0.0]
    assert worth(OfTasks(of=Outcome(), tasks=(NAME,), others=True), [a, b]) == [None, None]
    said = [comparison(a, b, "1")]
    assert worth(OfTasks(of=Outcome(), tasks=(f"compare:{NAME}",)), [*said, a]) == [1.0, None]
