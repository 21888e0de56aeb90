"""Replayed right answers of an earlier run among the new ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from assay.memory import Memory
from assay.methods.shaping.rlep.successes import STORE as SUCCESSES
from assay.methods.shaping.rlep.successes import KeepSuccesses
from assay.part import Asking
from assay.types import Request


def replay(
    requests: Sequence[Request], memory: Memory, *, group_size: int, num: int, place: str = SUCCESSES
) -> list[Request]:
    """The requests with stored answers, for which nothing is sampled; without stored answers a group stays as it is."""
    held: dict[str, list] = {}
    for episode in memory.kept.get(place, ()):
        held.setdefault(episode.request.problem.id, []).append(episode.segments)
    result = list(requests)
    for request in {r.group: r for r in requests}.values():
        answers = held.get(request.problem.id, [])
        order = memory.key("replay", memory.step, request.group).generator().permutation(len(answers))
        for i, drawn in enumerate(np.asarray(order)[:num].tolist()):
            result.append(dataclasses.replace(request, sample=group_size + i, prefix=answers[drawn], max_new=0))
    return result


class Replay(Asking):
    """Adds to each group up to `num` stored right answers of an earlier policy, drawn at random (RLEP 2507.07451).

    ask=(Replay(num=2),)
    --mechanism.ask replay --mechanism.ask.0.num 2
    """

    reads = (KeepSuccesses,)

    num: int = 2
    does = replay
