"""Start states inside demonstrations, and PPO with a critic: values, advantages, targets, KL in the reward."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from altered import altered
from engine_cases import engine_of, model_of
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, models_for, policy, recipe_of, register, require_resumable, run, segment

from assay.ask import Sampling, first_requests
from assay.ask.hints import lines_of
from assay.credit.gae import estimate, gae
from assay.credit.pack import pack
from assay.engine.interface import Span, Want
from assay.engine.optimiser import AdamW
from assay.engine.spans import laid
from assay.engine.torch.value_engine import ValueEngine
from assay.errors import ConfigError, UsageError
from assay.forwards.critic import Critic, critic, fit, token_kl, values_of
from assay.memory import Memory
from assay.methods.exploration.r3.starts import StartStates, start_states
from assay.objective import SequenceMean
from assay.objective.value import value_loss
from assay.recipe import Recipe, check
from assay.reward.partial import partial_outcome
from assay.rng import Key
from assay.tasks import task
from assay.types import Origin, Problem, Row, Verdict


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(name: str = "r3", **scale: object) -> Recipe:
    rows = {"num_prompts": 8, "group_size": 2, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of(name, max_new=4, **{**rows, **scale})


# Advantages


def test_advantages_by_hand() -> None:
    """r = 0, 0, 1 and V = 0.5, 0.25, 0.5: d = -0.25, 0.25, 0.5; gamma lam = 0.5 gives 0, 0.5, 0.5."""
    found = estimate(np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.25, 0.5]), gamma=1.0, lam=0.5)
    np.testing.assert_allclose(found, [-0.25 + 0.25, 0.25 + 0.25, 0.5])
    discounted = estimate(np.array([0.0, 1.0]), np.array([0.5, 0.5]), gamma=0.5, lam=0.0)
    np.testing.assert_allclose(discounted, [0.25 - 0.5, 0.5])


numbers = st.lists(st.floats(-3, 3), min_size=1, max_size=8)


@given(numbers, st.integers(0, 999), st.floats(0, 1))
def test_the_ends_of_gae(reward: list[float], seed: int, gamma: float) -> None:
    """lam = 1: the return minus V; lam = 0: the error of one step; a V that is right leaves nothing."""
    r = np.array(reward)
    v = np.random.default_rng(seed).normal(size=len(r))
    returns = np.array([sum(gamma ** (k - t) * r[k] for k in range(t, len(r))) for t in range(len(r))])
    np.testing.assert_allclose(estimate(r, v, gamma=gamma, lam=1.0), returns - v, atol=1e-9)
    np.testing.assert_allclose(estimate(r, v, gamma=gamma, lam=0.0), r + gamma * np.append(v[1:], 0) - v, atol=1e-9)
    np.testing.assert_allclose(estimate(r, returns, gamma=gamma, lam=0.9), 0.0, atol=1e-9)


def test_tokens_of_others_are_no_steps() -> None:
    """Values and rewards of the policy's tokens alone; the row's reward on its last one."""
    pieces = [segment([1], origin=Origin.INJECTED), segment([2]), segment([3], origin=Origin.ENV), segment([END])]
    row = Row(episode(pieces, reward=1.0)).mark(
        value=np.array([9.0, 0.5, 9.0, 0.25], np.float32), process=np.array([7.0, -0.1, 7.0, -0.2], np.float32)
    )
    (found,) = gae([row], gamma=1.0, lam=1.0)
    np.testing.assert_allclose(found.advantage, [0.0, 0.7 - 0.5, 0.0, 0.8 - 0.25], atol=1e-7)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.target, [0.0, 0.7, 0.0, 0.8], atol=1e-7)  # type: ignore[arg-type]


def test_the_value_loss_by_hand() -> None:
    """R = 1, V = 0: v = 0.5 counts as 0.2 where that is farther; v = -0.5 as itself. R = -1: as -0.2."""
    value, target = torch.tensor([0.5, -0.5, 0.1, -0.5]), torch.tensor([1.0, 1.0, 1.0, -1.0])
    found = value_loss(value, target, torch.zeros(4), clip=0.2)
    torch.testing.assert_close(found, torch.tensor([0.8**2, 1.5**2, 0.9**2, 0.8**2]) / 2)


def test_kl_is_taken_from_the_reward_of_each_token() -> None:
    engine = policy("fp32")
    models = models_for(small(), engine)
    pieces = [segment([1], origin=Origin.INJECTED), segment([2, END])]
    row = Row(episode(pieces)).mark(process=np.full(3, 0.5, np.float32))
    (found,), stats = token_kl([row], models=models, weight=0.1, estimator="k1")
    (scores,) = engine.score([Span(row.episode.request.context, np.array([1, 2, END], np.int32))])
    expected = 0.5 - 0.1 * np.array([0.0, *(-1.0 - scores.logp[1:])])
    np.testing.assert_allclose(found.process, expected, atol=1e-6)  # type: ignore[arg-type]
    assert stats["policy/reference_kl"] == pytest.approx(float((-1.0 - scores.logp[1:]).mean()), abs=1e-6)


def test_a_wrong_answer_that_can_be_read_is_worth_something() -> None:
    verdicts = [Verdict.ok("3"), Verdict.fail("wrong", answer="4"), Verdict.fail("format"), Verdict.fail("truncated")]
    made = [dataclasses.replace(episode([1]), verdict=v) for v in verdicts]
    found = [r.value for r in partial_outcome(made, right=1.0, readable=0.2, wrong=0.0) if r]
    assert found == [1.0, 0.2, 0.0, 0.0]


# The critic


def value_engine(precision: str = "fp64", **settings: object) -> ValueEngine:
    return ValueEngine(model_of("qwen2"), end_ids=frozenset({0}), precision=precision, **settings)  # type: ignore[arg-type]


SPANS = [
    Span(np.array([1, 2, 3], np.int32), np.array([4, 5, 6, 0], np.int32)),
    Span(np.array([1, 2, 3], np.int32), np.array([7], np.int32)),
    Span(np.array([5], np.int32), np.array([1, 2, 9], np.int32)),
]


def test_gradients_of_values_are_those_of_differences() -> None:
    """Along random directions of all parameters, the head's included."""
    engine = value_engine(optimiser=AdamW())
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        engine.value_head.weight.copy_(torch.randn(engine.value_head.weight.shape, generator=generator))
    coefficient = torch.randn(8, generator=generator, dtype=torch.float64)
    (chunk,) = engine.chunks(laid(SPANS), tokens=999)

    def total() -> float:
        with torch.no_grad():
            engine._refresh()
            return float((engine.forward(chunk, Want(value=True)).value * coefficient).sum())  # type: ignore[operator]

    out = engine.forward(chunk, Want(value=True))
    (out.value * coefficient).sum().backward()  # type: ignore[operator]
    engine.backward(chunk, out)
    engine.hand_out()
    parameters = dict(engine.model.named_parameters())
    for _ in range(3):
        way = {n: torch.randn(p.shape, generator=generator, dtype=p.dtype) for n, p in parameters.items()}
        slope = sum(float((way[n] * p.grad).sum()) for n, p in parameters.items() if p.grad is not None)
        ends = []
        for step in (1e-6, -2e-6, 1e-6):  # there, to the other side, and back
            with torch.no_grad():
                for n, p in parameters.items():
                    p.add_(way[n], alpha=step)
            ends.append(total())
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)


@pytest.mark.slow
def test_a_critic_learns_what_states_are_worth_and_starts_from_zero() -> None:
    """Fitted to fixed targets its loss falls by far; the state of optimiser and head goes through a checkpoint."""
    engine = value_engine("fp32", optimiser=AdamW())
    rows = [Row(episode([4, 5, 6, 0], sample=0)), Row(episode([7, 0], sample=1)), Row(episode([3, 2, 0], sample=2))]
    seen = values_of(engine, rows, tokens=99)
    assert all((row.value == 0).all() for row in seen)  # type: ignore[union-attr]
    targets = [np.linspace(0, i - 1, len(row.episode)).astype(np.float32) for i, row in enumerate(seen)]
    batch = pack([row.mark(target=t) for row, t in zip(seen, targets, strict=True)])
    scale = dataclasses.replace(small().scale, learning_rate=0.01, num_epochs=1)
    losses = [fit(engine, batch, Key(i), scale, 100.0, 99) for i in range(80)]
    assert losses[-1] < 0.02 * losses[0]
    other = value_engine("fp32", optimiser=AdamW())
    other.load(engine.state())
    assert fit(engine, batch, Key(0), scale, 0.2, 99) == fit(other, batch, Key(0), scale, 0.2, 99)
    copied = engine.copy()
    for mine, its in zip(values_of(engine, rows, tokens=9), values_of(copied, rows, tokens=99), strict=True):
        np.testing.assert_allclose(mine.value, its.value, atol=1e-5)  # type: ignore[arg-type]


def test_a_critic_is_asked_for_values_alone() -> None:
    engine = value_engine()
    with pytest.raises(UsageError, match="ask for Want"):
        engine.score(SPANS)
    (chunk,) = engine.chunks(laid(SPANS), tokens=999)
    with pytest.raises(UsageError, match="gives values alone"):
        engine.forward(chunk, Want())
    with pytest.raises(ConfigError, match="no value head"):
        policy_engine = engine_of("qwen2", end=0)
        (chunk,) = policy_engine.chunks(laid(SPANS), tokens=999)
        policy_engine.forward(chunk, Want(value=True))


@pytest.mark.parametrize("first", [False, True])
def test_advantages_use_values_from_before_the_critic_learns_unless_it_learns_first(first: bool) -> None:
    recipe = small()
    critic_spec = dataclasses.replace(recipe.models["critic"], learns_first=first)
    recipe = dataclasses.replace(recipe, models={**recipe.models, "critic": critic_spec})
    models = models_for(recipe, policy("fp32"))
    rows = [Row(episode([1, 2, END], sample=i, reward=1.0)) for i in range(4)]
    values = dataclasses.asdict(Critic(model="critic")) | {"aggregate": SequenceMean(), "micro_tokens": 99}
    found, stats = critic(rows, models=models, memory=Memory(0), scale=recipe.scale, **values)  # type: ignore[arg-type]
    assert models["critic"].version == recipe.scale.num_updates == 2
    zero = all((row.value == 0).all() for row in found)  # type: ignore[union-attr]
    assert zero != first and stats["critic/loss"] > 0
    wrong = dataclasses.replace(recipe.mechanism, forwards=(Critic(model="policy"),))
    with pytest.raises(ConfigError, match="Critic needs a model 'policy' with a value head"):
        check(dataclasses.replace(recipe, mechanism=wrong))


# Start states


class Plain(Letters):
    def encode(self, text: str) -> np.ndarray:
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)

    def render(self, prompt: object) -> np.ndarray:
        return self.encode(str(prompt))


def starts(problem: Problem, count: int, low: float, high: float, **changes: object) -> list:
    settings = Sampling(max_new=40)
    asked = [
        dataclasses.replace(r, group=str(i // 2))
        for i, r in enumerate(
            first_requests([problem], Memory(0), first=0, samples=count, sampling=settings, codec=Plain())
        )
    ]
    return start_states(asked, Memory(0, **changes), codec=Plain(), low=low, high=high)  # type: ignore[arg-type]


def test_steps_by_hand() -> None:
    compact = Problem("mod-chain", "q", {}, "q", solution="7,12,3#3")
    assert lines_of(compact) == ["7,", "12,", "3#", "3"]
    natural = dataclasses.replace(compact, solution="one, two\nthree\nAnswer: #4", wording="natural")
    assert lines_of(natural) == ["one, two\n", "three\n", "Answer: #4"]
    (found,) = starts(compact, 1, 0.5, 0.5)
    assert [bytes(s.ids.astype(np.uint8)) for s in found.prefix] == [b"7,", b"12,"]
    assert found.max_new == 40 - 5 and found.tag == "start 2/4"
    assert all((s.origin == Origin.INJECTED).all() for s in found.prefix)
    assert starts(compact, 1, 0.0, 0.0)[0].prefix == () and len(starts(compact, 1, 1.0, 1.0)[0].prefix) == 3


def test_start_states_lie_between_the_beginning_and_the_end() -> None:
    assert StartStates(0.0, 1.0).refusal() is StartStates(0.5, 0.5).refusal() is None
    for low, high in ((0.5, 0.4), (-0.1, 0.4), (0.5, 1.1)):
        assert "0 <= low <= high <= 1" in str(StartStates(low, high).refusal())


@given(level=st.integers(1, 12), seed=st.integers(0, 99))
def test_steps_end_to_end_are_the_solution(level: int, seed: int) -> None:
    for name, wording in (("mod-chain", "compact"), ("mod-chain", "natural"), ("countdown", "compact")):
        level = 3 if name == "countdown" else level
        problem = task(name).problem(Key(seed), level=level, wording=wording)  # type: ignore[arg-type]
        assert "".join(lines_of(problem)) == problem.solution


@pytest.mark.slow
def test_all_start_states_are_mixed_and_a_group_has_one() -> None:
    problem = Problem("mod-chain", "q", {}, "q", solution="7,12,3#3")
    made = starts(problem, 4000, 0.0, 1.0)
    given_ = [len(r.prefix) for r in made]
    assert given_[::2] == given_[1::2]
    counts = np.bincount(given_[::2], minlength=4)
    assert ((counts - 500) ** 2 / 500).sum() < 21.1  # 1 - 1e-4 of chi-square with three degrees of freedom
    assert [len(r.prefix) for r in starts(problem, 4000, 0.0, 1.0, step=1)] != given_


# In the loop


def with_steps(patch: pytest.MonkeyPatch) -> None:
    """Solutions of letters in four steps: what is cut at commas elsewhere is cut at every letter here."""
    from tiny import TINY

    from assay.tasks.task import Solution

    register(patch, altered(TINY, solve=lambda spec: Solution("bcd" + spec["letter"])))
    patch.setattr("assay.ask.hints.ENDS", {"compact": r"."})


def test_given_steps_have_no_gradient_and_no_part_in_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their advantage would be: the gradient by their logits is exactly zero."""
    with_steps(monkeypatch)
    notes, _ = run(small(num_prompts=16), policy("fp32", init_std=0.1))
    lengths = {len(e.request.prefix) for step in notes.episodes for e in step}
    assert lengths == {0, 1, 2, 3}
    for (batch,) in notes.batches:
        given_ = batch.origin == Origin.INJECTED
        assert given_.any() and not batch.mask[given_].any() and not batch.counted[given_].any()
        assert abs(batch.advantage[batch.mask].mean()) < 1e-5 and batch.advantage[batch.mask].std() == pytest.approx(
            1.0, abs=0.05
        )
    assert all(s["critic/loss"] >= 0 for s in notes.stats) and any(s["critic/loss"] > 0 for s in notes.stats)
    assert notes.stats[-1]["policy/reference_kl"] != 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["r3", "r3-staged"])
def test_a_run_goes_on_bit_for_bit_with_its_critic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_steps(monkeypatch)
    steps = 6 if name == "r3-staged" else 4
    require_resumable(small(name, num_steps=steps), lambda: policy("fp32"), after=3)


@pytest.mark.slow
def test_stages_slide_from_the_end_to_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    with_steps(monkeypatch)
    notes, memory = run(small("r3-staged", num_steps=6), policy("fp32"))
    lengths = [{len(e.request.prefix) for e in step} for step in notes.episodes]
    assert lengths == [{3}, {2}, {2}, {1}, {0}, {0}] and memory.stage == 5
