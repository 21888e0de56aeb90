"""Demonstrations in the group: whole, as answers of somebody else, or begun, for the policy to go on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.augment.demonstrate import worked
from assay.augment.hints import written_by_others
from assay.errors import ConfigError
from assay.memory import Memory
from assay.part import Part
from assay.types import Origin, Request, first_tokens

if TYPE_CHECKING:
    from assay.augment import Codec

EXPERT = "expert"


@dataclass(frozen=True)
class Expert(Part):
    """The last `count` answers of each group are the worked solution, verified like any other (LUFFY 2504.14945)."""

    count: int = 1


def expert(requests: Sequence[Request], *, codec: Codec, group_size: int, count: int) -> list[Request]:
    """Nothing is generated for these; one that is longer than the limit is cut there."""
    if not 0 <= count < group_size:
        raise ConfigError(f"augment: of {group_size} answers at most {group_size - 1} are an expert's, not {count}.")
    return [
        dataclasses.replace(
            request, prefix=first_tokens(worked(request.problem, codec), request.max_new), max_new=0, tag=EXPERT
        )
        if request.sample >= group_size - count
        else request
        for request in requests
    ]


@dataclass(frozen=True)
class ExpertPrefix(Part):
    """The last answer of each group begins with a share of the worked solution and is the policy's from there on.

    The share is uniform in [low, high], low falling from `first` to `last` by half a cosine over the run
    (Prefix-RFT 2507.01679).
    """

    first: float = 0.95
    last: float = 0.05
    high: float = 0.95


def expert_prefix(
    requests: Sequence[Request],
    memory: Memory,
    *,
    codec: Codec,
    group_size: int,
    num_steps: int,
    first: float,
    last: float,
    high: float,
) -> list[Request]:
    """floor(u T) tokens of a solution of T, at most T - 1 and less than the limit: something is always written."""
    if not 0 <= last <= first <= high < 1:
        raise ConfigError(f"augment: 0 <= last <= first <= high < 1 must hold, not {last}, {first}, {high}.")
    progress = min(1.0, memory.step / max(1, num_steps - 1))
    low = last + (first - last) * 0.5 * (1 + math.cos(math.pi * progress))
    result = []
    for request in requests:
        if request.sample == group_size - 1:
            ids = solution_ids(request, codec)
            u = low + (high - low) * memory.key("expert-prefix", memory.step)(request.group).bits / 2**64
            given = max(0, min(int(u * len(ids)), len(ids) - 1, request.max_new - 1))
            prefix = (written_by_others(ids[:given]),) if given else ()
            request = dataclasses.replace(request, prefix=prefix, max_new=request.max_new - given, tag=EXPERT)
        result.append(request)
    return result


def solution_ids(request: Request, codec: Codec) -> np.ndarray:
    """The worked solution and its end token, of a problem whose environment has no part in it."""
    segments = worked(request.problem, codec)
    if any((segment.origin == Origin.ENV).any() for segment in segments):
        raise ConfigError(
            f"'{request.problem.task}' replies within its solutions: no prefix of one can be gone on with."
        )
    return np.concatenate([segment.ids for segment in segments])
