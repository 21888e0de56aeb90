"""The reward of the rubric by hand, the one more answer of a group, its weight in the loss, and runs."""

from __future__ import annotations

import dataclasses

import judged
import numpy as np
import pytest
import torch
import worked
from altered import altered
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import policy, recipe_of, register, require_resumable, run
from worded import grown
from worked import Signs

import assay.tasks
from assay.engine.local import LocalEngine
from assay.known import recipe
from assay.memory import Memory
from assay.methods.shaping.rgr_grpo.gate import Printed, printed
from assay.methods.shaping.rgr_grpo.refine import (
    REFINED,
    AllButOne,
    Refine,
    TaughtRefinement,
    all_but_one,
    as_long_as,
    asking,
    refine,
    spoil,
    taught_refinement,
)
from assay.methods.shaping.rgr_grpo.rubric import MetSteps, met_steps, needed_steps, worked_rubric
from assay.objective.gates import shaped
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.reward import Anchors
from assay.reward.rubrics import Criterion, of_vector, unmet_in
from assay.tasks import task
from assay.tasks.task import Solution
from assay.types import Episode, Problem, Request, Reward, Segment, Verdict

CODEC = Signs()
PROBLEM = Problem(
    "worked", "aba", {"letters": "aba"}, "aba", solution="a,b,a#a"
)  # its rubric: steps a and b, and the answer


def decoded(ids: np.ndarray) -> str:
    return CODEC.decode(ids.tolist())


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    worked.register(monkeypatch)
    register(monkeypatch)


def answer(text: str, *, sample: int = 0, right: bool | None = False, group: str = "0:0", round: int = 0) -> Episode:
    ids = np.append(CODEC.encode(text), 0).astype(np.int32)
    request = Request(PROBLEM, CODEC.render("aba"), group, 12, sample=sample, round=round)
    verdict = Verdict.invalid("worker_lost") if right is None else Verdict.ok() if right else Verdict.fail("wrong")
    return Episode(request, (Segment(ids, np.zeros(len(ids), np.int8)),), "stop", text=text, verdict=verdict)


def rewarded(*answers: Episode) -> list[Episode]:
    found = met_steps(answers, anchors=Anchors(facts=True))
    return [dataclasses.replace(e, rewards=() if r is None else (r,)) for e, r in zip(answers, found, strict=True)]


@pytest.mark.parametrize(
    ("text", "right", "value", "scores"),
    [
        ("a,b#a", True, 1.0, [1, 1, 1]),
        ("#a", True, 1.0, [0, 0, 1]),  # by an unforeseen way
        ("a,b#b", False, 2 / 4, [1, 1, 0]),  # weights 1, 1 and 2
        ("b,b#b", False, 1 / 4, [0, 1, 0]),
        ("", False, 0.0, [0, 0, 0]),
    ],
)
def test_the_reward_by_hand(text: str, right: bool, value: float, scores: list[int]) -> None:
    (found,) = met_steps([answer(text, right=right)], anchors=Anchors(facts=True))
    assert found is not None and found.value == pytest.approx(value)
    assert [part.value for part in found.parts] == scores and [part.about for part in found.parts] == ["a", "b", "#"]
    (plain,) = met_steps([answer(text, right=right)], anchors=Anchors())
    assert plain is not None and plain.value == pytest.approx((scores[0] + scores[1] + 2 * scores[2]) / 4)


def test_of_an_answer_that_was_cut_nothing_is_met() -> None:
    cut = dataclasses.replace(answer("a,b"), finish="length")
    (found,) = met_steps([cut], anchors=Anchors(facts=True))
    assert found is not None and [part.value for part in found.parts] == [0, 0, 0]


def test_a_problem_without_a_solution_has_no_rubric_and_one_without_steps_its_answer() -> None:
    bare = answer("a#a")
    bare = dataclasses.replace(
        bare, request=dataclasses.replace(bare.request, problem=dataclasses.replace(PROBLEM, solution=None))
    )
    assert met_steps([bare], anchors=Anchors()) == [None] and unmet_in(bare) is None
    stepless = assay.tasks.TASKS["tiny"].pose({"letter": "a"}, level=1)
    assert worked_rubric(stepless) == [Criterion("#", 1.0, factual=True)]
    assert "must be" in (MetSteps(anchors=Anchors(pairs=3)).refusal() or "")


def test_the_longest_other_solution_stands_for_one_without_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [Solution("a"), Solution("a", "b"), Solution("a", "a,b,a"), Solution("a", "b,b,b,b")]
    worked.register(monkeypatch, altered(worked.TASK, others=lambda spec: others))
    assert needed_steps(dataclasses.replace(PROBLEM, solution="#a")) == ["a", "b"], "of different steps"


def test_only_steps_that_are_true_and_needed_are_criteria(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)
    aa = dataclasses.replace(judged.asked("aa"), solution="a,b#a")  # the second step is wrong
    assert worked_rubric(aa) == [Criterion("a"), Criterion("#", 1.0, factual=True)]
    taken = dataclasses.replace(PROBLEM, solution="a,~,b#a")
    assert needed_steps(taken) == ["a", "b"], "what takes a step back is no step"


CRITERIA = st.lists(
    st.tuples(st.floats(0.1, 5), st.booleans(), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=6
)


@given(CRITERIA)
def test_facts_settle_it_and_nothing_else_does(drawn: list[tuple[float, bool, float]]) -> None:
    rubric = [Criterion("c", weight, factual=factual) for weight, factual, _ in drawn]
    scores = [score for *_, score in drawn]
    value = of_vector("r", rubric, scores, Anchors(facts=True)).value
    facts = [score for _, factual, score in drawn if factual]
    mean = sum(w * s for w, _, s in drawn) / sum(w for w, *_ in drawn)
    assert value == pytest.approx(1.0 if facts and all(f == 1 for f in facts) else mean)


def test_the_best_answer_is_refined_by_what_it_lacks() -> None:
    """Of rewards 1/4, 1/2 and 1/2 the first best; it lacks the answer alone."""
    group = rewarded(answer("b#b"), answer("a,b#b", sample=1), answer("b,a#b", sample=2))
    (request,) = refine(group, codec=CODEC)
    assert decoded(request.context) == "aba [a,b#b] [#] "
    assert request.tag == REFINED and request.helped and request.group == "0:0" and request.sample == 3
    assert request.train_context is not None and decoded(request.train_context) == "aba "
    (request,) = refine(rewarded(answer("b#b")), codec=CODEC)
    assert decoded(request.context) == "aba [b#b] [a,#] "
    blank = dataclasses.replace(answer("a#a", sample=3), rewards=(Reward("outcome", 1.0),))
    (request,) = refine([*group, blank], codec=CODEC)
    assert decoded(request.context) == "aba [a,b#b] [#] ", "no criteria are known of the one with reward 1"


def test_the_prompt_of_a_refinement_is_longer_by_hand() -> None:
    """`aba [] [] ` in place of `aba ` is 6 tokens, and an answer and criteria of as many tokens stand in it."""
    assert grown(Refine(), PROBLEM, CODEC, 12) == grown(TaughtRefinement(), PROBLEM, CODEC, 12) == 6 + 2 * 12


def test_what_meets_everything_and_what_was_not_judged_is_not_refined() -> None:
    whole = rewarded(answer("b#b"), answer("a,b#a", sample=1, right=True))
    lost = [answer("a#a", right=None), answer("b#b", sample=1)]  # an error of ours, and no reward
    for group in (whole, lost):
        (request,) = refine(group, codec=CODEC)
        assert request.tag == "" and not request.helped and request.sample == 2 and request.round == 1
    (shortened,) = refine(rewarded(answer("#a", right=True)), codec=CODEC)
    assert shortened.tag == REFINED, "the reward is 1, and two steps are missing"
    assert refine([*whole, answer("b#b", sample=2, round=1)], codec=CODEC) == [], "once"


def test_an_answer_of_which_a_part_of_the_reward_was_lost_is_not_the_best_one() -> None:
    """Its criteria are known and its reward is not, and the other's is below 0: what has no reward is no 0."""
    poor, lost = rewarded(answer("b#b"), answer("a,b#b", sample=1))
    poor = dataclasses.replace(poor, rewards=(*poor.rewards, Reward("overlong", -1.0)))
    lost = dataclasses.replace(lost, verdict=Verdict.invalid("bug"))
    (request,) = refine([poor, lost], codec=CODEC)
    assert decoded(request.context) == "aba [b#b] [a,#] "


def test_criteria_are_shown_as_far_as_an_answer_may_go() -> None:
    assert as_long_as(["a,b", "a", "b"], CODEC, 7, ",") == ["a,b", "a"] and as_long_as(["a,b"], CODEC, 3, ",") == []
    group = rewarded(answer("b#b"))
    short = [dataclasses.replace(e, request=dataclasses.replace(e.request, max_new=2)) for e in group]
    (request,) = refine(short, codec=CODEC)
    assert decoded(request.context) == "aba [b#b] [a] "


@given(st.lists(st.sampled_from(["a,b#a", "b#b", "#a", ""]), min_size=1, max_size=5))
def test_each_group_gets_one_more_and_its_order_does_not_matter(texts: list[str]) -> None:
    made = [answer(text, sample=i, right=text.endswith("#a")) for i, text in enumerate(texts)]
    rows = rewarded(*made, *(dataclasses.replace(e, request=dataclasses.replace(e.request, group="0:1")) for e in made))
    found = refine(rows, codec=CODEC)
    assert [request.group for request in found] == ["0:0", "0:1"]
    assert all(request.sample == len(texts) for request in found)
    best = max(e.reward or 0.0 for e in rows)
    (other,) = refine(list(reversed(rows[: len(texts)])), codec=CODEC)
    assert (other.tag == REFINED) == (found[0].tag == REFINED) or best == 1.0
    assert other.sample == len(texts)


def test_the_last_answer_is_not_asked_for() -> None:
    asked = [answer("", sample=i).request for i in range(4)]
    assert [r.sample for r in all_but_one(asked, group_size=4)] == [0, 1, 2]
    scale = recipe_of("rgr-grpo", num_prompts=2).scale
    assert AllButOne().refusal(scale=dataclasses.replace(scale, group_size=2), mechanism=None)
    assert AllButOne().refusal(scale=dataclasses.replace(scale, group_size=3), mechanism=None) is None


def test_the_two_weights_of_a_refined_token_by_hand() -> None:
    """At p = 0.1, gamma = 0.1: 0.1 * 0.1 / 0.2^2 = 1/4, and as printed 0.1 / 0.2 = 1/2; at p = 0.9 0.09 and 0.9."""
    p, ones = torch.tensor([0.1, 0.9], dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    assert shaped(p, ones, gamma=0.1).tolist() == pytest.approx([0.25, 0.09])
    assert printed(p, ones, gamma=0.1).tolist() == pytest.approx([0.5, 0.9])
    several = dataclasses.replace(recipe("rgr-grpo-printed").scale, num_minibatches=2)
    assert Printed().refusal(scale=several, mechanism=None) and not Printed().refusal(
        scale=recipe("rgr-grpo-printed").scale, mechanism=None
    )


@given(st.floats(1e-4, 1.0), st.floats(0.01, 0.99))
def test_the_printed_weight_is_the_derivative_of_its_form(p: float, gamma: float) -> None:
    """d/d log pi of pi / (pi_old + gamma) at pi = pi_old."""
    log = torch.tensor(p, dtype=torch.float64).log().requires_grad_()
    (log.exp() / (log.exp().detach() + gamma)).backward()
    one = torch.tensor(p, dtype=torch.float64)
    assert log.grad is not None and log.grad.item() == pytest.approx(printed(one, one, gamma=gamma).item())


def test_a_spoilt_solution_and_what_it_lacks() -> None:
    numbers = dataclasses.replace(PROBLEM, solution="1+2=3#9")
    assert spoil(numbers, 0.0) == "2+3=4#0" and spoil(numbers, 0.5) == "1+2=4#0" and spoil(numbers, 1.0) == "1+2=3#9"
    asked = [answer("", sample=i).request for i in (0, 1)]
    plain, taught = taught_refinement(asked, Memory(0), codec=CODEC)
    assert plain.context is asked[0].context and decoded(plain.prefix[0].ids[:-1]) == "a,b,a#a"
    assert decoded(taught.context) == "aba [a,b,a#a] [#] ", "letters cannot be spoilt"
    assert decoded(taught.prefix[0].ids[:-1]) == "a,b,a#a" and taught.max_new == 0
    natural = Prompt.of(task("worked").pose({"letters": "ab"}, level=2, wording="natural"))
    assert str(asking(natural, "x", ["p", "q"]).told).count("p\nq") == 1


def test_each_request_of_each_step_is_spoilt_in_its_own_place() -> None:
    problem = dataclasses.replace(PROBLEM, solution="0,0,0,0,0,0#0")
    asked = [dataclasses.replace(answer("", sample=i).request, problem=problem) for i in range(1, 20, 2)]
    steps = [taught_refinement(asked, Memory(0, step=step), codec=judged.Signs()) for step in range(10)]
    assert len({request.context.tobytes() for request in steps[0]}) > 1
    assert len({requests[0].context.tobytes() for requests in steps}) > 1


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 8, "group_size": 4, "num_steps": 20, "warmup_steps": 0, "learning_rate": 0.006, **changes}
    return recipe_of("rgr-grpo-worked", max_new=8, **values)


def beginner() -> LocalEngine:
    return policy("fp32", vocab=Signs.vocab, hidden=16, ffn=16, context=64, init_std=0.3)


def test_refined_answers_train_under_the_question() -> None:
    notes, _ = run(small(), beginner(), pool=worked.POOL, codec=CODEC)
    taught, learnt = notes.rows[:4], notes.rows[4:]
    assert all(row.episode.right for step in taught for row in step)
    refined = [row for step in learnt for row in step if row.episode.request.tag == REFINED]
    assert refined and all(row.in_loss and row.in_group for row in refined)
    for row in refined:
        problem = row.episode.request.problem
        assert decoded(row.episode.training_context) == f"{problem.prompt} "
        assert len(row.episode.request.context) > len(row.episode.training_context)
    sizes = {len([r for r in step if r.group == row.group]) for step in learnt for row in step}
    assert sizes == {4}


@pytest.mark.slow
@pytest.mark.learning
def test_the_rubric_is_learnt() -> None:
    notes, _ = run(small(num_prompts=16, num_steps=30), beginner(), pool=worked.POOL, codec=CODEC)
    earned = [np.mean([e.reward or 0.0 for e in step if e.request.tag != REFINED]) for step in notes.episodes[6:]]
    shown("rise of the reward", np.mean(earned[-5:]) - np.mean(earned[:5]), above=0.1)


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_steps=6, num_prompts=2), beginner, after=3, pool=worked.POOL, codec=CODEC)
