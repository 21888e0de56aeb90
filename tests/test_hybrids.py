"""Demonstrations beside the policy's own answers: who writes what, who learns from it, and how hard it is pushed."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import (
    END,
    Notes,
    Table,
    batch_of,
    episode,
    models_for,
    phases_of,
    recipe_of,
    require_resumable,
    segment,
    stages_of,
    update,
    weights_of,
)
from worked import POOL, Signs, beginner, register

from assay.ask import first_requests
from assay.ask.expert import expert
from assay.ask.rehearse import rehearse
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.memory.harvest import harvest
from assay.methods.bread.anchors import anchor_search, next_count, pieces_of
from assay.methods.bread.curate import on_anchor
from assay.methods.hpt.switch import switch_to_expert
from assay.methods.prefix_rft.expert import expert_prefix
from assay.methods.relift.study import Study, study
from assay.methods.relift.unsolved import hold_unsolved
from assay.models import Models
from assay.objective.loss import loss_of
from assay.objective.survey import constants
from assay.objective.view import view_of_batch
from assay.recipe import Recipe
from assay.rng import Key
from assay.run.session import plan
from assay.source import Pool, Share
from assay.types import Batch, Episode, Origin, Problem, Request, Row, Stats

MAX_NEW = 6


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(name: str, **scale: object) -> Recipe:
    values = {"num_prompts": 2, "group_size": 4, "num_minibatches": 1, "warmup_steps": 0, "num_steps": 4, **scale}
    return recipe_of(name, max_new=MAX_NEW, **values)


def requests(count: int = 4, problems: int = 1) -> list[Request]:
    sampling: Any = phases_of(small("luffy", group_size=count), pool=POOL, codec=Signs())
    made = sampling.source(Memory(0))[:problems]
    return first_requests(made, Memory(0), first=0, samples=count, sampling=_sampling(), codec=Signs())


def _sampling() -> Any:
    from assay.ask import Sampling

    return Sampling(MAX_NEW, 1.0, 1.0, 0, 0.0)


# Requests


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_last_answers_of_a_group_are_the_experts(count: int) -> None:
    asked = expert(requests(4, 2), codec=Signs(), group_size=4, count=count)
    assert [r.max_new == 0 for r in asked] == 2 * ([False] * (4 - count) + [True] * count)
    for request in asked:
        if request.max_new == 0:
            written = Signs().decode(np.concatenate([s.ids for s in request.prefix]).tolist())
            assert written == (request.problem.solution or "") + "."


@pytest.mark.parametrize(
    ("recipe", "settings", "said"),
    [
        ("luffy", {"mechanism.ask.0.count": "-1"}, "of 8 answers from 0 to 7 are an expert's, not -1"),
        ("luffy", {"mechanism.ask.0.count": "8"}, "of 8 answers from 0 to 7 are an expert's, not 8"),
        ("prefix-rft", {"mechanism.ask.0.last": "0.99"}, "0 <= last <= first"),
    ],
)
def test_demonstrations_that_cannot_be_are_refused_before_anything_is_loaded(
    recipe: str, settings: dict[str, str], said: str
) -> None:
    pool = Pool((Share("countdown", (3,)),))
    with pytest.raises(ConfigError, match=re.escape(said)):
        plan(RECIPES[recipe], model="x/y", pool=pool, profile="laptop", overrides=settings)
    with pytest.raises(ConfigError, match="Take a task without an environment"):
        plan(RECIPES["prefix-rft"], model="x/y", pool=Pool((Share("calculator", (2,)),)), profile="laptop")


def test_an_expert_is_cut_at_the_limit() -> None:
    short = [dataclasses.replace(r, max_new=2) for r in requests(2)]
    assert len(expert(short, codec=Signs(), group_size=2, count=1)[1].prefix[0].ids) == 2


@settings(max_examples=40, deadline=None)
@given(step=st.integers(0, 9), seed=st.integers(0, 99))
def test_prefixes_shorten_by_half_a_cosine_and_leave_something_to_write(step: int, seed: int) -> None:
    values = {"codec": Signs(), "group_size": 2, "num_steps": 10, "first": 0.95, "last": 0.05, "high": 0.95}
    memory = dataclasses.replace(Memory(seed), step=step)
    own, led = expert_prefix(requests(2), memory, **values)  # type: ignore[arg-type]
    total = len(led.problem.solution or "") + 1
    low = 0.05 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / 9))
    assert own.given == 0 and own.max_new == MAX_NEW
    assert math.floor(low * total + 1e-9) <= led.given <= min(total - 1, MAX_NEW - 1) or led.given == MAX_NEW - 1
    assert led.given + led.max_new == MAX_NEW and led.max_new >= 1


# What is pushed, by hand: a group of three own answers and a demonstration, B = 4, L = 6


def mixed(rewards: list[float], tag: str = "", **marks: Any) -> list[Row]:
    """Own answers of two tokens and, last, a demonstration of three; log-probs before the step are -1."""
    own = [episode([1, END], sample=i, reward=r) for i, r in enumerate(rewards[:-1])]
    shown = episode([segment([1, 2, END], origin=Origin.INJECTED)], sample=9, reward=rewards[-1], provenance="teacher")
    rows = [Row(e, **marks) for e in [*own, shown]]
    rows = [row.mark(old=np.full(len(row.episode), -1.0, np.float32)) for row in rows]
    return [*rows[:-1], rows[-1].mark(tag=tag)]


def learnt(name: str, rows: list[Row], logp: list[list[float]], entropy: Any = 1.0) -> list[Any]:
    recipe, names = small(name), [row.episode.request.id for row in rows]
    about = entropy if isinstance(entropy, float) else dict(zip(names, entropy, strict=True))
    table = Table(dict(zip(names, logp, strict=True)), about)
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=())
    update(table, batch_of(recipe, rows), goal, recipe.scale)
    return [table.coefficients.get(name) for name in names]


LOGP = [[-1.0, -1.5], [-0.5, -1.0], [-1.0, -1.0], [-0.1, -2.0, -5.0]]


def test_luffy_by_hand() -> None:
    """A = R - mean over all four; own tokens w A without a clip, the expert's 0.1 pi / (pi + 0.1)^2 A."""
    found = learnt("luffy", mixed([0.0, 1.0, 0.0, 1.0]), LOGP)
    for row, logp, a in zip(found[:3], LOGP, (-0.5, 0.5, -0.5), strict=False):
        np.testing.assert_allclose(row, -a * np.exp(np.array(logp) + 1) / 24, rtol=1e-5)
    p = np.exp(LOGP[3])
    np.testing.assert_allclose(found[3], -0.5 * 0.1 * p / (p + 0.1) ** 2 / 24, rtol=1e-5)


def test_luffy_of_a_group_that_is_all_right_ignores_the_expert() -> None:
    assert learnt("luffy", mixed([1.0, 1.0, 1.0, 1.0]), LOGP) == [None] * 4


def test_rl_plus_by_hand() -> None:
    """r = 2 pi / (1.5 pi_old + 0.5) and A (1 - pi)^0.5 on external tokens; nothing moves at pi = 1."""
    found = learnt("rl-plus", mixed([0.0, 0.0, 0.0, 1.0]), LOGP)
    p, old = np.exp(LOGP[3]), math.exp(-1)
    expected = 0.75 * 2 * p / (1.5 * old + 0.5) * np.sqrt(1 - p) / 24
    np.testing.assert_allclose(found[3], -expected, rtol=1e-5)
    np.testing.assert_allclose(found[0], 0.25 * np.exp(np.array(LOGP[0]) + 1) / 24, rtol=1e-5)


def test_srft_by_hand() -> None:
    """Own answers: -0.1 exp(h) right, +1 wrong. The demonstration: its standardised advantage, shaped, and likelihood
    with 0.5 exp(-h). Entropies: rows' means are 1, 2, 0 and 1.
    """
    entropy = [[0.5, 1.5], [2.0, 2.0], [0.0, 0.0], [0.0, 1.0, 2.0]]
    found = learnt("srft", mixed([0.0, 1.0, 0.0, 1.0]), LOGP, entropy)
    np.testing.assert_allclose(found[0], 1 / 24, rtol=1e-6)
    np.testing.assert_allclose(found[1], -0.1 * math.exp(2) / 24, rtol=1e-5)
    np.testing.assert_allclose(found[2], 1 / 24, rtol=1e-6)
    p, a = np.exp(LOGP[3]), 0.5 / (math.sqrt(1 / 3) + 1e-6)
    expected = a * 0.1 * p / (p + 0.1) ** 2 + 0.5 * math.exp(-1)
    np.testing.assert_allclose(found[3], -expected / 24, rtol=1e-5)


def test_hpt_switches_by_group() -> None:
    """Unsolved: the demonstration alone, - 1/3 a token, whatever else is in the step. Solved: R - mean, B = 3."""
    unsolved = [row.mark() for row in mixed([0.0, 0.0, 0.0, 1.0], tag="teacher")]
    answers = [episode([1, END], group="solved", sample=i, reward=r) for i, r in enumerate((1.0, 0.0, 0.0))]
    solved = [Row(answer, old=np.full(2, -1.0, np.float32)) for answer in answers]
    rows = switch_to_expert([*unsolved, *solved], most=0)
    found = learnt("hpt", rows, [*LOGP, *[[-1.0, -1.0]] * 3])
    assert found[:3] == [None] * 3
    np.testing.assert_allclose(found[3], -1 / 3, rtol=1e-6)
    for row, a in zip(found[4:], (2 / 3, -1 / 3, -1 / 3), strict=True):
        np.testing.assert_allclose(row, -a / 18, rtol=1e-6)


@pytest.mark.parametrize("switched", [0, 1, 5])
def test_the_entropy_bonus_of_hpt_does_not_grow_with_the_prompts_that_switch(switched: int) -> None:
    """- 0.001 / N for each of the N tokens that train, of demonstrations and of own answers alike."""
    rows = [Row(episode([1, END], group="solved", sample=i, reward=r)) for i, r in enumerate((1.0, 0.0, 0.0))]
    for group in range(switched):
        own = [episode([1, 2, END], group=f"g{group}", sample=i) for i in range(3)]
        shown = episode([segment([1, 2, 1, END], origin=Origin.INJECTED)], group=f"g{group}", sample=9, reward=1.0)
        given = dataclasses.replace(shown, provenance="teacher")
        rows += [*map(Row, own), Row(given).mark(tag="teacher")]
    batch, slopes = entropy_slopes("hpt", switch_to_expert(rows, most=0))
    assert batch.mask.sum() == 6 + 4 * switched
    np.testing.assert_allclose(slopes, np.where(batch.mask, -0.001 / batch.mask.sum(), 0.0), rtol=1e-12)


def test_srft_has_the_entropy_bonus_of_the_code_that_it_is_built_on() -> None:
    """- 0.001 / N for each of the 9 tokens that train; the entropies that weigh the other terms have no slope."""
    _, slopes = entropy_slopes("srft", mixed([0.0, 1.0, 0.0, 1.0]))
    np.testing.assert_allclose(slopes, [-0.001 / 9] * 9, rtol=1e-12)


def entropy_slopes(name: str, rows: list[Row]) -> tuple[Batch, np.ndarray]:
    """The derivative of a recipe's loss by the entropy of each token, where the policy has not moved."""
    recipe = small(name)
    batch, goal = batch_of(recipe, rows), recipe.mechanism.objective
    weights, size = weights_of(batch, goal, max_new=recipe.scale.max_new), len(batch.ids)
    leaf = torch.ones(size, dtype=torch.float64, requires_grad=True)
    view = view_of_batch(batch, logp=torch.full((size,), -1.0, dtype=torch.float64), entropy=leaf, key=Key(0))
    more = {f"weights/{name}": value for name, value in constants(view, weights, goal).items()}
    view = dataclasses.replace(view, streams={**view.streams, **more})
    loss_of(goal)(view, torch.from_numpy(weights)).value.backward()
    assert leaf.grad is not None
    return batch, leaf.grad.numpy()


@pytest.mark.parametrize(
    ("rewards", "most", "imitates"), [([1, 0, 0], 0, False), ([1, 0, 0], 1, True), ([0, 0, 0], 0, True)]
)
def test_the_switch(rewards: list[float], most: int, imitates: bool) -> None:
    rows = switch_to_expert(mixed([*map(float, rewards), 1.0]), most=most)
    assert [row.in_loss for row in rows] == [not imitates] * 3 + [imitates]
    assert [row.in_group for row in rows] == [not imitates] * 3 + [False]
    assert [row.in_denominator for row in rows] == [not imitates] * 3 + [False]


def test_a_group_that_lost_its_verdicts_learns_from_nobody() -> None:
    rows = [row.mark(in_group=False, in_loss=False, in_denominator=False) for row in mixed([0.0, 0.0, 0.0, 1.0])]
    assert not any(row.in_loss for row in switch_to_expert(rows, most=0))


def test_prefix_rft_trains_the_forks_of_what_is_given() -> None:
    """Of five given tokens the one with the highest entropy; all that was written. A = 1 - 0.5, clip at 1.2."""
    led = episode([segment([1, 2, 1, 2, 1], origin=Origin.INJECTED), segment([1, END])], sample=1, reward=1.0)
    rows = [Row(episode([1, END], sample=0, reward=0.0)), Row(led)]
    rows = [row.mark(old=np.full(len(row.episode), -1.0, np.float32)) for row in rows]
    entropy = [[9.0, 9.0], [0.1, 0.5, 0.3, 0.2, 0.4, 0.0, 9.0]]
    logp = [[-1.0, -1.0], [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -0.5]]
    found = learnt("prefix-rft", rows, logp, entropy)
    np.testing.assert_allclose(found[1], np.array([0, -0.5, 0, 0, 0, -0.5, 0]) / 12, rtol=1e-6)
    np.testing.assert_allclose(found[0], 0.5 / 12, rtol=1e-6)


def test_dft_weighs_by_the_probability() -> None:
    """A mean over all five tokens of -pi log pi with pi held: one update, two demonstrations."""
    rows = [
        Row(episode([segment(ids, origin=Origin.INJECTED)], sample=i, group=f"g{i}", reward=1.0, provenance="teacher"))
        for i, ids in enumerate(([1, END], [1, 2, END]))
    ]
    found = learnt("dft", rows, [[-0.1, -3.0], [-1.0, -2.0, -0.5]])
    np.testing.assert_allclose(np.concatenate(found), -np.exp([-0.1, -3.0, -1.0, -2.0, -0.5]) / 5, rtol=1e-5)


# Anchors


def test_the_search_halves_what_is_left() -> None:
    assert next_count({}, 9, 0.25, 0.75) == 5
    assert next_count({5: 0.0}, 9, 0.25, 0.75) == 7
    assert next_count({5: 1.0}, 9, 0.25, 0.75) == 2
    assert next_count({5: 0.0, 7: 1.0}, 9, 0.25, 0.75) == 6
    assert next_count({5: 0.0, 7: 1.0, 6: 0.0}, 9, 0.25, 0.75) == 0
    assert next_count({5: 0.5}, 9, 0.25, 0.75) == 0
    assert next_count({1: 1.0}, 1, 0.25, 0.75) == 0


@settings(max_examples=60, deadline=None)
@given(most=st.integers(1, 12), edge=st.integers(0, 13), seed=st.integers(0, 99))
def test_the_search_finds_a_band_of_growing_success_in_four_probes_of_fifteen(most: int, edge: int, seed: int) -> None:
    """Success grows with what is given: the band at one place is found, or there is none."""
    share = {count: 0.0 if count < edge else 0.5 if count == edge else 1.0 for count in range(1, most + 1)}
    seen: dict[int, float] = {}
    while count := next_count(seen, most, 0.25, 0.75):
        assert count not in seen and 1 <= count <= most
        seen[count] = share[count]
        assert len(seen) <= 4
    assert (edge in seen) == (edge in share)


def test_pieces_are_whole_steps_and_end_to_end_the_solution() -> None:
    problem = Problem("mod-chain", "q", {}, "q", solution="1+2=3,3*2=6,6-1=5,5+5=10#10")
    for count in (2, 3, 5, 10):
        pieces = pieces_of(problem, count)
        assert "".join(pieces) == problem.solution and len(pieces) == min(count, 5)
        assert all(piece.endswith((",", "#", "0")) for piece in pieces)


def probed(base: list[bool], shares: dict[int, list[bool]]) -> list[Episode]:
    """A group from the question, and one from each number of pieces."""
    asked = requests(len(base))
    made = [
        dataclasses.replace(episode([1, END], reward=float(r)), request=q) for r, q in zip(base, asked, strict=True)
    ]
    for count, rights in shares.items():
        group, tag = f"{asked[0].group}/anchor {count}", f"anchor {count}"
        given_ = (segment([1] * count, origin=Origin.INJECTED),)
        for r, q in zip(rights, asked, strict=True):
            request = dataclasses.replace(q, group=group, tag=tag, prefix=given_, max_new=4)
            made.append(dataclasses.replace(episode([*given_, segment([END])], reward=float(r)), request=request))
    return made


def test_only_an_unsolved_group_is_led() -> None:
    values = {"codec": Signs(), "pieces": 10, "low": 0.25, "high": 0.75, "probes": 4}
    assert anchor_search(probed([True, False], {}), **values) == []  # type: ignore[arg-type]
    asked = anchor_search(probed([False, False], {}), **values)  # type: ignore[arg-type]
    assert len(asked) == 2 and len({r.group for r in asked}) == 1 and asked[0].given > 0
    assert all((s.origin == Origin.INJECTED).all() for s in asked[0].prefix)
    assert asked[0].given + asked[0].max_new == MAX_NEW
    assert anchor_search(probed([False, False], {1: [True, False]}), **values) == []  # type: ignore[arg-type]
    assert anchor_search(probed([False, False], {1: [False, False]}), **{**values, "probes": 1}) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "shares", "chosen"),
    [
        ([True, False], {}, 0),
        ([False, False], {}, 0),
        ([False, False], {2: [False, False], 3: [True, False]}, 3),
        ([False, False], {2: [True, True], 3: [True, True]}, 2),
        ([False, False], {2: [False, False]}, None),
    ],
)
def test_one_group_of_a_problem_trains(base: list[bool], shares: dict[int, list[bool]], chosen: int | None) -> None:
    rows = on_anchor([Row(e) for e in probed(base, shares)], low=0.25, high=0.75)
    places = [0] * len(base) + [count for count in shares for _ in base]
    assert [row.in_loss for row in rows] == [place == chosen for place in places]


# Expert iteration


def test_right_answers_are_kept_once_and_so_many_of_a_problem() -> None:
    asked = requests(8)
    answers = [[1, END], [1, END], [2, END], [1, 1, END], [2, 2, END], [2, 1, END], [1, 2, END], [END]]
    rights = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    made = [
        dataclasses.replace(episode(a, reward=r), request=q) for a, r, q in zip(answers, rights, asked, strict=True)
    ]
    memory = harvest(Memory(0), episodes=made, most=4, place="h")
    kept = [e.stream("ids").tolist() for e in memory.kept["h"]]
    assert kept == [[1, END], [2, END], [2, 2, END], [2, 1, END]]
    again = harvest(memory, episodes=made, most=4, place="h")  # the same stage has had its four
    assert [e.stream("ids").tolist() for e in again.kept["h"]] == kept
    later = harvest(dataclasses.replace(memory, stage=2), episodes=made, most=4, place="h")
    assert [e.stream("ids").tolist() for e in later.kept["h"]] == [*kept, [1, 2, END]]


@settings(max_examples=20, deadline=None)
@given(held=st.integers(1, 7), asked=st.integers(1, 5), seed=st.integers(0, 9))
def test_every_held_answer_is_rehearsed_once_an_epoch(held: int, asked: int, seed: int) -> None:
    episodes = [episode([1] * (i + 1) + [END], sample=i, reward=1.0) for i in range(held)]
    memory, seen = Memory(seed).hold("harvest", episodes), []
    for step in range(2 * held):  # asked * 2 * held places: 2 * asked epochs
        found = rehearse(requests(asked), dataclasses.replace(memory, step=step), name="harvest", place="harvest")
        assert len(found) == asked and all(r.max_new == 0 for r in found)
        seen += [sum(map(len, r.prefix)) for r in found]
    for epoch in range(2 * asked):
        assert sorted(seen[epoch * held : (epoch + 1) * held]) == [i + 2 for i in range(held)]
    assert rehearse(requests(asked), Memory(seed), name="harvest", place="harvest") == []


def iteration(**scale: object) -> Recipe:
    return small("expert-iteration", **{"num_prompts": 4, "group_size": 8, "num_steps": 30, **scale})


@dataclasses.dataclass
class Distance(Notes):
    """How far the weights are from those that the run began with, step by step."""

    first: dict[str, Any] = dataclasses.field(default_factory=dict)
    found: list[float] = dataclasses.field(default_factory=list)

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        state = models["policy"].state()
        self.found.append(sum(float((state[name] - value).square().sum()) for name, value in self.first.items()))


@pytest.mark.slow
def test_each_round_trains_the_first_weights_on_all_rounds() -> None:
    """Rounds of two steps of sampling and eight of training; Adam's first step is the same wherever it begins."""
    recipe, engine = iteration(learning_rate=0.02), beginner()
    first = {name: value.clone() for name, value in engine.state().items() if name.startswith("parameter/")}
    notes = Distance(first=first)
    memory = train(stages_of(recipe, pool=POOL, codec=Signs()), models_for(recipe, engine), Memory(0), notes)
    assert [bool(s.get("update/steps")) for s in notes.stats] == ([False] * 2 + [True] * 8) * 3
    written = [np.mean([e.right for e in step]) for step in notes.episodes]
    assert np.mean(written[20:22]) > np.mean(written[0:2]) + 0.2
    assert all(e.right and e.provenance == "replay" for step in notes.episodes[2:10] for e in step)
    assert len(memory.kept["harvest"]) >= 3
    assert notes.found[1] == 0 and notes.found[9] == notes.found[11] > 4 * notes.found[2]
    assert notes.found[12] == pytest.approx(notes.found[2], rel=0.1)  # one step from the beginning again


# Studying what nobody solved


def test_unsolved_problems_are_held_once_the_newest_first_until_they_were_studied() -> None:
    groups = {name: requests(2, 6)[2 * i : 2 * i + 2] for i, name in enumerate("abc")}

    def rows(name: str, rights: list[float]) -> list[Row]:
        pairs = zip(rights, groups[name], strict=True)
        return [Row(dataclasses.replace(episode([1, END], reward=r), request=q)) for r, q in pairs]

    def after(memory: Memory, *made: Row) -> Memory:
        episodes = [row.episode for row in made]
        return hold_unsolved(memory, episodes=episodes, rows=made, place="unsolved", student="student")

    def names(memory: Memory) -> list[str]:
        return [e.request.problem.id for e in memory.kept.get("unsolved", ())]

    a, b = (groups[name][0].problem.id for name in "ab")
    memory = after(Memory(0), *rows("a", [0.0, 0.0]), *rows("b", [1.0, 0.0]))
    assert names(memory) == [a]
    if a != b:
        memory = after(memory, *rows("b", [0.0, 0.0]), *rows("a", [0.0, 0.0]))
        assert names(memory) == [b, a]
    asked = study([], memory, codec=Signs(), size=len(names(memory)), place="unsolved", student="student")
    assert [r.problem.id for r in asked] == names(memory) and all(r.role == "student" for r in asked)
    assert study([], memory, codec=Signs(), size=9, place="unsolved", student="student") == []
    shown = [dataclasses.replace(episode([1, END], reward=1.0), request=r) for r in asked]
    assert study(shown, memory, codec=Signs(), size=1, place="unsolved", student="student") == []
    assert names(after(memory, *(Row(e) for e in shown))) == []
    short = [dataclasses.replace(e, request=dataclasses.replace(e.request, max_new=1)) for e in memory.kept["unsolved"]]
    assert study([], memory.hold("unsolved", short), codec=Signs(), size=1, place="unsolved", student="student") == []


def test_fine_tuning_steps_have_moments_of_their_own() -> None:
    """A run in which no answer is ever right studies as soon as two problems are held, with Adam's first step."""
    recipe = small("relift", num_prompts=2, num_minibatches=1, num_steps=3)
    wrong = dataclasses.replace(recipe.mechanism, expand=(Study(size=1),))
    recipe = dataclasses.replace(recipe, mechanism=wrong)
    engine = beginner()
    notes = Notes()
    models = models_for(recipe, engine)
    memory = train(stages_of(recipe, pool=POOL, codec=Signs()), models, Memory(0), notes)
    studied = [[e for e in step if e.request.role == "student"] for step in notes.episodes]
    if any(studied):
        state = engine.state()
        steps = {key.partition(":")[0] for key in state if ":" in key}
        assert steps == {"optimiser/student"}
        count = next(float(v) for key, v in state.items() if key.startswith("optimiser/student:step/"))
        assert count == sum(bool(step) for step in studied)
    assert memory.step == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["luffy", "relift", "hpt", "prefix-rft", "bread", "expert-iteration"])
def test_a_run_that_is_stopped_goes_on_to_the_same_bits(name: str) -> None:
    recipe = iteration(num_steps=10) if name == "expert-iteration" else small(name, group_size=4)
    require_resumable(recipe, beginner, after=2, pool=POOL, codec=Signs())
