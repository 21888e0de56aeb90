"""The messages between a sampler and a server: requests and answers as JSON, with streams that keep their bits.

A request has the form of vLLM's `/inference/v1/generate`. Under `assay` it says besides which random numbers it draws:
those of `key`, by its id, from number `before` on. An answer has under `assay` the fields that vLLM's lacks, in base64.
`read` takes the answers of servers, which may say anything. An answer that cannot be believed counts as none, and never
as one worth zero.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.engine.interface import Generation
from assay.engine.remote.transport.site import Expected
from assay.engine.sampling_call import prompt_of, stops
from assay.errors import DataError
from assay.rng import Key
from assay.types import Finish, Ids, Origin, Problem, Request, Segment

STREAMS = ("old", "mu", "entropy")
LOST, ANSWER = "sampler_lost", "sampler_answer"
"""The kinds of a verdict: no server answered the request, or the answer cannot be believed."""
_FINISHES: dict[Any, Finish] = {"stop": "stop", "length": "length"}
SLACK = 1e-4  # above 0 that a log-probability may be by rounding
_SAMPLING = {"temperature": float, "top_p": float, "top_k": int, "min_p": float}


def sampling_of(request: Request) -> dict[str, Any]:
    """The sampling parameters that our server and vLLM call by the same names."""
    found = {name: kind(getattr(request, name)) for name, kind in _SAMPLING.items()}
    never = {"logit_bias": {str(token): -100.0 for token in request.barred}} if request.barred else {}
    return {"max_tokens": request.max_new, **found, "stop": list(request.stop), **never}


def asking(request: Request, key: Key) -> dict[str, Any]:
    """A request as our server takes it."""
    own = {"key": key.hex, "before": request.given, **({"barred": list(request.barred)} if request.barred else {})}
    ids = prompt_of(request).tolist()
    return {"request_id": request.id, "token_ids": ids, "sampling_params": sampling_of(request), "assay": own}


def asked(body: Any, *, rows: int) -> tuple[Request, Key]:
    """The request that a body describes, and the key of its random numbers; DataError for a body that describes none.

    A body without `assay` is a stranger's: its numbers come from its seed, or from nowhere if it has none.
    """
    if not isinstance(body, Mapping):
        raise DataError("a request is a JSON object with token_ids and sampling_params.")
    sampling, own = body.get("sampling_params") or {}, body.get("assay") or {}
    ids, name = body.get("token_ids"), body.get("request_id") or os.urandom(8).hex()
    if not isinstance(sampling, Mapping) or not isinstance(own, Mapping) or not isinstance(name, str):
        raise DataError("sampling_params and assay are JSON objects, and request_id is a string.")
    ids = token_ids(ids, rows=rows)
    try:
        given = {field: kind(sampling[field]) for field, kind in _SAMPLING.items() if sampling.get(field) is not None}
        stop, most, before = sampling.get("stop") or [], int(sampling.get("max_tokens", 16)), int(own.get("before", 0))
        key, barred = _key(own.get("key"), sampling.get("seed")), tuple(map(int, own.get("barred", ())))
    except (TypeError, ValueError) as error:
        raise DataError(f"sampling_params and assay cannot be read: {error}.") from None
    stop = [stop] if isinstance(stop, str) else stop
    if not isinstance(stop, Sequence) or not all(isinstance(text, str) and text for text in stop):
        raise DataError("stop is a string or a list of strings, none of them empty.")
    if not 0 <= before < len(ids):
        raise DataError(f"assay.before is the number of answer tokens among the {len(ids)} token_ids, not {before}.")
    context, prefix = ids[: len(ids) - before], ids[len(ids) - before :]
    written = (Segment(prefix, np.full(before, Origin.POLICY, np.int8)),) if before else ()
    problem = Problem("served", name, {}, name)
    request = Request(problem, context, name, most, **given, stop=tuple(stop), prefix=written, barred=barred)
    request.__dict__["id"] = name  # the id that the sampler knows it by, in the place where `Request.id` keeps its own
    return request, key


def _key(text: Any, seed: Any) -> Key:
    if text is not None:
        return Key.from_hex(str(text))
    return Key("seed", int(seed)) if seed is not None else Key(os.urandom(8).hex())


def token_ids(found: Any, *, rows: int) -> Ids:
    """The ids of a list; DataError for anything else, and for ids that the model does not have."""
    if not isinstance(found, list) or not found or not all(type(i) is int and 0 <= i < rows for i in found):
        raise DataError(f"token ids are a list of at least one id from 0 to {rows - 1}.")
    return np.array(found, np.int32)


def answer(made: Generation, request: Request, *, weights: str, plain: bool) -> dict[str, Any]:
    """An answer as our server gives it, under the version of the weights that wrote it, which may be old by now, and
    under their digest. A `plain` one also has the log-probs of tokens as vLLM gives them.
    """
    segment, count = made.segment, len(made.segment)
    choice: dict[str, Any] = {
        "index": 0,
        "token_ids": segment.ids.tolist(),
        "finish_reason": made.finish,
        "weight_versions": [{"version": str(segment.version), "start": 0, "end": count}],
    }
    if plain:
        likely = segment.old if request.temperature == 0 else segment.mu
        assert likely is not None
        pairs = zip(segment.ids.tolist(), likely.tolist(), strict=True)
        choice["logprobs"] = {"content": [{"token_id": token, "logprob": logp} for token, logp in pairs]}
    own = {**{name: packed(getattr(segment, name)) for name in STREAMS}, "weights": weights}
    size = len(request.context) + request.given
    usage = {"prompt_tokens": size, "completion_tokens": count, "total_tokens": size + count}
    return {"request_id": request.id, "choices": [choice], "usage": usage, "assay": own}


def packed(stream: np.ndarray | None) -> str | None:
    """Numbers as text that gives back each bit of them."""
    return None if stream is None else base64.b64encode(np.ascontiguousarray(stream, "<f4").tobytes()).decode()


def unpacked(text: Any, count: int) -> np.ndarray | None:
    """float32[count] of what `packed` made; ValueError for anything else."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError("a stream that is no text")
    data = base64.b64decode(text, validate=True)
    if len(data) != 4 * count:
        raise ValueError(f"a stream of {len(data)} bytes for {count} tokens")
    return np.frombuffer(data, "<f4").astype(np.float32)


# Checks of an answer before it is believed


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
    measured = _own(said, len(ids)) if streams else _of_vllm(choice, ids, request, expected)
    spans = _spans(choice["weight_versions"], len(ids), published, oldest)
    origin, version = np.full(len(ids), Origin.POLICY, np.int8), min(version for version, _, _ in spans)
    whole = Segment(ids, origin, measured["old"], measured["mu"], measured.get("entropy"), version=version)
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
    """`mu` is the log-prob that vLLM calls processed. It is `old` too where nothing was filtered, else `old` is not
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
    filtered = filtered or bool(request.barred)
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
