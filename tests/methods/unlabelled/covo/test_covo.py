"""CoVo: paths by hand, their worth, states, and distances from dense distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import worked
from engine_cases import naive_log_probs
from hypothesis import given
from hypothesis import strategies as st
from tiny import models_of, policy, recipe_of, run
from worked import Signs

from assay.methods.unlabelled.covo.steady import Steady, path_of, states_of, worth_of
from assay.part import bind
from assay.types import Episode, Problem, Request, Segment, Verdict

CODEC = Signs()


def answer(text: str, *, sample: int = 0, finish: Any = "stop", wording: Any = "compact") -> Episode:
    problem = Problem("worked", "ab", {"letters": "ab"}, "ab", wording=wording)
    ids = np.append(CODEC.encode(text), 0).astype(np.int32) if wording == "compact" else np.zeros(1, np.int32)
    request = Request(problem, CODEC.render("ab"), "g", 8, sample=sample)
    segment = Segment(ids, np.zeros(len(ids), np.int8))
    return Episode(request, (segment,), finish, text=text, verdict=Verdict.fail("wrong"))


def test_paths_by_hand() -> None:
    """Own distances 3, 1, 4, 2, 1 against the nearest other of 2: ratios 1.5, 0.5, 2, 1, 0.5. Below 1 twice; the last
    run of at most 1 has two of five states.
    """
    distance = np.array([[3.0, 2.0, 9.0], [1, 2, 2], [4, 9, 2], [2, 2, 5], [1, 2, 2]])
    assert path_of(distance, 0) == (2 / 5, pytest.approx(1 - 2 / 5))
    assert path_of(np.array([[1.0, 2.0]]), 0) == (1.0, 0.0) and path_of(np.array([[2.0, 1.0]]), 0) == (0.0, 1.0)


def test_worth_by_hand() -> None:
    paths = [(1.0, 0.0), (0.5, 1.0)]
    assert worth_of(paths, form="linear") == 0.75 - 0.5
    x, y = (1 + 0.5 * math.cos(1)) / 2, 0.5 * math.sin(1) / 2
    assert worth_of(paths, form="vector") == pytest.approx(math.sqrt(x * x + y * y))


@given(
    st.lists(st.lists(st.floats(0.1, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from([0.25, 2.0, 8.0]),
)
def test_laws_of_paths(rows: list[list[float]], scale: float) -> None:
    """Scaling a state's distances (the paper makes them sum to 1) changes nothing; both numbers lie in [0, 1]; the
    norm is at most the mean consistency.
    """
    distance = np.array(rows)
    con, vol = path_of(distance, 1)
    assert path_of(distance * scale, 1) == (pytest.approx(con), pytest.approx(vol))
    assert 0 <= con <= 1 and 0 <= vol <= 1
    assert worth_of([(con, vol)], form="vector") == pytest.approx(con)


@pytest.mark.parametrize(
    ("text", "most", "states"),
    [
        ("a,b#a", 15, ["a,", "a,b"]),
        ("a,b,#a", 15, ["a,", "a,b,"]),
        ("a,b,a,b#a", 2, ["a,", "a,b,a,b"]),
        ("ab", 15, [""]),
        ("#a", 15, [""]),
        (" #a", 15, [""]),
    ],
)
def test_states_by_hand(text: str, most: int, states: list[str]) -> None:
    assert states_of(answer(text), most=most) == states


def test_states_of_lines() -> None:
    text = "one\ntwo\nAnswer: \\boxed{3}"
    assert states_of(answer(text, wording="natural"), most=9) == ["one\n", "one\ntwo\n", "one\ntwo\nAnswer: "]
    blank = answer("\n\none\nAnswer: \\boxed{3}", wording="natural")
    assert states_of(blank, most=9) == ["\n\none\n", "\n\none\nAnswer: "], "an empty line is no step"


def distance(engine: Any, state: str, said: str) -> float:
    context, ids = np.concatenate([CODEC.render("ab"), CODEC.encode(state + "#")]), CODEC.encode(said)
    every = naive_log_probs(engine.model, context, ids).detach().numpy()
    return float(np.exp(-np.mean([every[t, token] for t, token in enumerate(ids)])))


@pytest.mark.parametrize("precision", ["fp64", "native"])
def test_the_reward_is_that_of_dense_distributions(precision: str) -> None:
    engine = policy(precision, vocab=Signs.vocab)
    answers = [answer("a,b#a", sample=0), answer("b#b", sample=1), answer("b,b#b", sample=2), answer("a#", sample=3)]
    found = bind(Steady(above=None), codec=CODEC)(answers, models=models_of(engine))

    def path(states: list[str], own: str, other: str) -> tuple[float, float]:
        return path_of(np.array([[distance(engine, s, own), distance(engine, s, other)] for s in states]), 0)

    a = worth_of([path(["a,", "a,b"], "a", "b")], form="vector")
    b = worth_of([path(["b"], "b", "a"), path(["b,", "b,b"], "b", "a")], form="vector")
    assert [one.value for one in found] == pytest.approx([a, b, b, 0.0], abs=1e-6)
    halves = bind(Steady(above=min(a, b)), codec=CODEC)(answers, models=models_of(engine))
    assert [one.value for one in halves] == [1.0, 1.0, 1.0, 0.0]


def test_a_long_answer_is_as_likely_as_its_tokens_are_on_average() -> None:
    """The sum over its two tokens would say that the other answer is always the nearer one."""
    engine = policy("fp64", vocab=Signs.vocab, seed=1)
    answers = [answer("a,b#ab"), answer("b#b", sample=1)]
    assert all(distance(engine, s, "ab") < distance(engine, s, "b") for s in ("a,", "a,b", "b"))
    found = bind(Steady(above=None), codec=CODEC)(answers, models=models_of(engine))
    assert [one.value for one in found] == [1.0, 0.0], "con 1 and vol 0, and the other way round"


@pytest.mark.slow
def test_steady_paths_become_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a group agrees, which is worth nothing."""
    worked.register(monkeypatch)
    scale = {"num_prompts": 16, "group_size": 8, "num_steps": 28, "num_minibatches": 1, "learning_rate": 0.003}
    recipe = recipe_of("covo", max_new=6, warmup_steps=2, **scale)
    engine = policy("fp32", vocab=Signs.vocab, hidden=16, ffn=16, init_std=0.3)
    notes, _ = run(recipe, engine, pool=worked.POOL, codec=CODEC)
    earned = [np.mean([episode.reward or 0.0 for episode in step]) for step in notes.episodes]
    assert np.mean(earned[-8:]) > np.mean(earned[:8]) + 0.2


def test_where_all_agree_or_nobody_answers_there_is_no_reward() -> None:
    part, models = bind(Steady(), codec=CODEC), models_of(policy("fp64", vocab=Signs.vocab))
    assert [one.value for one in part([answer("a#a"), answer("b#a", sample=1)], models=models)] == [0.0, 0.0]
    assert [one.value for one in part([answer("a#a", finish="length")], models=models)] == [0.0]
