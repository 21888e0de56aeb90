"""Every recipe learns a task of letters in a second, and unlearns it with the sign of its advantages turned."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import preferred
import pytest
import torch
from learning_draws import Draw, shown
from tiny import ALONE, POOL, Letters, policy, recipe_of, register, run, with_rounds
from typed import as_torch

from assay.engine.interface import Span
from assay.engine.torch.engine import TorchEngine
from assay.known import GROUPS, METHOD_OF, RECIPES
from assay.recipe import Recipe
from assay.reward.votes import groups_of
from assay.rng import Key
from assay.verifiers.elections import answer_of, shares

pytestmark = [pytest.mark.slow, pytest.mark.learning]
STEPS = 24
SLOW = ("spec-rl", "fork-mask", "shape-rm", "areal", "topr")  # some seeds need twice the steps
STAGED = (
    "r3-staged",
    "rlad",
    "rlad-two",
    "rlmt",
    "dense-step-model",
    "clip-delta",
)  # several players, or stages in which nobody learns
# what they learn does not show in the answers of the frozen policy that they read
OFFLINE = ("dpo", "ipo", "kto", "rlmec")
SOLVED = ("sirl-vote",)  # what a solver says of an answer is its label, and no solver reads letters
GROW = ("acereason", "deepscaler-len")  # the longer answers of later stages are right more often by chance
# answers of others, or of rounds before
IMITATES = ("sft", "dft", "ift", "expert-iteration", "rstar-math", "rcrl", "cft-1")
BEGINS = ("rstar-coder",)  # imitates in its first stage, and is rewarded in its last
# right or not is nothing to them
UNLABELLED = tuple(name for name in RECIPES if METHOD_OF[name] in GROUPS["unlabelled"])
# a coin, votes on what others pose, and rewards of reasoning, which letters lack
BY_CHANCE = ("spurious-random", "r-zero", "sqlm", "serl", "rlpr", "covo", "rpt")
# recalls its one problem once a quarter of the answers was right: in one seed of twenty at once, and learns no more
RECALLS = ("deepsearch",)
# write few answers anew, or pose problems themselves, so that what they have learnt, which is less, is asked afterwards
REPLAYS = ("spec-rl", "drive", "deepsearch", "azr")
# imitates a demonstration wherever nothing is right any more, which no sign turns
SHOWN = ("hpt",)
CLUSTERS = ("empo", "empo-log")  # a share of the group, or its logarithm, which is no measure of what is learnt
COLD = ("gepo", "vine-ppo", "spo-chain", "spo-tree", "rlmt", "dense-step-model")  # sampled below temperature 1
EXPLOITS = ("rlmt",)  # a preference model of letters is exploited in three seeds of twenty: its reward alone rises
PICKS = ("self",)  # works on what the greedy answer fails, and here that is right from the start
# train judges of answers, which letters cannot spell; their own tests look at the judgements
JUDGES = ("heimdall", "rubric-anchors-role", *(name for name in RECIPES if METHOD_OF[name] in GROUPS["judges"]))
# their first stages imitate, and are always right; their own tests look at what follows
TEACHES = ("meml-grpo", "rgr-grpo-worked", "x1")
OTHERS = (*JUDGES, *IMITATES, *PICKS, *TEACHES, *STAGED, *OFFLINE, *SOLVED, *BEGINS, *UNLABELLED)
RL = tuple(name for name in RECIPES if name not in OTHERS)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


def steps_of(name: str) -> int:
    return 2 * STEPS if name in SLOW else STEPS


def small(name: str, *, learning_rate: float = 0.014, num_steps: int = 0) -> Recipe:
    """64 answers of at most four tokens a step, or what forks make of them; several updates share the rate."""
    # what SPEC-RL says again of its one problem moves the policy little: its two updates have the whole rate each
    learning_rate /= 1 if name == "spec-rl" else recipe_of(name).scale.num_updates
    rows = (
        {"num_prompts": 64, "group_size": 1}
        if RECIPES[name].scale.group_size == 1
        else {"num_prompts": 8, "group_size": 8}
    )
    # a beginner who is sampled coldly is never right, and a skilled one never wrong
    heat = {"temperature": 1.0, "top_p": 1.0, "top_k": 0} if name in (*COLD, *UNLABELLED) else {}
    values = {"num_steps": num_steps or steps_of(name), "learning_rate": learning_rate, "warmup_steps": 2}
    recipe = recipe_of(name, max_new=4, **rows, **values, **heat)
    return with_rounds(recipe, 2)  # lest a policy that knows nothing costs the test ten


def beginner() -> TorchEngine:
    """It ends an answer, right or wrong, no more often than it writes any letter."""
    return as_torch(policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))


def skill() -> dict[str, torch.Tensor]:
    return _skill(Draw.seed)


@functools.cache
def _skill(seed: int) -> dict[str, torch.Tensor]:
    """Weights that are right most of the time and not always, of this draw."""
    for steps in range(8, 32, 2):
        engine = beginner()
        recipe = small("rloo", num_steps=steps)
        recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, forwards=()))  # no KL
        notes, _ = run(recipe, engine)
        if 0.5 < notes.accuracy()[-1] < 0.9:
            return {name: value for name, value in engine.state().items() if name.startswith("parameter/")}
    raise AssertionError(f"no number of steps makes a skill that can be unlearnt, with seed {seed}")


def rise(accuracy: np.ndarray) -> float:
    """By how much the last quarter is above the first step, which knows nothing of the rewards yet. Of 64 answers a
    step, where nothing is learnt, it is within 0.12 of 0 for a beginner, and within 0.2 for one who is half right. A
    recipe that asks only what is unsolved may have no answers in its last steps.
    """
    known = accuracy[~np.isnan(accuracy)]
    return float(known[-STEPS // 4 :].mean() - known[0])


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", [name for name in RL if name not in RECALLS])
def test_reward_rises(name: str) -> None:
    notes, memory = run(small(name), beginner())
    shown("rise", rise(notes.accuracy()), above=0.2)
    assert memory.step == steps_of(name)


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", [name for name in RL if name not in GROW])
def test_reward_falls_with_the_sign_turned(name: str) -> None:
    engine = beginner()
    engine.load({**skill(), "version": 0})
    recipe = small(name, learning_rate=0.01)
    if name in SHOWN:
        recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=()))
    notes, _ = run(recipe, engine, flipped=True)
    accuracy = notes.accuracy()
    found = preferred.accuracy(engine) - accuracy[0] if name in REPLAYS else rise(accuracy)
    shown("rise with the sign turned", found, below=-0.1 if name in REPLAYS else -0.25)


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", [name for name in UNLABELLED if name not in (*BY_CHANCE, *CLUSTERS)])
def test_what_is_rewarded_without_labels_rises(name: str) -> None:
    notes, memory = run(small(name), beginner())
    rewards = [[e.reward for e in step if e.reward is not None] for step in notes.episodes]
    found = rise(np.array([np.mean(step) if step else 0.0 for step in rewards]))
    shown("rise of the reward", found, above=0.03 if name == "co-reward-teacher" else 0.1)
    assert memory.step == steps_of(name)


@pytest.mark.parametrize("name", CLUSTERS)
def test_answers_come_to_agree(name: str) -> None:
    """The largest share of a group that says the same. The logarithm is 0 where all differ, and falls at first."""
    notes, _ = run(small(name, num_steps=64, learning_rate=0.007), beginner())
    groups = [[[answer_of(step[i]) for i in group] for group in groups_of(step).values()] for step in notes.episodes]
    found = rise(np.array([np.mean([max(shares(group)) for group in step]) for step in groups]))
    shown("rise of the agreement", found, above=0.3)


@pytest.mark.parametrize("name", STAGED)
@pytest.mark.parametrize("flipped", [False, True])
def test_the_solver_learns_in_stages_and_beside_another_player(name: str, flipped: bool) -> None:
    """Of what the solver answers alone: in `rlad` from the step on in which it begins to. Of a recipe that exploits its
    preference model the reward, from the step on in which that model is fixed.
    """
    engine = beginner()
    if flipped:
        engine.load({**skill(), "version": 0})
    notes, memory = run(small(name, learning_rate=0.01 if flipped else 0.014), engine, flipped=flipped)
    assert memory.step == steps_of(name) and memory.stage == len(RECIPES[name].stages) - 1
    answers = [[e for e in step if e.request.role == "policy"] for step in notes.episodes]
    if name in EXPLOITS and not flipped:
        scored = [[e.reward or 0.0 for e in step] for step in answers[steps_of(name) // 5 + 1 :]]
        shown("rise of the reward", rise(np.array([np.mean(step) for step in scored])), above=0.5)
        return
    found = rise(np.array([np.mean([e.right for e in step]) for step in answers if step]))
    shown("rise with the sign turned" if flipped else "rise", found, **({"below": -0.2} if flipped else {"above": 0.2}))


@pytest.mark.parametrize("name", ["sft", "dft", "ift"])
@pytest.mark.parametrize("flipped", [False, True])
def test_likelihood_of_solutions_rises_and_falls_with_the_sign_turned(name: str, flipped: bool) -> None:
    engine, codec = beginner(), Letters()
    problem = POOL.problem(Key("any"))
    span = Span(codec.render(problem.prompt), np.append(codec.encode(problem.solution or ""), np.int32(0)))

    def likelihood() -> float:
        return float(engine.score([span])[0].logp.sum())

    before = likelihood()
    notes, memory = run(small(name), engine, flipped=flipped)
    bound = {"below": -1.0} if flipped else {"above": 1.0}
    shown("rise of the log-probability", likelihood() - before, **bound)
    assert memory.budget.generated_tokens == 0
    assert (notes.accuracy() == 1.0).all()  # worked solutions are right


@pytest.mark.parametrize("name", BEGINS)
@pytest.mark.parametrize("flipped", [False, True])
def test_imitation_prepares_for_the_reward(name: str, flipped: bool) -> None:
    """The answers of the last stage are the policy's own: nearly all right, or with the sign turned nearly none."""
    engine = beginner()
    if flipped:
        engine.load({**skill(), "version": 0})
    notes, memory = run(small(name), engine, flipped=flipped)
    own = [step for step in notes.episodes if step[0].provenance == "fresh"]
    assert 0 < len(own) < STEPS / 4 and memory.stage == 1
    share = np.mean([episode.right for step in own for episode in step])
    shown("right answers at last", float(share), **({"below": 0.1} if flipped else {"above": 0.6}))
