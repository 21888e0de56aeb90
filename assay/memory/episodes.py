"""Episodes from JSON data, the format of earlier versions' checkpoints: each with its problem, arrays as base64."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.types import Episode, Problem, Request, Reward, Segment, Verdict


def episode_of(data: Mapping[str, Any]) -> Episode:
    """The episode with these fields."""
    fields = {
        "request": _request(data["request"]),
        "segments": tuple(_record(Segment, item) for item in data["segments"]),
        "verdict": None if data["verdict"] is None else Verdict(**data["verdict"]),
        "rewards": tuple(_record(Reward, item) for item in data["rewards"]),
    }
    return _record(Episode, {**data, **fields})


def problem_of(data: Mapping[str, Any]) -> Problem:
    """The problem with these fields; its prompt may be messages."""
    prompt = data["prompt"]
    prompt = prompt if isinstance(prompt, str) else tuple(dict(message) for message in prompt)
    return _record(Problem, {**data, "prompt": prompt})


def _request(data: Mapping[str, Any]) -> Request:
    prefix = tuple(_record(Segment, item) for item in data["prefix"])
    return _record(Request, {**data, "problem": problem_of(data["problem"]), "prefix": prefix})


def unknown_hint(request: Request) -> Request:
    """The request as one whose prompt holds a hint of which no more is known than its tokens in `context`."""
    return dataclasses.replace(request, worded=dataclasses.replace(request.prompt, hints=("",)))


def _record(kind: type, data: Mapping[str, Any]) -> Any:
    """A record from its fields. Encoded arrays are decoded, and lists become tuples, which JSON does not have."""
    plain = {"spec"}  # the task's own JSON data
    return kind(**{name: item if name in plain else _value(item) for name, item in data.items()})


def _value(item: Any) -> Any:
    if isinstance(item, Mapping) and item.keys() - {"shape"} == {"dtype", "bytes"}:
        flat = np.frombuffer(base64.b64decode(item["bytes"]), np.dtype(item["dtype"]))
        return flat.reshape(item.get("shape", -1)).copy()
    return tuple(item) if isinstance(item, list) else item


def bare(episode: Episode) -> Episode:
    """The episode for later replay: its answer as one segment, without nodes, and without log-probs, which belong to
    old weights.
    """
    origin = episode.stream("origin").astype(np.int8)
    whole = Segment(episode.stream("ids").astype(np.int32), origin, version=episode.segments[-1].version)
    request = dataclasses.replace(episode.request, prefix=(), parent="", fork=0)
    return dataclasses.replace(episode, request=request, segments=(whole,), provenance="replay")
