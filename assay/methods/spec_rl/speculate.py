"""Answers of an epoch ago as drafts: what today's policy would have written too is kept, the rest is written anew.

Of a draft's token q is known where it stands: the probability that it was drawn with, and those of the tokens that were
likeliest there. Drafts are compared with today's policy p over the tokens T of which q is known and one symbol for all
others, of probability 1 - sum_T: the exact rule of speculative sampling holds over any partition of a vocabulary. A
draft's token among the others stays with the probability that p itself draws it from among them, which is exact
whatever it was drawn from, and needs nothing of q.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from assay.forwards.distributions import Distributions, distributions
from assay.forwards.spans import forwarded
from assay.memory import Memory
from assay.methods.spec_rl.drafts import STORE, Drafts
from assay.models import Models
from assay.part import Asking
from assay.rng import Key, uniforms
from assay.types import Episode, Origin, Request, Segment

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span


@dataclass(frozen=True)
class Stay:
    """What stays of a draft: so many tokens, and the token behind them, where it is drawn here.

    With `barred` that token is one of all but these, and the whole distribution of today decides which.
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
    """The requests with what stays of their drafts as prefix, as if the policy of today had just written it."""
    held: dict[str, list[Episode]] = {}
    for draft in reversed(memory.kept.get(place, ())):
        held.setdefault(draft.request.problem.id, []).append(draft)
    drafts: dict[int, Segment] = {}
    for i, request in enumerate(requests):
        left, vocab = held.get(request.problem.id), models.play(request.role).vocab
        if left and _fits(request, draft := left.pop(), vocab if residual else None):  # each is used once
            drafts[i] = draft.segments[0].first(request.max_new)
    result, key = list(requests), memory.key("accept", memory.step)
    for role in dict.fromkeys(requests[i].role for i in drafts):
        engine = models.play(role)
        asked = {i: requests[i] for i in drafts if requests[i].role == role}
        now = _compared(engine, asked, drafts, micro_tokens) if residual else _scored(engine, asked, drafts)
        found = {i: stays(now[i], drafts[i], key(asked[i].id), lenience=lenience, residual=residual) for i in asked}
        found |= _of_the_rest(engine, asked, now, found, key, micro_tokens)
        for i, stay in found.items():
            given = _given(now[i], stay)
            ended = len(given) > 0 and int(given.ids[-1]) in engine.end_ids
            left = 0 if ended else asked[i].max_new - len(given)
            result[i] = dataclasses.replace(asked[i], prefix=(given,) if len(given) else (), max_new=left)
    return result


@dataclass(frozen=True)
class Speculate(Asking):
    """A draft's token stays with probability min(1, lenience p / q), p of today's policy and q of the draft's; the
    first that does not stay, and all after it, are drawn anew (SPEC-RL 2509.23232).

        ask=(Speculate(lenience=1.6487212707001282),)
        --mechanism.ask speculate --mechanism.ask.0.lenience 1.6487212707001282
    """

    replies: ClassVar[bool] = False
    reads = (Drafts,)

    lenience: float = 1.0  # at most 1 and with the residual: exact; more keeps more of the drafts and is biased
    residual: bool = True  # the first new token is drawn from what the kept ones leave over of p, not from p
    does = speculate

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if not self.lenience > 0:
            return f"ask.lenience must be a positive number, not {self.lenience}."
        if (scale.top_p, scale.top_k, scale.min_p) != (1.0, 0, 0.0):
            return (
                "drafts are compared by the full distribution of each token: set scale.top_p to 1, scale.top_k and "
                "scale.min_p to 0."
            )
        if self.residual and not any(isinstance(part, Distributions) for part in mechanism.forwards):
            return (
                "ask.residual needs the distributions that drafts were drawn from. Add `distributions` to "
                "mechanism.forwards, or set ask.residual to no."
            )
        return None


# The rule


def stays(now: Segment, draft: Segment, key: Key, *, lenience: float, residual: bool) -> Stay:
    """What stays of a draft whose tokens, and whose `top_ids`, today's policy gives the log-probs of `now`."""
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
    known = np.arange(now.all_logp.shape[1]) if draft.top_ids is None else draft.top_ids[count]
    if accepted(p[count:][:1], q[count:][:1], u[count:][:1], lenience=lenience):  # another of the others
        return Stay(count, barred=np.append(known, draft.ids[count]))
    return _left_over(now, draft, count, known, uniforms([key("residual")], 1)[0, 0], lenience=lenience)


def accepted(
    now: np.ndarray, then: np.ndarray, u: np.ndarray, *, lenience: float, within: np.ndarray | float = 0.0
) -> int:
    """Tokens before the first with u > min(1, lenience exp(now - then)) exp(within)."""
    most = np.minimum(0.0, np.log(lenience) + now.astype(np.float64) - then) + within
    stay = np.log(np.maximum(u, 1e-300)) <= most
    return len(stay) if stay.all() else int(np.argmin(stay))


def left_over(p: np.ndarray, q: np.ndarray, *, lenience: float) -> np.ndarray:
    """(p - min(q, lenience p))_+, not normalised: with what was accepted it adds up to p where lenience is at most 1.

    p itself where rounding leaves nothing over.
    """
    over = np.maximum(p - np.minimum(q, lenience * p), 0.0)
    return over if over.sum() > 0 else p


def _left_over(now: Segment, draft: Segment, count: int, known: np.ndarray, u: float, *, lenience: float) -> Stay:
    """The first new token: one that is known by name, or one of the others."""
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
    """Log-prob of all tokens whose own is not known; no less than that of one of them, whatever rounding left."""
    assert logp is not None
    rest = 1.0 - np.exp(logp, dtype=np.float64).sum(1)
    return np.maximum(np.log(np.maximum(rest, 1e-300)), own)


# Today's policy on drafts


def _fits(request: Request, draft: Episode, vocab: int | None) -> bool:
    """Whether the draft answers what is asked, nothing but its tokens decides where it would have ended, and what it
    is compared over, of a vocabulary of this size, was kept.
    """
    if request.prefix or request.stop or (request.top_p, request.top_k, request.min_p) != (1.0, 0, 0.0):
        return False
    every, named = draft.segments[0].all_logp, draft.segments[0].top_ids
    known = vocab is None or (every is not None and (named is not None or every.shape[1] == vocab))
    return known and np.array_equal(draft.request.context, request.context)


def _compared(engine: Engine, asked: dict[int, Request], drafts: dict[int, Segment], tokens: int) -> dict[int, Segment]:
    """Each draft as today's policy sees it: its tokens, and those whose log-probs it has kept."""
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
    """int32[T, K] the tokens whose log-probs a draft has kept."""
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
    """First new tokens that are none of those whose log-probs were kept: of these places alone the whole distribution
    is asked for.
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
        if not weight.any():  # rounding alone spoke for them
            weight = np.exp(every, dtype=np.float64)
        token = drawn(weight, uniforms([key(asked[i].id)("rest")], 1)[0, 0])
        result[i] = Stay(found[i].count, token=token, logp=float(every[token]))
    return result


def _given(now: Segment, stay: Stay) -> Segment:
    """The tokens that stay and the one that was drawn behind them. What is kept of a whole distribution stays with it;
    that of the likeliest tokens of long ago does not.
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
