"""Who is asked to judge what, and what judgements are worth: for those who are judged, and for the judges."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import judged
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, RULED, Signs, answer, asked, comparison, judgement
from tiny import recipe_of
from worded import grown

from assay.ask import Sampling
from assay.collect import AskJudge, AskPairs
from assay.memory import Memory
from assay.part import Rewarding, bind
from assay.reward import Grounded, MarkedBy, OfTasks, Outcome, PreferredBy, ScoredBy, WellMarked
from assay.types import Episode, Request


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def expand(part: Any, episodes: Sequence[Episode], *, step: int = 0) -> list[Request]:
    return bind(part, sampling=Sampling(12), codec=Signs())(episodes, memory=Memory(0, step=step))


def worth(part: Rewarding, episodes: Sequence[Episode], *others: Episode) -> list[float | str | None]:
    found = bind(part, codec=Signs(), max_new=12)(episodes, everyone=[*episodes, *others])
    return [None if one is None else "unread" if one.unread else one.value for one in found]


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


def test_wins_by_hand() -> None:
    """a beats b in both orders; b and c each win at the first place; a and d have one text, which ties."""
    a, b, c = (answer(text, sample=i) for i, text in enumerate(["b", "a", "ab"]))
    d = answer("b", sample=3)
    said = [comparison(a, b, "1"), comparison(b, a, "2"), comparison(b, c, "1"), comparison(c, b, "1")]
    assert worth(PreferredBy(), [a, b, c, d], *said) == [0.75, 0.25, 0.5, 0.5]
    torn = [comparison(a, b, "1"), comparison(b, a, "?")]
    assert worth(PreferredBy(), [a, b], *torn) == ["unread"] * 2, "half of a comparison says nothing"
    even = [comparison(a, b, "1"), comparison(b, a, "0")]
    assert worth(PreferredBy(), [a, b], *even) == [0.5, 0.5], "a judge that finds both as good was read"
    assert worth(PreferredBy(), [a, b]) == [None, None]


def test_marks_of_steps_by_hand() -> None:
    """y_k / K at the last token of each step, the mean over judgements with as many marks as there are steps."""
    one, none = answer("a,a#b", sample=0), answer("b", sample=1)
    said = [judgement(one, text, sample=i) for i, text in enumerate(["+-#1", "++#0", "+#1", "+-+#1"])]
    found, empty = bind(MarkedBy(), codec=Signs())([one, none], everyone=[one, none, *said])
    assert found.scope == "span" and found.values.tolist() == [0.5, 0.0] and found.at.tolist() == [0, 2]
    assert empty.value == 0.0 and len(empty.values) == 0


@given(st.lists(st.sampled_from(["++#1", "+-#1", "-+#0", "--#0", "+#1", "?"]), max_size=5))
def test_steps_earn_no_more_than_one_in_all(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        judged.register(patch)
        one = answer("a,a#b")
        (found,) = bind(MarkedBy(), codec=Signs())(
            [one], everyone=[one, *[judgement(one, t, sample=i) for i, t in enumerate(texts)]]
        )
        if not any(t[:2] in ("++", "+-", "-+", "--") for t in texts):
            assert found is None if not texts else found.unread
        else:
            assert -1 <= found.value <= 1 and np.isfinite(found.values).all()


def test_the_form_of_a_judgement_and_its_verdict_are_apart() -> None:
    one = answer("a,a#b")
    said = [judgement(one, text, sample=i) for i, text in enumerate(["+-#1", "--#0", "+#1", "1", "+-"])]
    assert worth(WellMarked(worth=0.5), said) == [0.5, 0.5, 0.0, 0.0, 0.0]
    assert worth(WellMarked(), [one]) == [None]
    assert worth(Grounded(wrong=-1.0), [*said, one]) == [1.0, -1.0, 1.0, 1.0, -1.0, None]


def test_a_critic_is_grounded_where_one_answer_is_better() -> None:
    a, b, c = (answer(text, sample=i) for i, text in enumerate(["b", "a", "aa"]))
    said = [comparison(a, b, "1"), comparison(b, a, "1"), comparison(b, c, "1")]
    assert worth(Grounded(), said) == [1.0, 0.0, 0.5], "both of the last pair are wrong"


def test_each_kind_of_task_has_a_reward_of_its_own() -> None:
    a, b = answer("b"), answer("a", sample=1)
    assert worth(OfTasks(of=Outcome(), tasks=(NAME,)), [a, b]) == [1.0, 0.0]
    assert worth(OfTasks(of=Outcome(), tasks=(NAME,), others=True), [a, b]) == [None, None]
    said = [comparison(a, b, "1")]
    assert worth(OfTasks(of=Grounded(), tasks=(f"compare:{NAME}",)), [*said, a]) == [1.0, None]
