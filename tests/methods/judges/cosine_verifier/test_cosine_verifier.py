"""CoSineVerifier: what a verdict earns, what is verified of an answer, when there is no judgement, and runs."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_turns import CODEC, small_model, worded
from telling import TELLING
from tiny import Letters, policy, recipe_of, register, require_resumable, run
from worded import grown

import assay
from assay.ask import Sampling
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.judges.cosine_verifier.ask_verifier import AskVerifier, ask_verifier
from assay.methods.judges.cosine_verifier.verified_by import verdict_of, verified_by
from assay.part import bind
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.equivalence import CORRECT, INCORRECT
from assay.types import Episode, Request, Verdict
from assay.worlds.interpreter import ANEW

RECIPE = RECIPES["cosine-verifier"]
SAMPLING = Sampling(max_new=64, temperature=0.7, top_p=0.9)
ASKED: dict[str, Any] = {
    "sampling": SAMPLING,
    "codec": CODEC,
    "of": "policy",
    "role": "verifier",
    "turns": 5,
    "limit": 0,
}
TIMED_OUT = f"it took too long. {ANEW}"


# What a verifier earns


def worth(episode: Episode, stage: int) -> float:
    mechanism = RECIPE.stages[stage].mechanism or RECIPE.mechanism
    (part,) = mechanism.reward
    (reward,) = bind(part, codec=CODEC, max_new=99)([episode])
    return reward.value


def verifying(*turns: str, right: bool, **about: Any) -> Episode:
    verdict = Verdict.ok(CORRECT) if right else Verdict.fail("wrong", answer=CORRECT)
    return dataclasses.replace(worded(*turns, name="equivalence", **about), verdict=verdict)


@given(
    right=st.booleans(),
    calls=st.lists(
        st.tuples(st.sampled_from(["[python 1+1]", "[convert 1 m to km]", "[x]"]), st.booleans()), max_size=4
    ),
)
def test_the_reward_is_the_formula(right: bool, calls: list[tuple[str, bool]]) -> None:
    """R = 1[right] (1 + 0.1 * 1[a call was answered without an error]) first, and 1[right] later; many are one."""
    turns = [text for call, _ in calls for text in (call, "2")]
    failed = tuple(i for i, (call, fails) in enumerate(calls) if fails or call == "[x]")
    episode = verifying(*turns, "#Correct", right=right, failed=failed)
    served = len(failed) < len(calls)
    assert math.isclose(worth(episode, 0), float(right) * (1 + 0.1 * served), abs_tol=1e-12)
    assert worth(episode, 1) == float(right)


def test_without_a_verdict_and_at_the_limit_of_turns_nothing_is_earned() -> None:
    silent = dataclasses.replace(verifying("[python 1+1]", "2", "", right=True), verdict=Verdict.fail("format"))
    cut = dataclasses.replace(
        verifying("[python 1+1]", "2", "[python 1+1]", right=True, finish="length"), verdict=Verdict.fail("truncated")
    )
    assert [worth(one, stage) for one in (silent, cut) for stage in range(2)] == [0.0] * 4


def test_tools_are_encouraged_in_the_first_third_and_four_calls_are_answered() -> None:
    shares = [stage.share for stage in RECIPE.stages]
    assert shares[0] / sum(shares) == 1 / 3 and RECIPE.scale.group_size == 8
    (limit,) = RECIPE.mechanism.ask
    assert limit.most + 1 == 5  # pyright: ignore[reportAttributeAccessIssue]
    assert limit.unfit(Pool((Share("equivalence"),))) is None
    assert "'python'" in str(limit.unfit(Pool((Share("calculator"),))))


# What is asked


PROBLEM = task("calculator").problem(Key(1), level=2)
VALUE = str(PROBLEM.solution).rpartition("#")[2]


def answer(text: str, sample: int = 0, finish: Any = "stop", **about: Any) -> Episode:
    request = Request(PROBLEM, CODEC.render("?"), "0:0", 64, sample=sample, **about)
    made = dataclasses.replace(worded(text), request=request, text=text, finish=finish)
    return dataclasses.replace(made, verdict=task("calculator").verify(PROBLEM, text))


def asked(*answers: Episode) -> list[Request]:
    return ask_verifier(answers, Memory(0), **ASKED)


def test_each_final_answer_is_verified_once_and_greedily() -> None:
    answers = [answer(f"#{VALUE}", 0), answer(f"surely right#{VALUE}", 1), answer("#3", 2), answer("#4", 3, "length")]
    requests = asked(*answers)
    assert [(r.problem.spec["candidate"], r.problem.spec["label"], r.parent) for r in requests] == [
        (VALUE, CORRECT, answers[0].request.id),
        ("3", INCORRECT, answers[2].request.id),
    ]
    for request in requests:
        assert (request.role, request.temperature, request.top_p, request.max_calls) == ("verifier", 0.0, 1.0, 4)
        assert request.problem.task == "equivalence" and request.seat and "]" in request.stop
        assert request.problem.spec["reference"] == VALUE and "surely" not in str(request.problem.prompt)
    assert len({request.group for request in requests}) == 2
    told = [said(request, "#Correct", verdict=Verdict.ok(CORRECT)) for request in requests]
    assert asked(*answers, *told) == [], "asked once"


def test_whose_answers_are_verified() -> None:
    lost = dataclasses.replace(answer("#3"), verdict=Verdict.invalid("bug"))
    assert asked(lost) == [] == asked(dataclasses.replace(answer("#3"), verdict=None))
    assert asked(answer("#3", role="other")) == [] and asked(answer("#")) == []
    assert (
        AskVerifier(role="policy").refusal(scale=None, mechanism=None)
        and AskVerifier().refusal(scale=1, mechanism=1) is None
    )


def test_how_much_longer_a_question_about_an_answer_is() -> None:
    part, one = AskVerifier(), answer("#3")
    (request,) = asked(one)
    assert grown(part, PROBLEM, CODEC, 8) >= len(request.context) - len(CODEC.render(PROBLEM.prompt)) - len("3")


# What an answer is worth


def said(request: Request, *turns: str, verdict: Verdict | None, failed: tuple[int, ...] = (), **about: Any) -> Episode:
    made = worded(*turns, name="equivalence", failed=failed, **about)
    return dataclasses.replace(made, request=request, verdict=verdict)


def valued(answers: list[Episode], *verdicts: Episode) -> list[float | None]:
    """Values, in which nan is no judgement."""
    rewards = verified_by(answers, everyone=[*answers, *verdicts], codec=CODEC, role="verifier")
    assert all(math.isnan(one.value) == one.unread for one in rewards if one)
    return [None if one is None else one.value for one in rewards]


def test_a_verdict_is_the_reward_of_all_who_gave_the_answer() -> None:
    answers = [
        answer(f"#{VALUE}", 0),
        answer(f"so#{VALUE}", 1),
        answer("#3", 2),
        answer("#", 3),
        answer("#5", 4, "length"),
    ]
    right, wrong = asked(*answers)
    yes = said(right, "#Correct", verdict=Verdict.ok(CORRECT))
    no = said(wrong, "#Incorrect", verdict=Verdict.ok(INCORRECT))
    assert valued(answers, yes, no) == [1.0, 1.0, 0.0, 0.0, 0.0]
    deceived = said(wrong, "#Correct", verdict=Verdict.fail("wrong", answer=CORRECT))
    assert valued(answers, deceived) == [None, None, 1.0, 0.0, 0.0], "its word counts, and not whether it is right"


WRONG = Verdict.fail("wrong", answer=INCORRECT)


@pytest.mark.parametrize(
    ("turns", "failed", "verdict", "finish", "judged"),
    [
        (("#Incorrect",), (), WRONG, "stop", True),
        (("[python 1]", "1", "#Incorrect"), (), WRONG, "stop", True),
        (("[python x]", "NameError", "#Incorrect"), (0,), WRONG, "stop", True),  # the verifier's own error
        (("[python 1]", TIMED_OUT, "#Incorrect"), (0,), WRONG, "stop", False),
        (("[python 1]", TIMED_OUT, "[python 1]", "1", "#Incorrect"), (0,), WRONG, "stop", True),  # tried again
        (("[python 1]", ANEW, "#Incorrect"), (), WRONG, "stop", True),  # printed, and no error
        (("[python 1]", "1", "[python 1]"), (), Verdict.fail("truncated"), "length", False),
        (("#7",), (), Verdict.fail("format"), "stop", False),
        (("",), (), Verdict.invalid("world"), "error", False),
        (("#Incorrect",), (), None, "stop", False),
    ],
)
def test_when_there_is_no_judgement(
    turns: tuple[str, ...], failed: tuple[int, ...], verdict: Verdict | None, finish: Any, judged: bool
) -> None:
    one = answer(f"#{VALUE}")
    (request,) = asked(one)
    episode = said(request, *turns, verdict=verdict, failed=failed, finish=finish)
    assert (verdict_of(episode, CODEC) == INCORRECT) == judged
    (value,) = valued([one], episode)
    assert value is not None and (value == 0.0 if judged else math.isnan(value))


@given(st.lists(st.sampled_from([VALUE, "3", "4", ""]), min_size=1, max_size=6), st.permutations(range(6)))
def test_equal_answers_are_worth_the_same_in_any_order(texts: list[str], order: list[int]) -> None:
    answers = [answer(f"#{text}", i) for i, text in enumerate(texts)]
    verdicts = [said(request, "#", verdict=Verdict.ok(request.problem.spec["label"])) for request in asked(*answers)]
    values = dict(zip(texts, valued(answers, *verdicts), strict=True))
    assert all(value == float(text == VALUE) for text, value in values.items())
    turned = [answers[i] for i in order if i < len(answers)]
    assert valued(turned, *verdicts) == [values[one.text[1:]] for one in turned]


# Runs


def small(*shares: float, **scale: object) -> Any:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 3, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    made = recipe_of("cosine-verifier", max_new=6, **sizes)
    ask = (dataclasses.replace(made.mechanism.ask[0], tools=("s",)),)
    stages = [
        dataclasses.replace(
            stage, share=share, mechanism=dataclasses.replace(stage.mechanism or made.mechanism, ask=ask)
        )
        for stage, share in zip(made.stages, shares or (1, 2), strict=True)
    ]
    return dataclasses.replace(made, stages=tuple(stages), mechanism=dataclasses.replace(made.mechanism, ask=ask))


def engine() -> Any:
    return policy("fp32", decode=Letters().decode)


def test_a_run_goes_through_both_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)
    notes, memory = run(small(), engine())
    names = [{reward.name for e in step for reward in e.rewards} for step in notes.episodes]
    assert names == [{"product"}, {"outcome"}, {"outcome"}] and memory.stage == 1


@pytest.mark.slow
def test_a_stopped_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)
    require_resumable(small(), engine, after=2)


@pytest.mark.deep
def test_a_verifier_learns_to_call_and_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The letter is what the tool says, and a guess is right every second time at best."""
    register(monkeypatch, TELLING)
    notes, _ = run(small(num_steps=90, learning_rate=0.014), engine())
    accuracy = notes.accuracy()
    calls = [float(np.mean([any(s.is_reply for s in e.segments) for e in step])) for step in notes.episodes]
    assert np.mean(accuracy[-6:]) > np.mean(accuracy[:6]) + 0.2 and np.mean(calls[-6:]) > np.mean(calls[:6])


@pytest.mark.deep
@pytest.mark.external("sandbox")
@pytest.mark.parametrize(("recipe", "name"), [("cosine-verifier", "equivalence"), ("cosine-verified", "calculator")])
def test_a_run_with_tools(tmp_path: Path, recipe: str, name: str) -> None:
    sizes: dict[str, Any] = {
        "scale": {"group_size": 2, "num_prompts": 2, "max_new": 24},
        "machine": {"hosts": 1},
        "evaluation": {"num_problems": 2, "num_samples": 2},
    }
    where = {"model": small_model(tmp_path, Key("small")), "run": tmp_path / "run"}
    made = assay.train(recipe, task=name, steps=3, quiet=True, **where, **sizes)
    assert made.steps == 3 and all(row.get("world/faults", 0) == 0 for row in made.metrics())
