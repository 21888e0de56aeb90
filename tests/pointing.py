"""Small pointer policies and problems for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from assay.ask import Sampling, first_requests
from assay.engine.interface import Span
from assay.engine.optimiser import AdamW
from assay.engine.pointer.engine import PointerEngine
from assay.memory import Memory
from assay.policy.pointer import PointerConfig, PointerNetwork
from assay.policy.routes import RouteCodec
from assay.reward.parts import outcome
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Request, Row

PLACES = 12
CODEC = RouteCodec(places=PLACES)


def network_of(seed: int = 0, **shape: Any) -> PointerNetwork:
    config = PointerConfig(**{"hidden": 16, "layers": 2, "places": PLACES, **shape})
    return PointerNetwork(config).initialise(torch.Generator().manual_seed(seed))


def engine_of(
    seed: int = 0, *, precision: Any = "fp64", optimiser: AdamW | None = AdamW(), **shape: Any
) -> PointerEngine:
    about = {"end_ids": CODEC.end_ids, "decode": CODEC.decode, "vocab": CODEC.vocab}
    return PointerEngine(network_of(seed, **shape), precision=precision, optimiser=optimiser, **about)


def requests_of(sizes: Sequence[int], samples: int, **sampling: Any) -> list[Request]:
    """Requests for problems of so many places, each asked `samples` times."""
    problems = [task("tsp").problem(Key("pointing", i), level=size) for i, size in enumerate(sizes)]
    how = Sampling(**{"max_new": PLACES + 4, **sampling})
    return first_requests(problems, Memory(0), first=0, samples=samples, sampling=how, codec=CODEC)


def rows_of(engine: PointerEngine, requests: Sequence[Request], seed: int = 0) -> list[Row]:
    """What the policy answers, with verdicts and rewards, and with the log-probs of a reference."""
    rows, reference = [], engine_of(99, optimiser=None)
    for request, made in zip(requests, engine.generate(requests, Key(seed)), strict=True):
        text = CODEC.decode(made.segment.ids.tolist())
        verdict = task("tsp").verify(request.problem, text)
        episode = Episode(request, (made.segment,), made.finish, text=text, verdict=verdict)
        (reward,) = outcome([episode], max_new=request.max_new, right=1.0, wrong=0.0)
        assert reward is not None
        (score,) = reference.score([Span(request.context, made.segment.ids)])
        episode = Episode(request, (made.segment,), made.finish, text, verdict, rewards=(reward,))
        rows.append(Row(episode, ref=score.logp))
    return rows
