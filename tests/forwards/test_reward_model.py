"""A reward model: its losses by hand, where labels stand, updates that do not depend on cuts, and what it learns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, models_for, policy, register, require_resumable, with_reward_model

from assay.curate.continued import CONTINUATION
from assay.errors import ConfigError
from assay.forwards import RewardModel
from assay.forwards.reward_model import label_loss, lessons, pair_loss, placed
from assay.memory import Memory
from assay.models import Models
from assay.part import bind
from assay.recipe import check
from assay.reward import SampledSteps
from assay.reward.learnt import read, scores_after
from assay.types import Reward, Row, Verdict

ROWS = [
    Row(episode([i % 3 + 1, 2, i % 2 + 1, END][: 2 + i % 3], group=f"g{i // 4}", sample=i, reward=float(i % 3 == 0)))
    for i in range(12)
]
SHORT = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
NUMBERS = st.lists(
    st.tuples(st.integers(-8, 8).map(lambda n: n / 4), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from("ab")),
    min_size=2,
    max_size=9,
)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def columns(rows: Sequence[tuple[float, float, str]]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    scores, labels, groups = zip(*rows, strict=True)
    return np.array(scores), np.array(labels), list(groups)


def test_pairs_by_hand() -> None:
    """Group a: 1 beats 0 with margins 2 and -1; group b has equal labels; group c: one pair of margin 0."""
    scores, labels = np.array([1.0, -1.0, 2.0, 5.0, 6.0, 3.0, 3.0]), np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    loss, right, gradient = pair_loss(scores, labels, ["a", "a", "a", "b", "b", "c", "c"])
    first = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 2
    assert loss == pytest.approx((first + math.log(2)) / 2)
    assert right == pytest.approx((0.5 + 0.5) / 2)
    low, high = 1 / (1 + math.exp(2)), 1 / (1 + math.exp(-1))
    assert gradient == pytest.approx([-(low + high) / 4, low / 4, high / 4, 0, 0, 0.25, -0.25])


def test_labels_by_hand() -> None:
    loss, right, gradient = label_loss(np.array([0.0, math.log(3)]), np.array([1.0, 0.25]), ["a", "a"])
    assert loss == pytest.approx((math.log(2) - 0.25 * math.log(0.75) - 0.75 * math.log(0.25)) / 2)
    assert gradient == pytest.approx([(0.5 - 1) / 2, (0.75 - 0.25) / 2]) and right == 0.0


@given(NUMBERS)
def test_the_gradients_are_those_of_autograd(rows: list[tuple[float, float, str]]) -> None:
    scores, labels, groups = columns(rows)
    s = torch.tensor(scores, requires_grad=True)
    per_group = []
    for name in set(groups):
        mine = [i for i, group in enumerate(groups) if group == name]
        pairs = [(i, j) for i in mine for j in mine if labels[i] > labels[j]]
        if pairs:
            per_group.append(-torch.stack([torch.nn.functional.logsigmoid(s[i] - s[j]) for i, j in pairs]).mean())
    total = torch.stack(per_group).mean() if per_group else (0 * s).sum()
    loss, _, gradient = pair_loss(scores, labels, groups)
    assert loss == pytest.approx(total.item()) and gradient == pytest.approx(torch.autograd.grad(total, s)[0].numpy())
    both = torch.nn.functional.binary_cross_entropy_with_logits(s, torch.tensor(labels))
    loss, _, gradient = label_loss(scores, labels, groups)
    assert loss == pytest.approx(both.item()) and gradient == pytest.approx(torch.autograd.grad(both, s)[0].numpy())


@given(NUMBERS, st.integers(-4, 4))
def test_pairs_do_not_notice_a_constant_and_pull_apart(rows: list[tuple[float, float, str]], more: int) -> None:
    scores, labels, groups = columns(rows)
    loss, right, gradient = pair_loss(scores, labels, groups)
    moved, still, same = pair_loss(scores + more, labels, groups)
    assert moved == pytest.approx(loss) and still == right and same == pytest.approx(gradient)
    assert gradient.sum() == pytest.approx(0.0, abs=1e-12)
    assert (gradient[labels == labels.max()] <= 1e-12).all()


def test_scores_far_apart_do_not_overflow() -> None:
    loss, _, gradient = pair_loss(np.array([-900.0, 900.0]), np.array([1.0, 0.0]), ["a", "a"])
    assert loss == pytest.approx(1800) and gradient == pytest.approx([-1.0, 1.0])


def test_labels_stand_where_steps_end() -> None:
    """`c` ends a step. The answer a b c b c a has steps that end at tokens 2, 4 and 5; a label before the mark belongs
    to the step that the mark ends, and of two labels in a step the lower one counts.
    """
    span = read(episode([1, 2, 3, 2, 3, 1]), "response", Letters())
    at = np.array([1, 3, 4], np.int32)
    label = Reward("steps", 0.0, "span", np.array([1.0, 0.25, 0.75]), at)
    places, values = placed(label, span, Letters(), "c")
    assert places.tolist() == [3, 5] and values.tolist() == [1.0, 0.25]
    places, values = placed(Reward("outcome", 0.5), span, Letters(), "c")
    assert places.tolist() == [6] and values.tolist() == [0.5]
    batch = lessons([span, span], [(np.array([3, 5]), np.array([1.0, 0.25])), (places, values)], ["g", "h"])
    assert np.flatnonzero(batch.mask).tolist() == [3, 5, 7 + 6] and batch.group == ("g", "h")
    assert batch.target is not None and batch.target[batch.mask].tolist() == [1.0, 0.25, 0.5]


def models(precision: str = "fp64") -> Models:
    return models_for(with_reward_model("grpo"), policy(precision))


def taught(rows: Sequence[Row], *, micro_tokens: int = 999, steps: int = 1, **values: object) -> tuple[Models, list]:
    """The models after so many updates, and the metrics of each."""
    found, scale = models(), with_reward_model("grpo", learning_rate=0.02, warmup_steps=0).scale
    given = {"models": found, "memory": Memory(0), "codec": Letters(), "scale": scale, "micro_tokens": micro_tokens}
    part = bind(RewardModel(**values), max_new=8)  # type: ignore[arg-type]
    return found, [part(rows, **given)[1] for _ in range(steps)]


def scores(found: Models, rows: Sequence[Row]) -> np.ndarray:
    spans = [read(row.episode, "response", Letters()) for row in rows]
    return np.array([after[-1] for after in scores_after(found["reward-model"], spans, tokens=999)])


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["pairs", "labels"])
def test_an_update_does_not_depend_on_cuts_or_the_order_of_rows(loss: str) -> None:
    whole = scores(taught(ROWS, loss=loss, num_epochs=2)[0], ROWS)
    order = np.random.default_rng(3).permutation(len(ROWS)).tolist()
    assert np.abs(whole).max() > 1e-3
    for rows, cut in ((ROWS, 5), (ROWS, 12), ([ROWS[i] for i in order], 999)):
        np.testing.assert_allclose(
            scores(taught(rows, loss=loss, num_epochs=2, micro_tokens=cut)[0], ROWS), whole, atol=1e-9
        )


def test_answers_that_could_not_be_judged_and_continuations_teach_nothing() -> None:
    lost = episode([2, 2, END], group="g0", sample=20, reward=None)
    kept = episode([2, 2, END], group="g0", sample=21, reward=1.0)
    more = dataclasses.replace(kept, request=dataclasses.replace(kept.request, tag=CONTINUATION))
    other = dataclasses.replace(kept, request=dataclasses.replace(kept.request, role="student"))
    bug = dataclasses.replace(kept, verdict=Verdict.invalid("bug"), finish="error")
    alone = scores(taught(ROWS)[0], ROWS)
    np.testing.assert_array_equal(scores(taught([*ROWS, *map(Row, (lost, more, other, bug))])[0], ROWS), alone)
    assert taught([Row(lost)])[1] == [{}]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["pairs", "labels"])
def test_it_learns_which_answers_are_right(loss: str) -> None:
    """Right is what holds the letter a. The answers that it is asked about were not among those that it learnt from."""
    random = np.random.default_rng(0)
    answers = {tuple(random.integers(1, 5, 4).tolist()) for _ in range(120)}
    rows = [
        Row(episode([*answer, END], group=f"g{i % 6}", sample=i, reward=float(1 in answer)))
        for i, answer in enumerate(sorted(answers))
    ]
    learnt, unseen = rows[::2], rows[1::2]
    found, told = taught(learnt, steps=30, loss=loss)
    right = np.array([row.episode.right for row in unseen])
    said = scores(found, unseen)
    assert told[0]["reward-model/loss"] == pytest.approx(math.log(2)) and told[-1]["reward-model/loss"] < 0.3
    assert (said[right][:, None] > said[~right][None, :]).mean() > 0.85


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_with_its_reward_model() -> None:
    recipe = with_reward_model("grpo", max_new=4, **SHORT)
    require_resumable(recipe, lambda: policy("fp32", init_std=0.1), after=2)


def test_what_cannot_be_learnt_is_refused_before_anything_is_loaded() -> None:
    recipe = with_reward_model("grpo")
    without = dataclasses.replace(recipe, models={"policy": recipe.models["policy"]})
    with pytest.raises(
        ConfigError, match="needs a model 'reward-model' with a value head, and the recipe has no such model"
    ):
        check(without)
    with pytest.raises(ConfigError, match="needs a model 'policy' with a value head, and the recipe has one without"):
        part = dataclasses.replace(recipe.mechanism.forwards[0], model="policy")  # type: ignore[call-arg]
        check(dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, forwards=(part,))))
    assert "a value for each span" in str(RewardModel(of=SampledSteps()).refusal())
    assert RewardModel(of=SampledSteps(), loss="labels").refusal() is None
