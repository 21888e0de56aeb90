"""SWEET-RL: the worth of turns by a critic that is told what is hidden, its training, and pairs of actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import replying
from tiny import TINY, Letters, Notes, episode, here, models_for, policy, recipe_of, register, segment, stages_of
from torch.nn.functional import logsigmoid

from assay.ask import Sampling, first_requests
from assay.collect import played
from assay.curate.pairs import SIDES
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.methods.losses.sweet_rl.critic import Lesson, bradley_terry, coefficients, learn_turns, paired, pairs_of
from assay.methods.losses.sweet_rl.privileged import compared, hidden, privilege, turn_advantages, turns_in
from assay.methods.losses.sweet_rl.turns import half_pairs, halves, turn_actions, turn_advantage
from assay.models import Models
from assay.objective.pairwise import DPO
from assay.recipe import check
from assay.rng import Key
from assay.run.configure import to_data
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.abilities import Hidden
from assay.tasks.task import Generator, Task
from assay.types import Episode, Origin, Problem, Reward, Row, Verdict

CODEC = Letters()
POOL = Pool((Share("tiny"),))


def of_user(spec: object, text: str) -> str | None:
    """After an `a` the user tells the letter, after a `b` nothing of use; asked once."""
    if len(text) > 1:
        return None
    return str(spec["letter"]) if text == "a" else "b"  # type: ignore[index]


TOLD = dataclasses.replace(
    TINY,
    generator=Generator(
        levels=range(1, 2),
        instance=lambda generator, level: {"letter": "cd"[int(generator.integers(2))]},
        canonical=lambda spec: spec["letter"],
        split=lambda spec: "train",
    ),
    wordings=dataclasses.replace(TINY.wordings, compact=lambda spec: "a"),
    checker=dataclasses.replace(
        TINY.checker,
        check=lambda spec, answer: Verdict.ok() if answer[-1:] == spec["letter"] else Verdict.fail("wrong"),
    ),
    abilities=(Hidden(lambda spec: spec["letter"], lambda spec: spec["letter"]),),
    world=replying(of_user, "a", "b"),
)
"""A question that says nothing, whose answer is a letter that only the user knows: it must be asked for by an `a`."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Task:
    register(monkeypatch, TOLD)
    return TOLD


def talk(*pieces: str, right: bool = False, sample: int = 0, group: str = "g") -> Episode:
    """An answer of turns and replies, which stand in turn."""
    made = [
        segment(
            CODEC.encode(text), origin=Origin.ENV if place % 2 else Origin.POLICY, node="" if place % 2 else str(place)
        )
        for place, text in enumerate(pieces)
    ]
    return episode(made, right=right, sample=sample, group=group, reward=float(right))


# Turns and their worth


def test_turns_are_what_the_policy_wrote_between_replies() -> None:
    assert [turn.tolist() for turn in turns_in(talk("ab", "c", "a", "dd", "cab"))] == [[0, 1], [3], [6, 7, 8]]
    assert turns_in(talk("", "cc")) == []


def test_a_context_that_a_world_replaces_begins_a_turn() -> None:
    first, second = segment([1, 2]), segment([3], context=CODEC.encode("d"))
    assert [turn.tolist() for turn in turns_in(episode([first, second]))] == [[0, 1], [2]]


def test_the_worth_of_turns_by_hand() -> None:
    """Of turns of two and of one token: ((-1 + 2) + (-3 + 4)) / 2 = 1, and -5 + 3 = -2. A reply has no worth."""
    logp, reference = np.array([-1.0, -3.0, -9.0, -5.0]), np.array([-2.0, -4.0, -1.0, -3.0])
    assert turn_advantages(logp, reference, [np.array([0, 1]), np.array([3])]).tolist() == [1.0, -2.0]


@settings(deadline=None)
@given(
    st.lists(st.floats(-20, 0), min_size=3, max_size=12),
    st.floats(-5, 5),
    st.integers(1, 2),
)
def test_the_worth_of_a_turn_does_not_grow_with_its_length(logps: list[float], shift: float, cut: int) -> None:
    """A critic that finds each token likelier by one number gives each turn that number, however long it is."""
    reference = np.array(logps)
    turns = [np.arange(cut), np.arange(cut, len(logps))]
    assert turn_advantages(reference + shift, reference, turns) == pytest.approx([shift, shift], abs=1e-9)


# The critic's loss


def test_the_first_right_answer_beats_each_wrong_one() -> None:
    assert pairs_of([False, True, False, True]) == [(1, 0), (1, 2)]
    assert pairs_of([True, True]) == [] == pairs_of([False] * 3) == pairs_of([])


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_and_its_gradient_are_those_of_autograd(seed: int) -> None:
    """L = mean over pairs of -log sigmoid(beta (sum_t A+ - sum_t A-)), with A a mean over the tokens of a turn."""
    random = np.random.default_rng(seed)
    talks = [talk("ab", "c", "a"), talk("a", "dd", "cab", "d", "b"), talk("bbbb")]
    pairs, beta = [(0, 1), (0, 2), (1, 2)][: 1 + seed % 3], 0.7
    logps = [torch.tensor(random.normal(size=len(one)), requires_grad=True) for one in talks]
    bare = [torch.tensor(random.normal(size=len(one))) for one in talks]
    sums = []
    for one, logp, ref in zip(talks, logps, bare, strict=True):
        turn, total = [], torch.zeros((), dtype=torch.float64)
        for place, origin in enumerate([*one.stream("origin"), Origin.ENV]):
            if origin == Origin.POLICY:
                turn.append(place)
            elif turn:
                total = total + sum(logp[i] - ref[i] for i in turn) / len(turn)
                turn = []
        sums.append(total)
    loss = torch.stack([-logsigmoid(beta * (sums[w] - sums[l])) for w, l in pairs]).mean()
    loss.backward()
    values = np.array([float(one.detach()) for one in sums])
    found, right, slopes = bradley_terry(values, pairs, beta=beta)
    assert found == pytest.approx(float(loss.detach()), rel=1e-12)
    assert right == np.mean([values[w] > values[l] for w, l in pairs])
    for one, logp, slope in zip(talks, logps, slopes, strict=True):
        wanted = np.zeros(len(one)) if logp.grad is None else logp.grad.numpy()
        np.testing.assert_allclose(coefficients(one, slope), wanted, atol=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.floats(-30, 30), st.floats(0.01, 2))
def test_a_constant_in_all_sums_changes_nothing_and_slopes_sum_to_nothing(
    sums: list[float], shift: float, beta: float
) -> None:
    pairs = [(0, place) for place in range(1, len(sums))]
    one = bradley_terry(np.array(sums), pairs, beta=beta)
    other = bradley_terry(np.array(sums) + shift, pairs, beta=beta)
    assert one[0] == pytest.approx(other[0], abs=1e-9) and one[2] == pytest.approx(other[2], abs=1e-9)
    assert one[2].sum() == pytest.approx(0, abs=1e-12) and one[2][0] <= 0


def test_without_a_pair_there_is_nothing_to_learn(told: Task) -> None:
    assert bradley_terry(np.zeros(2), [], beta=1.0)[0] == 0
    rows = [Row(talk("a", "c", "d")), Row(talk("b", sample=1))]
    engine = policy()
    models = Models({"critic": engine, "reference": engine.copy()}, {})
    about = {"scale": recipe_of("sweet-rl").scale, "micro_tokens": 99, "model": "critic", "reference": "reference"}
    same, stats = learn_turns(
        rows, models=models, memory=Memory(0), codec=CODEC, told=True, beta=0.1, rate=1.0, num_epochs=1, **about
    )
    assert same == rows and stats == {} and engine.version == 0


# What the critic is told


def test_the_critic_alone_is_told_what_is_hidden(told: Task) -> None:
    """The critic reads the letter before the prompt, the reference the prompt alone; both read the same answer."""
    engine = policy()
    models = Models({"critic": engine, "reference": engine.copy()}, {})
    problem = told.pose({"letter": "d"}, level=1)
    one = talk("a", "d", "d")
    one = dataclasses.replace(one, request=dataclasses.replace(one.request, problem=problem))
    assert privilege(problem) == "d " and hidden(problem) == "d"
    ((seen, bare),) = compared(models, [one], CODEC, model="critic", reference="reference", told=True)
    from assay.engine.interface import Span

    ids = one.stream("ids").astype(np.int32)
    wanted = engine.score(
        [Span(np.concatenate([CODEC.encode("d"), one.request.context]), ids), Span(one.request.context, ids)]
    )
    np.testing.assert_allclose(seen, wanted[0].logp, atol=1e-12)
    np.testing.assert_allclose(bare, wanted[1].logp, atol=1e-12)
    assert np.abs(seen - bare).max() > 1e-6
    ((same, _),) = compared(models, [one], CODEC, model="critic", reference="reference", told=False)
    np.testing.assert_allclose(same, bare, atol=1e-12)
    (reward,) = turn_advantage([one], models=models, codec=CODEC, model="critic", reference="reference", told=True)
    assert reward is not None and reward.value == pytest.approx((seen - bare)[2])


def test_without_a_word_of_the_task_the_answer_of_the_solution_is_what_is_hidden() -> None:
    chain = task("mod-chain").problem(Key(0), level=2)
    assert hidden(chain) == (chain.solution or "").rpartition("#")[2]
    assert privilege(Problem("data:x", "?", {}, "?", provenance="data")) == ""
    wish = task("wish").problem(Key(0), level=2, wording="natural")
    assert privilege(wish).startswith("In light that the final answer is: ")
    assert privilege(wish).count("have a") == 2 and "begins with" in privilege(wish)


def test_a_model_that_is_missing_is_named(told: Task) -> None:
    with pytest.raises(ConfigError, match="no model 'critic'"):
        compared(
            Models({"reference": policy()}, {}), [talk("a")], CODEC, model="critic", reference="reference", told=True
        )


# How the critic learns


def lessons() -> list[Row]:
    talks = [talk("a", "d", "d", right=True), talk("b", "b", "c", sample=1), talk("cca", sample=2)]
    more = [talk("b", "b", "dd", group="h"), talk("a", "c", "c", right=True, group="h", sample=1)]
    return [Row(one) for one in (*talks, *more)]


@pytest.mark.parametrize("micro_tokens", [1, 12])
def test_the_update_does_not_depend_on_how_answers_are_cut(told: Task, micro_tokens: int) -> None:
    states = []
    for size in (10**6, micro_tokens):
        engine = models_for(recipe_of("sweet-rl"), policy())["critic"]
        models = Models({"critic": engine, "reference": policy()}, {})
        scale = recipe_of("sweet-rl", learning_rate=0.1, warmup_steps=0).scale
        about = {"codec": CODEC, "model": "critic", "reference": "reference", "told": True, "beta": 1.0, "rate": 1.0}
        _, stats = learn_turns(
            lessons(), models=models, memory=Memory(0), scale=scale, micro_tokens=size, num_epochs=3, **about
        )
        assert stats["critic/pairs"] == 3.0 and engine.version == 3
        states.append({name: value for name, value in here(engine).state().items() if name.startswith("parameter/")})
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-7, atol=1e-9)


def test_the_critic_learns_the_pairs_of_a_step(told: Task) -> None:
    """At the policy's own weights sums are near 0; what is learnt raises those of right answers above the others'."""
    recipe = recipe_of("sweet-rl", learning_rate=0.02, warmup_steps=0)
    models = models_for(recipe, policy())
    about = {"codec": CODEC, "model": "critic", "reference": "reference", "told": True, "beta": 1.0, "rate": 1.0}
    found = [
        learn_turns(
            lessons(), models=models, memory=Memory(0), scale=recipe.scale, micro_tokens=999, num_epochs=4, **about
        )[1]
        for _ in range(10)
    ]
    losses = [stats["critic/loss"] for stats in found]
    assert losses[-1] < 0.5 * losses[0] and found[-1]["critic/accuracy"] == 1.0
    episodes, pairs = paired(lessons())
    lesson = Lesson(episodes, pairs, CODEC, models, "critic", "reference", True, 1.0)
    assert lesson.weights()[: len(episodes[0])][episodes[0].stream("origin") == Origin.ENV].tolist() == [0.0]


# Actions


def test_actions_are_sampled_at_each_turn_behind_what_stands_before_it() -> None:
    one = talk("ab", "c", "b", "dd", "a")
    asked = turn_actions([one, talk("a", sample=1)], role="turn", of="policy", count=3, most=1)
    assert len(asked) == 9 and len({request.id for request in asked}) == 9
    starts = [sum(map(len, request.prefix)) for request in asked]
    assert starts == [0] * 3 + [3] * 3 + [6] * 3
    assert [request.max_new for request in asked] == [8] * 3 + [5] * 3 + [2] * 3
    assert {request.group for request in asked} == {"g/0@0", "g/0@1", "g/0@2"}
    assert all(request.role == "turn" and request.seat == "" and request.round == 1 for request in asked)
    assert (
        turn_actions([one, dataclasses.replace(one, request=asked[0])], role="turn", of="policy", count=3, most=1) == []
    )


def test_actions_stand_under_the_context_that_the_world_put_in_place() -> None:
    second = segment([3], context=CODEC.encode("d"), node="2")
    one = episode([segment([1, 2], node="1"), second])
    first, later = turn_actions([one], role="turn", of="policy", count=1, most=1)
    assert first.context.tolist() == one.request.context.tolist() and first.prefix == ()
    assert later.context.tolist() == CODEC.encode("d").tolist() and later.prefix == () and later.max_new == 6


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), max_size=17), st.integers(1, 5), st.integers(0, 99))
def test_a_winner_is_of_the_better_half_and_worth_more(scores: list[int], most: int, seed: int) -> None:
    pairs = half_pairs([float(score) for score in scores], most=most, key=Key(seed))
    assert len(pairs) <= most
    order = sorted(scores, reverse=True)
    half = len(scores) // 2
    for winner, loser in pairs:
        assert scores[winner] > scores[loser]
        assert scores[winner] >= order[half - 1] and scores[loser] <= order[half]
    if len(set(scores)) == len(scores) >= 2:
        assert len(pairs) == most, "where all differ, no pair is left out"


def test_each_action_of_a_half_is_drawn_as_often() -> None:
    drawn = half_pairs([5.0, 1.0, 4.0, 0.0], most=4000, key=Key(0))
    for pair in ((0, 1), (0, 3), (2, 1), (2, 3)):
        assert abs(drawn.count(pair) / 4000 - 0.25) < 0.035


def actions(*scores: float) -> list[Row]:
    made = []
    for sample, score in enumerate(scores):
        one = talk("a", sample=sample)
        request = dataclasses.replace(one.request, role="turn", group="g/0@0")
        made.append(Row(dataclasses.replace(one, request=request, rewards=(Reward("turn-advantage", score),))))
    return made


def test_pairs_stand_on_the_rows_and_others_do_not_train() -> None:
    rows = halves([Row(talk("a")), *actions(2.0, 2.0, 1.0, 1.0)], memory=Memory(0), role="turn", most=4)
    assert not rows[0].in_loss and not rows[0].in_denominator
    signs = np.array([row.constants[SIDES] for row in rows])
    assert (signs.sum(axis=0) == 0).all() and (np.abs(signs).sum(axis=0) == 2).all()
    assert (signs[1:3] >= 0).all() and (signs[3:] <= 0).all()
    alike = halves(actions(1.0, 1.0, 1.0), memory=Memory(0), role="turn", most=2)
    assert not any(row.in_loss for row in alike)


def test_the_policy_learns_from_pairs_of_actions_as_dpo_does() -> None:
    """The loss is DPO's, whose coefficients `test_dpo` works out, with 0.01 of the winner's likelihood."""
    recipe = RECIPES["sweet-rl"]
    for goal in (recipe.mechanism.objective, recipe.mechanism.rule("turn").objective):
        assert to_data(goal.whole) == {"part": "dpo", "beta": 0.1, "likelihood": 0.01}
        assert isinstance(goal.whole, DPO)
    assert not recipe.models["reference"].trained and recipe.models["critic"].trained
    check(recipe)


# The whole


def asked(models: Models, count: int) -> Iterator[Episode]:
    problems = [TOLD.pose({"letter": "cd"[i % 2]}, level=1) for i in range(count)]
    sampling = Sampling(max_new=6)
    requests = first_requests(problems, Memory(0), first=0, samples=1, sampling=sampling, codec=CODEC)
    yield from played(models, requests, Key(5), CODEC)


def rate(models: Models) -> tuple[float, float]:
    """(share of right answers, share that ask what the user tells)."""
    made = list(asked(models, 256))
    right = [TOLD.checker.check(e.request.problem.spec, e.text.strip(".")).status == "ok" for e in made]
    return float(np.mean(right)), float(np.mean([e.text.startswith("a") for e in made]))


@pytest.mark.deep
@pytest.mark.learning
def test_the_policy_learns_to_ask_what_only_the_user_knows(told: Task) -> None:
    """The frozen policy asks at random and copies nothing. The critic finds which answers fit the letter that it is
    told, and the policy, which is not told, learns to say what it has heard.
    """
    engine = policy("fp32", hidden=16, ffn=32, head_dim=8, init_std=0.1)
    recipe = recipe_of(
        "sweet-rl", max_new=6, num_prompts=24, group_size=4, num_steps=80, learning_rate=0.02, warmup_steps=2
    )
    before = rate(Models({"policy": engine.copy()}, {"policy": "policy"}))
    models, notes = models_for(recipe, engine), Notes()
    writes = dict(models.engines) | {"reference": engine.copy()}  # it decodes what it writes
    train(stages_of(recipe, pool=POOL), dataclasses.replace(models, engines=writes), Memory(0), notes)
    critic = [stats["critic/accuracy"] for stats in notes.stats if "critic/accuracy" in stats]
    after = rate(Models({"policy": engine}, {"policy": "policy"}))
    assert np.mean(critic[-8:]) > 0.75
    assert after[0] > before[0] + 0.12
