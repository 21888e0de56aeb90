"""Servers of OpenEnv: `/schema` says what an action is, and `/ws` is spoken in JSON. What a policy writes stands in the
one field of the action that is a text.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError
from assay.worlds.foreign.child import HostLost
from assay.worlds.foreign.websocket import WebSocket
from assay.worlds.foreign.world import Said, foreign
from assay.worlds.play import Spec, World


def text_field(schema: Mapping[str, Any]) -> str:
    """The field of an action that takes a text."""
    texts = [name for name, of in schema.get("properties", {}).items() if of.get("type") == "string"]
    needed = [name for name in texts if name in schema.get("required", ())] or texts
    if len(needed) != 1:
        raise ConfigError(f"an action of this server has the texts {texts}: a policy's words go into one.")
    return needed[0]


@dataclass
class Served:
    """A game on a server: `Served("localhost", 8000)`."""

    host: str
    port: int
    field_of_text: str = ""
    won: float = 0.0
    sockets: list[WebSocket] = field(default_factory=list)

    def begin(self, spec: Spec) -> Said:
        with urllib.request.urlopen(f"http://{self.host}:{self.port}/schema", timeout=60) as answer:
            self.field_of_text = text_field(json.load(answer)["action"])
        self.sockets.append(WebSocket(self.host, self.port, "/ws"))
        return self._said("reset", {"seed": spec["seed"]})

    def go_on(self, text: str) -> Said:
        return self._said("step", {self.field_of_text: text})

    def _said(self, kind: str, data: Mapping[str, Any]) -> Said:
        socket = self.sockets[-1]
        socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(socket.receive())
        if answer.get("type") != "observation":
            raise HostLost(f"the server answered {json.dumps(answer)[:200]}")
        seen = answer["data"]
        self.won += float(seen.get("reward") or 0.0)
        if seen.get("done"):
            return {"end": "ended", "won": [self.won]}
        texts = [value for value in seen["observation"].values() if isinstance(value, str)]
        return {"say": texts[0] if len(texts) == 1 else json.dumps(seen["observation"]), "won": [self.won]}

    def close(self, *, ended: bool) -> None:
        while self.sockets:
            self.sockets.pop().close()


def server(host: str, port: int) -> World:
    """The world of a server."""
    return foreign(lambda: Served(host, port), 1, repeats=False)
