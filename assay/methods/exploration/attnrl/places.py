"""The steps at which an answer forks, by how much its later steps attend to them, and the answers that fork."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.rng import Key
from assay.verifiers.answers import Wording

MARKS: dict[Wording, tuple[str, ...]] = {"natural": ("\n\n",), "compact": (",", "|")}
THOUGHT: dict[Wording, str] = {"natural": "</think>", "compact": "#"}


def step_ends(tokens: Sequence[str], wording: Wording) -> tuple[list[int], int]:
    """The ends of the steps of an answer, in tokens, and how many of the steps belong to its reasoning. A step ends
    with the token that completes a blank line, or in compact wording a comma; the reasoning ends before `</think>`, or
    before '#'.
    """
    ends, tail, thought = [], "", -1
    for at, token in enumerate(tokens, start=1):
        tail += token
        if thought < 0 and THOUGHT[wording] in tail:
            thought = len(ends)
        if any(mark in tail for mark in MARKS[wording]):
            ends.append(at)
            tail = ""
    if not ends or ends[-1] < len(tokens):
        ends.append(len(tokens))
    return ends, len(ends) if thought < 0 else thought + (THOUGHT[wording] == "</think>")


def candidates(scores: np.ndarray, share: float) -> set[int]:
    """The steps whose score is at the quantile `share` of all scores or above; if that is 0, at the smallest score
    above 0; none if no score is above 0.
    """
    if not (scores > 0).any():
        return set()
    least = float(np.quantile(scores, share)) or float(scores[scores > 0].min())
    return set(np.flatnonzero(scores >= least).tolist())


def fork_steps(
    scores: np.ndarray, starts: Sequence[int], usable: int, *, share: float, apart: int, count: int
) -> list[int]:
    """At most `count` steps, in which an answer forks: candidates from the first on, then other steps from the first
    on. Never the first step, nor one of the steps behind the first `usable`; the fork is `apart` tokens or more behind
    the start of the answer, and from the other forks.
    """
    scores = np.where(np.arange(len(scores)) < usable, scores, 0.0)
    scores[:1] = 0.0
    good = candidates(scores, share)
    chosen: list[int] = []
    for step in sorted(range(1, min(usable, len(scores))), key=lambda step: (step not in good, step)):
        near = any(abs(starts[step] - starts[other]) < apart for other in chosen)
        if len(chosen) < count and starts[step] >= apart and not near:
            chosen.append(step)
    return sorted(chosen)


def number_forked(rate: float, size: int) -> int:
    """ceil(G exp(z - 1)) with z = 1 - rate: all answers of a problem that none solves, 3 of 6 of one that all solve."""
    return math.ceil(size * math.exp(-rate))


def forked(rights: Sequence[bool], key: Key) -> list[int]:
    """The answers of a group that fork. In a group with right and wrong answers, all answers of the rarer kind fork,
    and others at random; in other groups the first answers fork.
    """
    number = number_forked(sum(rights) / len(rights), len(rights))
    if all(rights) or not any(rights):
        return list(range(number))
    fewer = sum(rights) * 2 < len(rights)  # at half the wrong ones
    minority = [i for i, right in enumerate(rights) if right == fewer]
    others = [i for i, right in enumerate(rights) if right != fewer]
    more = max(0, min(number - len(minority), len(others)))
    return sorted([*minority, *(others[i] for i in key.generator().permutation(len(others))[:more].tolist())])
