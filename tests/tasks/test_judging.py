"""Judging as a task: whose verdict counts, what is asked, and how judgements are read."""

from __future__ import annotations

import judged
import pytest
from altered import altered
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import NAME, RULED, STEPPED, answer, asked

from assay.errors import DataError
from assay.rng import Key
from assay.source import Share
from assay.tasks import task
from assay.tasks.judging import Judgement, each_alone, exact, in_other_order, read, to_compare, to_judge

REAL = ("constraints", "quantities", "trace", "search-stream", "countdown")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


@pytest.mark.parametrize("kind", ["judge", "compare"])
@pytest.mark.parametrize("wording", ["compact", "natural"])
@pytest.mark.parametrize("name", REAL)
def test_worked_judgements_are_right_and_half_of_the_answers_are_wrong(name: str, wording: str, kind: str) -> None:
    found = task(f"{kind}:{name}")
    of = task(name)
    right = []
    for i in range(24):
        level = of.generator.first or of.generator.levels[0]
        problem = found.problem(Key(i), level=level, wording=wording)  # type: ignore[arg-type]
        assert problem.solution is not None and found.verify(problem, problem.solution).status == "ok"
        inner = of.pose(problem.spec["spec"], level=level, wording=wording)  # type: ignore[arg-type]
        rights = [of.verify(inner, text).status == "ok" for text in problem.spec["answers"][wording]]
        assert kind == "judge" or sorted(rights) == [False, True]
        right.append(rights[0])
        assert all(text in problem.prompt for text in problem.spec["answers"][wording])
    assert 4 < sum(right) < 20


def test_judgements_are_read_in_both_wordings() -> None:
    assert read("+-+#2", "compact") == Judgement("+-+", 2)
    assert read("1", "compact") == Judgement("", 1) and read("+-,++#2", "compact") == Judgement("+-,++", 2)
    assert read("so: +?#1", "compact") == Judgement("", 1), "marks that cannot be read are none"
    assert read("It holds.\n++-\nAnswer: \\boxed{0}", "natural") == Judgement("++-", 0)
    assert all(read(text, "compact") is None for text in ("", "#", "+-#x", "#-1", "#1.5", "#1234"))
    assert read("+-", "natural") is None


def test_an_exact_judgement_by_hand() -> None:
    """Of `ab`: the first step is right, the second wrong; the answer is right all the same. Of rules: one is kept."""
    assert exact(STEPPED, asked("ab"), "a,a#b", right=True) == Judgement("+-", 1)
    assert exact(STEPPED, asked("ab"), "b", right=True) == Judgement("", 1)
    assert exact(RULED, asked("ab", RULED), "aa", right=False) == Judgement("+-", 1)
    assert exact(RULED, asked("ab", RULED), "", right=False) == Judgement("--", 0)


def test_what_a_judge_is_asked() -> None:
    problem = to_judge(STEPPED, asked("ab"), "a,a#b", right=True)
    assert problem.prompt == "J ab [a,a#b]" and problem.solution == "+-#1" and problem.parents == (asked("ab").id,)
    pair = to_compare(STEPPED, asked("ab"), ("a,b#b", "a,a#a"), rights=(True, False))
    assert pair.prompt == "C ab [a,b#b] [a,a#a]" and pair.solution == "++,+-#1"
    assert pair.task == f"compare:{NAME}" and task(pair.task).verify(pair, "++,+-#1").status == "ok"
    tied = to_compare(STEPPED, asked("ab"), ("a,b#b", "b"), rights=(True, True))
    assert tied.spec["score"] == 0 and task(tied.task).verify(tied, "1").status == "fail"


def test_verdicts_on_judgements_are_those_of_the_score_alone() -> None:
    problem, of = to_judge(RULED, asked("ab", RULED), "aa", right=False), task(f"judge:{NAME}")
    verdicts = [of.verify(problem, text) for text in ("1", "--#1", "0", "2", "3", "+-")]
    assert [v.status for v in verdicts] == ["ok", "ok", "fail", "fail", "fail", "fail"]
    assert [v.kind for v in verdicts][2:5] == ["wrong", "wrong", "format"], "a problem of two rules has no score of 3"


@pytest.mark.slow
@given(st.integers(0, 500))
@settings(max_examples=25, deadline=None)
def test_the_other_order_of_a_pair_is_the_same_pair(number: int) -> None:
    for name in ("constraints", "trace"):
        problem = task(f"compare:{name}").problem(Key(number), level=6 if name == "trace" else 3)
        turned = in_other_order(problem)
        assert turned.spec["answers"]["compact"] == problem.spec["answers"]["compact"][::-1]
        assert turned.spec["score"] == 3 - problem.spec["score"] and turned.id != problem.id
        assert in_other_order(turned).spec == problem.spec and in_other_order(turned).id == problem.id
        alone = each_alone(problem)
        better = max((0, 1), key=lambda i: alone[i].spec["score"])
        assert better == problem.spec["score"] - 1


@pytest.mark.slow
def test_judges_are_examined_on_problems_of_the_split() -> None:
    of, judge = task("trace"), task("judge:trace")
    for i in range(10):
        problem = judge.problem(Key(i), level=6, split="test")
        assert of.split_of(problem.spec["spec"]) == "test"


def test_a_share_of_a_pool_may_be_judging() -> None:
    assert Share.parse("judge:constraints:2,3=0.5") == Share("judge:constraints", (2, 3), 0.5)
    assert Share.parse("compare:trace").levels == (6,)


def test_a_task_whose_answers_cannot_be_made_wrong_is_refused() -> None:

    from assay.tasks.judging import JUDGE, judging
    from assay.types import Verdict

    kind = altered(STEPPED, check=lambda spec, text: Verdict.ok(text))
    with pytest.raises(DataError, match="none could be made wrong"):
        judging(kind, JUDGE).problem(Key(0), level=2)


def test_an_answer_that_was_cut_is_judged_as_it_is() -> None:
    assert answer("a,", finish="length").verdict.kind == "truncated"  # type: ignore[union-attr]
