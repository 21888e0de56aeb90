"""Every recipe against the oracle of its method: what each token of an awkward step is pushed by, from rewards on."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import torch
from awkward import MAX_NEW, Tabled, batch, engine, recipe, rows, tabled, tau
from engine_cases import naive_log_probs
from of_methods import folder_of
from oracles import Oracle, Step, answer_of, elsewhere, oracle_of, oracles
from tiny import Table, batch_of, loss_and_gradient, take_gradient, update, weights_of
from torch import Tensor

from assay.known import RECIPES
from assay.objective.improve import useful_rows
from assay.objective.survey import survey
from assay.rng import Key
from assay.types import Batch, Origin, Row

every_oracle = pytest.mark.parametrize("name", sorted(oracles()))


def test_every_recipe_has_an_oracle_or_a_test_that_works_its_coefficients_out() -> None:
    for name in RECIPES:
        if name not in elsewhere():
            oracle_of(name)


def test_a_test_that_stands_for_an_oracle_is_one() -> None:
    for name, test in elsewhere().items():
        found = [
            path for path in folder_of(name).glob("test_*.py") if re.search(rf"^def {test}\(", path.read_text(), re.M)
        ]
        assert found, f"{folder_of(name)} has no test `{test}`, which its oracle.py names for {name}"


def trains(name: str, row: Row) -> np.ndarray:
    """The tokens of a row that the objective of a recipe trains."""
    others = (Origin.ENV,) if recipe(name).mechanism.objective.injected == "train" else (Origin.ENV, Origin.INJECTED)
    return ~np.isin(row.episode.stream("origin"), others)


def lost(name: str, oracle: Oracle, one: Batch, here: object) -> list[Tensor | None]:
    """Tokens that chance took out, row by row; that they may be, the oracle says."""
    if not oracle.chance:
        return [None] * len(one)
    goal = recipe(name).mechanism.objective
    seen, _ = survey(here, one, weights_of(one, goal, max_new=MAX_NEW), goal, Key(0)("update", 0), 10**6)  # type: ignore[arg-type]
    (left,) = (torch.from_numpy(one.mask & (x == 0)) for s, x in seen.constants.items() if oracle.chance in s.name)
    assert left.sum() == 1
    return list(left.split(one.lengths.tolist()))


# On a table of log-probs: coefficients of log pi, of the entropy and of candidates


def of_table(name: str, known: Tabled) -> Step:
    """The rows with log-probs, entropies and candidates that have a graph."""
    oracle, gone = oracle_of(name), dict.fromkeys(range(len(known.rows)))
    if oracle.chance:
        one = batch_of(recipe(name), known.rows)
        taken = dict(zip(one.request, lost(name, oracle, one, table_of(known)), strict=True))
        gone = {place: taken.get(row.episode.request.id) for place, row in enumerate(known.rows)}
    answers = []
    for place, (row, logp, entropy) in enumerate(zip(known.rows, known.logp, known.entropy, strict=True)):
        top = torch.full((len(logp), 3), -2.0, dtype=torch.float64).requires_grad_()
        now, hesitation = (torch.from_numpy(x).clone().requires_grad_() for x in (logp, entropy))
        answers.append(answer_of(row, now, hesitation, trains=trains(name, row), top=top, lost=gone[place]))
    return oracle.estimated(Step(answers, MAX_NEW))


def table_of(known: Tabled, *, cut: int | None = None) -> Table:
    names = [row.episode.request.id for row in known.rows]
    logp, entropy = (dict(zip(names, map(list, each), strict=True)) for each in (known.logp, known.entropy))
    return Table(logp, entropy, rows=cut)


@every_oracle
def test_coefficients_are_those_of_the_oracle(name: str) -> None:
    """Whatever the chunks."""
    known = tabled(name)
    step = of_table(name, known)
    oracle_of(name).loss(step).backward()
    scale = dataclasses.replace(recipe(name).scale, num_minibatches=1, num_epochs=1)
    for cut in (None, 3):
        table = table_of(known, cut=cut)
        update(table, batch_of(recipe(name), known.rows), recipe(name).mechanism.objective, scale)
        pushed = 0
        for row, answer in zip(known.rows, step.answers, strict=True):
            for tensor, found in (
                (answer.logp, table.coefficients),
                (answer.entropy, table.hesitation),
                (answer.top, table.candidates),
            ):
                expected = gradient_of(tensor)
                got = found.get(row.episode.request.id, np.zeros(expected.shape))
                np.testing.assert_allclose(got, expected, rtol=3e-5, atol=1e-7)
                pushed += np.count_nonzero(expected)
        assert pushed > 3


def gradient_of(tensor: Tensor | None) -> np.ndarray:
    assert tensor is not None
    return np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()


@every_oracle
def test_rows_that_the_oracle_does_not_push_are_left_out(name: str) -> None:
    """A row that is left out has no gradient at all; without terms beside the policy's loss, one without an advantage
    is left out.
    """
    known, oracle, goal = tabled(name), oracle_of(name), recipe(name).mechanism.objective
    step, one = of_table(name, known), batch_of(recipe(name), known.rows)
    oracle.loss(step).backward()
    kept = {one.request[i] for i in useful_rows(one, goal)}
    for row, answer in zip(known.rows, step.answers, strict=True):
        still = not any(np.any(gradient_of(x)) for x in (answer.logp, answer.entropy, answer.top))
        request = row.episode.request.id
        assert still or request in kept, f"{request} is left out, and the paper trains it"
        if still and not answer.advantage.any() and request in one.request and not goal.terms:
            assert request not in kept, f"{request} has no gradient, and is computed"


# Through a network


@every_oracle
def test_gradient_is_that_of_the_formula_on_dense_rows(name: str) -> None:
    """Against plain autograd, row by row, through a dense network and the loss as the paper writes it."""
    oracle, network = oracle_of(name), engine("fp64").model
    gone = dict(zip(batch(name).request, lost(name, oracle, batch(name), engine("fp64")), strict=True))
    answers = []
    for row in rows(name):
        ids = row.episode.stream("ids").astype(np.int32)
        every = naive_log_probs(network, row.episode.request.context, ids, tau(row))
        logp = every.gather(-1, torch.from_numpy(ids.astype(np.int64))[:, None])[:, 0]
        top = every.gather(-1, torch.from_numpy(row.top_ids.astype(np.int64)))  # type: ignore[union-attr]
        entropy, taken = -(every.exp() * every).sum(-1), gone.get(row.episode.request.id)
        answers.append(answer_of(row, logp, entropy, trains=trains(name, row), top=top, lost=taken))
    oracle.loss(oracle.estimated(Step(answers, MAX_NEW))).backward()
    expected = take_gradient(engine("fp64"))
    exact = 1e-7 if oracle.rounded else 1e-10
    for precision, tolerance in (("fp64", exact), ("native", 1e-5)):
        _, found = loss_and_gradient(engine(precision), batch(name), recipe(name))
        assert (found - expected).norm() <= tolerance * expected.norm()
