"""The beginnings of the best answer of a group are asked again, as groups of their own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.ask import Codec
from assay.collect.trees import branch
from assay.memory import Memory
from assay.part import Expansion
from assay.reward.within import steps_of
from assay.rng import Key
from assay.types import Episode, Origin, Request, by_group

BEGINNING = "beginning"


def ends(episode: Episode, codec: Codec, marks: str) -> list[int]:
    """The number of tokens of the answer up to the end of each of its lines, without the last line."""
    origin, given = episode.stream("origin"), episode.request.given
    lines = steps_of(episode.stream("ids").tolist(), codec, marks)
    after = [end + 1 for end, _ in lines]
    return [at for at in after if given < at < len(episode) and origin[at] == Origin.POLICY]


def drawn(places: Sequence[int], lines: int, key: Key, *, share: float, decay: float) -> list[int]:
    """ceil(share lines) of the places, with replacement and with weights decay^(i - 1) for the i-th of them."""
    weight = decay ** np.arange(len(places))
    count = math.ceil(share * lines) if places else 0
    return key.generator().choice(places, size=count, p=weight / weight.sum()).tolist() if count else []


def own_beginnings(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    codec: Codec,
    group_size: int,
    spread: float,
    best: float,
    share: float,
    decay: float,
    marks: str,
) -> list[Request]:
    """`group_size` requests for each beginning that is drawn; once for each group. A group has them if the standard
    deviation of its rewards is `spread` or more, and its best reward `best` or more.
    """
    begun = {e.request.group.rpartition("/")[0] for e in episodes if e.request.tag == BEGINNING}
    asked: list[Request] = []
    for group in by_group([e for e in episodes if e.request.tag != BEGINNING and e.provenance == "fresh"]).values():
        judged = [e for e in group.members if e.reward is not None]
        rewards = [e.reward or 0.0 for e in judged]
        if group.name in begun or not judged or max(rewards) < best or np.std(rewards) < spread:
            continue
        chosen = judged[int(np.argmax(rewards))]
        places = ends(chosen, codec, marks)
        key = memory.key("beginnings", memory.step, group.name)
        for number, at in enumerate(drawn(places, len(places) + 1, key, share=share, decay=decay)):
            about = {"group": f"{group.name}/{number}", "tag": BEGINNING}
            first = number * group_size
            asked += [dataclasses.replace(branch(chosen, at, sample=first + i), **about) for i in range(group_size)]
    return asked


class OwnBeginnings(Expansion):
    """Takes the best answer of each group whose rewards differ, and asks for answers that go on from its beginnings;
    answers with the same beginning are a group (ReST-GRPO 2508.19576).

        expand=(OwnBeginnings(share=0.5),)
        --mechanism.expand own-beginnings --mechanism.expand.0.share 0.5
    """

    continues = True

    spread: float = 0.05  # the least standard deviation of the rewards of a group
    best: float = 0.9  # the least reward of the answer whose beginnings are taken
    share: float = 0.5  # beginnings to draw, as a share of the lines of the answer; 0: none
    decay: float = 0.95  # the weight of a beginning, relative to that of the beginning one line shorter
    marks: str = "\n,|"  # the characters that end a line
    does = own_beginnings

    def refusal(self, **_: Any) -> str | None:
        if self.share >= 0 and self.decay > 0:
            return None
        return (
            f"own-beginnings: share must be 0 or more and decay above 0, not {self.share:g} and {self.decay:g}. With "
            "share 0 there are no beginnings."
        )
