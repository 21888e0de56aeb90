"""A search of steps: what flows back in its tree, where a walk goes on, and what is asked for next."""

from __future__ import annotations

import dataclasses
import math

import pytest
from grown import OPEN, SEARCH, Grown, ask, by_hand, walk
from tiny import END, Letters, episode, register

from assay.collect.nodes import uct
from assay.collect.walks import Seen, StepSearch, are_stuck, step_search, walked
from assay.rng import Key
from assay.tasks import task
from assay.types import Verdict


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


# What flows back


def test_outcomes_of_a_tree_by_hand() -> None:
    """V and N of each: every answer counts once at each step on its way. l was cut and has no outcome; b2 is b."""
    tree = by_hand().outcomes()
    found = {name: (node.value, node.visits) for name, node in tree.by_name.items()}
    steps = {"a": (1, 5), "b": (-2, 2), "b2": (-2, 2), "f": (1, 3), "l": (0, 0)}
    assert found == steps | dict.fromkeys("dgh", (1, 1)) | dict.fromkeys("eijk", (-1, 1))
    assert (tree.root.value, tree.root.visits) == (-1, 7) and len(tree.nodes) == 11
    assert tree.by_name["a"].quality == pytest.approx(1 / 5) and tree.by_name["f"].quality == pytest.approx(1 / 3)


def test_an_error_of_ours_has_no_outcome() -> None:
    grown = Grown()
    grown.expand("", a=1.0, b=0.0, c=0.0)
    grown.made["b"] = dataclasses.replace(grown.made["b"], verdict=Verdict.invalid("bug"))
    grown.made["c"] = dataclasses.replace(grown.made["c"], finish="error", verdict=Verdict.invalid("generation"))
    found = grown.walked()
    assert (found.tree.root.value, found.tree.root.visits) == (1, 1)
    assert [node.visits for node in found.tree.nodes] == [1, 0, 0] and found.next(2.0) is None


def test_a_score_is_the_first_visit_and_what_is_shut_has_minus_one_for_itself() -> None:
    """a has 1 of five outcomes and a score of 0.4; b is stuck; l was cut. The root has outcomes alone."""
    found = by_hand().walked(a=Seen(False, 0.4), b=Seen(True, 0.9), f=Seen(False, None))
    values = {name: (node.value, node.visits) for name, node in found.tree.by_name.items()}
    assert values["a"] == (pytest.approx(1.4), 6) and values["b"] == (-3, 3) and values["l"] == (-1, 1)
    assert values["f"] == (1, 3) and (found.tree.root.value, found.tree.root.visits) == (-1, 7)


# Where a walk goes on


def test_a_walk_goes_on_from_the_last_expansion_until_all_has_ended() -> None:
    grown = Grown()
    grown.expand("", a=OPEN, b=OPEN)
    assert grown.name(grown.walked().next(2.0)) == "a" and grown.walked().walks == 0
    grown.expand("a", d=0.0, m=OPEN, n=OPEN)
    assert grown.name(grown.walked().next(2.0)) == "m" and grown.walked().walks == 0
    grown.expand("m", p=0.0, q=0.0)
    assert grown.walked().walks == 1


def test_the_next_walk_begins_at_the_root_with_the_highest_upper_bound() -> None:
    """a: Q = -1, N = 3 of 3, and -1 + 2 sqrt(ln 3 / 3) = 0.21 is above 0, the bound of b, which was not visited; with 1
    it is -0.39. From a only n is left.
    """
    found = walk().walked()
    assert uct(found.tree.by_name["a"], 2.0) == pytest.approx(-1 + 2 * math.sqrt(math.log(3) / 3))
    assert walk().name(found.next(2.0)) == "n" and walk().name(found.next(1.0)) == "b"


def test_a_score_draws_a_walk_to_a_step() -> None:
    """b with 0.5 for its only visit has 0.5 + 2 sqrt(ln 3)."""
    found = walk().walked(b=Seen(False, 0.5))
    assert uct(found.tree.by_name["b"], 2.0) == pytest.approx(0.5 + 2 * math.sqrt(math.log(3)))
    assert walk().name(found.next(2.0)) == "b"


def test_nothing_follows_whatis_stuck_or_deep_or_long() -> None:
    stuck = walk().walked(n=Seen(True, None))
    assert walk().name(stuck.next(2.0)) == "b", "all that follows a is spent"
    deep = walk().walked(depth=2)
    assert walk().name(deep.next(2.0)) == "b"
    assert walk().walked(limit=2).next(2.0) is None, "two tokens are all that an answer may have"
    assert by_hand().walked().next(2.0) is None


def test_as_many_steps_are_asked_for_as_at_the_root() -> None:
    asked = ask(walk())
    about = [(r.parent, r.fork, r.round, r.sample, r.pauses, r.max_new) for r in asked]
    assert about == [("n", 2, 3, 7 + i, True, 40 - 4) for i in range(2)]


def test_a_tree_without_a_right_answer_is_walked_longer() -> None:
    assert ask(walk(), rollouts=1, most=2) and not ask(walk(), rollouts=1, most=1)
    solved = walk()
    solved.expand("n", r=1.0, s=0.0)
    assert not ask(solved, rollouts=1, most=9) and ask(solved, rollouts=3, most=9)


def test_answers_that_were_not_asked_for_step_by_step_are_left_alone() -> None:
    assert step_search([episode([1, END])], **about_nothing()) == []  # type: ignore[arg-type]


def about_nothing() -> dict[str, object]:
    return {"models": None, "codec": Letters(), "micro_tokens": 99, "max_new": 8, "noted": {}, **SEARCH}


def test_a_model_that_judges_answers_reads_no_verdict() -> None:
    """Of the right c and the wrong d it prefers d; that flows back, and verdicts may be whatever they are."""
    grown = Grown()
    grown.expand("", a=OPEN, b=OPEN)
    grown.expand("a", c=1.0, d=0.0)
    scores = {grown.made[name].request.id: value for name, value in (("a", 0.1), ("b", 0.2), ("c", -0.5), ("d", 0.7))}
    noted = {name: Seen(False, score) for name, score in scores.items()}
    found = walked(grown.episodes, noted, limit=40, depth=9, worth=lambda e: scores[e.request.id])
    assert found.tree.by_name["a"].value == pytest.approx(0.1 - 0.5 + 0.7) and found.tree.by_name["a"].visits == 3
    assert {r.parent for r in ask(grown, judge="model", model="m", noted=noted)} == {"b"}
    assert "model is ''" in str(StepSearch(judge="model").refusal())


def test_two_wrong_steps_in_a_row_end_an_answer() -> None:
    """The task judges them: 3+3=7 is wrong, and so is what follows, until it is taken back."""
    problem = task("search-stream").problem(Key(1), level=3)
    assert problem.prompt == "c 3 2 6=12"

    def stuck(text: str, marks: str = ",") -> bool:
        made = episode([1], finish="pause")
        request = dataclasses.replace(made.request, problem=problem, marks=tuple(marks))
        return are_stuck([dataclasses.replace(made, request=request, text=text)], 2)[0]

    assert stuck("6*2=13 3,13+3=16,") and not stuck("6*2=13 3,") and not stuck("6*2=12 3,13+3=16,")
    assert not stuck("6*2=13 3,~,6*2=12 3,") and not stuck("")
    assert are_stuck([dataclasses.replace(episode([1]), text="6*2=13 3,13+3=16,")], 0) == [False]
    assert not stuck("6*2=13 3,13+3=16,", marks=""), "a step that ends at its length may be half a step"


def test_a_tree_is_walked_longer_only_if_more_walks_are_allowed() -> None:
    assert "rollouts must be at most most" in str(StepSearch(rollouts=9, most=3).refusal())
    assert StepSearch().refusal() is None
