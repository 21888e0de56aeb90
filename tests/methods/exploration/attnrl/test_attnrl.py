"""Scores of attention, places of forks, which answers fork, the growing batch, credit, and runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from fresh_draws import require_fresh_draws
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters, episode, group_of, policy, recipe_of, register, require_resumable, run, segment

from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.exploration.attnrl.batch import STORE, adapt_batch, draw_more, next_batch
from assay.methods.exploration.attnrl.credit import subtree_relative
from assay.methods.exploration.attnrl.forks import fork_attended
from assay.methods.exploration.attnrl.places import MARKS, candidates, fork_steps, forked, number_forked, step_ends
from assay.models import Models
from assay.recipe import Recipe
from assay.rng import Key
from assay.run.attention_needs import require_attention
from assay.run.experiment import Experiment, Machine
from assay.source import Pool, Share
from assay.types import Episode, Request, Row


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def ids(count: int) -> np.ndarray:
    return (1 + np.arange(count) % 4).astype(np.int32)


def test_influence_of_even_attention_by_hand() -> None:
    """Without queries a token attends to each of the s + 1 tokens up to itself with 1 / (s + 1). A question of two
    tokens, then steps of the tokens 2, 3 to 4, and 5: F_0 = 1/2 (1/4 + 1/5) + 1/6 with a gap of 1, 1/6 with 2.
    """
    engine = policy("fp64")
    with torch.no_grad():
        for block in engine.model.model.layers:
            block.self_attn.q_proj.weight.zero_()
            block.self_attn.q_proj.bias.zero_()
    span = Span(ids(2), ids(4))
    (one,) = engine.influence([span], [[1, 3, 4]], gap=1)
    assert one.tolist() == pytest.approx([0.225 + 1 / 6, 1 / 6, 0.0], abs=1e-6)
    (two,) = engine.influence([span], [[1, 3, 4]], gap=2)
    assert two.tolist() == pytest.approx([1 / 6, 0.0, 0.0], abs=1e-6)


def probabilities(engine: object, tokens: np.ndarray) -> np.ndarray:
    """[heads, n, n]: the attention of a network of one layer, computed from its weights alone in fp64."""
    model = engine.model  # type: ignore[attr-defined]
    block, c = model.model.layers[0], model.config
    x = model.model.embed_tokens.weight.detach().numpy()[tokens].astype(np.float64)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + c.norm_eps) * block.input_layernorm.weight.detach().numpy()

    def turned(layer: torch.nn.Linear, heads: int) -> np.ndarray:
        y = x @ layer.weight.detach().numpy().T + (0 if layer.bias is None else layer.bias.detach().numpy())
        y, half = y.reshape(len(x), heads, c.head_dim), c.head_dim // 2
        angle = np.arange(len(x))[:, None] * c.rope.theta ** (-np.arange(half) / half)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        first, second = y[..., :half], y[..., half:]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)

    q, k = turned(block.self_attn.q_proj, c.heads), turned(block.self_attn.k_proj, c.kv_heads)
    scores = np.einsum("nhd,mhd->hnm", q, k) / np.sqrt(c.head_dim)
    weight = np.exp(scores) * np.tril(np.ones((len(x), len(x))))
    return weight / weight.sum(-1, keepdims=True)


@given(st.lists(st.integers(1, 3), min_size=2, max_size=5), st.integers(1, 3), st.integers(0, 9))
def test_influence_is_that_of_the_weights(lengths: list[int], gap: int, seed: int) -> None:
    engine = policy("fp64", seed=seed, init_std=1.0)
    ends, answer = np.cumsum(lengths).tolist(), ids(sum(lengths))
    (found,) = engine.influence([Span(ids(3), answer)], [ends], gap=gap)
    weight = probabilities(engine, np.concatenate([ids(3), answer]))
    where = [range(3 + end - n, 3 + end) for n, end in zip(lengths, ends, strict=True)]
    steps = range(len(ends))
    mean = [[[w[np.ix_(where[i], where[j])].mean() for j in steps] for i in steps] for w in weight]
    expected = [max(sum(head[i][j] for i in steps if i >= j + gap) for head in mean) for j in steps]
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_an_engine_without_scores_says_so() -> None:
    with pytest.raises(ConfigError, match="gives no scores of attention"):
        LocalEngine.influence(policy("fp64"), [], [], gap=1)


@pytest.mark.parametrize(
    ("model", "machine", "said"),
    [
        ("grids", Machine(), "of the family llava runs through transformers"),
        ("mod-chain-7", Machine(learners=2), "machine.learners is 2"),
    ],
)
def test_a_run_that_cannot_tell_attention_is_refused_before_a_model_is_loaded(
    model: str, machine: Machine, said: str
) -> None:
    pool = Pool((Share("mod-chain-7", (3,)),))
    experiment = Experiment(recipe=RECIPES["attnrl"], model=model, pool=pool, machine=machine)
    with pytest.raises(ConfigError, match=said):
        require_attention(experiment)
    require_attention(dataclasses.replace(experiment, recipe=RECIPES["grpo"]))
    require_attention(dataclasses.replace(experiment, model="mod-chain-7", machine=Machine()))


def test_steps_by_hand() -> None:
    assert step_ends(["1", "+", "2", ",", "4", ",", "#", "4"], "compact") == ([4, 6, 8], 2)
    assert step_ends(["a", "\n", "\n", "b", ".\n\n", "</think>", " c"], "natural") == ([3, 5, 7], 3)
    assert step_ends(["a"], "compact") == ([1], 1)
    assert step_ends(["1", ",", "#", "4", ",", "#", "5"], "compact") == ([2, 5, 7], 1), "before the first mark"
    assert step_ends(["#", "4", ",", "#", "5"], "compact") == ([3, 5], 0), "an answer without reasoning"


def test_places_by_hand() -> None:
    """Of ten scores the quantile 0.8 lies between the eighth and the ninth; of mostly zeros the smallest counts."""
    assert candidates(np.arange(10.0), 0.8) == {8, 9}
    assert candidates(np.array([0, 0, 0, 0, 0, 0, 0, 0.3, 0.2]), 0.5) == {7, 8}
    assert candidates(np.zeros(3), 0.8) == set()
    scores, starts = np.array([9.0, 0.1, 0.2, 0.9, 0.8, 0.0]), [0, 4, 8, 12, 14, 20]
    where = {"share": 0.8, "apart": 4}
    assert fork_steps(scores, starts, 6, count=2, **where) == [1, 3], "4 is too near 3; then the earliest"  # type: ignore[arg-type]
    assert fork_steps(scores, starts, 6, count=1, **where) == [3]  # type: ignore[arg-type]
    assert fork_steps(scores, starts, 3, count=9, **where) == [1, 2], "behind the reasoning nothing forks"  # type: ignore[arg-type]
    assert fork_steps(scores, starts, 3, count=1, **where) == [1], "0.1 is the fifth of 0, 0, 0, 0, 0.1, 0.2"  # type: ignore[arg-type]
    assert fork_steps(scores, starts, 6, count=9, share=0.8, apart=99) == []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), min_size=1, max_size=12),
    st.integers(0, 6),
    st.integers(0, 4),
    st.integers(0, 12),
)
def test_forks_keep_their_distance(steps: list[tuple[float, int]], apart: int, count: int, usable: int) -> None:
    starts = np.cumsum([0, *(n for _, n in steps)])[:-1].tolist()
    found = fork_steps(np.array([s for s, _ in steps]), starts, usable, share=0.8, apart=apart, count=count)
    assert len(found) <= count and 0 not in found and all(step < usable for step in found)
    places = [0, *(starts[step] for step in found)]
    assert all(b - a >= apart for a, b in zip(places, places[1:], strict=False))


def test_how_many_answers_fork() -> None:
    """ceil(6 e^(z - 1)): 6 of 6 if none is right, 4 if half are (3.64), 3 if all are (2.21)."""
    assert [number_forked(p, 6) for p in (0.0, 0.5, 1.0)] == [6, 4, 3]
    assert forked([False] * 6, Key(0)) == [0, 1, 2, 3, 4, 5] and forked([True] * 6, Key(0)) == [0, 1, 2]
    assert set(forked([True, False, True, False, True, False], Key(0))) >= {1, 3, 5}
    for seed in range(9):
        found = forked([True, False, True, True, True, True], Key(seed))
        assert 1 in found and len(found) == math.ceil(6 * math.exp(-5 / 6)) == 3


def test_the_batch_by_hand() -> None:
    """60 wanted rows and 40 of use: 0.1 * 10 * 1.5 + 0.9 * 10 = 10.5, so 11."""
    assert next_batch(10, 40, wanted=60, rate=0.1, least=10, most=20) == 11
    assert next_batch(10, 60, wanted=60, rate=0.1, least=10, most=20) == 10
    assert next_batch(20, 600, wanted=60, rate=0.5, least=10, most=20) == 11
    assert next_batch(10, 0, wanted=1, rate=0.1, least=1, most=20) == 20, "no row was of use"
    rows = group_of([1.0, 0.0, 1.0])
    values = {"num_prompts": 2, "group_size": 3, "answers": 5, "rate": 0.1, "limit": 4.0}
    memory = adapt_batch(Memory(0), rows=[rows[0].mark(in_loss=False), *rows[1:]], **values)  # type: ignore[arg-type]
    assert memory.store(STORE) == {"batch": math.ceil(0.1 * 2 * 30 / 2 + 1.8)}
    calls: list[tuple[int, int]] = []

    def more(memory: Memory, first: int, count: int) -> list[Request]:
        calls.append((first, count))
        return []

    draw_more([episode([1], draw=1)], memory, more=more, num_prompts=2)
    draw_more([episode([1], draw=4)], memory, more=more, num_prompts=2)
    draw_more([dataclasses.replace(episode([1], draw=1), provenance="replay")], memory, more=more, num_prompts=2)
    assert calls == [(2, 3)]


def leaf(*segments: object, reward: float, sample: int) -> Row:
    return Row(episode(segments, reward=reward, sample=sample))  # type: ignore[arg-type]


def tree() -> list[Row]:
    """A trunk of four tokens, which is wrong, a right branch after two of them, and another wrong trunk."""
    trunk, other = segment([1] * 4, node="a"), segment([1] * 3, node="b")
    branch = leaf(trunk.first(2), segment([2], node="c", parent="a"), reward=1.0, sample=2)
    return [leaf(trunk, reward=0.0, sample=0), leaf(other, reward=0.0, sample=1), branch]


def test_credit_by_hand() -> None:
    """V_root = 1/3, 1/2 where two leaves share: (1/6 + 1/6) / sqrt 2; then -1/3 - 1/2, 2/3 + 1/2, and -1/3 - 1/3."""
    shared = 1 / 3 / math.sqrt(2)
    expected = [[shared, shared, -5 / 6, -5 / 6], [-2 / 3] * 3, [shared, shared, 7 / 6]]
    for row, values in zip(subtree_relative(tree()), expected, strict=True):
        assert row.advantage is not None and row.advantage.tolist() == pytest.approx(values, abs=1e-12)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.integers(-3, 3))
def test_without_forks_an_advantage_is_twice_the_centred_reward(rewards: list[int], shift: int) -> None:
    found = subtree_relative(group_of([float(r) for r in rewards]))
    moved = subtree_relative(group_of([float(r + shift) for r in rewards]))
    for row, other, reward in zip(found, moved, rewards, strict=True):
        expected = 2 * (reward - np.mean(rewards))
        assert row.advantage is not None and row.advantage.tolist() == pytest.approx([expected] * 2, abs=1e-9)
        assert other.advantage is not None and other.advantage.tolist() == pytest.approx([expected] * 2, abs=1e-9)


class Told:
    """An engine with these scores for the steps of each answer."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = scores

    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        return [
            np.array(self.scores[: len(at)]) * (1 + len(span.context)) for span, at in zip(spans, ends, strict=True)
        ]


class Commas(Letters):
    """`c` is a comma."""

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode(ids).replace("c", ",")


def asked(episodes: list[Episode], memory: Memory | None = None, **changes: object) -> list[Request]:
    values = {"places": 1, "gap": 1, "share": 0.8, "apart": 1, **changes}
    models = Models({"policy": Told([0.0, 0.1, 0.9, 0.2])}, {"policy": "policy"})  # type: ignore[dict-item]
    return fork_attended(episodes, memory or Memory(0), models=models, codec=Commas(), **values)  # type: ignore[arg-type]


def test_branches_begin_at_the_step_that_is_attended_to_and_only_once() -> None:
    """Steps of two tokens: the third begins with token 4."""
    wrong = [episode([segment([1, 3, 1, 3, 1, 3, 2, 0], node=f"n{i}")], sample=i) for i in range(2)]
    found = asked(wrong)
    assert [(r.parent, r.given, r.max_new, r.sample, r.group) for r in found] == [
        ("n0", 4, 4, 2, "g"),
        ("n1", 4, 4, 3, "g"),
    ]
    grown = dataclasses.replace(wrong[0], request=found[0])
    assert asked([*wrong, grown]) == [] and asked(wrong, places=0) == []


def test_of_solved_problems_only_those_above_the_mean_fork() -> None:
    """The score of the stand-in grows with the question."""
    made = [
        episode([segment([1, 3, 1, 3, 1, 0], node=f"{g}{i}")], group=g, sample=i, reward=1.0)
        for g in ("x", "y")
        for i in range(2)
    ]
    longer = [dataclasses.replace(e, request=dataclasses.replace(e.request, context=ids(5))) for e in made[2:]]
    assert {r.group for r in asked([*made[:2], *longer])} == {"y"}
    assert asked(made) == [], "none is above the mean"
    lost = [dataclasses.replace(e, verdict=None) for e in made]
    assert asked(lost) == [], "without verdicts nothing is known"


def test_the_score_of_a_problem_is_a_mean_of_answers_and_of_their_steps() -> None:
    """x: two answers with the scores 0, 0.2, 1.8 and 0.4, a mean of 0.6; y: one with 0, 0.2 and 1.8, of 2/3."""
    short, long = [1, 3, 1, 3, 1, 0], [1, 3, 1, 3, 1, 3, 1, 0]
    many = [episode([segment(long, node=f"x{i}")], group="x", sample=i, reward=1.0) for i in range(2)]
    one = episode([segment(short, node="y0")], group="y", reward=1.0)
    assert [(r.parent, r.given) for r in asked([*many, one])] == [("y0", 4)]


def test_answers_that_say_nothing_of_the_policy_neither_fork_nor_count() -> None:
    """One without a verdict, through an error of ours, and one that was given whole. Beside a right answer they leave
    the problem solved; if they were wrong answers, all would fork.
    """
    steps = [1, 3, 1, 3, 1, 0]
    wrong, right = (episode([segment(steps, node=f"n{i}")], sample=i, reward=float(i)) for i in range(2))
    lost = episode([segment(steps, node="n2")], sample=2, reward=None)
    told = episode([segment(steps)], sample=2)
    told = dataclasses.replace(told, request=dataclasses.replace(told.request, prefix=told.segments))
    assert [r.parent for r in asked([wrong, lost])] == ["n0"]
    assert asked([right, lost]) == [] and asked([right, told]) == []


def drawn(memory: Memory, name: str) -> list[str]:
    """Of six answers the wrong one forks, and two of the five right ones."""
    six = [
        episode([segment([1, 3, 1, 3, 1, 0], node=f"n{i}")], group=name, sample=i, reward=float(i != 1))
        for i in range(6)
    ]
    return [request.parent for request in asked(six, memory)]


def test_which_answers_fork_is_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(drawn)


def small() -> Recipe:
    made = recipe_of("attnrl", max_new=8, num_prompts=3, group_size=4, num_steps=4)
    more, forks = made.mechanism.expand
    forks = dataclasses.replace(forks, gap=1, apart=1)  # type: ignore[call-arg]
    return dataclasses.replace(made, mechanism=dataclasses.replace(made.mechanism, expand=(more, forks)))


def test_a_run_forks_and_draws_more_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MARKS, "compact", ("b",))  # the letters have no commas
    notes, memory = run(small(), policy("fp32", vocab=4, init_std=0.5))
    assert any(e.request.parent for step in notes.episodes for e in step)
    problems = [len({e.request.group for e in step}) for step in notes.episodes]
    assert problems[0] == 3 and problems[-1] > 3 and memory.store(STORE)["batch"] <= 12


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MARKS, "compact", ("b",))
    require_resumable(small(), lambda: policy("fp32", vocab=4, init_std=0.5), after=2)
