"""rStar-Math: which answers and pairs of a search are chosen, and what is learnt of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from grown import OPEN, Grown, ask, by_hand, walk
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, Letters, episode, models_for, policy, recipe_of, register, require_resumable, run, segment
from worked import POOL, Signs
from worked import register as register_worked

from assay.ask.first_steps import FirstSteps
from assay.collect import walks
from assay.collect.walks import Seen, StepSearch
from assay.engine.local import LocalEngine
from assay.errors import ConfigError
from assay.forwards.reward_model import Fitted
from assay.lab.trial import small_run
from assay.memory import Memory
from assay.methods.exploration.rstar_math import prefer
from assay.methods.exploration.rstar_math.chosen import (
    STORE,
    best_trajectories,
    keep_preferences,
    mean_quality,
    step_pairs,
)
from assay.methods.exploration.rstar_math.prefer import PreferSteps, paired, prefer_steps, preference_loss
from assay.part import bind
from assay.recipe import Recipe, Stage, check
from assay.reward.learnt import read, scores_after
from assay.types import Batch, Episode, Row

CHOICE = {"each": 2, "margin": 0.5, "visits": 3}


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    register_worked(monkeypatch)


def solved_at_once(problem: str, group: str) -> Grown:
    """The right answer a and the wrong answer b, of one step each."""
    grown = Grown(problem, group)
    grown.expand("", a=1.0, b=0.0)
    return grown


# What is chosen


def test_the_best_trajectories_by_hand() -> None:
    """d has (0.2 + 1) / 2 = 0.6, g and h (0.2 + 0.333 + 1) / 3 = 0.511."""
    grown = by_hand()
    tags = {row.episode.segments[-1].node: row.tag for row in best_trajectories(grown.rows, most=2)}
    assert [name for name, tag in tags.items() if tag] == ["d", "g"]
    assert [row.tag for row in best_trajectories(grown.rows, most=9)].count("best") == 3


def test_a_trajectory_is_worth_the_mean_of_its_steps() -> None:
    assert mean_quality(by_hand().outcomes().by_name["g"]) == pytest.approx((1 / 5 + 1 / 3 + 1) / 3)


def test_nothing_is_chosen_of_answers_that_were_not_asked_for_step_by_step() -> None:
    assert best_trajectories([Row(episode([1, END], reward=1.0))], most=2)[0].tag == ""
    assert keep_preferences(Memory(0), episodes=[episode([1, END])], place=STORE, **CHOICE).kept == {}


def test_pairs_of_a_tree_by_hand() -> None:
    """Of the first steps a has five answers and b two; with two as the least, a (0.2) wins over b (-1). Of the answers
    d and g win over j and k, whose mean Q is -1; e has -0.4 and i -0.156.
    """
    tree = by_hand().outcomes()

    def pairs(**changes: object) -> list[str]:
        found = step_pairs(tree, **{**CHOICE, **changes})  # type: ignore[arg-type]
        return ["".join(by_hand().name(node) for node in pair) for pair in found]

    assert pairs() == ["dj", "dk", "gj", "gk"]
    assert pairs(visits=2) == ["ab", "dj", "dk", "gj", "gk"]
    assert pairs(visits=2, margin=1 / 5 + 1) == ["ab", "dj", "dk", "gj", "gk"], "a margin that is just met"
    assert pairs(visits=1) == ["ab", "dj", "dk", "gj", "gk"], "what ended is an answer and no step"
    assert pairs(visits=2, margin=1.3) == ["dj", "dk", "gj", "gk"]
    assert pairs(each=1) == ["dj"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 8), st.lists(st.integers(0, 2), min_size=1, max_size=3)), max_size=6))
def test_a_winner_is_worth_more_and_shares_the_beginning(rounds: list[tuple[int, list[int]]]) -> None:
    """Of any tree: what flows back is the mean outcome below, and pairs keep the margin, the visits and the prefix."""
    grown, count = Grown(), 0
    grown.expand("", A=OPEN, B=OPEN)
    for place, fates in rounds:
        names = {f"{chr(67 + count + i)}": (OPEN, 1.0, 0.0)[fate] for i, fate in enumerate(fates)}
        opened = [name for name, e in grown.made.items() if e.finish == "pause" and not _followed(grown, name)]
        if not opened:
            break
        grown.expand(opened[place % len(opened)], **names)
        count += len(fates)
    tree = grown.outcomes()
    for node in tree.nodes:
        below = [leaf.outcome for leaf in tree.backed if node in leaf.line()]
        assert node.visits == len(below) and node.quality == pytest.approx(np.mean(below) if below else 0.0)
    for winner, loser in step_pairs(tree, each=2, margin=0.5, visits=2):
        assert winner.quality - loser.quality >= 0.5
        assert winner.ended == loser.ended and (winner.ended or winner.parent is loser.parent)
        assert winner.ended or min(winner.visits, loser.visits) >= 2
    assert keep_preferences(Memory(0), episodes=grown.episodes[::-1], place=STORE, **CHOICE).stores.keys() == {STORE}


def _followed(grown: Grown, name: str) -> bool:
    return any(e.request.parent == name for e in grown.made.values())


def test_pairs_are_stored_until_the_problem_is_searched_again() -> None:
    memory = keep_preferences(Memory(0), episodes=by_hand().episodes, place=STORE, **{**CHOICE, "visits": 2})
    assert memory.store(STORE) == {"g": [[0, 1], [2, 3], [2, 4], [5, 3], [5, 4]]}
    texts = [text.stream("ids").tolist()[1::2] for text in memory.kept[STORE]]
    assert ["".join(map(chr, ids)) for ids in texts] == ["a", "b", "ad", "bj", "bk", "afg"]
    assert all(text.provenance == "replay" and not text.request.prefix for text in memory.kept[STORE])
    other, again = solved_at_once("b", "h"), solved_at_once("a", "i")
    both = keep_preferences(memory, episodes=other.episodes, place=STORE, **CHOICE)
    assert list(both.store(STORE)) == ["g", "h"]
    assert list(keep_preferences(both, episodes=again.episodes, place=STORE, **CHOICE).store(STORE)) == ["h", "i"]
    assert keep_preferences(both, episodes=walk().episodes, place=STORE, **CHOICE) == both, "no pairs, nothing new"


# What the preference model learns


def test_the_loss_by_hand() -> None:
    """Group g: s = tanh(1), 0, tanh(-1); the first wins over both others, and the second over none. Group h: equal."""
    values = np.array([1.0, 0.0, -1.0, 0.5, 0.5])
    sides = np.array([[1, 1], [-1, 0], [0, -1], [1, 0], [-1, 0]], float)
    loss, right, gradient = preference_loss(values, sides, ["g", "g", "g", "h", "h"])
    s = math.tanh(1)
    first = (math.log(1 + math.exp(-s)) + math.log(1 + math.exp(-2 * s))) / 2
    assert loss == pytest.approx((first + math.log(2)) / 2) and right == pytest.approx((1 + 0.5) / 2)
    one, two = 1 / (1 + math.exp(s)), 1 / (1 + math.exp(2 * s))
    near, flat = 1 - s * s, 1 - math.tanh(0.5) ** 2
    expected = [-(one + two) / 2 * near, one / 2, two / 2 * near, -0.5 * flat, 0.5 * flat]
    assert gradient == pytest.approx([g / 2 for g in expected])
    assert preference_loss(values[:3], sides[:3], ["g"] * 3)[1] == 1.0
    assert preference_loss(-values[:3], sides[:3], ["g"] * 3)[1] == 0.0
    assert preference_loss(values[3:], sides[3:, :1], ["h"] * 2)[1] == 0.5


@given(
    st.lists(
        st.tuples(st.integers(-8, 8), st.lists(st.sampled_from([0, 1, -1]), min_size=3, max_size=3)),
        min_size=2,
        max_size=6,
    )
)
def test_the_gradient_is_that_of_autograd(rows: list[tuple[int, list[int]]]) -> None:
    values, sides = np.array([v / 4 for v, _ in rows]), np.array([s for _, s in rows], float)
    whole = (sides == 1).sum(0) * (sides == -1).sum(0) * (np.abs(sides).sum(0) == 2) == 1
    sides = sides * whole
    if not whole.any():
        return
    v = torch.tensor(values, requires_grad=True)
    margins = torch.stack([(torch.tanh(v) * torch.tensor(sides[:, k])).sum() for k in np.flatnonzero(whole)])
    total = -torch.nn.functional.logsigmoid(margins).mean()
    loss, _, gradient = preference_loss(values, sides, ["g"] * len(rows))
    assert loss == pytest.approx(total.item()) and gradient == pytest.approx(torch.autograd.grad(total, v)[0].numpy())


def lettered() -> Memory:
    """Pairs of letters that a model of letters can read: b wins over c."""
    grown = Grown()
    grown.expand("", a=1.0, b=0.0)
    spelt = {"a": [1, 2], "b": [1, 3]}
    for name, ids in spelt.items():
        made = grown.made[name]
        grown.made[name] = dataclasses.replace(made, segments=(segment(ids, node=name),))
    return keep_preferences(Memory(0), episodes=grown.episodes, place=STORE, **CHOICE)


def test_the_model_fits_the_stored_pairs_and_the_search_reads_its_scores() -> None:
    recipe = recipe_of("rstar-math")
    models, memory = models_for(recipe, policy("fp64")), lettered()
    about = {"codec": Letters(), "scale": dataclasses.replace(recipe.scale, learning_rate=0.02), "micro_tokens": 99}
    part = bind(PreferSteps(num_epochs=10), models=models, num_prompts=4, place=STORE, **about)
    rows, stats = part([], memory=memory)
    assert rows == [] and stats["preference-model/loss"] == pytest.approx(math.log(2))
    _, later = part([], memory=memory)
    assert later["preference-model/loss"] < stats["preference-model/loss"] and later["preference-model/accuracy"] == 1.0
    spans = [read(text, "response", Letters()) for text in memory.kept[STORE]]
    better, worse = (float(np.tanh(v[-1])) for v in scores_after(models["preference-model"], spans, tokens=99))
    assert -1 < worse < better < 1
    assert part([], memory=Memory(0)) == ([], {}), "nothing is stored"
    grown = Grown()
    grown.expand("", a=OPEN, b=OPEN)
    grown.made["a"] = dataclasses.replace(grown.made["a"], segments=(segment([1, 3], node="a"),))
    grown.made["b"] = dataclasses.replace(grown.made["b"], segments=(segment([1, 2], node="b"),))
    noted: dict[str, Seen] = {}
    asked = ask(grown, models=models, model="preference-model", noted=noted)
    assert {r.parent for r in asked} == {"b"}
    assert [noted[grown.made[name].request.id].score for name in "ab"] == pytest.approx([worse, better])


def test_the_update_does_not_depend_on_cuts() -> None:
    found = []
    for tokens in (4, 999):
        models = models_for(recipe_of("rstar-math"), policy("fp64"))
        prefer_steps([], **_about(models, lettered(), tokens))  # type: ignore[arg-type]
        found.append(models["preference-model"].state())  # type: ignore[attr-defined]
    for name, value in found[0].items():
        if name.startswith("parameter/"):
            assert torch.allclose(value, found[1][name], rtol=1e-10, atol=1e-14), name


def _about(models: object, memory: Memory, tokens: int) -> dict[str, object]:
    scale = dataclasses.replace(recipe_of("rstar-math").scale, learning_rate=0.02)
    values = {"place": STORE, "model": "preference-model", "rate": 1.0, "num_epochs": 3}
    return {"models": models, "memory": memory, "codec": Letters(), "scale": scale, "num_prompts": 2} | {
        "micro_tokens": tokens,
        **values,
    }


def test_sides_stand_beside_their_texts() -> None:
    memory = keep_preferences(Memory(0), episodes=by_hand().episodes, place=STORE, **{**CHOICE, "visits": 2})
    batch = paired([memory.kept[STORE]], memory.store(STORE), Letters())
    (sides,) = batch.constants.values()
    assert sides.shape == (6, 5) and sides.sum(axis=0).tolist() == [0] * 5
    assert sides[:, 0].tolist() == [1, -1, 0, 0, 0, 0] and sides[:, 4].tolist() == [0, 0, 0, 0, -1, 1]
    assert batch.mask.sum() == 6 and [batch.mask[end - 1] for end in batch.at[1:]] == [True] * 6
    other = keep_preferences(memory, episodes=solved_at_once("b", "h").episodes, place=STORE, **CHOICE)
    trees = [[text for text in other.kept[STORE] if text.request.group == group] for group in "gh"]
    (both,) = paired(trees, other.store(STORE), Letters()).constants.values()
    assert both[:6].tolist() == sides.tolist() and both[6:].tolist() == [[1, 0, 0, 0, 0], [-1, 0, 0, 0, 0]]


def test_trees_are_drawn_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four trees two in each step: each once in two steps, and then in another order."""
    drawn: list[set[str]] = []

    def learn(engine: object, batch: Batch, *_: object, **about: object) -> tuple[list[Fitted], list[float]]:
        drawn.append(set(batch.group))
        return [(0.25, 0.75, np.zeros(0))], []

    monkeypatch.setattr(prefer, "learn", learn)
    episodes = [e for group in "ghij" for e in solved_at_once("a", group).episodes]
    memory, rows = keep_preferences(Memory(0), episodes=episodes, place=STORE, **CHOICE), by_hand().rows
    for step in range(12):
        about = _about({"preference-model": None}, dataclasses.replace(memory, step=step), 99)
        found, stats = prefer_steps(rows, **about)  # type: ignore[arg-type]
        assert found == rows and stats == {"preference-model/loss": 0.25, "preference-model/accuracy": 0.75}
    assert len(drawn) == 12 and all(len(groups) == 2 for groups in drawn)
    assert all(one | two == set("ghij") for one, two in zip(drawn[::2], drawn[1::2], strict=True))
    assert len(set(map(frozenset, drawn[::2]))) > 1
    assert prefer_steps(rows, **_about({}, Memory(0), 99)) == (rows, {})  # type: ignore[arg-type]


# Refusals


def test_what_cannot_be_is_refused() -> None:
    recipe = recipe_of("rstar-math")
    with pytest.raises(ConfigError, match="model 'preference-model' with a value head"):
        check(dataclasses.replace(recipe, models={"policy": recipe.models["policy"]}))


def test_the_last_two_searches_are_guided_and_the_last_is_longer() -> None:
    mechanisms = [stage.mechanism for stage in recipe_of("rstar-math").stages]
    searches = [part for m in mechanisms if m for part in m.expand if isinstance(part, StepSearch)]
    model = "preference-model"
    assert [(s.rollouts, s.most, s.model) for s in searches] == [
        (16, 16, ""),
        (16, 16, ""),
        (16, 16, model),
        (16, 64, model),
    ]


# Runs


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 20, "warmup_steps": 0, "learning_rate": 0.02, **changes}
    recipe = recipe_of("rstar-math", max_new=8, **values)
    return dataclasses.replace(recipe, stages=tuple(map(_narrow, recipe.stages)))


def _narrow(stage: Stage) -> Stage:
    mechanism = stage.mechanism
    assert mechanism is not None
    if not mechanism.expand:
        return stage
    (part,) = mechanism.expand
    assert isinstance(part, StepSearch)
    expand = (dataclasses.replace(part, rollouts=3, most=min(part.most, 5)),)
    ask = (FirstSteps(width=4, marks=","),)
    return dataclasses.replace(stage, mechanism=dataclasses.replace(mechanism, ask=ask, expand=expand))


def signer() -> LocalEngine:
    return policy("fp32", vocab=Signs.vocab, hidden=16, ffn=16, init_std=0.3, context=64, decode=Signs().decode)


@pytest.mark.slow
def test_rounds_of_search_and_of_learning() -> None:
    """A search trains nothing; then the policy and the preference model learn from what it found, each from the first
    weights on; the last two searches read the scores.
    """
    notes, memory = run(small(), signer(), pool=POOL, codec=Signs())
    assert [bool(step) for step in notes.batches] == ([False] + [True] * 4) * 4
    assert ["preference-model/loss" in stats for stats in notes.stats] == ([False] + [True] * 4) * 4
    assert notes.stats[6]["preference-model/loss"] == pytest.approx(math.log(2)), "it begins anew"
    for number in (0, 5, 10, 15):
        steps = notes.episodes[number]
        assert len({e.request.id for e in steps}) == len(steps)
        for e in (e for e in steps if e.finish == "pause"):
            assert Signs().decode(e.segments[-1].ids[-1:].tolist()) == "," and e.verdict is None
        assert all("," not in Signs().decode(e.segments[-1].ids[:-1].tolist()) for e in steps)
    assert all(e.right and e.provenance == "replay" for step in notes.episodes[1:5] for e in step)
    assert memory.kept[STORE] and memory.kept["best"]


def test_generated_tokens_are_those_of_the_steps() -> None:
    notes, memory = run(small(num_steps=1), signer(), pool=POOL, codec=Signs())
    held = {(s.node, i) for e in notes.episodes[0] for s in e.segments for i in range(len(s))}
    assert memory.budget.generated_tokens == len(held)


def test_every_step_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again in each round of the collection, though a tree is rebuilt from all of its steps in each."""
    asked: list[str] = []

    def looking(episodes: Sequence[Episode], *rest: object, **about: object) -> dict[str, Seen]:
        asked.extend(e.request.id for e in episodes)
        return {e.request.id: Seen(False, None) for e in episodes}

    monkeypatch.setattr(walks, "looked_at", looking)
    notes, _ = run(small(num_steps=1), signer(), pool=POOL, codec=Signs())
    assert sorted(asked) == sorted(e.request.id for e in notes.episodes[0] if e.finish == "pause")


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    """From within a round, with trees and pairs in the memory, into a search that the preference model guides."""
    memory = require_resumable(small(num_prompts=8, num_steps=20), signer, after=8, pool=POOL, codec=Signs())
    assert memory.kept[STORE] and memory.kept["best"]


@pytest.mark.slow
def test_the_policy_is_right_more_often_after_each_round() -> None:
    notes, _ = run(small(num_prompts=16, num_steps=60), signer(), pool=POOL, codec=Signs())
    first, last = (np.mean([e.right for e in notes.episodes[at] if e.finish != "pause"]) for at in (0, 47))
    assert last > first + 0.2


@pytest.mark.slow
def test_a_run_on_a_task_that_judges_steps(tmp_path: Path) -> None:
    """An untrained model: nothing it writes is right, so that there is nothing to learn from and nothing breaks."""
    result = small_run("rstar-math", tmp_path, task="quantities", steps=5, settings={"scale.max_new": 24})
    assert len(result.metrics()) == 5
