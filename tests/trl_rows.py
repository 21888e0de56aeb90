"""Answers of a few tokens, for what our side and TRL's make of the same ones."""

from __future__ import annotations

import numpy as np

from assay.types import Episode, Origin, Problem, Request, Reward, Row, Segment, Verdict
from bench import trl_ours


def rows(rewards: list[float], *, cut: tuple[int, ...] = (), question: int = 1) -> list[Row]:
    """Answers of two tokens to one prompt; every other one is the same."""
    problem = Problem("countdown", f"C {question}", {}, f"C {question}")
    made = []
    for i, reward in enumerate(rewards):
        request = Request(problem, np.array([question], np.int32), f"g{question}", trl_ours.MAX_NEW, sample=i)
        segment = Segment(np.array([5 + i % 2, 2], np.int32), np.full(2, Origin.POLICY, np.int8))
        finish = "length" if i in cut else "stop"
        verdict = Verdict.ok() if reward else Verdict.fail("wrong")
        made.append(Row(Episode(request, (segment,), finish, verdict=verdict, rewards=(Reward("score", reward),))))
    return made


def questions(count: int) -> list[Row]:
    """As many answers to each as TRL asks for, the first of them right."""
    rewards = [1.0] + [0.0] * (trl_ours.GROUP - 1)
    return [row for question in range(1, count + 1) for row in rows(rewards, question=question)]
