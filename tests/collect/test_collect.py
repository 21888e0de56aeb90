"""The loop's phases with real answers: draws, requests, rounds, verdicts, old log-probs, and what a step reports."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from altered import altered
from of_methods import said
from tiny import (
    ALONE,
    END,
    POOL,
    TINY,
    Letters,
    group_of,
    models_of,
    phases_of,
    policy,
    recipe_of,
    register,
    run,
    saved,
    with_rounds,
)

from assay.collect import generate
from assay.engine.interface import Span
from assay.errors import AssayError
from assay.known import RECIPES
from assay.memory import Memory
from assay.part import Expansion
from assay.recipe import Recipe
from assay.record.measure import step_stats
from assay.source import Pool, Share
from assay.source.epochs import epochs
from assay.tasks.task import Task
from assay.types import Episode, Origin, Request, Verdict


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(name: str, **scale: object) -> Recipe:
    rows = {"num_prompts": 4, "group_size": 4 if RECIPES[name].scale.group_size > 1 else 1, "num_steps": 2}
    return recipe_of(name, max_new=3, **{**rows, "learning_rate": 0.01, "warmup_steps": 0, **scale})


def failing(task: Task, letter: str = "") -> Task:
    """A checker with a bug on answers that contain this letter; on all if none is named."""

    def check(spec: object, answer: str) -> Verdict:
        if letter in answer:
            raise ZeroDivisionError("a bug in the checker")
        return task.checker.check(spec, answer)  # type: ignore[arg-type]

    return altered(task, check=check)


# Draws and requests


def test_a_problem_drawn_twice_is_two_groups_of_independent_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)
    notes, _ = run(small("rloo", num_prompts=2, group_size=32, num_steps=1), policy("fp32", vocab=5))
    (episodes,) = notes.episodes
    assert len({e.request.problem.id for e in episodes}) == 1
    assert len({e.request.id for e in episodes}) == len(episodes) == 64
    groups = [[tuple(e.stream("ids").tolist()) for e in episodes if e.request.group == g] for g in ("0:0", "0:1")]
    assert [len(g) for g in groups] == [32, 32]
    # samples in one place of either group would be equal throughout if the draws shared their random numbers
    equal = np.mean([a == b for a, b in zip(*groups)])
    chance = sum(groups[0].count(a) / 32 * groups[1].count(a) / 32 for a in set(groups[0]))
    assert equal < chance + 4 * np.sqrt(chance * (1 - chance) / 32)
    assert len(set(groups[0])) > 4


def test_samples_of_a_group_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """First tokens of many samples against the probabilities of the policy, and against their neighbours."""
    register(monkeypatch, ALONE)
    engine = policy("fp32", vocab=5)
    notes, _ = run(small("reinforce", num_prompts=400, num_steps=1), policy("fp32", vocab=5))
    first = np.array([e.stream("ids")[0] for e in notes.episodes[0]])
    context = notes.episodes[0][0].request.context
    spans = [Span(context, np.array([i], np.int32)) for i in range(5)]
    p = np.exp([s.logp[0] for s in engine.score(spans)])
    chi = ((np.bincount(first, minlength=5) - 400 * p) ** 2 / (400 * p)).sum()
    assert chi < 23.5  # 1 - 1e-4 of chi-square with four degrees of freedom
    pairs = np.mean(first[1:] == first[:-1])
    assert abs(pairs - (p**2).sum()) < 4 * np.sqrt((p**2).sum() / 399)


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_request_ids_are_unique_in_a_step_and_groups_in_a_run(name: str) -> None:
    notes, _ = run(small(name), policy("fp32"))
    for episodes in notes.episodes:
        assert len({e.request.id for e in episodes}) == len(episodes)
        for group in {e.request.group for e in episodes}:
            assert len({e.request.problem.id for e in episodes if e.request.group == group}) == 1
            members = [e for e in episodes if e.request.group == group]
            smaller = len(small(name).roles) > 1 or name in said("SMALLER")
            assert smaller or len(members) >= small(name).scale.group_size
    first, second = ({e.request.group for e in episodes} for episodes in notes.episodes)
    assert not first & second


def test_steps_draw_new_noise() -> None:
    """The same request in two steps is answered with other random numbers."""
    recipe, engine = small("rloo"), policy("fp32")
    phases = phases_of(recipe)
    requests = phases.ask(models_of(engine), phases.source(Memory(0)), Memory(0))
    answers = [
        [
            tuple(e.stream("ids").tolist())
            for e in generate(models_of(engine), requests, memory.key("sample", step), Letters())
        ]
        for memory, step in ((Memory(0), 0), (Memory(0), 1), (Memory(1), 0), (Memory(0), 0))
    ]
    assert answers[0] == answers[3] != answers[1] != answers[2] != answers[0]


def test_dapo_refills_until_its_groups_are_mixed_or_the_cap() -> None:
    """At the cap the step trains on what it has; a refill takes the next draws."""
    recipe = small("dapo", num_prompts=6, group_size=4, num_steps=1)
    notes, _ = run(with_rounds(recipe, 3), policy("fp32", vocab=4, init_std=0.1))
    draws = [e.request.draw for e in notes.episodes[0]]
    assert sorted(set(draws)) == list(range(max(draws) + 1)) and len(draws) == 4 * (max(draws) + 1)
    assert max(draws) + 1 in (12, 18)
    trained = {row.group for row in notes.rows[0] if row.in_loss}
    assert 0 < len(trained) <= 6
    for group in trained:
        right = {e.verdict.status for e in notes.episodes[0] if e.request.group == group and e.verdict}
        assert right == {"ok", "fail"}


class AgainAndAgain(Expansion):
    """Asks for the first answer once more."""

    @staticmethod
    def does(episodes: Sequence[Episode]) -> list[Request]:
        return [episodes[0].request]


def test_a_part_that_asks_for_what_is_there_is_stopped() -> None:
    recipe = small("rloo", num_steps=1)
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=(AgainAndAgain(),)))
    with pytest.raises(AssayError, match=r"asked again for an answer .*without an end"):
        run(recipe, policy("fp32"))


# What a step does


@pytest.mark.slow
def test_steps_are_deterministic_bit_for_bit() -> None:
    for name in ("grpo", "dapo"):
        results = []
        for _ in range(2):
            engine = policy("fp32", vocab=4)
            notes, memory = run(small(name, num_minibatches=2), engine, micro_tokens=20)
            results.append((engine.state(), saved(memory), notes.stats))
        (first, memory_a, stats_a), (second, memory_b, stats_b) = results
        assert memory_a == memory_b and stats_a == stats_b
        for key, value in first.items():
            assert torch.equal(value, second[key]) if isinstance(value, torch.Tensor) else value == second[key], key
        other = policy("fp32", vocab=4)
        run(small(name, num_minibatches=2), other, seed=1)
        head = "parameter/model.embed_tokens.weight"
        assert not torch.equal(other.state()[head], first[head])


@pytest.mark.parametrize("name", ["grpo", "dr-grpo"])
def test_with_one_update_the_ratio_is_exactly_one(name: str) -> None:
    notes, _ = run(small(name, num_minibatches=1), policy("fp32", vocab=4))
    batches = [batch for step in notes.batches for batch in step]
    assert batches and all(batch.old is None for batch in batches)
    for stats in (s for s in notes.stats if s["update/steps"]):
        assert stats["policy/ratio"] == stats["policy/ratio_max"] == 1.0
        assert stats["policy/clip_fraction"] == 0.0
        assert stats["policy/sampler_mismatch_max"] < 1e-5


@pytest.mark.parametrize("updates", [{"num_minibatches": 2}, {"num_epochs": 2}])
def test_with_several_updates_old_is_the_learners_own_before_the_first(updates: dict[str, int]) -> None:
    engine = policy("fp32", vocab=4, init_std=0.1)
    phases = phases_of(small("dr-grpo", num_prompts=16, **updates))
    models, memory = models_of(engine), Memory(0)
    episodes, memory = phases.collect(models, phases.ask(models, phases.source(memory), memory), memory)
    rows, _ = phases.forwards(models, phases.curate(models, episodes, memory), memory)
    (batch,) = phases.credit(rows, memory)
    assert batch.old is not None and batch.sampled is not None
    np.testing.assert_allclose(batch.old[batch.mask], batch.sampled[batch.mask], atol=1e-5)
    stats = phases.improve(models, batch, memory)
    assert stats["update/steps"] == 2.0 and engine.version == 2
    assert abs(stats["policy/ratio"] - 1) > 1e-4  # the second update is off policy


def test_reference_is_that_of_the_frozen_start() -> None:
    engine = policy("fp32", vocab=4)
    start = engine.copy()
    notes, _ = run(small("grpo", num_steps=3), engine)
    batch = notes.batches[2][0]
    assert batch.ref is not None and batch.sampled is not None
    spans = [
        Span(batch.context[a:b], batch.ids[c:d])
        for a, b, c, d in zip(batch.context_at, batch.context_at[1:], batch.at, batch.at[1:])
    ]
    np.testing.assert_allclose(batch.ref, np.concatenate([s.logp for s in start.score(spans)]), atol=1e-6)
    assert np.abs(batch.ref - batch.sampled).max() > 1e-3


def test_sft_asks_for_nothing_and_imitates_the_solution() -> None:
    notes, memory = run(small("sft"), policy("fp32"))
    for episode in notes.episodes[0]:
        assert episode.provenance == "teacher" and episode.finish == "stop"
        assert (episode.stream("origin") == Origin.INJECTED).all()
        assert episode.text == episode.request.problem.solution and episode.stream("ids")[-1] == END
    assert notes.batches[0][0].mask.all() and memory.budget.rollouts == 0 and memory.budget.generated_tokens == 0


# Verdicts


def test_a_failing_checker_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row on which it fails has no reward, is counted, and moves nothing; the others train as if alone."""
    register(monkeypatch, failing(TINY, "a"))
    notes, memory = run(small("reinforce", num_prompts=64, num_steps=1), policy("fp32", vocab=4, init_std=0.1))
    (episodes,), (rows,), (batches,) = notes.episodes, notes.rows, notes.batches
    failed = [e for e in episodes if "a" in e.text and e.finish == "stop"]
    assert 0 < len(failed) < 60
    for episode in episodes:
        invalid = episode.verdict is not None and episode.verdict.status == "invalid"
        assert invalid == (episode in failed) == (episode.reward is None)
    assert failed[0].verdict is not None and "ZeroDivisionError" in failed[0].verdict.detail
    trained = {row.episode.request.id for row in rows if row.in_loss or row.in_group or row.in_denominator}
    assert trained == {e.request.id for e in episodes} - {e.request.id for e in failed}
    assert set(batches[0].request) == trained and batches[0].counted_rows.all()
    stats = step_stats(episodes, rows)
    assert stats["reward/verifier_failed"] == len(failed)
    others = [e.reward for e in episodes if e not in failed]
    assert stats["reward/mean"] == pytest.approx(float(np.mean(others)))  # type: ignore[arg-type]
    assert memory.store("pass-rates")["tiny/1"][1] == 64 - len(failed)


def test_a_step_of_old_answers_alone_has_no_share_of_kept_ones() -> None:
    rows = [
        dataclasses.replace(row, episode=dataclasses.replace(row.episode, provenance="replay"))
        for row in group_of([1.0])
    ]
    stats = step_stats([row.episode for row in rows], rows)
    assert stats["rollouts"] == 1.0 and "group/kept_rows" not in stats and np.isfinite(list(stats.values())).all()


@pytest.mark.parametrize("name", ["reinforce", "rloo", "dr-grpo", "dapo"])
def test_a_checker_that_always_fails_moves_no_weight(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only empty and cut answers have a verdict: they are wrong without being checked, and all alike."""
    register(monkeypatch, failing(TINY))
    engine = policy("fp32", vocab=4)
    before = engine.state()
    notes, _ = run(with_rounds(small(name, num_steps=1), 2), engine)
    checked = [e for e in notes.episodes[0] if e.finish == "stop" and e.text]
    assert checked and all(e.verdict is not None and e.verdict.status == "invalid" for e in checked)
    assert step_stats(notes.episodes[0], notes.rows[0])["reward/verifier_failed"] == len(checked)
    after = engine.state()
    assert all(torch.equal(v, after[k]) for k, v in before.items() if isinstance(v, torch.Tensor))


def test_an_answer_that_the_limit_cut_is_wrong_without_being_checked() -> None:
    notes, _ = run(small("reinforce", num_prompts=64, num_steps=1), policy("fp32", vocab=4))
    cut = [e for e in notes.episodes[0] if e.finish == "length"]
    assert cut and all(e.verdict == Verdict.fail("truncated") and e.reward == 0.0 for e in cut)
    assert any(e.request.problem.spec["letter"] in e.text for e in cut)


# Budgets


def test_what_a_run_spent() -> None:
    recipe = small("rloo", num_minibatches=2, num_epochs=2)
    notes, memory = run(recipe, policy("fp32", vocab=4))
    episodes: list[Episode] = [e for step in notes.episodes for e in step]
    assert memory.budget.rollouts == memory.budget.verified_answers == len(episodes) == 2 * 4 * 4
    assert memory.budget.generated_tokens == sum(len(e) for e in episodes)
    assert memory.budget.optimiser_steps == sum(s["update/steps"] for s in notes.stats)
    assert sum(memory.store("pass-rates")["tiny/1"]) > 0
    right = sum(e.verdict is not None and e.verdict.status == "ok" for e in episodes)
    assert memory.store("pass-rates") == {"tiny/1": [right, len(episodes)]}
    assert POOL.shares[0].task == "tiny"


# A fixed set of problems


def test_every_problem_of_the_set_comes_once_an_epoch() -> None:
    pool = Pool((Share("mod-chain", (2, 3)),))
    draw = functools.partial(epochs, pool=pool, drawn=6, size=10)
    drawn = [p.id for step in range(5) for p in draw(Memory(3, step=step), 0, 6)]
    first, second, third = drawn[:10], drawn[10:20], drawn[20:]
    assert len(set(first)) == 10 and set(first) == set(second) == set(third)
    assert first != second and second != third
    assert [p.id for p in draw(Memory(3, step=1), 2, 4)] == drawn[8:12]
    assert {p.id for p in draw(Memory(4), 0, 6)} != set(first[:6])
