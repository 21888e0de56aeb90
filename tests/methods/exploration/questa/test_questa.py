"""Hints in the question, a band of success rates, a policy that lags, and the objective that corrects for it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from fitting import CODEC
from hypothesis import given
from hypothesis import strategies as st
from tiny import (
    END,
    Letters,
    Notes,
    Table,
    episode,
    group_of,
    models_for,
    policy,
    recipe_of,
    register,
    require_resumable,
    run,
    segment,
)
from worded import grown

from assay.ask import Sampling, first_requests
from assay.ask.hints import holds_answer
from assay.collect import Lagged
from assay.credit import pack
from assay.credit.whiten import whiten
from assay.curate.band import band
from assay.errors import ConfigError
from assay.memory import Memory
from assay.memory.follow import Follow
from assay.methods.exploration.questa.partial_solution import PartialSolution, hint, partial_solution
from assay.objective.improve import accumulate
from assay.prompt import Prompt
from assay.recipe import Recipe, Stage
from assay.rng import Key
from assay.tasks import task
from assay.types import Origin, Problem, Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    rows = {"num_prompts": 2, "group_size": 8, "num_steps": 8, "learning_rate": 0.01}
    return recipe_of("questa", max_new=3, **{**rows, "warmup_steps": 0, **scale})


# Hints


def question(**changes: object) -> Problem:
    values = {"solution": "7,12,3#3", "prompt": "M23 5+2", **changes}
    return Problem("mod-chain", values.pop("prompt"), {}, "x", **values)  # type: ignore[arg-type]


def test_hints_by_hand() -> None:
    assert hint(question(), percent=50, unit="characters") == "7,12"
    assert hint(question(), percent=70, unit="characters") == "7,12,"
    assert hint(question(), percent=50, unit="steps") == "7,"
    assert hint(question(), percent=10, unit="steps") == ""
    lines = question(solution="one, two\nthree\nAnswer", wording="natural")
    assert hint(lines, percent=70, unit="steps") == "one, two\n"
    assert Prompt.of(question()).with_hint("7,").told == "M23 5+2 [7,]"
    assert Prompt.of(lines).with_hint("one", title="## Hint.").told == "M23 5+2\n\n## Hint.one"
    talk = question(prompt=({"role": "system", "content": "s"}, {"role": "user", "content": "q"}), wording="natural")
    assert Prompt.of(talk).with_hint("h", title="## Hint.").told[1] == {"role": "user", "content": "q\n\n## Hint.h"}
    assert holds_answer(question(), "7,12,3") and not holds_answer(question(), "7,12")


@given(level=st.integers(1, 12), seed=st.integers(0, 50), less=st.floats(0, 100), more=st.floats(0, 100))
def test_a_hint_is_a_beginning_and_grows_with_its_share(level: int, seed: int, less: float, more: float) -> None:
    problem = task("mod-chain").problem(Key(seed), level=level)
    for unit in ("characters", "steps"):
        short, long = (hint(problem, percent=p, unit=unit) for p in sorted((less, more)))
        assert (problem.solution or "").startswith(long) and long.startswith(short)
        assert unit == "characters" or not long or long.endswith(",")


def test_a_hint_takes_the_room_of_its_own_problem() -> None:
    """Between ` [` and `]`."""
    part = PartialSolution(percent=100.0, least=1)
    short, long = (Problem("mod-chain-7", "M7 1", {}, text, solution=text) for text in ("1", "1" * 50))
    assert [grown(part, problem, CODEC, 20) for problem in (short, long)] == [3 + 1, 3 + 50]


class Plain(Letters):
    def render(self, prompt: object) -> np.ndarray:
        return np.frombuffer(str(prompt).encode(), np.uint8).astype(np.int32)


def test_context_of_the_question_is_that_of_training() -> None:
    """Short hints, and those that give the answer away if that is asked for, leave the question as it is."""
    problem, settings = question(), Sampling(max_new=4)
    asked = first_requests([problem], Memory(0), first=0, samples=2, sampling=settings, codec=Plain())

    def text(**values: object) -> set[str]:
        given = {"percent": 50, "unit": "characters", "least": 1, "leaks": "keep", **values}
        found = partial_solution(asked, codec=Plain(), **given)  # type: ignore[arg-type]
        assert all(r.train_context is None and not r.prefix for r in found)
        return {bytes(r.context.astype(np.uint8)).decode() for r in found}

    assert text() == {"M23 5+2 [7,12]"}
    assert text(least=5) == text(percent=0) == text(percent=100, leaks="bare") == {"M23 5+2"}
    assert text(percent=100) == {"M23 5+2 [7,12,3#3]"}


# The band, whitening, the objective


def test_groups_outside_the_band_are_left_out() -> None:
    rows = [row for n in range(5) for row in group_of([1.0] * n + [0.0] * (4 - n), name=str(n))]
    kept = band(rows, low=0.25, high=0.75)
    assert [row.group for row in kept if row.in_loss] == ["1"] * 4 + ["2"] * 4 + ["3"] * 4
    assert not any(row.in_denominator or row.in_group for row in kept if row.group in "04")
    lost = group_of([1.0, None, None, None])
    lost = [lost[0], *(row.mark(in_group=False) for row in lost[1:])]
    assert not any(row.in_loss for row in band(lost, low=0.25, high=0.75))


def test_whitening_by_hand() -> None:
    """Tokens 1, 1, 4 of two rows: mean 2, population variance 2, sample variance 3."""
    rows = [row.mark(advantage=np.array(a)) for row, a in zip(group_of([0.0, 1.0], lengths=[2, 1]), ([1.0, 1], [4.0]))]
    for ddof, spread in ((0, 2**0.5), (1, 3**0.5)):
        found = whiten(rows, by="batch", over="tokens", ddof=ddof, epsilon=0.0)
        np.testing.assert_allclose(np.concatenate([r.advantage for r in found]), np.array([-1, -1, 2]) / spread)  # type: ignore[misc]
    tagged = [row.mark(tag=tag) for row, tag in zip(rows, "ab", strict=True)]
    tagged += [row.mark(tag="b", advantage=np.array([0.0, 0.0])) for row in group_of([1.0])]
    found = whiten(tagged, by="tag", over="tokens", ddof=0, epsilon=0.0)  # of a: 1, 1; of b: 4, 0, 0
    np.testing.assert_allclose(np.concatenate([r.advantage for r in found]), [0, 0, 2**0.5, *[-(0.5**0.5)] * 2])  # type: ignore[misc]
    alike = whiten(
        [row.mark(advantage=np.full(2, 0.3)) for row in group_of([1.0, 1.0])],
        by="batch",
        over="tokens",
        ddof=1,
        epsilon=0,
    )
    assert all((row.advantage == 0).all() for row in alike)  # type: ignore[union-attr]


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=2, max_size=6), st.integers(0, 99))
def test_whitened_tokens_that_train_have_mean_zero_and_spread_one(values: list, seed: int) -> None:
    """Others are moved with them and counted nowhere: tokens of an environment, and of rows out of the loss."""
    random = np.random.default_rng(seed)
    rows, numbers = [], []
    for i, own in enumerate(values):
        mine = random.random(len(own)) < 0.7
        pieces = [segment([1], origin=Origin.POLICY if m else Origin.ENV) for m in mine]
        row = Row(episode(pieces, sample=i), in_loss=bool(random.random() < 0.8)).mark(advantage=np.array(own))
        rows.append(row)
        numbers += [a for a, m in zip(own, mine, strict=True) if m and row.in_loss]
    if len(numbers) > 1 and np.ptp(numbers) > 1e-3:
        found = whiten(rows, by="batch", over="tokens", ddof=0, epsilon=0.0)
        np.testing.assert_allclose(
            np.concatenate([r.advantage for r in found]),  # type: ignore[misc]
            (np.concatenate(values) - np.mean(numbers)) / np.std(numbers),
            atol=1e-9,
        )


def test_the_decoupled_objective_by_hand() -> None:
    """w = 1.1, 1.3, 1.3, 0.7, 1: A = 1, 1, -1, -1, 1; pi_prox / pi_behaviour = 2, 2, 0.5, 1, 6."""
    ratio, advantage = np.array([1.1, 1.3, 1.3, 0.7, 1.0]), np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    behind, old = np.array([2.0, 2.0, 0.5, 1.0, 6.0]), np.full(5, -2.0)
    answer = segment([1] * 5, mu=(old - np.log(behind)).astype(np.float32))
    row = Row(episode([answer])).mark(advantage=advantage, old=old.astype(np.float32))
    table = Table({row.episode.request.id: (old + np.log(ratio)).tolist()})
    accumulate(table, pack([row]), np.ones(5, np.float32), small().mechanism.objective, 10**6)  # type: ignore[arg-type]
    found = table.coefficients[row.episode.request.id]
    np.testing.assert_allclose(-found, [2.2, 0.0, -0.65, 0.0, 0.0], rtol=1e-6)


# A policy that lags


@pytest.mark.slow
def test_answers_are_of_the_follower_and_its_lag_goes_round() -> None:
    """Versions of what is written are 0, 0, 0, 0, 0, 5, 5, ...; probabilities are those of these very weights."""
    recipe = small(num_steps=8, group_size=16)
    engine = policy("fp32", vocab=4)
    notes, _ = run(dataclasses.replace(recipe, stages=recipe.stages[:1]), engine)
    steps = np.cumsum([0] + [bool(s["update/steps"]) for s in notes.stats])
    for step, episodes in enumerate(notes.episodes):
        (version,) = {int(s.version) for e in episodes for s in e.segments}
        assert version == steps[5 * (step // 5)]
        for batch in notes.batches[step]:
            assert batch.mu is not None and batch.sampled is not None
            if step % 5 == 0:
                assert batch.old is None or np.abs(batch.old - batch.sampled)[batch.mask].max() < 1e-5
            elif steps[step] > version:
                assert batch.old is not None and np.abs(batch.old - batch.sampled)[batch.mask].max() > 1e-3


def test_a_follower_of_every_step_is_the_policy_itself() -> None:
    """Without a lag the collector and the correction change no bit."""
    recipe = dataclasses.replace(small(num_steps=3), stages=(Stage(),))
    plain = dataclasses.replace(recipe.mechanism, collect=(), remember=())
    close = dataclasses.replace(recipe.mechanism, remember=(Follow(every=1),))
    engines = [policy("fp32", vocab=4, init_std=0.1) for _ in range(2)]
    for engine, mechanism in zip(engines, (plain, close), strict=True):
        run(dataclasses.replace(recipe, mechanism=mechanism), engine)
    one, other = (engine.state() for engine in engines)
    assert one["version"] == other["version"] > 0
    assert all(torch.equal(one[n], other[n]) for n in one if n.startswith("parameter/"))


def test_a_follower_that_follows_nobody_is_refused() -> None:
    recipe = small()
    with pytest.raises(ConfigError, match=r"'behaviour' does not follow 'policy'.*follows='policy'"):
        run(dataclasses.replace(recipe, models={"policy": recipe.models["policy"]}), policy("fp32", vocab=4))
    assert recipe.mechanism.collect == (Lagged(),)


@pytest.mark.slow
@pytest.mark.parametrize("after", [3, 4, 6])
def test_a_run_goes_on_bit_for_bit_behind_its_policy_and_through_its_stages(after: int) -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4), after=after)


def test_an_answer_out_of_the_band_teaches_nothing() -> None:
    notes, _ = run(small(num_steps=2), policy("fp32", vocab=4))
    for episodes, rows in zip(notes.episodes, notes.rows, strict=True):
        right: dict[str, list[bool]] = {}
        for one in episodes:
            right.setdefault(one.request.group, []).append(one.verdict is not None and one.verdict.status == "ok")
        for row in rows:
            assert not row.in_loss or 0 < np.mean(right[row.group]) < 1
    assert (
        isinstance(notes, Notes) and END == 0 and models_for(small(), policy("fp32")).follows == {"behaviour": "policy"}
    )
