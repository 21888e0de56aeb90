"""Answers of the last epoch as drafts: the current policy accepts a prefix of each and writes the rest anew.

For each position of a draft the memory has the probability q of the draft's token and those of the likeliest tokens.
The current policy p and q are compared over the tokens T whose q is known and one symbol for all others, with the
probability 1 - sum_T. The exact rule of speculative sampling holds over any partition of a vocabulary. A draft's token
among the others stays with the probability with which p draws it from among the others; that is exact for every q.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engine.spans import forwarded
from assay.memory import Memory
from assay.methods.exploration.spec_rl.distributions import Distributions, distributions
from assay.methods.exploration.spec_rl.drafts import STORE, Drafts
from assay.models import Models
from assay.part import Asking, Positive
from assay.rng import Key, uniforms
from assay.types import Episode, Origin, Request, Segment

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span


@dataclass(frozen=True)
class Stay:
    """The part of a draft that stays: `count` tokens, and the token after them if it is drawn here.

    With `barred`, the token after them is drawn from all tokens except these, by the full distribution of the current
    policy.
    """

    count: int
    token: int | None = None
    logp: float = 0.0
    barred: np.ndarray | None = None


def speculate(
    requests: Sequence[Request],
    memory: Memory,
    *,
    models: Models,
    micro_tokens: int,
    lenience: float,
    residual: bool,
    place: str = STORE,
) -> list[Request]:
    """The requests with the accepted part of their drafts as prefix, as if the current policy had just written it."""
    held: dict[str, list[Episode]] = {}
    for draft in reversed(memory.kept.get(place, ())):
        held.setdefault(draft.request.problem.id, []).append(draft)
    drafts: dict[int, Segment] = {}
    for i, request in enumerate(requests):
        left, vocab = held.get(request.problem.id), models.play(request.role).vocab
        if left and _fits(request, draft := left.pop(), vocab if residual else None):  # each draft is used once
            drafts[i] = draft.segments[0].first(request.max_new)
    result, key = list(requests), memory.key("accept", memory.step)
    for role in dict.fromkeys(requests[i].role for i in drafts):
        engine = models.play(role)
        asked = {i: requests[i] for i in drafts if requests[i].role == role}
        now = _compared(engine, asked, drafts, micro_tokens) if residual else _scored(engine, asked, drafts)
        staying = {i: stays(now[i], drafts[i], key(asked[i].id), lenience=lenience, residual=residual) for i in asked}
        staying |= _of_the_rest(engine, asked, now, staying, key, micro_tokens)
        for i, stay in staying.items():
            given = _given(now[i], stay)
            ended = len(given) > 0 and int(given.ids[-1]) in engine.end_ids
            left = 0 if ended else asked[i].max_new - len(given)
            result[i] = dataclasses.replace(asked[i], prefix=(given,) if len(given) else (), max_new=left)
    return result


class Speculate(Asking):
    """A draft's token stays with probability min(1, lenience p / q), p of the current policy and q of the draft's
    (SPEC-RL 2509.23232).

    The first token that does not stay, and all tokens after it, are drawn anew.

        ask=(Speculate(lenience=1.5),)
        --mechanism.ask speculate --mechanism.ask.0.lenience 1.5
    """

    writes = ("beginning",)
    reads = (Drafts,)

    lenience: Positive = 1.0  # at most 1 and with `residual`: exact; above 1: keeps more of the drafts and is biased
    residual: bool = True  # draw the first new token from what acceptance leaves of p, rather than from p
    does = speculate

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if (scale.top_p, scale.top_k, scale.min_p) != (1.0, 0, 0.0):
            return (
                "drafts are compared by the full distribution of each token: set scale.top_p to 1, scale.top_k and "
                "scale.min_p to 0."
            )
        if self.residual and not any(isinstance(part, Distributions) for part in mechanism.forwards):
            return (
                "ask.residual needs the distributions from which drafts were drawn. Add `distributions` to "
                "mechanism.forwards, or set ask.residual to no."
            )
        return None


# The rule of acceptance


def stays(now: Segment, draft: Segment, key: Key, *, lenience: float, residual: bool) -> Stay:
    """The part of a draft that stays, where `now` has the current policy's log-probs of the draft's tokens and of its
    `top_ids`.
    """
    assert now.old is not None and draft.old is not None
    u = uniforms([key], len(draft))[0]
    if not residual:
        return Stay(accepted(now.old, draft.old, u, lenience=lenience))
    assert now.all_logp is not None and draft.all_logp is not None
    p, q, within = now.old.astype(np.float64), draft.old.astype(np.float64), np.zeros(len(draft))
    if draft.top_ids is not None:
        others = ~(draft.top_ids == draft.ids[:, None]).any(1)
        p_rest, q_rest = (_rest(x.all_logp, own) for x, own in ((now, p), (draft, q)))
        within[others] = (p - p_rest)[others]
        p, q = np.where(others, p_rest, p), np.where(others, q_rest, q)
    count = accepted(p, q, u, lenience=lenience, within=within)
    if count == len(draft):
        return Stay(count)
    stored = np.arange(now.all_logp.shape[1]) if draft.top_ids is None else draft.top_ids[count]
    if accepted(p[count:][:1], q[count:][:1], u[count:][:1], lenience=lenience):  # another token among the others
        return Stay(count, barred=np.append(stored, draft.ids[count]))
    return _left_over(now, draft, count, stored, uniforms([key("residual")], 1)[0, 0], lenience=lenience)


def accepted(
    now: np.ndarray, then: np.ndarray, u: np.ndarray, *, lenience: float, within: np.ndarray | float = 0.0
) -> int:
    """The number of tokens before the first with u > min(1, lenience exp(now - then)) exp(within)."""
    most = np.minimum(0.0, np.log(lenience) + now.astype(np.float64) - then) + within
    stay = np.log(np.maximum(u, 1e-300)) <= most
    return len(stay) if stay.all() else int(np.argmin(stay))


def left_over(p: np.ndarray, q: np.ndarray, *, lenience: float) -> np.ndarray:
    """(p - min(q, lenience p))_+, not normalised: with the accepted mass it adds up to p if lenience is at most 1.

    The result is p itself if rounding leaves nothing.
    """
    over = np.maximum(p - np.minimum(q, lenience * p), 0.0)
    return over if over.sum() > 0 else p


def _left_over(now: Segment, draft: Segment, count: int, known: np.ndarray, u: float, *, lenience: float) -> Stay:
    """The first new token: one whose log-prob is stored, or one of the others."""
    assert now.all_logp is not None and draft.all_logp is not None
    today = now.all_logp[count]
    p, q = (np.exp(x, dtype=np.float64) for x in (today, draft.all_logp[count]))
    if draft.top_ids is not None:
        p, q = (np.append(x, max(0.0, 1.0 - x.sum())) for x in (p, q))
    place = drawn(left_over(p, q, lenience=lenience), u)
    if place == len(known):
        return Stay(count, barred=known)
    return Stay(count, token=int(known[place]), logp=float(today[place]))


def drawn(weight: np.ndarray, u: float) -> int:
    """The place at which the cumulative weight first exceeds u times the total; never one of weight zero."""
    place = int(np.searchsorted(np.cumsum(weight), u * weight.sum(), side="right"))
    return min(place, int(np.flatnonzero(weight)[-1]))


def _rest(logp: np.ndarray | None, own: np.ndarray) -> np.ndarray:
    """The log-prob of all tokens whose own is not known; at least that of the given token, despite rounding."""
    assert logp is not None
    rest = 1.0 - np.exp(logp, dtype=np.float64).sum(1)
    return np.maximum(np.log(np.maximum(rest, 1e-300)), own)


# The current policy's view of drafts


def _fits(request: Request, draft: Episode, vocab: int | None) -> bool:
    """Whether the draft can answer the request: the same prompt, an end that depends on its tokens alone, and stored
    log-probs for a vocabulary of this size.
    """
    if request.prefix or request.stop or (request.top_p, request.top_k, request.min_p) != (1.0, 0, 0.0):
        return False
    every, named = draft.segments[0].all_logp, draft.segments[0].top_ids
    known = vocab is None or (every is not None and (named is not None or every.shape[1] == vocab))
    return known and np.array_equal(draft.request.context, request.context)


def _compared(engine: Engine, asked: dict[int, Request], drafts: dict[int, Segment], tokens: int) -> dict[int, Segment]:
    """Each draft under the current policy: log-probs of its tokens, and of the tokens that were stored."""
    from assay.engine.interface import Want

    found: dict[int, Segment] = {}
    named = {i: _named(drafts[i]) for i in asked}
    for width in dict.fromkeys(ids.shape[1] for ids in named.values()):
        places = [i for i, ids in named.items() if ids.shape[1] == width]
        want, spans = Want(entropy=True, top_ids=True), _spans(asked, drafts, places)
        top_ids = np.concatenate([named[i] for i in places])
        seen = forwarded(engine, spans, want, "logp", "entropy", "top_logp", tokens=tokens, top_ids=top_ids)
        for i, (own, spread, top) in zip(places, seen, strict=True):
            kept = {"all_logp": top, "top_ids": drafts[i].top_ids}
            found[i] = _segment(engine, drafts[i], old=own, mu=own, entropy=spread, **kept)
    return found


def _named(draft: Segment) -> np.ndarray:
    """int32[T, K] the tokens whose log-probs are stored with a draft."""
    assert draft.all_logp is not None
    every = np.arange(draft.all_logp.shape[1], dtype=np.int32)
    return np.tile(every, (len(draft), 1)) if draft.top_ids is None else draft.top_ids


def _scored(engine: Engine, asked: dict[int, Request], drafts: dict[int, Segment]) -> dict[int, Segment]:
    scores = engine.score(_spans(asked, drafts, list(asked)), entropy=True) if asked else []
    return {
        i: _segment(engine, drafts[i], old=s.logp, mu=s.logp, entropy=s.entropy)
        for i, s in zip(asked, scores, strict=True)
    }


def _spans(asked: dict[int, Request], drafts: dict[int, Segment], places: Sequence[int]) -> list[Span]:
    from assay.engine.interface import Span

    return [Span(asked[i].context, drafts[i].ids, asked[i].temperature) for i in places]


def _segment(engine: Engine, draft: Segment, **streams: Any) -> Segment:
    return Segment(draft.ids, np.full(len(draft), Origin.POLICY, np.int8), version=engine.version, **streams)


def _of_the_rest(
    engine: Engine, asked: dict[int, Request], now: dict[int, Segment], found: dict[int, Stay], key: Key, tokens: int
) -> dict[int, Stay]:
    """First new tokens from among the tokens without stored log-probs; only for these positions the full distribution
    is computed.
    """
    from assay.engine.interface import Span

    result: dict[int, Stay] = {}
    places = [i for i, stay in found.items() if stay.barred is not None]
    spans = []
    for i in places:
        before, behind = np.split(now[i].ids, [found[i].count])
        spans.append(Span(np.concatenate([asked[i].context, before]), behind[:1], asked[i].temperature))
    for i, (every,) in zip(places, distributions(engine, spans, tokens=tokens), strict=True):
        weight = np.exp(every, dtype=np.float64)
        weight[found[i].barred] = 0.0
        if not weight.any():  # only rounding left them a probability
            weight = np.exp(every, dtype=np.float64)
        token = drawn(weight, uniforms([key(asked[i].id)("rest")], 1)[0, 0])
        result[i] = Stay(found[i].count, token=token, logp=float(every[token]))
    return result


def _given(now: Segment, stay: Stay) -> Segment:
    """The tokens that stay, and the one drawn after them. Stored full distributions stay with their tokens; the
    likeliest tokens of the old policy do not.
    """
    if now.top_ids is not None:
        now = dataclasses.replace(now, all_logp=None, top_ids=None)
    if stay.token is None:
        return now.first(stay.count)
    given = now.first(stay.count + 1)
    assert given.old is not None and given.mu is not None
    streams = {"ids": given.ids.copy(), "old": given.old.copy(), "mu": given.mu.copy()}
    for name, value in (("ids", stay.token), ("old", stay.logp), ("mu", stay.logp)):
        streams[name][stay.count] = value
    return dataclasses.replace(given, **streams)
