"""Answers in turns made by hand, in words of a world and in letters that earn, and a model of characters for runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tiny import episode, segment

from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import ALPHABET, task
from assay.types import Episode, Origin, Problem, Request, Reward, Row, Segment

ENV = Origin.ENV
CODEC = character_tokenizer(ALPHABET)


def of(text: str, origin: int, **about: Any) -> Segment:
    ids = np.asarray(CODEC.encode(text), np.int32)
    return Segment(ids, np.full(len(ids), origin, np.int8), **about)


def problem(name: str = "search-small") -> Problem:
    return dataclasses.replace(task(name).problem(Key(3), level=task(name).generator.first_level))


def worded(*turns: str, name: str = "search-small", failed: tuple[int, ...] = (), finish: Any = "stop") -> Episode:
    """Turns and replies by turns, beginning with a turn; `failed`: the replies that tell of an error."""
    pieces = [
        of(text, Origin.ENV if i % 2 else Origin.POLICY, failed=i % 2 == 1 and i // 2 in failed)
        for i, text in enumerate(turns)
    ]
    request = Request(problem(name), CODEC.render("?"), "g", 99, seat="policy")
    return Episode(request, tuple(pieces), finish, text="".join(turns))


def earning(
    *turns: tuple[float, Sequence[int]],
    reward: float = 0.0,
    sample: int = 0,
    group: str = "g",
    own: int = 2,
    last: bool = False,
) -> Row:
    """Turns of `own` tokens, each with what it earns at its last token, and a reply of these tokens behind it; `last`:
    the last turn has its reply too.
    """
    pieces: list[Segment] = []
    places, at = [], 0
    for place, (_, reply) in enumerate(turns):
        pieces.append(segment([1] * own))
        at += own
        places.append(at - 1)
        if place < len(turns) - 1 or last:
            pieces.append(segment(reply, origin=ENV))
            at += len(reply)
    given_ = Reward("turns", sum(r for r, _ in turns), "turn", np.array([r for r, _ in turns]), np.array(places))
    made = episode(pieces, sample=sample, group=group, reward=reward)
    return Row.of(dataclasses.replace(made, rewards=(*made.rewards, given_)))


def small_model(folder: Path, key: Key) -> str:
    """A model of characters that knows nothing."""
    model = folder / "model"
    shape = PolicyConfig("qwen2", CODEC.vocab, 16, 1, 2, 2, 8, 32, 192, attention_bias=True)
    save_policy(fresh_policy(shape, CODEC, key=key), model)
    return str(model)
