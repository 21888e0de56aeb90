"""What is said between our sampler and our server: requests and answers as JSON, with streams that keep their bits.

A request has the form of vLLM's `/inference/v1/generate`. Under `assay` it says besides which random numbers it draws:
those of `key`, by its id, from number `before` on. An answer says under `assay` what vLLM's lacks, in base64.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.engine.interface import Generation
from assay.engine.sampling_call import prompt_of
from assay.errors import DataError
from assay.rng import Key
from assay.types import Ids, Origin, Problem, Request, Segment

STREAMS = ("old", "mu", "entropy")
_SAMPLING = {"temperature": float, "top_p": float, "top_k": int, "min_p": float}


def sampling_of(request: Request) -> dict[str, Any]:
    """The sampling parameters that our server and vLLM call by the same names."""
    found = {name: kind(getattr(request, name)) for name, kind in _SAMPLING.items()}
    return {"max_tokens": request.max_new, **found, "stop": list(request.stop)}


def asking(request: Request, key: Key) -> dict[str, Any]:
    """A request as our server takes it."""
    own = {"key": key.hex, "before": request.given}
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
        key = _key(own.get("key"), sampling.get("seed"))
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
    request = Request(problem, context, name, most, **given, stop=tuple(stop), prefix=written)
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
    under their digest. A `plain` one also says what vLLM's says of each token.
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
