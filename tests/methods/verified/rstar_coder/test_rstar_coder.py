"""rStar-Coder: programs are imitated token by token, and in the second stage all tests decide."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from earning import advantages, earned, pushed
from tiny import END, Letters, episode, recipe_of, segment

from assay.memory import Memory
from assay.part import bind
from assay.types import Origin, Problem, Request, Row


def shown(length: int, sample: int) -> Row:
    """A worked solution of so many tokens."""
    return Row(episode([segment([1] * (length - 1) + [END], origin=Origin.INJECTED)], sample=sample))


def test_solutions_are_what_is_imitated() -> None:
    """The first stage asks for nothing new: the answer is the problem's solution, up to its end."""
    mechanism = recipe_of("rstar-coder").stages[0].mechanism
    assert mechanism is not None
    (ask,) = mechanism.ask
    problem = Problem("programs", "a", {}, "a", solution="ab")
    (asked,) = bind(ask, codec=Letters())([Request(problem, Letters().encode("a"), "g", 8)], Memory(0))
    (given,) = asked.prefix
    assert (given.ids.tolist(), asked.max_new) == ([1, 2, END], 0) and (given.origin == Origin.INJECTED).all()


def test_imitation_is_the_mean_likelihood_of_all_tokens() -> None:
    """L = - sum log p / 6 over answers of two tokens and of four, whatever their verdicts and probabilities."""
    rows = [shown(2, 0), shown(4, 1)]
    logp = {row.episode.request.id: np.linspace(-3, -1, len(row.episode)).tolist() for row in rows}
    assert pushed("rstar-coder", rows, logp) == [pytest.approx([1 / 6] * 2), pytest.approx([1 / 6] * 4)]


def test_all_tests_or_nothing() -> None:
    """One of four programs passes: (1 - 1/4) over the deviation 1/2."""
    answers = [episode([1, END], sample=i, right=i == 0) for i in range(4)]
    assert earned("rstar-coder", answers) == [1, 0, 0, 0]
    assert advantages("rstar-coder", answers) == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)


def test_the_mean_over_tokens_by_hand() -> None:
    """A / 10 at each of ten tokens: 3/2 of the right program, -1/2 of the others, whatever their lengths."""
    rows = [
        Row(episode([1] * (n - 1) + [END], sample=i, reward=float(i == 0), right=i == 0))
        for i, n in enumerate((2, 2, 3, 3))
    ]
    found = pushed("rstar-coder", rows, {row.episode.request.id: [-1.0] * len(row.episode) for row in rows}, stage=1)
    expected = [[1.5 / 10] * 2, [-0.5 / 10] * 2, [-0.5 / 10] * 3, [-0.5 / 10] * 3]
    assert found == [pytest.approx(one, rel=1e-5) for one in expected]


def test_what_moved_far_enough_is_left_alone() -> None:
    """w, but nothing above 1.2 for a right program, and nothing below 0.8 for a wrong one."""
    ratio, advantage = torch.tensor([1.1, 1.3, 0.7, 1.3, 0.7]), torch.tensor([1.5, 1.5, 1.5, -0.5, -0.5])
    gate = bind(recipe_of("rstar-coder").mechanism.objective.gate)(ratio, advantage)
    assert gate.tolist() == pytest.approx([1.1, 0, 0.7, 1.3, 0])
