"""Consistency and volatility of the states of a response towards its own answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.ask.cues import cued
from assay.models import Models
from assay.part import Count, Rewarding
from assay.tasks.task import STEP_MARKS
from assay.types import Episode, Reward, by_group
from assay.verifiers.answers import before_answer
from assay.verifiers.elections import answer_of

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.engine.interface import Span


def path_of(distance: np.ndarray, own: int) -> tuple[float, float]:
    """(consistency, volatility) of T states whose distances to K answers are [T, K], the own answer being `own`.

    rho_i = D[i, own] / min_{j != own} D[i, j]; Con = mean_i 1[rho_i < 1]; Vol = 1 - (length of the last run of states
    with rho_i <= 1) / T (2506.08745).
    """
    others = np.delete(distance, own, axis=1).min(axis=1)
    ratio = distance[:, own] / others
    away = np.flatnonzero(ratio > 1)
    last_run = len(ratio) - (away[-1] + 1 if len(away) else 0)
    return float(np.mean(ratio < 1)), 1 - last_run / len(ratio)


def worth_of(paths: Sequence[tuple[float, float]], *, form: str) -> float:
    """Of the paths (Con, Vol) to one answer: |mean Con (cos Vol, sin Vol)| (vector) or mean Con - mean Vol (linear)."""
    con, vol = np.array(paths).T
    if form == "linear":
        return float(con.mean() - vol.mean())
    return math.hypot(float((con * np.cos(vol)).mean()), float((con * np.sin(vol)).mean()))


def states_of(episode: Episode, *, most: int) -> list[str]:
    """The beginnings of the reasoning of a response, each one step longer, at most `most`; the empty one if it has no
    reasoning.
    """
    wording = episode.request.problem.wording
    reasoning = before_answer(episode.text, wording).rstrip("#").removesuffix("\\boxed{")
    ends = [i + 1 for i, sign in enumerate(reasoning) if sign in STEP_MARKS[wording] and reasoning[: i + 1].strip()]
    if reasoning.strip() and (not ends or reasoning[ends[-1] :].strip()):
        ends.append(len(reasoning))
    chosen = [ends[i] for i in sorted({round(x) for x in np.linspace(0, len(ends) - 1, min(most, len(ends)))})]
    return [reasoning[:end] for end in chosen] or [""]


def steady(
    episodes: Sequence[Episode], *, models: Models, codec: Codec, form: str, above: float | None, most: int
) -> list[Reward | None]:
    """`worth_of` the answer that each response gives, or 1 if that is at least `above` and 0 otherwise. 0 for responses
    without an answer, and for all if all give the same one.
    """
    values = [0.0] * len(episodes)
    for group in by_group(episodes).values():
        answers = {i: answer for i in group.places if (answer := answer_of(episodes[i])) is not None}
        different = list(dict.fromkeys(answers.values()))
        if len(different) < 2:
            continue
        paths: dict[str, list[tuple[float, float]]] = {}
        for i, answer in answers.items():
            distance = _distances(episodes[i], different, models, codec, most)
            paths.setdefault(answer, []).append(path_of(distance, different.index(answer)))
        worth = {answer: worth_of(of, form=form) for answer, of in paths.items()}
        for i, answer in answers.items():
            values[i] = worth[answer] if above is None else float(worth[answer] >= above)
    return [Reward("steady", value) for value in values]


def _distances(episode: Episode, answers: Sequence[str], models: Models, codec: Codec, most: int) -> np.ndarray:
    """[T, K]: exp(- mean_t log pi(a_t | question, state, mark of the answer)), the perplexity of each answer after each
    state.
    """
    states = states_of(episode, most=most)
    spans = [_span(episode, state, answer, codec) for state in states for answer in answers]
    scores = models.play(episode.request.role).score(spans)
    return np.array([np.exp(-one.logp.astype(np.float64).mean()) for one in scores]).reshape(len(states), len(answers))


def _span(episode: Episode, state: str, answer: str, codec: Codec) -> Span:
    from assay.engine.interface import Span

    return Span(cued(episode.request, state, codec), codec.encode(answer), 1.0)


class Steady(Rewarding):
    """The consistency of the paths to an answer, rewarded for all answers that are equal (CoVo 2506.08745). No verifier
    is asked.

        reward=(Steady(above=0.5),)
        --mechanism.reward steady --mechanism.reward.0.form linear --mechanism.reward.0.above 0.05
    """

    form: Literal["vector", "linear"] = "vector"
    above: float | None = 0.5  # the least worth that is rewarded, with 1; None: the worth itself is the reward
    most: Count = 15  # states of a response
    does = steady
    outcome = True
