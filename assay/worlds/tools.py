"""A world of tools: one seat, functions that it may call, and a state that the functions share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assay.errors import ConfigError
from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Call, Line, Play, Reply, Spec, Tool, World
from assay.worlds.speech import COMPACT, Speech


class ToolError(Exception):
    """What a tool replies where the policy called it wrongly: `raise ToolError("there is no page 7")`."""


@dataclass
class Scene:
    """What a tool finds at a call: the problem, the play's random numbers, and what the calls before have left."""

    spec: Spec
    key: Key
    state: dict[str, Any] = field(default_factory=dict)  # JSON data, the play's own
    calls: int = 0  # how many there were, this one included
    over: bool = False  # a tool sets it when nothing is left to do: the play ends, and what it returns is not said


Run = Callable[..., str]
"""(scene, **arguments of the call) -> the reply. `ToolError` for an error of the policy's; anything else is ours."""


def takes_text(name: str, field: str, about: str = "") -> Tool:
    """A tool with one argument, a text."""
    return Tool(name, about, {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]})


def tools(
    *given: tuple[Tool, Run],
    speech: Speech = COMPACT,
    explain: Callable[[str], str] = "{}".format,
    apart: bool = False,
) -> World:
    """The world in which a policy may call these functions. A call that cannot be read, or that its tool refuses, gets
    the reply that `explain` makes of the reason. The play ends with a turn that calls nothing, or by a tool that says
    so (`Scene.over`).

    tools((Tool("add", schema=...), lambda scene, a, b: str(a + b)), speech=JSON)
    """
    named = {tool.name: run for tool, run in given}

    def start(spec: Spec, key: Key) -> Play:
        return ToolPlay(Scene(spec, key), named, explain)

    def resume(spec: Spec, key: Key, saved: bytes) -> Play:
        return ToolPlay(Scene(spec, key, **json.loads(saved)), named, explain)

    return World(start, speech=speech, tools=tuple(tool for tool, _ in given), resume=resume, fork="save", apart=apart)


def calling(
    pairs: Sequence[tuple[Tool, Run]],
    *,
    speech: Speech,
    apart: bool = False,
    fork: Literal["replay", "no"] = "replay",
    made_of: Sequence[str] = (),
    servers: Sequence[str] = (),
) -> World:
    """The world of tools that a user brings, which keep nothing of a play that could be saved. `made_of` and `servers`
    are those of the `World`: with them processes of plays `apart` make it anew.
    """
    names = [tool.name for tool, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"two tools have the name '{twice[0]}': rename one of the functions.")
    world = tools(*pairs, speech=speech, apart=apart)
    return replace(world, resume=None, fork=fork, made_of=tuple(made_of), servers=tuple(servers))


@dataclass
class ToolPlay:
    """A play of one seat that calls functions."""

    scene: Scene
    named: Mapping[str, Run]
    explain: Callable[[str], str]

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        if not act.calls:
            return Reply(end="ended")
        replies = [self._called(call) for call in act.calls]
        if self.scene.over:
            return Reply(end="ended", failed=any(failed for _, failed in replies))
        return Reply(Ask(say=tuple(Line(text) for text, _ in replies)), failed=any(failed for _, failed in replies))

    def _called(self, call: Call) -> tuple[str, bool]:
        """The reply to a call, and whether it tells of an error."""
        self.scene.calls += 1
        try:
            if call.fault:
                raise ToolError(call.fault)
            return self.named[call.name](self.scene, **call.arguments), False
        except ToolError as error:
            return self.explain(str(error)), True

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> bytes:
        return json.dumps({"state": self.scene.state, "calls": self.scene.calls}).encode()

    def close(self) -> None:
        """It holds nothing."""
