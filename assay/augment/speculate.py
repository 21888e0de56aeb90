"""Answers of an epoch ago as drafts: what today's policy would have written too is kept, the rest is written anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.assess.distributions import distributions
from assay.errors import ConfigError
from assay.memory import Memory
from assay.models import Models
from assay.part import Part
from assay.rng import Key, uniforms
from assay.types import Episode, Origin, Request, Segment

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span


@dataclass(frozen=True)
class Speculate(Part):
    """A draft's token stays with probability min(1, lenience p / q), p of today's policy and q of the draft's; the
    first that does not stay, and all after it, are drawn anew (SPEC-RL 2509.23232).
    """

    lenience: float = 1.0  # at most 1 and with the residual: exact; more keeps more of the drafts and is biased
    residual: bool = True  # the first new token is drawn from what the kept ones leave over of p, not from p


def speculate(
    requests: Sequence[Request],
    memory: Memory,
    *,
    models: Models,
    micro_tokens: int,
    lenience: float,
    residual: bool,
) -> list[Request]:
    """The requests with what stays of their drafts as prefix, as if the policy of today had just written it."""
    from assay.engine.interface import Span

    if not lenience > 0:
        raise ConfigError(f"augment.lenience must be a positive number, not {lenience}.")
    held: dict[str, list[Episode]] = {}
    for draft in reversed(memory.kept.get("drafts", ())):
        held.setdefault(draft.request.problem.id, []).append(draft)
    drafts: dict[int, Segment] = {}
    for i, request in enumerate(requests):
        if (left := held.get(request.problem.id)) and _fits(request, draft := left.pop()):  # each is used once
            drafts[i] = draft.segments[0].first(request.max_new)
    result, key = list(requests), memory.key("accept", memory.step)
    for role in dict.fromkeys(requests[i].role for i in drafts):
        engine, places = models.play(role), [i for i in drafts if requests[i].role == role]
        spans = [Span(requests[i].context, drafts[i].ids, requests[i].temperature) for i in places]
        scored = _whole(engine, spans, micro_tokens) if residual else _scored(engine, spans)
        for i, now in zip(places, scored, strict=True):
            given = stays(now, drafts[i], key(requests[i].id), lenience=lenience, residual=residual)
            ended = len(given) > 0 and int(given.ids[-1]) in engine.end_ids
            left = 0 if ended else requests[i].max_new - len(given)
            result[i] = dataclasses.replace(requests[i], prefix=(given,) if len(given) else (), max_new=left)
    return result


def stays(now: Segment, draft: Segment, key: Key, *, lenience: float, residual: bool) -> Segment:
    """What stays of a draft, as today's policy scores it, and the first new token if that is drawn here."""
    assert now.old is not None and draft.old is not None
    count = accepted(now.old, draft.old, uniforms([key], len(draft))[0], lenience=lenience)
    if not residual or count == len(draft):
        return now.first(count)
    if now.all_logp is None or draft.all_logp is None:
        raise ConfigError(
            "augment.residual needs the distributions that drafts were drawn from, and this draft has none. Add "
            "`distributions` to mechanism.assess, or set augment.residual to no."
        )
    today = now.all_logp[count]
    p, q = (np.exp(x, dtype=np.float64) for x in (today, draft.all_logp[count]))
    over = left_over(p, q, lenience=lenience)
    token = int(np.searchsorted(np.cumsum(over), uniforms([key("residual")], 1)[0, 0] * over.sum(), side="right"))
    token = min(token, int(np.flatnonzero(over)[-1]))
    changes = {"ids": np.int32(token), "old": today[token], "mu": today[token]}
    drawn = now.first(count + 1)
    streams = {name: getattr(drawn, name).copy() for name in changes}
    for name, value in changes.items():
        streams[name][count] = value
    return dataclasses.replace(drawn, **streams)


def accepted(now: np.ndarray, then: np.ndarray, u: np.ndarray, *, lenience: float) -> int:
    """Tokens before the first with u > lenience exp(now - then)."""
    stay = np.log(np.maximum(u, 1e-300)) <= np.log(lenience) + now.astype(np.float64) - then
    return len(stay) if stay.all() else int(np.argmin(stay))


def left_over(p: np.ndarray, q: np.ndarray, *, lenience: float) -> np.ndarray:
    """(p - min(q, lenience p))_+, not normalised: with what was accepted it adds up to p where lenience is at most 1.

    p itself where rounding leaves nothing over.
    """
    over = np.maximum(p - np.minimum(q, lenience * p), 0.0)
    return over if over.sum() > 0 else p


def _fits(request: Request, draft: Episode) -> bool:
    """Whether the draft answers what is asked, and nothing but its tokens decides where it would have ended."""
    if request.stop or (request.top_p, request.top_k, request.min_p) != (1.0, 0, 0.0):
        raise ConfigError(
            "drafts are compared by the full distribution of each token: set scale.top_p to 1, scale.top_k and "
            "scale.min_p to 0, and take a task without an environment that replies."
        )
    return not request.prefix and np.array_equal(draft.request.context, request.context)


def _whole(engine: Engine, spans: Sequence[Span], tokens: int) -> list[Segment]:
    segments = []
    for span, every in zip(spans, distributions(engine, spans, tokens=tokens), strict=True):
        own = np.take_along_axis(every, span.ids[:, None].astype(np.int64), 1)[:, 0]
        spread = -(np.exp(every) * every).sum(1)
        segments.append(_segment(engine, span, old=own, mu=own, entropy=spread, all_logp=every))
    return segments


def _scored(engine: Engine, spans: Sequence[Span]) -> list[Segment]:
    scores = engine.score(spans, entropy=True) if spans else []
    return [_segment(engine, span, old=s.logp, mu=s.logp, entropy=s.entropy) for span, s in zip(spans, scores)]


def _segment(engine: Engine, span: Span, **streams: Any) -> Segment:
    return Segment(span.ids, np.full(len(span.ids), Origin.POLICY, np.int8), version=engine.version, **streams)
