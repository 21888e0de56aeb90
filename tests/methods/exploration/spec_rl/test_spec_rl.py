"""Drafts of an epoch ago: what is assembled is distributed as if today's policy had written it all."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell, steps_of, train_line
from tiny import (
    ALONE,
    END,
    Letters,
    episode,
    models_of,
    policy,
    recipe_of,
    register,
    reopened,
    require_resumable,
    run,
    segment,
)
from typed import present

from assay.ask import Sampling, first_requests
from assay.collect import generate
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.exploration.spec_rl.distributions import Distributions, distributions, keep_distributions
from assay.methods.exploration.spec_rl.drafts import keep_drafts
from assay.methods.exploration.spec_rl.speculate import accepted, left_over, speculate, stays
from assay.models import Models
from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, save_policy
from assay.recipe import Recipe, at_profile
from assay.rng import Key, uniforms
from assay.run.session import plan
from assay.source import Pool, Share
from assay.tasks import ALPHABET
from assay.types import Episode, Origin, Request, Row, Segment

VOCAB, MAX_NEW = 4, 3
SHARP = {"vocab": VOCAB, "init_std": 1.5}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


def requests(count: int, step: int = 0, **sampling: Any) -> list[Request]:
    problem = ALONE.problem(Key(0), level=1)
    settings = Sampling(max_new=MAX_NEW, **sampling)
    return first_requests([problem], Memory(0, step=step), first=0, samples=count, sampling=settings, codec=Letters())


def written(models: Models, asked: list[Request], memory: Memory) -> list[Episode]:
    return generate(models, asked, memory.key("sample", memory.step), Letters())


def drafted(engine: LocalEngine, count: int, *, whole: bool = True, k: int = VOCAB, **sampling: Any) -> Memory:
    """The memory after a step in which this engine answered, and the k likeliest tokens of each place were kept."""
    memory = Memory(7)
    rows = [Row(e) for e in written(models_of(engine), requests(count, **sampling), memory)]
    if whole:
        rows, _ = keep_distributions(rows, models=models_of(engine), micro_tokens=100, k=k)
    memory = keep_drafts(memory, rows=rows, problems=8)
    return dataclasses.replace(reopened(memory), step=1)


def assembled(engine: LocalEngine, memory: Memory, count: int, **values: object) -> list[Episode]:
    settings = {"lenience": 1.0, "residual": True, "micro_tokens": 100, **values}
    asked = speculate(requests(count, step=1), memory, models=models_of(engine), **settings)  # type: ignore[arg-type]
    return written(models_of(engine), asked, memory)


def outcomes(engine: LocalEngine) -> dict[tuple[int, ...], float]:
    """Every answer of at most three tokens and its probability."""
    letters = range(1, VOCAB)
    answers = [
        (*head, last)
        for length in range(MAX_NEW)
        for head in itertools.product(letters, repeat=length)
        for last in (range(VOCAB) if length == MAX_NEW - 1 else (END,))
    ]
    context = requests(1)[0].context
    scores = engine.score([Span(context, np.array(answer, np.int32)) for answer in answers])
    return {answer: float(np.exp(s.logp.astype(np.float64).sum())) for answer, s in zip(answers, scores, strict=True)}


def chi_square(episodes: list[Episode], probability: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """Of answers expected five times and more, the others together; and its degrees of freedom."""
    counts = dict.fromkeys(probability, 0)
    for one in episodes:
        counts[tuple(int(i) for i in one.stream("ids"))] += 1
    total = len(episodes)
    often = [a for a, p in probability.items() if p * total >= 5]
    seen = [counts[a] for a in often] + [total - sum(counts[a] for a in often)]
    expected = [probability[a] * total for a in often]
    expected.append(max(total - sum(expected), 1e-9))
    if expected[-1] < 5:
        seen[-2:], expected[-2:] = [seen[-2] + seen[-1]], [expected[-2] + expected[-1]]
    return sum((s - e) ** 2 / e for s, e in zip(seen, expected, strict=True)), len(seen) - 1


def bound(freedom: int) -> float:
    """1 - 1e-5 of chi-square, after Wilson and Hilferty."""
    return freedom * (1 - 2 / (9 * freedom) + 4.265 * (2 / (9 * freedom)) ** 0.5) ** 3


# The rule


def test_tokens_stay_up_to_the_first_that_is_too_unlikely_now() -> None:
    """p/q = 2, 1/2, 1/4, 4: with u = 0.9, 0.4, 0.3, 0.1 the third does not stay; with lenience 2 all do."""
    then = np.log(np.array([0.2, 0.4, 0.8, 0.1]))
    now = np.log(np.array([0.4, 0.2, 0.2, 0.4]))
    u = np.array([0.9, 0.4, 0.3, 0.1])
    assert accepted(now, then, u, lenience=1.0) == 2
    assert accepted(now, then, u, lenience=2.0) == 4
    assert accepted(now, then, np.full(4, 0.51), lenience=1.0) == 1
    assert accepted(then, then, np.full(4, 1 - 2.0**-53), lenience=1.0) == 4


def test_what_is_left_over_by_hand() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(left_over(p, q, lenience=1.0), [0.3, 0.0, 0.0])
    np.testing.assert_allclose(left_over(p, q, lenience=0.5), [0.3, 0.15, 0.1])
    np.testing.assert_allclose(left_over(p, p, lenience=1.0), p)


weights = st.lists(st.floats(0.001, 1.0), min_size=5, max_size=5)


@given(p=weights, q=weights, lenience=st.floats(0.05, 1.0))
def test_what_stays_and_what_is_left_over_add_up_to_the_policy(p: list, q: list, lenience: float) -> None:
    """P(x) = q(x) a(x) + P(rejected) over(x) / sum(over) = p(x), for every draft and every lenience of at most 1."""
    a, b = np.array(p) / sum(p), np.array(q) / sum(q)
    stay = np.minimum(1.0, lenience * a / b)
    over = left_over(a, b, lenience=lenience)
    rejected = 1.0 - (b * stay).sum()
    np.testing.assert_allclose(b * stay + rejected * over / over.sum(), a, atol=1e-12)


# What is assembled


def uniform_policy() -> LocalEngine:
    return policy("fp32", **{**SHARP, "init_std": 0.0})  # type: ignore[arg-type]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, None])
def test_assembled_answers_are_distributed_as_the_policys_own(kind: str, seed: int | None) -> None:
    """Drafts of other weights altogether; the policy of today is another one, or uniform."""
    count = 2500
    engine = uniform_policy() if seed is None else policy("fp32", seed=seed, **SHARP)
    made = assembled(engine, drafted(policy("fp32", seed=2, **SHARP), count), count)
    reused = np.mean([sum(map(len, e.request.prefix)) > 0 for e in made])
    assert reused == 1.0  # something stays, or the first new token is drawn already
    found, freedom = chi_square(made, outcomes(engine))
    assert freedom >= 5 and found < bound(freedom)


@pytest.mark.slow
def test_a_lenience_below_one_is_exact_too() -> None:
    engine = policy("fp32", seed=1, **SHARP)
    made = assembled(engine, drafted(policy("fp32", seed=2, **SHARP), 2500), 2500, lenience=0.6)
    found, freedom = chi_square(made, outcomes(engine))
    assert found < bound(freedom)


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"residual": False}, {"lenience": 3.0}])
def test_the_release_and_a_large_lenience_are_biased(values: dict) -> None:
    engine = policy("fp32", seed=1, **SHARP)
    made = assembled(engine, drafted(policy("fp32", seed=2, **SHARP), 2500), 2500, **values)
    found, freedom = chi_square(made, outcomes(engine))
    assert found > 2 * bound(freedom)


@pytest.mark.slow
@pytest.mark.parametrize("residual", [True, False])
def test_an_unchanged_policy_keeps_every_token(kind: str, residual: bool) -> None:
    engine = policy("fp32", seed=1, **SHARP)
    memory = drafted(engine, 200, whole=residual)
    made = assembled(engine, memory, 200, residual=residual)
    for one, draft in zip(made, memory.kept["drafts"], strict=True):
        assert one.request.max_new + len(one) in (MAX_NEW, len(one))
        assert one.stream("ids").tolist() == draft.stream("ids").tolist()
        assert len(one.segments) == len(one.request.prefix) == 1  # nothing was generated
        assert one.finish == draft.finish and one.provenance == "fresh"
        np.testing.assert_allclose(one.stream("old"), draft.stream("old"), atol=1e-5)
    assert {one.finish for one in made} == {"stop", "length"}


@pytest.mark.slow
@pytest.mark.parametrize("residual", [True, False])
def test_log_probs_of_what_was_kept_are_todays(kind: str, residual: bool) -> None:
    """Bit by bit those of the learner where the engine promises that of its sampler."""
    engine = policy("fp32", seed=1, **SHARP)
    made = assembled(engine, drafted(policy("fp32", seed=2, **SHARP), 300), 300, residual=residual)
    spans = [Span(e.request.context, e.stream("ids").astype(np.int32)) for e in made]
    for one, scores in zip(made, engine.score(spans, entropy=True), strict=True):
        np.testing.assert_allclose(one.stream("old"), scores.logp, atol=1e-5)
        np.testing.assert_allclose(one.stream("entropy"), present(scores.entropy), atol=1e-5)
        if engine.exact:
            assert (one.stream("old") == scores.logp).all()
        assert (one.stream("origin") == Origin.POLICY).all() and len(one) <= MAX_NEW


def test_whole_distributions_are_those_of_single_spans(kind: str) -> None:
    engine = policy("fp32", seed=3, **SHARP)
    context, ids = np.array([1, 2], np.int32), np.array([3, 1, 0], np.int32)
    (found,) = distributions(engine, [Span(context, ids, 0.7)], tokens=50)
    assert distributions(engine, [], tokens=50) == []
    for t in range(3):
        before = np.concatenate([context, ids[:t]])
        spans = [Span(before, np.array([token], np.int32), 0.7) for token in range(VOCAB)]
        np.testing.assert_allclose(found[t], [s.logp[0] for s in engine.score(spans)], atol=1e-5)


def test_a_draft_that_ends_its_residual_draw_at_the_limit_is_not_continued() -> None:
    draft = dataclasses.replace(segment([1, 2, 3]), all_logp=np.log(np.full((3, 4), 0.25, np.float32)))
    now = dataclasses.replace(draft, old=np.array([0.0, 0.0, -50.0], np.float32), mu=np.zeros(3, np.float32))
    every = np.log(np.array([[0.25] * 4, [0.25] * 4, [1e-9, 0.5, 0.5, 1e-9]], np.float32))
    found = stays(dataclasses.replace(now, all_logp=every), draft, Key(1), lenience=1.0, residual=True)
    assert found.count == 2 and found.token in (1, 2) and found.barred is None
    assert found.logp == every[2, found.token]


def one_place(p: np.ndarray, q: np.ndarray, token: int, named: list[int]) -> tuple[Segment, Segment]:
    """A draft of one token drawn from q, of which the log-probs of the named tokens are known, as p sees it."""
    ids, kept = np.array([token], np.int32), np.array([named], np.int32)
    origin = np.zeros(1, np.int8)

    def seen(r: np.ndarray) -> Segment:
        logp = np.log(r).astype(np.float32)
        return Segment(ids, origin, old=logp[ids], mu=logp[ids], all_logp=logp[kept], top_ids=kept)

    return seen(p), seen(q)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("named", [[0], [1, 3], [0, 1, 2]])
@pytest.mark.parametrize("lenience", [1.0, 0.5])
def test_a_few_known_log_probs_of_the_draft_are_enough(named: list[int], lenience: float) -> None:
    """A token of q, what stays of it, and what is drawn in its place from p where it must be one of the others: in
    20,000 draws as often each token as p has it.
    """
    p, q = np.array([0.4, 0.1, 0.3, 0.15, 0.05]), np.array([0.1, 0.3, 0.1, 0.2, 0.3])
    counts, total = np.zeros(5), 20_000
    drafts = np.searchsorted(np.cumsum(q), uniforms([Key("draft")], total)[0], side="right")
    rest = uniforms([Key("rest")], total)[0]
    for i, token in enumerate(drafts):
        now, draft = one_place(p, q, int(token), named)
        found = stays(now, draft, Key("accept")(i), lenience=lenience, residual=True)
        if found.barred is not None:
            weight = p.copy()
            weight[found.barred] = 0.0
            counts[np.searchsorted(np.cumsum(weight), rest[i] * weight.sum(), side="right")] += 1
        else:
            counts[token if found.count else found.token] += 1
    assert ((counts - total * p) ** 2 / (total * p)).sum() < bound(4)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3])
def test_answers_are_the_policys_own_however_few_log_probs_a_draft_keeps(kind: str, k: int) -> None:
    engine = policy("fp32", seed=1, **SHARP)
    memory = drafted(policy("fp32", seed=2, **SHARP), 2500, k=k)
    assert all(d.segments[0].all_logp.shape[1] == k for d in memory.kept["drafts"])  # type: ignore[union-attr]
    made = assembled(engine, memory, 2500)
    found, freedom = chi_square(made, outcomes(engine))
    assert freedom >= 5 and found < bound(freedom)
    spans = [Span(e.request.context, e.stream("ids").astype(np.int32)) for e in made]
    for one, scores in zip(made, engine.score(spans), strict=True):
        np.testing.assert_allclose(one.stream("old"), scores.logp, atol=1e-4)  # logits of tens in 24 bits
        if engine.exact:
            assert (one.stream("old") == scores.logp).all()


class Wide(Letters):
    """More tokens than there are letters: the others say nothing."""

    vocab = 700

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode([i for i in ids if i < 5])


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["simko", "spec-rl"])
def test_a_vocabulary_of_a_real_model_is_trained_to_the_end(kind: str, recipe: str) -> None:
    """Of more tokens than could be kept one by one, two steps and their drafts."""
    shape = {"num_prompts": 1, "group_size": 4, "num_steps": 2, "num_minibatches": 2, "warmup_steps": 0}
    notes, memory = run(recipe_of(recipe, max_new=MAX_NEW, **shape), policy("fp32", vocab=700), codec=Wide())
    assert len(notes.stats) == 2
    if recipe == "spec-rl":
        assert {d.segments[0].top_ids.shape[1] for d in memory.kept["drafts"]} == {128}  # type: ignore[union-attr]
        assert any(e.request.prefix for e in notes.episodes[1])
    else:
        assert {row.top_ids.shape[1] for step in notes.rows for row in step} == {3}  # type: ignore[union-attr]


def test_every_step_draws_its_own_numbers() -> None:
    """The same drafts under the same policy in two steps: other tokens stay."""
    engine, memory = policy("fp32", seed=1, **SHARP), drafted(policy("fp32", seed=2, **SHARP), 100)
    lengths = []
    for step in (1, 2, 1):
        at = dataclasses.replace(memory, step=step)
        asked = speculate(requests(100), at, models=models_of(engine), micro_tokens=99, lenience=1.0, residual=True)
        lengths.append([sum(map(len, r.prefix)) for r in asked])
    assert lengths[0] == lengths[2] != lengths[1]
    u = uniforms([memory.key("accept", step)("x") for step in (1, 2)], 3)
    assert (u[0] != u[1]).all()


# Memory and refusals


def test_drafts_are_the_newest_of_a_problem_and_of_a_bounded_number_of_problems() -> None:
    memory = Memory(0)
    for names in ("a", "b", "a", "c"):
        rows = [Row(episode([1, 2, END], prompt=names, group=names, sample=s)) for s in (0, 1)]
        memory = keep_drafts(memory, rows=rows, problems=2)
    held = [(d.request.problem.prompt, d.request.sample) for d in memory.kept["drafts"]]
    assert held == [("a", 0), ("a", 1), ("c", 0), ("c", 1)]


def test_a_draft_is_used_once_however_often_its_problem_is_drawn() -> None:
    engine, memory = policy("fp32", seed=1, **SHARP), drafted(policy("fp32", seed=1, **SHARP), 4)
    asked = requests(4) + [dataclasses.replace(r, draw=1, group="0:1") for r in requests(4)]
    found = speculate(asked, memory, models=models_of(engine), micro_tokens=99, lenience=1.0, residual=True)
    assert [bool(r.prefix) for r in found] == [True] * 4 + [False] * 4


def test_what_others_wrote_is_no_draft() -> None:
    mixed = episode([segment([1], origin=Origin.INJECTED), segment([2, END])])
    failed = episode([1, 2], finish="error")
    assert not keep_drafts(Memory(0), rows=[Row(mixed), Row(failed)], problems=2).kept


def test_a_draft_under_another_context_is_not_used() -> None:
    engine, memory = policy("fp32", seed=1, **SHARP), drafted(policy("fp32", seed=1, **SHARP), 4)
    asked = [dataclasses.replace(r, context=np.append(r.context, np.int32(2))) for r in requests(4)]
    found = speculate(asked, memory, models=models_of(engine), micro_tokens=99, lenience=1.0, residual=True)
    assert found == asked


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "more"), [("simko", []), ("spec-rl", ["--mechanism.source.size", "2"])])
def test_the_defaults_train_a_model_of_many_tokens_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recipe: str, more: list[str]
) -> None:
    letters = ALPHABET + "".join(chr(0x4E00 + i) for i in range(700))
    tokenizer = character_tokenizer(letters)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 64, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("wide")), tmp_path / "model")
    reply = Shell(capsys)(*train_line(tmp_path / "model", tmp_path / "run", *more, recipe=recipe))
    assert reply.code == 0, reply.err
    assert steps_of(tmp_path / "run") == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"scale.top_p": "0.9"}, r"scale\.top_p to 1"),
        ({"scale.top_k": "20"}, r"scale\.top_k"),
        ({"mechanism.ask.0.lenience": "0"}, r"mechanism\.ask\.0\.lenience must be above 0"),
        ({"mechanism.forwards": "none"}, r"Add `distributions` to mechanism\.forwards"),
        ({"mechanism.forwards.0.k": "0"}, r"mechanism\.forwards\.0\.k must be 1 or more"),
    ],
)
def test_what_cannot_be_exact_is_refused_before_anything_is_loaded(settings: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        plan(RECIPES["spec-rl"], model="x/y", pool=Pool((Share("countdown", (3,)),)), overrides=settings)


def test_a_task_whose_world_answers_back_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match=r"in 'calculator' a world writes.*Take a task without a world"):
        plan(RECIPES["spec-rl"], model="x/y", pool=Pool((Share("calculator", (2,)),)))


def test_drafts_of_which_too_little_is_known_are_not_used() -> None:
    engine = policy("fp32", seed=5, **SHARP)
    for memory in (drafted(engine, 4, whole=False), drafted(policy("fp32", vocab=5), 4, k=5)):
        assert not any(sum(map(len, e.request.prefix)) for e in assembled(engine, memory, 4))


# In the loop


def small(**scale: object) -> Recipe:
    """One problem, so that drafts are there from the second step on."""
    rows = {"num_prompts": 1, "group_size": 32, "num_steps": 5, "num_minibatches": 1, "learning_rate": 0.01}
    return recipe_of("spec-rl", max_new=MAX_NEW, **{**rows, "warmup_steps": 0, **scale})


def test_a_run_decodes_fewer_tokens_and_trains_on_all() -> None:
    notes, memory = run(small(), policy("fp32", **SHARP))
    for step, (episodes, batches) in enumerate(zip(notes.episodes, notes.batches, strict=True)):
        given_ = sum(len(s) for e in episodes for s in e.request.prefix)
        assert (given_ > 0) == (step > 0)
        assert batches[0].mask.all() and (batches[0].version == present(notes.batches[step][0].version)[0]).all()
    everything = sum(len(e) for step in notes.episodes for e in step)
    assert 0.2 * everything < memory.budget.generated_tokens < 0.6 * everything
    assert memory.budget.rollouts == memory.budget.verified_answers == 5 * 32


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 128])
def test_a_run_goes_on_bit_for_bit_with_its_drafts(k: int) -> None:
    recipe = small()
    mechanism = dataclasses.replace(recipe.mechanism, forwards=(Distributions(k=k),))
    whole = dataclasses.replace(recipe, mechanism=mechanism)
    memory = require_resumable(whole, lambda: policy("fp32", **SHARP), after=2)
    kept = [draft.segments[0].top_ids for draft in memory.kept["drafts"]]
    assert all((ids is None) == (k > VOCAB) for ids in kept)


def test_a_draft_bears_the_version_of_the_policy_that_wrote_its_end() -> None:
    row = Row(episode([segment([1], version=3), segment([2, 0], version=7)]))
    (draft,) = keep_drafts(Memory(0), rows=[row], problems=1).kept["drafts"]
    assert [(len(one), one.version) for one in draft.segments] == [(3, 7)]


@pytest.mark.parametrize("profile", ["laptop", "one-gpu"])
def test_drafts_are_held_for_as_many_problems_as_an_epoch_has(profile: Any) -> None:
    made, lines = at_profile(RECIPES["spec-rl"], profile)
    (drafts,), source = made.mechanism.remember, made.mechanism.source
    assert drafts.problems == source.size == 6144 * made.scale.num_prompts // 1024  # type: ignore[attr-defined]
    assert any(line.startswith("Drafts.problems: 6144 ->") for line in lines)
