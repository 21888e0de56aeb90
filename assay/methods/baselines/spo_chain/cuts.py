"""Answers are cut where the policy was unsure, and continued from each cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.collect.continuations import continued
from assay.curate.unsure_tokens import unsure
from assay.part import Count, Expansion, PositiveProportion
from assay.types import Episode, Request


def cuts(episode: Episode, *, below: float, every: int) -> list[int]:
    """The first token of each segment: a segment has `every` tokens of a probability under `below` (2505.23564)."""
    given = episode.request.given
    places = np.flatnonzero(unsure(episode, below)[given:]) + given
    return [given, *places[every::every].tolist()]


def continue_cuts(episodes: Sequence[Episode], *, branches: int, below: float, every: int) -> list[Request]:
    """`branches` requests from the beginning of each segment of every judged answer, each state once."""
    return continued(episodes, lambda episode: cuts(episode, below=below, every=every), branches)


class ContinueCuts(Expansion):
    """Samples `branches` answers from the beginning of each segment of every answer (SPO-chain 2505.23564).

    A segment ends before a token that was improbable when it was sampled: every so many of such tokens.

        expand=(ContinueCuts(branches=9),)
        --mechanism.expand continue-cuts --mechanism.expand.0.branches 9
    """

    continues = True

    branches: int = 9  # answers from each place
    below: PositiveProportion = 0.9  # a token is improbable if its probability was lower
    every: Count = 5  # improbable tokens in a segment
    does = continue_cuts
