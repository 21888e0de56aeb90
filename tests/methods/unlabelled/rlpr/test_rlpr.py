"""RLPR: the reward from dense distributions, the debiasing, and the filter by a moving mean."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import worked
from engine_cases import naive_log_probs
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import group_of, models_of, policy, recipe_of, run
from worked import Signs

from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.unlabelled.rlpr.deviation import KeepDeviation, Varied, deviations
from assay.methods.unlabelled.rlpr.reference import ReferenceProbability, debiased
from assay.part import bind
from assay.types import Episode, Problem, Request, Segment, Verdict

CODEC = Signs()
PROBLEM = Problem("worked", "ab", {"letters": "ab"}, "ab", solution="a,b#ba")


def answer(text: str, *, sample: int = 0, finish: str = "stop", problem: Problem = PROBLEM) -> Episode:
    ids = np.append(CODEC.encode(text), 0).astype(np.int32)
    request = Request(problem, CODEC.render("ab"), "g", 8, sample=sample)
    segment = Segment(ids, np.zeros(len(ids), np.int8))
    return Episode(request, (segment,), finish, text=text, verdict=Verdict.fail("wrong"))  # type: ignore[arg-type]


def probability(engine: object, before: str) -> float:
    """Of the reference `ba` after this beginning: the mean of the probabilities of its two tokens."""
    context, ids = np.concatenate([CODEC.render("ab"), CODEC.encode(before)]), CODEC.encode("ba")
    every = naive_log_probs(engine.model, context, ids).exp().detach().numpy()  # type: ignore[attr-defined]
    return float(np.mean([every[t, token] for t, token in enumerate(ids)]))


@pytest.mark.parametrize("precision", ["fp64", "native"])
def test_the_reward_is_that_of_the_dense_distributions(precision: str) -> None:
    """The answer that was sampled is nothing; without a mark the reference stands at the end of the response."""
    engine = policy(precision, vocab=Signs.vocab, init_std=0.5)
    cases = [("a,b#a", "a,b#", 1), ("b#bb", "b#", 1), ("b,#a#b", "b,#a#", 0), ("a,a", "a,a#", 0)]
    answers = [answer(text, sample=i) for i, (text, _, _) in enumerate(cases)]
    found = bind(ReferenceProbability(form=0.1, before="now"), codec=CODEC)(answers, models=models_of(engine))
    alone = probability(engine, "#")
    assert max(probability(engine, before) - alone for _, before, _ in cases) > 0.01, "reasoning that helps"
    for reward, (_, before, form) in zip(found, cases, strict=True):
        expected = 0.9 * min(1.0, max(0.0, probability(engine, before) - alone)) + 0.1 * form
        assert reward is not None and reward.value == pytest.approx(expected, abs=1e-6)


def test_each_role_is_scored_by_the_model_that_plays_it() -> None:
    one, other = (policy("fp64", vocab=Signs.vocab, seed=seed) for seed in (1, 5))
    first = answer("a,b#a")
    second = dataclasses.replace(first, request=dataclasses.replace(first.request, role="proposer", group="h"))
    models = models_of(one, other, {"policy": "policy", "proposer": "reference"})
    found = bind(ReferenceProbability(form=0.0, before="now"), codec=CODEC)([first, second], models=models)
    gains = [probability(engine, "a,b#") - probability(engine, "#") for engine in (one, other)]
    assert min(gains) > 0 and abs(gains[0] - gains[1]) > 1e-3, "reasoning that helps, and not both alike"
    assert [one.value for one in found] == pytest.approx(gains, abs=1e-6)


def test_what_was_cut_has_no_form_and_what_has_no_reference_no_reward() -> None:
    engine, bare = policy("fp64", vocab=Signs.vocab), dataclasses.replace(PROBLEM, solution=None)
    part = bind(ReferenceProbability(form=1.0, before="now"), codec=CODEC)
    cut, silent = part([answer("a#b", finish="length"), answer("a#b", problem=bare)], models=models_of(engine))
    assert cut is not None and cut.value == 0.0 and silent is None
    assert part([], models=models_of(engine)) == []


def test_a_reference_that_the_model_has_no_tokens_for_gives_no_reward() -> None:
    class Wordless(Signs):
        def encode(self, text: str) -> np.ndarray:
            return super().encode("" if text == "ba" else text)

    part = bind(ReferenceProbability(form=1.0, before="now"), codec=Wordless())
    assert part([answer("a#b")], models=models_of(policy("fp64", vocab=Signs.vocab))) == [None]


def test_without_reasoning_the_weights_from_before_training_are_asked() -> None:
    """They have moved since: the number that is taken away is that of the start, and stays when the policy moves on."""
    now, start = (policy("fp64", vocab=Signs.vocab, seed=seed) for seed in (1, 5))
    (found,) = bind(ReferenceProbability(form=0.0), codec=CODEC)([answer("a,b#a")], models=models_of(now, start))
    expected = probability(now, "a,b#") - probability(start, "#")
    assert expected > 0 and abs(probability(now, "#") - probability(start, "#")) > 1e-3, "and they differ"
    assert found is not None and found.value == pytest.approx(expected, abs=1e-6)


def test_a_run_keeps_the_weights_that_are_asked() -> None:
    recipe = RECIPES["rlpr"]
    assert recipe.refers and "reference" not in recipe.models
    asks_now = dataclasses.replace(recipe.mechanism, reward=(ReferenceProbability(before="now"),))
    assert not dataclasses.replace(recipe, mechanism=asks_now).refers


@pytest.mark.slow
@pytest.mark.learning
def test_the_reward_rises_though_nobody_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy of random weights learns first to mark its answer; no verdict is read."""
    worked.register(monkeypatch)
    scale = {"num_prompts": 16, "group_size": 16, "num_steps": 40, "num_minibatches": 1, "learning_rate": 0.01}
    recipe = recipe_of("rlpr", max_new=6, warmup_steps=2, **scale)
    engine = policy("fp32", vocab=Signs.vocab, hidden=16, ffn=16, init_std=0.1)
    notes, _ = run(recipe, engine, pool=worked.POOL, codec=CODEC)
    earned = [np.mean([episode.reward or 0.0 for episode in step]) for step in notes.episodes]
    shown("rise of the reward", np.mean(earned[-5:]) - np.mean(earned[:5]), above=0.03)


@given(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.floats(0, 1))
def test_laws_of_the_debiasing(after: float, before: float, marked: bool, form: float) -> None:
    """From 0 to 1; nothing for reasoning that does not help; more for what makes the reference likelier."""
    value = debiased(after, before, marked=marked, form=form)
    assert -1e-12 <= value <= 1 + 1e-12
    assert debiased(before, before, marked=False, form=form) == 0
    assert debiased(min(1.0, after + 0.1), before, marked=marked, form=form) >= value - 1e-12


def test_the_filter_by_hand() -> None:
    """Deviations 1/sqrt 2 and 0; the mean is that of the first step that counts, then moves by a tenth."""
    wide, narrow = group_of([1.0, 0.0], name="w"), group_of([1.0, 1.0], name="n")
    s = 0.5**0.5
    alone = [*group_of([1.0], name="one"), *group_of([1.0, None], name="lost")]
    assert deviations([*wide, *narrow, *alone]) == {"w": pytest.approx(s), "n": 0.0}, "of one reward there is none"
    keep = bind(KeepDeviation(keep=0.9, after=1, plain=1), place="d")
    memory = keep(Memory(0, step=0), rows=[*wide, *narrow])
    assert memory.store("d") == {}
    memory = keep(Memory(0, step=1), rows=[*wide, *narrow])
    assert memory.store("d") == {"mean": pytest.approx(s / 2), "steps": 1}
    memory = keep(dataclasses.replace(memory, step=2), rows=wide)
    assert memory.store("d") == {"mean": pytest.approx(0.9 * s / 2 + 0.1 * s), "steps": 2}
    for step, kept in ((1, 4), (5, 2)):
        found = bind(Varied(beta=0.5, after=5), place="d")([*wide, *narrow], dataclasses.replace(memory, step=step))
        assert sum(row.in_loss for row in found) == kept
    everything = bind(Varied(beta=0.5, after=0), place="d")([*wide, *narrow], Memory(0, step=9))
    assert all(row.in_loss for row in everything)
    three = group_of([0.0, 1.0, 2.0])  # a deviation of 1
    for mean, kept in ((2.0, 3), (2.001, 0)):
        memory = Memory(0, step=9).keep("d", {"mean": mean})
        found = bind(Varied(beta=0.5, after=0), place="d")(three, memory)
        assert sum(row.in_loss for row in found) == kept, "at least half of the mean is enough"


def test_the_mean_is_plain_over_the_first_steps_that_count_and_moves_from_then_on() -> None:
    """Steps 6 to 10 deviate by 1, .2, .2, .2, .2 times 1/sqrt 2: their mean is .36/sqrt 2, and the next step, which
    deviates by .2/sqrt 2, moves it by a hundredth of the way.
    """
    (curator,), (keeper,) = RECIPES["rlpr"].mechanism.curate, RECIPES["rlpr"].mechanism.remember
    keep, memory = bind(keeper, place="d"), Memory(0, step=0)
    for step, reward in enumerate([9.0] * 5 + [1.0, 0.2, 0.2, 0.2, 0.2]):
        memory = keep(dataclasses.replace(memory, step=step), rows=group_of([reward, 0.0]))
    mean = 0.36 * 0.5**0.5
    assert memory.store("d")["mean"] == pytest.approx(mean)
    eleventh = dataclasses.replace(memory, step=10)
    kept = bind(curator, place="d")(group_of([0.21, 0.0]), eleventh)
    assert all(row.in_loss for row in kept), "0.148 is more than half of 0.255"
    moved = keep(eleventh, rows=group_of([0.2, 0.0])).store("d")["mean"]
    assert moved == pytest.approx(0.99 * mean + 0.01 * 0.2 * 0.5**0.5)


def test_a_mean_of_an_older_checkpoint_moves_on() -> None:
    memory = Memory(0, step=20).keep("d", {"mean": 1.0})
    moved = bind(KeepDeviation(keep=0.9), place="d")(memory, rows=group_of([0.0, 1.0, 2.0, 3.0, 4.0])).store("d")
    assert moved["mean"] == pytest.approx(0.9 + 0.1 * 2.5**0.5)
