"""Episodes as JSON data and back, bit by bit: what a buffer, a queue or a cache keeps between steps."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.types import Episode, Problem, Request, Reward, Segment, Verdict


def to_data(value: Any) -> Any:
    """Records as mappings of their fields; arrays as their bytes."""
    if isinstance(value, np.ndarray):
        shape = {"shape": list(value.shape)} if value.ndim != 1 else {}
        return {"dtype": value.dtype.newbyteorder("<").str, **shape, "bytes": base64.b64encode(_little(value)).decode()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: to_data(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_data(item) for item in value]
    return value


def episode_of(data: Mapping[str, Any]) -> Episode:
    """The episode that `to_data` wrote."""
    fields = {
        "request": _request(data["request"]),
        "segments": tuple(_record(Segment, item) for item in data["segments"]),
        "verdict": None if data["verdict"] is None else Verdict(**data["verdict"]),
        "rewards": tuple(_record(Reward, item) for item in data["rewards"]),
    }
    return _record(Episode, {**data, **fields})


def _request(data: Mapping[str, Any]) -> Request:
    prompt = data["problem"]["prompt"]
    prompt = prompt if isinstance(prompt, str) else tuple(dict(message) for message in prompt)
    problem = _record(Problem, {**data["problem"], "prompt": prompt})
    prefix = tuple(_record(Segment, item) for item in data["prefix"])
    return _record(Request, {**data, "problem": problem, "prefix": prefix})


def _record(kind: type, data: Mapping[str, Any]) -> Any:
    """A record from its fields; encoded arrays are decoded, and lists of plain data are the tuples they were."""
    plain = {"spec"}  # the task's own JSON data
    return kind(**{name: item if name in plain else _value(item) for name, item in data.items()})


def _value(item: Any) -> Any:
    if isinstance(item, Mapping) and item.keys() - {"shape"} == {"dtype", "bytes"}:
        flat = np.frombuffer(base64.b64decode(item["bytes"]), np.dtype(item["dtype"]))
        return flat.reshape(item.get("shape", -1)).copy()
    return tuple(item) if isinstance(item, list) else item


def _little(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
