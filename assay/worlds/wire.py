"""Acts and replies as JSON: how plays in other processes are spoken with, and how replies are logged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.types import Verdict
from assay.worlds.play import Act, Ask, Call, Line, Reply

CHATTED = ("messages", "tools", "stops")  # fields of an `Ask` that are tuples of JSON data


def reply_data(reply: Reply) -> dict[str, Any]:
    """A reply as JSON data, without what has its default."""
    ask = None if reply.ask is None else _ask_data(reply.ask)
    plain = {"end": reply.end, "failed": reply.failed, "fault": reply.fault}
    plain |= {"rewards": _numbers(reply.rewards), "costs": _numbers(reply.costs)}
    return {"ask": ask, **{name: value for name, value in plain.items() if value}}


def reply_of(data: Mapping[str, Any]) -> Reply:
    """The inverse of `reply_data`."""
    return Reply(**{**data, "ask": None if data["ask"] is None else _ask_of(data["ask"])})


def _numbers(values: Mapping[str, float]) -> dict[str, float]:
    """Numbers of any library as those of JSON."""
    return {name: float(value) for name, value in values.items()}


def _ask_data(ask: Ask) -> dict[str, Any]:
    plain = {"context": ask.context, "most": ask.most, "seen": None if ask.seen is None else ask.seen.tolist()}
    plain |= {name: list(value) for name in CHATTED if (value := getattr(ask, name))}
    said = {"seat": ask.seat, "say": [[line.text, line.author] for line in ask.say]}
    return said | {name: value for name, value in plain.items() if value is not None}


def _ask_of(data: Mapping[str, Any]) -> Ask:
    seen = {"seen": np.array(data["seen"], np.float32)} if "seen" in data else {}
    chatted = {name: tuple(data[name]) for name in CHATTED if name in data}
    return Ask(**{**data, "say": tuple(Line(*line) for line in data["say"]), **chatted, **seen})


def act_data(act: Act) -> dict[str, Any]:
    """An act as JSON data."""
    calls = [[call.name, dict(call.arguments), call.fault] for call in act.calls]
    action = act.action.tolist() if isinstance(act.action, np.ndarray) else act.action
    return {"seat": act.seat, "text": act.text, "calls": calls, "finish": act.finish, "action": action}


def act_of(data: Mapping[str, Any]) -> Act:
    """The inverse of `act_data`."""
    action = np.array(data["action"], np.float32) if isinstance(data["action"], list) else data["action"]
    return Act(**{**data, "calls": tuple(Call(*call) for call in data["calls"]), "action": action})


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    return {**vars(verdict), "scores": dict(verdict.scores)}


def verdicts_of(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Verdict]:
    """The verdict of each seat."""
    return {name: Verdict(**verdict) for name, verdict in data.items()}
