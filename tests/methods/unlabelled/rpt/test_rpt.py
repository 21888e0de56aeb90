"""Reinforcement pre-training: places, matches by bytes, and a run in which predictions become right."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import worked
from engine_cases import naive_log_probs
from hypothesis import given
from hypothesis import strategies as st
from tiny import models_of, policy, recipe_of, run
from worded import grown
from worked import Signs

from assay.ask.prompts import reworded
from assay.memory import Memory
from assay.methods.unlabelled.rpt.continue_text import ContinueText, place_of
from assay.methods.unlabelled.rpt.continues import Continues, goes_on
from assay.part import bind
from assay.rng import Key
from assay.types import Episode, Problem, Request, Segment

CODEC = Signs()
PROBLEM = Problem("worked", "ab", {"letters": "ab"}, "ab", solution="a,b#b")


def asked(group: str = "g", sample: int = 0, problem: Problem = PROBLEM) -> Request:
    return Request(problem, CODEC.render(problem.prompt), group, 9, sample=sample)


@pytest.mark.parametrize(
    ("said", "right"), [("ab", True), ("abcä", True), ("a", False), ("abc", False), ("", False), ("abx", False)]
)
def test_a_prediction_ends_where_a_piece_ends(said: str, right: bool) -> None:
    assert goes_on(said, ["ab", "cä", "d"]) == right


@given(st.lists(st.sampled_from(["a", "bc", "ä€"]), min_size=1, max_size=5), st.integers(1, 5))
def test_every_beginning_of_pieces_goes_on_and_nothing_longer(pieces: list[str], count: int) -> None:
    assert goes_on("".join(pieces[:count]), pieces) and not goes_on("".join(pieces) + "a", pieces)


def test_the_most_uncertain_places_are_drawn() -> None:
    entropy = np.array([0.1, 2.0, 0.3, 1.0, 0.2])
    assert {place_of(entropy, Key(i), share=0.4) for i in range(50)} == {1, 3}
    assert {place_of(entropy, Key(i), share=0.01) for i in range(9)} == {1}


def test_a_group_continues_one_text_from_an_uncertain_place() -> None:
    engine = policy("fp64", vocab=Signs.vocab)
    part = bind(ContinueText(share=0.01, length=3), codec=CODEC)
    made = part([asked("g", 0), asked("g", 1)], models=models_of(engine), memory=Memory(0))
    ids = CODEC.encode("a,b#b")
    every = naive_log_probs(engine.model, CODEC.render("ab"), ids).detach().numpy()
    at = int((-(np.exp(every) * every).sum(1)).argmax())
    for request in made:
        assert request.context.tolist() == [*CODEC.render("ab"), *ids[:at]]
        assert request.max_new == 3 and request.hinted
    bare = asked(problem=dataclasses.replace(PROBLEM, solution=None))
    assert part([bare], models=models_of(engine), memory=Memory(0)) == [bare]


def test_the_reward_reads_what_the_prompt_shows() -> None:
    begun = tuple(CODEC.encode("a,").tolist())
    shown = reworded(asked(), dataclasses.replace(asked().prompt, begun=begun), CODEC)
    assert shown.context.tolist() == [*CODEC.render("ab"), *begun]
    segment = Segment(np.zeros(1, np.int32), np.zeros(1, np.int8))
    texts = ["b", "b#b", "b#", "", "a", "b#bb"]
    found = bind(Continues(), codec=CODEC)([Episode(shown, (segment,), "length", text=text) for text in texts])
    assert [one.value for one in found] == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_prompts_grow_by_at_most_the_whole_solution() -> None:
    assert grown(ContinueText(), PROBLEM, CODEC, 9) == 5


@pytest.mark.slow
def test_predictions_become_right(monkeypatch: pytest.MonkeyPatch) -> None:
    worked.register(monkeypatch)
    scale = {"num_prompts": 16, "group_size": 8, "num_steps": 24, "num_minibatches": 1, "learning_rate": 0.01}
    recipe = recipe_of("rpt", max_new=4, warmup_steps=2, temperature=1.0, **scale)
    engine = policy("fp32", vocab=Signs.vocab, hidden=16, ffn=16, init_std=0.3)
    notes, _ = run(recipe, engine, pool=worked.POOL, codec=CODEC)
    earned = [np.mean([episode.reward or 0.0 for episode in step]) for step in notes.episodes]
    assert np.mean(earned[-6:]) > np.mean(earned[:6]) + 0.2
