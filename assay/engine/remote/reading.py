"""Reads answers of servers, which may say anything: what cannot be believed is no answer, and never one worth zero."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.engine.interface import Generation
from assay.engine.remote.messages import STREAMS, unpacked
from assay.engine.remote.site import Expected
from assay.engine.sampling_call import stops
from assay.types import Finish, Ids, Origin, Request, Segment

LOST, ANSWER = "sampler_lost", "sampler_answer"
"""The kinds of a verdict on what no server answered, and on what one answered that cannot be believed."""
_FINISHES: dict[Any, Finish] = {"stop": "stop", "length": "length"}
SLACK = 1e-4  # above 0 that a log-probability may be by rounding


class _Unbelievable(ValueError):
    """Why an answer is not taken."""


def read(
    said: Any, request: Request, expected: Expected, *, published: Mapping[str, int], oldest: int, streams: bool
) -> Generation:
    """The generation that a server's answer describes, or a failed one of kind `sampler_answer`.

    `published` has the versions of the weights by the labels that servers give them; an answer of a version below
    `oldest` is too old. With `streams` the answer has the engine's own log-probs; otherwise they are what vLLM says.
    """
    try:
        return _read(said, request, expected, published, oldest, streams)
    except (_Unbelievable, KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        why = str(error) if isinstance(error, _Unbelievable) else f"it lacks something: {type(error).__name__}: {error}"
        return Generation.failed(ANSWER, why, version=max(0, oldest))


def _read(
    said: Any, request: Request, expected: Expected, published: Mapping[str, int], oldest: int, streams: bool
) -> Generation:
    choice = said["choices"][0]
    ids = _ids(choice["token_ids"], request, expected)
    finish = _FINISHES.get(choice["finish_reason"])
    if finish is None:
        raise _Unbelievable(f"it ended by {choice['finish_reason']!r}, which is neither stop nor length")
    _require_end(ids, finish, request, expected)
    known = _own(said, len(ids)) if streams else _of_vllm(choice, ids, request, expected)
    spans = _spans(choice["weight_versions"], len(ids), published, oldest)
    origin, version = np.full(len(ids), Origin.POLICY, np.int8), min(version for version, _, _ in spans)
    whole = Segment(ids, origin, known["old"], known["mu"], known.get("entropy"), version=version)
    if len(spans) == 1:
        return Generation(whole, finish)
    return Generation(whole, finish, tuple(_cut(whole, *span) for span in spans))


def _ids(found: Any, request: Request, expected: Expected) -> Ids:
    if not isinstance(found, list) or not found or not all(type(i) is int for i in found):
        raise _Unbelievable("it has no token ids")
    if len(found) > request.max_new:
        raise _Unbelievable(f"it has {len(found)} tokens, and {request.max_new} were asked for")
    if foreign := [i for i in found if not 0 <= i < expected.vocab]:
        raise _Unbelievable(f"it has the token id {foreign[0]}, and the vocabulary ends at {expected.vocab - 1}")
    return np.array(found, np.int32)


def _require_end(ids: Ids, finish: Finish, request: Request, expected: Expected) -> None:
    """An answer goes up to its first end token or stop string, or has as many tokens as were asked for."""
    ends = [i for i in ids.tolist() if i in expected.end_ids]
    ended = int(ids[-1]) in expected.end_ids
    if len(ends) > ended:
        raise _Unbelievable("it goes on after an end token")
    stopped = ended or bool(request.stop and stops(request, ids, expected.decode))
    if (finish == "stop") != stopped:
        what = "says stop without an end token or a stop string" if finish == "stop" else "goes on after its end"
        raise _Unbelievable(f"it {what}")
    if finish == "length" and len(ids) != request.max_new:
        raise _Unbelievable(f"it was cut at {len(ids)} tokens, and {request.max_new} were asked for")


def _own(said: Any, count: int) -> dict[str, np.ndarray | None]:
    """The streams of our own engine, bit for bit."""
    found = {name: unpacked(said["assay"][name], count) for name in STREAMS}
    for name in ("old", "mu"):
        _require_log_probs(found[name], name)
    return found


def _of_vllm(choice: Any, ids: Ids, request: Request, expected: Expected) -> dict[str, np.ndarray | None]:
    """`mu` is what vLLM calls the processed log-prob. It is `old` too where nothing was filtered, else `old` is not
    known. A greedy answer has log-probs at temperature 1, and could not have been another.
    """
    content = choice["logprobs"]["content"]
    if not isinstance(content, list) or len(content) != len(ids):
        raise _Unbelievable(f"it has {len(ids)} tokens and log-probs of {len(content or ())}")
    if [token["token_id"] for token in content] != ids.tolist():
        raise _Unbelievable("its log-probs are those of other tokens")
    logp = np.array([_number(token["logprob"]) for token in content], np.float32)
    _require_log_probs(logp, "logprob")
    if request.temperature == 0:
        return {"old": logp, "mu": np.zeros_like(logp)}
    filtered = request.top_p < 1 or 0 < request.top_k < expected.all_rows or request.min_p > 0
    return {"old": np.full_like(logp, np.nan) if filtered else logp, "mu": logp.copy()}


def _number(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise _Unbelievable(f"its log-prob is {found!r}")
    return math.nan if math.isinf(found) else float(found)


def _require_log_probs(found: np.ndarray | None, name: str) -> None:
    if found is None:
        raise _Unbelievable(f"it has no {name}")
    if not np.isfinite(found).all() or (found > SLACK).any():
        raise _Unbelievable(f"its {name} is no log-probability at token {int(np.argmin(np.isfinite(found)))}")


def _spans(found: Any, count: int, published: Mapping[str, int], oldest: int) -> list[tuple[int, int, int]]:
    """(version, first token, end) of each span; they follow each other over the whole answer."""
    spans, end = [], 0
    for one in found:
        version, start, stop = published.get(str(one["version"])), one["start"], one["end"]
        if version is None:
            raise _Unbelievable(f"its weights are those of version {one['version']!r}, which was not published to it")
        if version < oldest:
            raise _Unbelievable(f"its weights are of version {version}, and {oldest} is the oldest that is allowed")
        if start != end or not start < stop <= count:
            raise _Unbelievable("its versions do not cover its tokens one after the other")
        spans.append((version, start, end := stop))
    if end != count:
        raise _Unbelievable("its versions do not cover its tokens")
    return spans


def _cut(whole: Segment, version: int, start: int, end: int) -> Segment:
    """The tokens of one span as a segment of their own."""
    streams = {name: getattr(whole, name) for name in ("ids", "origin", *STREAMS)}
    cut = {name: None if stream is None else stream[start:end].copy() for name, stream in streams.items()}
    return dataclasses.replace(whole, **cut, version=version)
