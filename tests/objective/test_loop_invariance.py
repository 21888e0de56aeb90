"""Loss and gradient of an optimiser step depend on its rows alone: not on chunks, order, packing, or what is masked.

The batch has ragged rows, shared contexts, several temperatures, tokens of an environment, rows with no token to train,
rows out of the loss or of the denominator, an empty answer, and ratios on both sides of every clip, none near it.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
import torch
from awkward import MAX_NEW, batch, engine, recipe, rows
from distinct import OBJECTIVES
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
from assay.types import Origin

# what compares rows is a coefficient when it comes to chunks; it and formulas of whole answers have tests of their own
CHUNKED = [name for name in OBJECTIVES if not RECIPES[name].mechanism.objective.surveys]
every_objective = pytest.mark.parametrize("name", CHUNKED)


@functools.cache
def whole(name: str, precision: str = "fp64") -> tuple[float, Tensor]:
    return loss_and_gradient(engine(precision), batch(name), recipe(name))


def agree(found: tuple[float, Tensor], expected: tuple[float, Tensor], *, tolerance: float) -> None:
    assert expected[1].norm() > 1e-3
    assert found[0] == pytest.approx(expected[0], rel=tolerance)
    assert (found[1] - expected[1]).norm() <= tolerance * expected[1].norm()


@pytest.mark.over_recipes
@pytest.mark.thin(3)
@every_objective
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
@every_objective
@pytest.mark.parametrize("precision, tolerance", [("fp64", 1e-10), ("fp32", 1e-5), ("native", 1e-5)])
def test_order_of_rows_does_not_matter(name: str, precision: str, tolerance: float) -> None:
    order = np.random.default_rng(1).permutation(len(batch(name)))
    found = loss_and_gradient(engine(precision), batch(name).select(order), recipe(name), micro_tokens=30)
    agree(found, whole(name, precision), tolerance=tolerance)


@pytest.mark.over_recipes
@every_objective
def test_a_row_alone_contributes_what_it_does_in_company(name: str) -> None:
    parts = [loss_and_gradient(engine("fp64"), batch(name), recipe(name), rows=[i]) for i in range(len(batch(name)))]
    total = sum(loss for loss, _ in parts), torch.stack([gradient for _, gradient in parts]).sum(0)
    agree(total, whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@every_objective
def test_two_learners_with_half_of_the_rows_each_add_up(name: str) -> None:
    """Ranks are nothing but a cut: denominators are those of the whole step."""
    other, half = policy("fp64"), len(batch(name)) // 2
    first = loss_and_gradient(engine("fp64"), batch(name), recipe(name), rows=range(half))
    second = loss_and_gradient(other, batch(name), recipe(name), rows=range(half, len(batch(name))))
    agree((first[0] + second[0], first[1] + second[1]), whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@pytest.mark.thin(3)
@every_objective
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
@every_objective
def test_rows_that_cannot_move_the_weights_are_left_out_exactly(name: str) -> None:
    one = batch(name)
    useful = useful_rows(one, recipe(name).mechanism.objective)
    silent = {row.episode.request.id for row in rows(name) if not row.in_loss or not len(row.episode)}
    silent |= {row.episode.request.id for row in rows(name) if not (row.episode.stream("origin") != Origin.ENV).any()}
    assert not silent & {one.request[i] for i in useful}
    agree(loss_and_gradient(engine("fp64"), one, recipe(name), rows=useful), whole(name), tolerance=1e-10)


@pytest.mark.over_recipes
@every_objective
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
@every_objective
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
