"""Loss and gradient of an optimiser step depend on its rows alone: not on chunks, order, packing, or what is masked.

The batch has ragged rows, shared contexts, several temperatures, tokens of an environment, rows with no token to train,
rows out of the loss or of the denominator, an empty answer, and ratios on both sides of every clip, none near it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import by_hand
import by_hand_shaping as shaping
import by_hand_trust as trust
import numpy as np
import pytest
import torch
from awkward import GAMMA, MAX_NEW, batch, engine, recipe, rows, tau
from engine_cases import naive_log_probs
from tiny import (
    Table,
    loss_and_gradient,
    policy,
    take_gradient,
    update,
    weights_of,
)
from torch import Tensor

from assay.known import RECIPES
from assay.objective.improve import accumulate, useful_rows
from assay.objective.survey import survey
from assay.rng import Key
from assay.types import Origin, Row

# what compares rows is a coefficient when it comes to chunks; it and formulas of whole answers have tests of their own
CHUNKED = sorted(name for name, recipe in RECIPES.items() if not recipe.mechanism.objective.surveys)
every_recipe = pytest.mark.parametrize("name", CHUNKED)
# with coefficients by hand in test_hi_grpo, test_hybrids, test_rcrl, test_rlmec, test_whole_losses
ELSEWHERE = {
    "luffy",
    "rl-plus",
    "srft",
    "hpt",
    "relift",
    "prefix-rft",
    "bread",
    "dft",
    "expert-iteration",
    "rcrl",
    "kimi-k1.5",
    "ettrl",
    "hi-grpo",
    "hi-grpo-apart",
    "rlmec",
}
of_tokens = [n for n in CHUNKED if RECIPES[n].mechanism.objective.whole is None and n not in ELSEWHERE]


@functools.cache
def whole(name: str, precision: str = "fp64") -> tuple[float, Tensor]:
    return loss_and_gradient(engine(precision), batch(name), recipe(name))


def agree(found: tuple[float, Tensor], expected: tuple[float, Tensor], *, tolerance: float) -> None:
    assert expected[1].norm() > 1e-3
    assert found[0] == pytest.approx(expected[0], rel=tolerance)
    assert (found[1] - expected[1]).norm() <= tolerance * expected[1].norm()


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", of_tokens)
def test_gradient_is_that_of_the_formula_on_dense_rows(name: str) -> None:
    """Against plain autograd, row by row, through a dense network and the loss as the paper writes it."""
    network = engine("fp64").model
    chosen = [row for row in rows(name) if row.in_loss or row.in_denominator]
    others = (Origin.ENV,) if recipe(name).mechanism.objective.injected == "train" else (Origin.ENV, Origin.INJECTED)
    trains = [~np.isin(r.episode.stream("origin"), others) for r in chosen]
    counted = [i for i, row in enumerate(chosen) if row.in_denominator]
    tokens = sum(int(trains[i].sum()) for i in counted)
    advantage: dict[str, float] = {}
    compared: dict[str, list[Row]] = {}
    for row in rows(name):
        place = by_hand.baseline(name, group=row.group, role=row.role, task=row.episode.request.problem.task)
        compared.setdefault(place, []).append(row)
    step = [[row.reward or 0.0 for row in members] for members in compared.values()]
    for members in compared.values():
        own = [np.count_nonzero(row.episode.stream("origin") == Origin.POLICY) for row in members]
        rewards = [row.reward for row in members]
        selected = [row.in_loss for row in members]
        found = by_hand.advantages(name, rewards, lengths=own, selected=selected, step=step)  # type: ignore[arg-type]
        advantage |= {row.episode.request.id: a for row, a in zip(members, found)}
    learnt = [i for i, row in enumerate(chosen) if row.in_loss]
    each_row = [by_hand.spread(name, advantage[chosen[i].episode.request.id], int(trains[i].sum())) for i in learnt]
    if name in shaping.TOKENS:
        each_row = own_tokens(name, chosen, learnt, list(compared.values()))
    sure = surest(name, network, [chosen[i] for i in learnt])
    tokens_of = dict(zip(learnt, by_hand.shaped(name, each_row), strict=True))
    loss, answers = torch.zeros((), dtype=torch.float64), []
    liked = sum(int(trains[i].sum()) for i in learnt if i in counted and chosen[i].episode.right)
    for place, (row, mask) in enumerate(zip(chosen, trains, strict=True)):
        answers.append(answer(row, mask, advantage[row.episode.request.id]))
        ids = row.episode.stream("ids").astype(np.int32)
        if not row.in_loss or not mask.any():
            continue
        every = naive_log_probs(network, row.episode.request.context, ids, tau(row))
        logp = every.gather(-1, torch.from_numpy(ids.astype(np.int64))[:, None])[:, 0]
        a = torch.zeros_like(logp)
        a[torch.from_numpy(mask)] = torch.tensor(tokens_of[place], dtype=torch.float32).double()
        old, ref = (torch.from_numpy(x).double() for x in (row.old, row.ref))  # type: ignore[arg-type]
        known = by_hand.Tokens(
            a,
            old,
            ref,
            given=torch.from_numpy(row.episode.stream("origin") == Origin.INJECTED),
            entropy=-(every.exp() * every).sum(-1),
            mu=torch.from_numpy(row.episode.stream("mu")).double(),
            hinted=row.tag == "hint",
            gamma=GAMMA,
            liked=float(np.float32(1 / liked)) * tokens * (row.episode.right and row.in_denominator),
            right=row.episode.right,
            trained=torch.from_numpy(mask),
            top=every.gather(-1, torch.from_numpy(row.top_ids.astype(np.int64))),  # type: ignore[union-attr]
            rescale=tokens * float(np.float32(1 / max(1, sure))),
        )
        answers[-1] = dataclasses.replace(answers[-1], logp=logp, entropy=known.entropy)
        if name in trust.NAMES:
            continue
        each = by_hand.token_losses(name, logp, known)
        weight = by_hand.token_weight(name, length=int(mask.sum()), rows=len(counted), tokens=tokens, max_new=MAX_NEW)
        loss = loss + weight * each[torch.from_numpy(mask)].sum()
    if name in trust.NAMES:
        loss = trust.loss(name, answers, max_new=MAX_NEW, drawn=drawn(name))
    loss.backward()
    expected = take_gradient(engine("fp64"))
    rounded = ("gepo", "gppo", "entropy-advantage")  # constants, or advantages from entropies, in single precision
    exact = 1e-7 if name in rounded else 1e-10
    assert (whole(name)[1] - expected).norm() <= exact * expected.norm()
    assert (whole(name, "native")[1] - expected).norm() <= 1e-5 * expected.norm()


def answer(row: Row, mask: np.ndarray, advantage: float) -> trust.Answer:
    """What formulas of whole steps want to know of a row, before its log-probs are."""
    streams = (row.old, row.episode.stream("mu"), row.ref, row.episode.stream("entropy"))
    old, mu, ref, hesitated = (torch.from_numpy(np.nan_to_num(x).astype(np.float64)) for x in streams)  # type: ignore[arg-type]
    return trust.Answer(
        logp=torch.zeros_like(old),
        old=old,
        mu=mu,
        ref=ref,
        entropy=torch.zeros_like(old),
        trained=torch.from_numpy(mask & row.in_loss),
        advantage=float(np.float32(advantage)),
        group=row.group,
        right=row.episode.right,
        counted=row.in_denominator,
        length=int(mask.sum()),
        hesitated=hesitated,
    )


def drawn(name: str) -> list[Tensor]:
    """Tokens that chance took out, row by row; that they may be is tested where chance is."""
    if name != "clip-cov":
        return []
    goal, one = recipe(name).mechanism.objective, batch(name)
    seen, _ = survey(engine("fp64"), one, weights_of(one, goal, max_new=MAX_NEW), goal, Key(0)("update", 0), 10**6)
    (left,) = (torch.from_numpy(one.mask & (x == 0)) for s, x in seen.constants.items() if "Covariance" in s.name)
    assert left.sum() == 1
    return list(left.split(one.lengths.tolist()))


def surest(name: str, network: Any, chosen: list[Row]) -> int:
    """How many tokens of these rows are not among the most hesitant fifth of their answer."""
    count = 0
    for row in chosen if name == "archer" else []:
        ids, own = row.episode.stream("ids").astype(np.int32), row.episode.stream("origin") == Origin.POLICY
        every = naive_log_probs(network, row.episode.request.context, ids, tau(row)).detach().numpy()[own]
        entropy = -(np.exp(every) * every).sum(-1)
        count += sum(entropy <= np.quantile(entropy, 0.8)) if own.any() else 0
    return count


def own_tokens(name: str, chosen: list[Row], learnt: list[int], groups: list[list[Row]]) -> list[list[float]]:
    """The advantages of the policy's tokens of the rows that train, by the formula."""
    found: dict[str, list[float]] = {}
    for members in groups:
        mine = [row.episode.stream("origin") == Origin.POLICY for row in members]
        entropy = [row.episode.stream("entropy")[own].tolist() for row, own in zip(members, mine, strict=True)]
        energies = [next((x for s, x in row.constants.items() if s.name == "energy"), np.zeros(99)) for row in members]
        energy = [x[: len(own)][own].tolist() for x, own in zip(energies, mine, strict=True)]
        each = shaping.tokens(name, [row.reward or 0.0 for row in members], entropy, energy)
        found |= {row.episode.request.id: a for row, a in zip(members, each, strict=True)}
    return [found[chosen[i].episode.request.id] for i in learnt]


@pytest.mark.over_recipes
@pytest.mark.thin(3)
@every_recipe
@pytest.mark.parametrize("precision, tolerance", [("fp64", 1e-10), ("fp32", 1e-5), ("native", 1e-5)])
def test_chunks_of_any_size_give_the_same(name: str, precision: str, tolerance: float) -> None:
    expected = whole(name, precision)
    for size in (1, 2, 3, 7) if precision == "fp64" else (1, 3):
        found = loss_and_gradient(engine(precision), batch(name), recipe(name), cut=size)
        agree(found, expected, tolerance=tolerance)
    for tokens in (11, 25):
        assert len(list(engine(precision).chunks(batch(name), tokens=tokens))) > 2
        found = loss_and_gradient(engine(precision), batch(name), recipe(name), micro_tokens=tokens)
        agree(found, expected, tolerance=tolerance)


@pytest.mark.over_recipes
@pytest.mark.thin(3)
@every_recipe
@pytest.mark.parametrize("precision, tolerance", [("fp64", 1e-10), ("fp32", 1e-5), ("native", 1e-5)])
def test_order_of_rows_does_not_matter(name: str, precision: str, tolerance: float) -> None:
    order = np.random.default_rng(1).permutation(len(batch(name)))
    found = loss_and_gradient(engine(precision), batch(name).select(order), recipe(name), micro_tokens=30)
    agree(found, whole(name, precision), tolerance=tolerance)


@pytest.mark.over_recipes
@every_recipe
def test_a_row_alone_contributes_what_it_does_in_company(name: str) -> None:
    parts = [loss_and_gradient(engine("fp64"), batch(name), recipe(name), rows=[i]) for i in range(len(batch(name)))]
    total = sum(loss for loss, _ in parts), torch.stack([gradient for _, gradient in parts]).sum(0)
    agree(total, whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@every_recipe
def test_two_learners_with_half_of_the_rows_each_add_up(name: str) -> None:
    """Ranks are nothing but a cut: denominators are those of the whole step."""
    other, half = policy("fp64"), len(batch(name)) // 2
    first = loss_and_gradient(engine("fp64"), batch(name), recipe(name), rows=range(half))
    second = loss_and_gradient(other, batch(name), recipe(name), rows=range(half, len(batch(name))))
    agree((first[0] + second[0], first[1] + second[1]), whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@pytest.mark.thin(3)
@every_recipe
@pytest.mark.parametrize("content", [1e6, math.inf, math.nan])
def test_nothing_of_a_masked_token_is_read(name: str, content: float) -> None:
    one = batch(name)
    assert 0 < np.count_nonzero(~one.mask) < len(one.mask)
    changes = {}
    for stream in ("advantage", "old", "ref", "mu", "sampled", "entropy"):
        value = getattr(one, stream)
        assert value is not None
        changes[stream] = np.where(one.mask, value, np.float32(content))
    blind = ~np.repeat(np.add.reduceat(np.append(one.mask, False), one.at[:-1]) > 0, one.lengths)
    assert blind.any()
    changes["ids"] = np.where(blind, (one.ids + 1) % 5, one.ids)  # of rows that train nothing at all
    found = loss_and_gradient(engine("fp64"), dataclasses.replace(one, **changes), recipe(name))
    agree(found, whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@every_recipe
def test_rows_that_cannot_move_the_weights_are_left_out_exactly(name: str) -> None:
    one = batch(name)
    useful = useful_rows(one, recipe(name).mechanism.objective)
    left = sorted(set(range(len(one))) - set(useful.tolist()))
    silent = {one.request[i] for i in left}
    expected = {row.episode.request.id for row in rows(name) if not row.in_loss or not len(row.episode)}
    expected |= {
        row.episode.request.id for row in rows(name) if row.group == "mixed" and row.episode.request.sample == 1
    }
    if recipe(name).mechanism.objective.injected == "mask":
        expected |= {row.episode.request.id for row in rows(name) if row.group == "begun" and len(row.episode) == 3}
    by_group = by_hand.baseline(name, group="g", role="", task="") == "g"
    goal = recipe(name).mechanism.objective
    still = (
        by_group
        and name not in ("treepo", "gdpo", "rl-zvp", "dft", "expert-iteration", "rcrl")
        and not any(by_hand.advantages(name, [1.0] * 3))
    )
    if still and goal.whole is None and not goal.terms:
        expected |= {row.episode.request.id for row in rows(name) if row.group == "uniform"}
    if name in ("reinforce", "topr", "rlsc"):
        expected |= {row.episode.request.id for row in rows(name) if row.reward == 0}
    if name == "remax":
        greedy = {row.group: row.reward for row in rows(name) if row.tag == "greedy"}
        expected |= {row.episode.request.id for row in rows(name) if row.reward == greedy[row.group]}
    if name == "passk":  # of any two of these one is right
        expected |= {row.episode.request.id for row in rows(name) if row.group in ("a", "b", "hint", "begun")}
    assert silent == expected & set(one.request)
    agree(loss_and_gradient(engine("fp64"), one, recipe(name), rows=useful), whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@every_recipe
def test_improve_takes_the_step_of_the_whole_batch(name: str) -> None:
    """One optimiser step of plain size on the gradient that `accumulate` gives for all rows."""
    twin = policy("fp64")
    taken: list[Tensor] = []

    def step(*, lr: float, clip: float | None, moments: str = "") -> dict[str, float]:
        taken.append(take_gradient(twin))
        return {"grad_norm": 1.0, "skipped": 0.0}

    twin.step = step  # type: ignore[method-assign]
    scale = dataclasses.replace(recipe(name).scale, num_minibatches=1, num_epochs=1)
    objective = recipe(name).mechanism.objective
    update(twin, batch(name), objective, scale)
    assert len(taken) == 1
    assert (taken[0] - whole(name)[1]).norm() <= 1e-10 * taken[0].norm()


@pytest.mark.over_recipes
@every_recipe
def test_a_dropped_row_stays_in_the_denominator(name: str) -> None:
    """The coefficients of a row do not depend on whether rows of no effect were computed beside it."""
    one, goal = batch(name), recipe(name).mechanism.objective
    logp = {request: [-1.0] * int(count) for request, count in zip(one.request, one.lengths)}
    scale = dataclasses.replace(recipe(name).scale, num_minibatches=1)
    some, everything = Table(logp), Table(logp)
    update(some, one, goal, scale)
    weight = weights_of(one, goal, max_new=MAX_NEW)
    surveyed, _ = survey(everything, one, weight, goal, Key(0)("update", 0), 1)  # type: ignore[arg-type]
    accumulate(everything, surveyed, weight, goal, 1)  # type: ignore[arg-type]
    assert len(some.coefficients) < len(everything.coefficients) == len(one)
    for request, coefficients in everything.coefficients.items():
        np.testing.assert_array_equal(some.coefficients.get(request, 0.0 * coefficients), coefficients)
