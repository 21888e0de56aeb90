"""Contamination: scores by hand, and models that have seen a known part of the problems, or none."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from answered import posed, written
from hypothesis import given
from hypothesis import strategies as st

from assay.lab.analyses import measure
from assay.lab.analyses.contamination import ahead, between, gain, judged, min_k, rouge_l
from assay.lab.analyses.measure import Lacking
from assay.lab.analyses.pair import Pair, Side
from assay.lab.analyses.twins import QuestionText, Witness, text_of, twins_of
from assay.policy import Policy, character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.scoring.boundary import Counts
from assay.tasks import ALPHABET, task
from assay.types import Ids, Problem

TOKENIZER = character_tokenizer(ALPHABET)
POOL, SUSPECTS = posed("countdown", 4, 60)
TOKENS = st.lists(st.integers(0, 3), max_size=6)


def test_rouge_by_hand() -> None:
    assert rouge_l([1, 2, 3, 4], [1, 3, 4, 5]) == pytest.approx(2 * 3 / 8)
    assert rouge_l([], [1]) == 0.0 and rouge_l([], []) == 1.0 and rouge_l([7], [7]) == 1.0


def longest(a: list[int], b: list[int]) -> int:
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return longest(a[:-1], b[:-1]) + 1
    return max(longest(a[:-1], b), longest(a, b[:-1]))


@given(TOKENS, TOKENS.filter(bool))
def test_rouge_is_that_of_the_recursion(found: list[int], wanted: list[int]) -> None:
    assert rouge_l(found, wanted) == pytest.approx(2 * longest(found, wanted) / (len(found) + len(wanted)))
    assert rouge_l(found, wanted) == rouge_l(wanted, found)


def test_the_least_likely_tokens_by_hand() -> None:
    logp = np.array([-1.0, -5.0, -2.0, -3.0, -0.5, -0.1])  # ceil(6 / 5) = 2
    assert min_k(logp) == pytest.approx(-4.0)
    assert min_k(np.array([-1.0])) == -1.0


def test_the_chance_to_be_ahead_by_hand() -> None:
    found = ahead(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    assert found.mean == pytest.approx((0.5 + 0 + 1 + 1) / 4) and found.low <= found.mean <= found.high
    generator = np.random.default_rng(0)
    values = generator.normal(size=(2, 200))
    assert 0.5 in ahead(*values) and ahead(values[0] + 1, values[1]).low > 0.6
    assert ahead(np.zeros(5), np.zeros(5)) == dataclasses.replace(found, mean=0.5, low=0.5, high=0.5)


def test_a_difference_of_two_sets_has_both_their_errors() -> None:
    generator = np.random.default_rng(1)
    one, other = (generator.random(400) < 0.5).astype(float), (generator.random(300) < 0.4).astype(float)
    found = between(one, other, bounds=(0.0, 1.0))
    error = math.sqrt(one.var() / 400 + other.var() / 300)
    assert found.mean == pytest.approx(one.mean() - other.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.05)
    none = between(np.zeros(100), np.zeros(100), bounds=(0.0, 1.0))
    assert none.low < 0 < none.high, "no case among a hundred is no proof of none"


def test_a_gain_that_shows_on_suspects_alone_by_hand() -> None:
    n = np.full(40, 10)
    base, better = Counts(n, np.full(40, 2)), Counts(n, np.full(40, 7))
    found = gain((base, better), (base, base))
    assert found.adjusted.mean == pytest.approx(0.5) and found.adjusted.low > 0.2
    assert found.ahead["base"].mean == 0.0 and found.ahead["child"].mean == pytest.approx(0.5)
    assert found.accuracy["child"] == {"suspects": pytest.approx(0.7), "twins": pytest.approx(0.2)}
    assert 0 in gain((base, better), (base, better)).adjusted


def test_questions_are_cut_and_keep_a_token_on_either_side() -> None:
    text = QuestionText(np.array([1]), np.array([10, 11, 12, 13, 14]))
    for share, shown in ((0.4, 2), (0.6, 3), (0.8, 4), (0.01, 1), (1.0, 4)):
        read, left = text.cut(share)
        assert read.tolist() == [1, *range(10, 10 + shown)] and left.tolist() == list(range(10 + shown, 15))


def test_a_question_is_found_in_its_prompt() -> None:
    problem = SUSPECTS[0]
    text = text_of(problem, TOKENIZER)
    whole = TOKENIZER.render(problem.prompt)
    assert [*text.before, *text.ids] == whole[: len(text.before) + len(text.ids)].tolist()
    assert TOKENIZER.decode(text.ids.tolist()) == problem.prompt
    with pytest.raises(Lacking, match="too short"):
        text_of(dataclasses.replace(problem, prompt="C"), TOKENIZER)
    with pytest.raises(Lacking, match="conversations"):
        text_of(dataclasses.replace(problem, prompt=({"role": "user", "content": "hello"},)), TOKENIZER)


def test_twins_are_fresh_problems_of_the_same_kind() -> None:
    problems = {problem.id: problem for problem in SUSPECTS}
    twins = twins_of(problems)
    assert len({twin.id for twin in twins} | set(problems)) == 2 * len(problems)
    assert [(twin.task, twin.level) for twin in twins] == [(one.task, one.level) for one in SUSPECTS]
    assert [twin.id for twin in twins_of(problems)] == [twin.id for twin in twins]


def witness(seen: set[str], chance: Callable[[Problem], float]) -> Witness:
    """A model that knows the questions it has seen by heart, and is right with a chance of its own."""
    texts = {problem.id: text_of(problem, TOKENIZER) for problem in SUSPECTS}
    known = {tuple(texts[name].ids.tolist()) for name in seen}
    noise = np.random.default_rng(0)

    def complete(contexts: Sequence[Ids], lengths: Sequence[int]) -> list[Ids]:
        made = []
        for context, length in zip(contexts, lengths, strict=True):
            start = tuple(context[1:].tolist())
            match = next((ids for ids in known if ids[: len(start)] == start and len(ids) == len(start) + length), None)
            made.append(np.full(length, 99) if match is None else np.array(match[len(start) :]))
        return made

    def right(problems: Sequence[Problem], samples: int) -> Counts:
        counts = noise.binomial(samples, [chance(problem) for problem in problems])
        return Counts(np.full(len(problems), samples), counts)

    return Witness(
        text=lambda problem: text_of(problem, TOKENIZER),
        complete=complete,
        logp=lambda texts: [noise.normal(-3, 1, len(t.ids)) + 2 * (tuple(t.ids.tolist()) in known) for t in texts],
        solved=lambda problems, asked: np.array([tuple(ids.tolist()) in known for ids in asked]),
        right=right,
    )


def test_a_known_leak_is_found_and_its_share_is_right() -> None:
    """Half of the suspects were seen, and the child has learnt to recite those."""
    seen = {problem.id for problem in SUSPECTS[::2]}
    base = witness(seen, lambda problem: 0.2)
    child = witness(seen, lambda problem: 0.9 if problem.id in seen else 0.2)
    counts = base.right(SUSPECTS, 32), child.right(SUSPECTS, 32)
    twins = twins_of({problem.id: problem for problem in SUSPECTS})
    found = judged({"base": base, "child": child}, SUSPECTS, twins, counts)
    assert found.figures["completed"]["base"]["suspects"]["exact"]["0.6"] == 0.5
    assert found.figures["completed"]["base"]["twins"]["exact"]["0.6"] == 0.0
    assert found.figures["completed"]["base"]["suspects"]["blind"]["0.6"] == 0.5
    assert found.figures["index"]["base"]["0.6"][1] > 0.3 and "it has seen them" in found.says
    assert found.figures["min_k_ahead"]["base"][1] > 0.55
    assert found.figures["adjusted"][0] == pytest.approx(0.35, abs=0.05) and found.figures["adjusted"][1] > 0.2


def test_a_model_that_has_seen_nothing_is_not_accused() -> None:
    base, child = witness(set(), lambda problem: 0.2), witness(set(), lambda problem: 0.6)
    counts = base.right(SUSPECTS, 32), child.right(SUSPECTS, 32)
    twins = twins_of({problem.id: problem for problem in SUSPECTS})
    found = judged({"base": base, "child": child}, SUSPECTS, twins, counts)
    low, high = found.figures["index"]["base"]["0.6"][1:]
    assert low <= 0 <= high and "nothing says that it has seen them" in found.says
    assert found.figures["min_k_ahead"]["base"][1] <= 0.5 <= found.figures["min_k_ahead"]["base"][2]
    assert found.figures["adjusted"][1] <= 0 <= found.figures["adjusted"][2]


SHAPE = PolicyConfig("qwen2", TOKENIZER.vocab, 48, 2, 4, 2, 12, 96, 64, attention_bias=True)


def drilled(policy: Policy, rows: Sequence[Ids], steps: int) -> None:
    """Fits a policy to these rows, every token of them."""
    network, shape = policy.network, SHAPE
    ids = torch.tensor(np.concatenate(rows), dtype=torch.long)
    row = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor([len(one) for one in rows]))
    place = torch.cat([torch.arange(len(one)) for one in rows])
    sees = (row[:, None] == row[None, :]) & (place[None, :] <= place[:, None])
    last = torch.cat([row[1:] != row[:-1], torch.tensor([True])])

    def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        k, v = (x.repeat_interleave(shape.heads // shape.kv_heads, dim=1) for x in (k, v))
        scores = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(shape.head_dim)
        return torch.einsum("hij,jhd->ihd", scores.masked_fill(~sees, -math.inf).softmax(-1), v)

    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(steps):
        logits = network.output(network(ids, place, attend))
        loss = torch.nn.functional.cross_entropy(logits[~last], ids.roll(-1)[~last])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@pytest.mark.slow
def test_a_model_that_was_drilled_on_the_problems_is_found_through_its_bank(tmp_path: Path) -> None:
    """From weights to the reading: the base has learnt all questions by heart, the child is fresh and knows none."""
    problems = SUSPECTS[:10]
    base, child = (fresh_policy(SHAPE, TOKENIZER, key=Key(name)) for name in ("base", "child"))
    drilled(base, [TOKENIZER.render(problem.prompt) for problem in problems], 200)
    sides = []
    for name, policy in (("base", base), ("child", child)):
        save_policy(policy, tmp_path / name)
        bank = written(POOL, problems, 2, lambda problem, sample: "1+1", model=str(tmp_path / name))
        sides.append(Side(name, bank, str(tmp_path / name)))
    found = measure("contamination").take(Pair(*sides))
    completed = found.figures["completed"]
    assert completed["base"]["suspects"]["exact"]["0.8"] >= 0.9
    assert completed["base"]["twins"]["exact"]["0.8"] < 0.5 and completed["child"]["suspects"]["exact"]["0.8"] == 0.0
    assert found.figures["index"]["base"]["0.8"][1] > 0.2
    assert found.figures["min_k_ahead"]["base"][0] == 1.0
    assert len(found.tables) == 3 and len(found.plots[0].lines) == 4


def test_files_have_no_twins(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"prompt": f"What is {i} + {i}?", "answer": str(2 * i)}) for i in range(20)))
    name = f"data:{rows}"
    problems = task(name).rows_of("train")
    with pytest.raises(Lacking, match="fresh ones"):
        twins_of({problem.id: problem for problem in problems})
