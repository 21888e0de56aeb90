"""KTO: labels without pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from off_policy import SHAPES, Answer, world
from preferred import require_learning, require_one_stage
from tiny import ALONE, Letters, episode, models_for, phases_of, policy, recipe_of, register
from torch import Tensor
from trl_rows import questions

from assay.curate.grouping import MISMATCHED
from assay.engine.interface import Span
from assay.known import recipe
from assay.memory import Memory
from assay.methods.losses.kto.loss import KTO
from assay.methods.losses.kto.mismatch import mismatch
from assay.objective import Objective
from assay.types import Row
from bench import trl_ours, trl_preferences
from bench.trl_preferences import Unpaired

LEVELS = (0, 1, 4, 5)  # seeds of worlds with a level of KTO below and above zero


@pytest.mark.parametrize("seed", LEVELS)
def test_kto(seed: int) -> None:
    """Rows of the tag `mismatched` set the level, and have no coefficient."""
    made = world(seed, shapes={**SHAPES, "others": [("pp", True), ("pep", False), ("p", True)]})
    apart = [row.group == "others" for row in made.rows]
    made.rows = [
        row.mark(tag="mismatched", in_denominator=False) if other else row
        for row, other in zip(made.rows, apart, strict=True)
    ]
    moved = [float((a.logp - a.ref).sum().detach()) for a, other in zip(made.answers, apart, strict=True) if other]
    level = max(0.0, sum(moved) / 3)
    right, wrong = (sum(a.right == k and a.length > 0 for a in made.answers[:-3]) for k in (True, False))

    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for a, other in zip(answers, apart, strict=True):
            if not other and a.length:
                score = (a.logp - a.ref).sum()
                near = torch.sigmoid(0.2 * (score - level)) if a.right else torch.sigmoid(0.2 * (level - score))
                total = total + (0.7 * wrong / right if a.right else 1.0) * (1 - near)
        return total / (len(answers) - 3)

    made.require(Objective(whole=KTO(beta=0.2, balance=0.7)), formula)


@pytest.mark.parametrize("right", [True, False])
def test_without_mismatched_rows_the_level_is_zero_and_of_one_kind_each_weighs_one(right: bool) -> None:
    """At the reference each token is pushed by beta / 4, up or down, over two answers."""
    made = world(0, shapes={"g": [("pp", right), ("p", right)]})
    for row, answer in zip(made.rows, made.answers, strict=True):
        row.ref[:] = answer.logp.detach().numpy()  # type: ignore[index]
    found = np.concatenate(made.learnt(Objective(whole=KTO(beta=0.2, balance=0.7))))
    np.testing.assert_allclose(found, [(-1) ** right * 0.2 / 4 / 2] * 3, rtol=1e-5)


def test_some_levels_are_above_zero_and_some_are_not() -> None:
    levels = []
    for seed in LEVELS:
        made = world(seed, shapes={**SHAPES, "others": [("pp", True), ("pep", False), ("p", True)]})
        levels.append(sum(float((a.logp - a.ref).sum().detach()) for a in made.answers[-3:]))
    assert min(levels) < 0 < max(levels)


def test_every_answer_is_put_under_another_question() -> None:
    rows = [
        Row(episode([1, 0], group=name, sample=i, prompt=prompt, reward=float(i)))
        for name, prompt in (("g", "a"), ("h", "b"), ("k", "a"))
        for i in range(2)
    ]
    rows[1] = rows[1].mark(in_loss=False)
    found = mismatch(rows)
    assert found[:6] == rows and len(found) == 6 + 5
    letters = Letters()
    asked = {"g": "b", "h": "a", "k": "b"}
    for row in found[6:]:
        assert row.tag == "mismatched" and row.in_loss and not row.in_group and not row.in_denominator
        np.testing.assert_array_equal(row.episode.training_context, letters.encode(asked[row.group]))
        np.testing.assert_array_equal(row.episode.request.context, letters.encode("a" if row.group != "h" else "b"))
    same = rows[:2] + rows[4:]
    assert mismatch(same) == same


def test_a_mismatched_answer_is_scored_under_the_other_question() -> None:
    """Its reference log-probs are those that `forwards` finds for the pair, and it trains nothing."""
    recipe, engine = recipe_of("kto", num_prompts=2, group_size=2), policy("fp32")

    models, phases = models_for(recipe, engine, policy("fp32", seed=1)), phases_of(recipe)
    episodes = [episode([1, 0], group=p, sample=i, prompt=p, reward=float(i)) for p in "ab" for i in range(2)]
    rows, _ = phases.forwards(models, phases.curate(models, episodes, Memory(0)), Memory(0))
    other = rows[4]
    span = Span(Letters().encode("b"), np.array([1, 0], np.int32))
    (expected,) = models["reference"].score([span])
    np.testing.assert_allclose(other.ref, expected.logp, rtol=1e-5)  # type: ignore[arg-type]
    (batch,) = phases.credit(rows, Memory(0))
    assert batch.tag is not None and batch.tag.count("mismatched") == 4 and batch.counted_rows.sum() == 4


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


@pytest.mark.slow
@pytest.mark.learning
def test_kto_learns_from_what_a_frozen_policy_wrote(letters: None) -> None:
    require_learning("kto", learning_rate=0.01)


def test_the_reference_of_kto_is_where_the_run_began() -> None:
    require_one_stage("kto")


@pytest.mark.parametrize("mixed", [True, False])
def test_trls_level_is_over_the_answers_that_we_score_for_it(mixed: bool) -> None:
    made = questions(3)
    data = Unpaired(mixed=mixed).data(made)
    prompts, said = ([row[name][0]["content"] for row in data] for name in ("prompt", "completion"))
    theirs = sorted(zip(prompts, [said[-1], *said[:-1]], strict=True))
    marked = trl_ours.curated(made, recipe("kto").mechanism)
    ours = [row for row in marked if row.tag == MISMATCHED] if mixed else trl_preferences.rotated(made)
    spelt = [(row.episode.training_context, row.episode.stream("ids")) for row in ours]
    assert theirs == sorted((str(c[0]), " ".join(map(str, ids.tolist()))) for c, ids in spelt)
    assert sum(row["label"] for row in data) == 3
    assert all(row.tag == MISMATCHED and not row.in_denominator and not row.in_group for row in ours)


def test_trl_is_told_what_our_right_answers_weigh() -> None:
    made = questions(2)
    assert Unpaired().options(made)["desirable_weight"] == pytest.approx(14 / 2)
    assert Unpaired(balanced=False).options(made) == {"desirable_weight": 1.0, "undesirable_weight": 1.0, "beta": 0.1}
    assert trl_preferences.odds(made) == pytest.approx(2 / 14)
